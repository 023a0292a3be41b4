import { deviceOfRun } from '../../app/candidate-target.ts';
import { composeDispatch } from '../../app/dispatch.ts';
import { EXIT } from '../../core/errors.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import type { Run } from '../context.ts';
import { onDevice } from '../judging-request.ts';
import { printDispatch } from '../print-outcome.ts';
import { withStatus } from '../status-line.ts';

export const run: Run<RequestOf<'dispatch'>> = async (request, context) => {
  const { streams } = context;
  const { runs, store } = completeRequest('dispatch', request);
  const asked = await onDevice('dispatch', request, context, () => deviceOfRun(runs[0]!, store));
  const outcome = await withStatus(streams.err, (told) => composeDispatch({ ...asked, ...told }));
  printDispatch(context, outcome);
  return EXIT.ok;
};
