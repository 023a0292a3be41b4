import { deviceOfCandidates } from '../../app/candidate-target.ts';
import { compareCandidates } from '../../app/compare.ts';
import { EXIT } from '../../core/errors.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { type CompareView, compareDocument } from '../../reports/documents/compare.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { onDevice } from '../judging-request.ts';
import { printResult } from '../output.ts';
import { withStatus } from '../status-line.ts';

/** The worst status of either side decides; then --fail-on. */
function exitCodeOf({ workloads, failing }: CompareView): number {
  const codes = workloads.flatMap(({ baseline, candidate }) => [
    exitCodeOfStatus(baseline.status),
    exitCodeOfStatus(candidate.status),
  ]);
  if (codes.includes(EXIT.judgedFailed)) return EXIT.judgedFailed;
  return codes.find((code) => code !== EXIT.ok) ?? (failing.length > 0 ? EXIT.judgedFailed : EXIT.ok);
}

export const run: Run<RequestOf<'compare'>> = async (request, context) => {
  const { streams } = context;
  const { baseline, candidate, store } = completeRequest('compare', request);
  const asked = await onDevice('compare', request, context, () => deviceOfCandidates([baseline, candidate], store));
  const view = await withStatus(streams.err, (told) => compareCandidates({ ...asked, ...told }));
  printResult(context, view, compareDocument);
  return exitCodeOf(view);
};
