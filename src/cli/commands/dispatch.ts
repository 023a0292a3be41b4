import { deviceOfRun } from '../../app/candidate-target.ts';
import { composeDispatch } from '../../app/dispatch.ts';
import { dispatchKernels } from '../../app/dispatch-kernels.ts';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import { completeRequest, longFlag, optionsOf, type RequestOf } from '../../core/requests/request.ts';
import type { Run } from '../context.ts';
import { onDevice } from '../judging-request.ts';
import { printDispatch, printKernelDispatch } from '../print-outcome.ts';
import { withStatus } from '../status-line.ts';

type DispatchRequest = RequestOf<'dispatch'>;

export const run: Run<DispatchRequest> = (request, context) =>
  request.kernels === undefined
    ? fromRuns(request, context)
    : fromKernels({ ...request, kernels: request.kernels }, context);

const fromRuns: Run<DispatchRequest> = async (request, context) => {
  refuseOptionsOfKernels(request);
  const { targets, store } = completeRequest('dispatch', request);
  const asked = await onDevice('dispatch', request, context, () => deviceOfRun(targets[0]!, store));
  const outcome = await withStatus(context.streams.err, (told) => composeDispatch({ ...asked, ...told }));
  printDispatch(context, outcome);
  return EXIT.ok;
};

const fromKernels: Run<DispatchRequest & { readonly kernels: string }> = async (request, context) => {
  const asked = await onDevice('dispatch', request, context);
  const outcome = await withStatus(context.streams.err, (told) => dispatchKernels({ ...asked, ...told }));
  printKernelDispatch(context, outcome);
  if (!outcome.complete) return EXIT.interrupted;
  return outcome.rows.every(({ chosen }) => chosen) ? EXIT.ok : EXIT.judgedFailed;
};

const ONLY_WITH_KERNELS = ['workloads', 'dtype', 'tier', 'blocks', 'rows'] as const;

function refuseOptionsOfKernels(request: DispatchRequest): void {
  const field = ONLY_WITH_KERNELS.find((name) => request[name] !== undefined);
  if (field === undefined) return;
  const flag = longFlag(optionsOf('dispatch').find(([name]) => name === field)![1]);
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: `${flag} needs --kernels: runs have fixed workloads and dtypes, and are judged with tier accept.`,
    path: flag,
    received: flag,
    expected: '--kernels FILE, or no such option',
    hint: `Leave ${flag} out, or list kernels in a file.`,
  });
}
