import { deviceOfCandidates } from '../../app/candidate-target.ts';
import { inspectCandidate } from '../../app/inspect.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { inspectTerminal } from '../../reports/inspect-terminal.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { onDevice } from '../judging-request.ts';
import { paintFor, printJson } from '../output.ts';

export const run: Run<RequestOf<'inspect'>> = async (request, context) => {
  const { streams, json } = context;
  const { target, store, hotLines } = completeRequest('inspect', request);
  const view = await inspectCandidate(
    await onDevice('inspect', request, context, () => deviceOfCandidates([target], store)),
  );
  if (json) printJson(streams, view);
  else streams.out.write(inspectTerminal(view, { hotLines }, paintFor(streams.out)));
  return exitCodeOfStatus(view.status);
};
