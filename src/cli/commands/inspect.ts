import { deviceOfCandidates } from '../../app/candidate-target.ts';
import { inspectCandidate } from '../../app/inspect.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { inspectDocument } from '../../reports/documents/inspect.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { onDevice } from '../judging-request.ts';
import { printResult } from '../output.ts';
import { withStages } from '../status-line.ts';

export const run: Run<RequestOf<'inspect'>> = async (request, context) => {
  const { target, store, hotLines } = completeRequest('inspect', request);
  const asked = await onDevice('inspect', request, context, () => deviceOfCandidates([target], store));
  const view = await withStages(context.streams.err, (onStage) => inspectCandidate({ ...asked, onStage }));
  printResult(context, view, (shown) => inspectDocument(shown, hotLines));
  return exitCodeOfStatus(view.status);
};
