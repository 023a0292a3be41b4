import { measureProblem } from '../../app/measure.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { type LadderView, ladderDocument } from '../../reports/documents/ladder.ts';
import type { Run } from '../context.ts';
import { onDevice } from '../judging-request.ts';
import { printResult } from '../output.ts';
import { withStatus } from '../status-line.ts';

/** Kernels that do not take a workload are no failure; kernels and libraries that fail are. */
const everyoneWasMeasured = ({ rows }: LadderView): boolean =>
  rows.every(({ cells }) => cells.every(({ outcome }) => outcome !== 'failed'));

export const run: Run<RequestOf<'measure'>> = async (request, context) => {
  const { streams } = context;
  const asked = await onDevice('measure', request, context);
  const view = await withStatus(streams.err, (told) => measureProblem({ ...asked, ...told }));
  printResult(context, view, ladderDocument);
  if (view.notMeasured) return EXIT.interrupted;
  return everyoneWasMeasured(view) ? EXIT.ok : EXIT.judgedFailed;
};
