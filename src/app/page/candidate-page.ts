import { join } from 'node:path';
import type { Evaluation } from '../../core/evaluation.ts';
import { rooflineChart } from '../../reports/charts/roofline-chart.ts';
import { showDocument } from '../../reports/documents/show.ts';
import { formatMove } from '../../reports/format.ts';
import { buildInspectView, type InspectView } from '../../reports/inspect-view.ts';
import { printHtml } from '../../reports/print/html.ts';
import { rooflineOfOne } from '../../reports/view/roofline.ts';
import { openContentStore, textsOf } from '../../store/content-store.ts';
import { readEventLog, readingLog, startOfRun } from '../../store/event-log.ts';
import { eventsPath, RUN_FILES, runFolderPath } from '../../store/run-folder.ts';
import { showEvaluation } from '../runs.ts';
import { ROOFLINE_SIZE } from './workshop.ts';

/** One candidate of a run: what its lines cost, and what was found. Its PTX is asked for apart. */
export interface CandidatePage {
  /** Without counters: `view` has them. */
  readonly evaluation: Omit<Evaluation, 'counters'>;
  readonly view: InspectView;
  /** What led to it, and what came of it, in words; absent for the start. */
  readonly move?: string;
  readonly decision?: string;
  /** SVG; `null` where it has no place in one. */
  readonly roofline: string | null;
  /** All evidence, printed. */
  readonly html: string;
}

/** @throws WarpsmithError `unknown-evaluation`; as `readEventLog`. */
export function candidatePage(store: string, run: string, id: string): CandidatePage {
  const folder = runFolderPath(store, run);
  const path = eventsPath(folder);
  const { events } = readEventLog(path);
  const { roofline, workload } = startOfRun(path, events);
  const shown = readingLog(() => showEvaluation(folder, id, events));
  const { evaluation, proposal, decision, sources } = shown;
  const read = textsOf(openContentStore(join(folder, RUN_FILES.objects)));
  const texts = sources.flatMap(({ file, hash }) =>
    file === 'kernel.json' ? [] : [[file, read(hash) ?? ''] as const],
  );
  const { counters: _counters, ...told } = evaluation;
  const drawn = roofline?.workload === evaluation.workload.name ? roofline : undefined;
  const own = rooflineOfOne(evaluation, drawn, workload.cache);
  return {
    evaluation: told,
    view: buildInspectView({
      evaluation,
      label: `${id} of ${run}`,
      sources: Object.fromEntries(texts),
      ptx: undefined,
    }),
    move: proposal ? formatMove(proposal.move) : undefined,
    decision: decision ? `${decision.decision}: ${decision.reason}` : undefined,
    roofline: own && rooflineChart(own)(ROOFLINE_SIZE).markup,
    html: printHtml(showDocument(shown)),
  };
}
