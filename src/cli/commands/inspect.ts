import { deviceOfCandidates } from '../../app/candidate-target.ts';
import { inspectCandidate } from '../../app/inspect.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { inspectDocument } from '../../reports/documents/inspect.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { onDevice } from '../judging-request.ts';
import { printResult } from '../output.ts';
import { withStatus } from '../status-line.ts';

export const run: Run<RequestOf<'inspect'>> = async (request, context) => {
  const { target, store, hotLines } = completeRequest('inspect', request);
  const asked = await onDevice('inspect', request, context, () => deviceOfCandidates([target], store));
  const view = await withStatus(context.streams.err, (told) => inspectCandidate({ ...asked, ...told }));
  printResult(context, view, (shown) => inspectDocument(shown, hotLines));
  return exitCodeOfStatus(view.status);
};
