import type { StopReason } from '../../store/events.ts';
import * as doc from '../document.ts';
import { formatCandidate, formatElapsed, formatFigure, formatNs, formatPercent } from '../format.ts';
import type { RunView } from '../run-view.ts';
import { energyInShort } from '../sections/energy.ts';
import { becauseOf, describeEvaluations, formatGain, headline } from '../sections/run-words.ts';

/** The kept changes with the largest gains; the report has all. */
const CHANGES_SHOWN = 3;
const MINUTE_MS = 60_000;

/** The line about what was used says why the search ended. */
const SPENT: ReadonlySet<StopReason> = new Set([
  ...(['evaluations-spent', 'time-spent', 'gpu-time-spent', 'money-spent'] as const),
  ...(['tokens-spent', 'cost-spent', 'no-moves-left', 'space-exhausted'] as const),
]);

/** `8 of 8 evaluations (2 of them after the search), 1 min 47 s`. */
function used(view: RunView): string {
  const { figure, beyond } = describeEvaluations(view);
  const others = view.ledger.lines.flatMap(({ name, used: count, limit, unit }) => {
    if (name === 'evaluations') return [];
    const amount = unit === 'min' ? formatElapsed(count * MINUTE_MS) : formatFigure(count);
    const what = name === 'wall time' ? '' : `${name} `;
    return [`${what}${amount}${limit === null ? '' : ` of ${formatFigure(limit)}${unit && ` ${unit}`}`}`];
  });
  return [`${figure} evaluations${beyond && ` (${beyond})`}`, ...others].join(', ');
}

function stopped({ stop }: RunView): doc.Inline {
  if (!stop) return '; the log has no end: the run is still going, or died';
  return SPENT.has(stop.reason) ? `; stopped: ${stop.reason}` : '';
}

function bestLine({ best, start, bounds }: RunView): string | false {
  if (!best || best.evaluationId === start?.evaluationId) return false;
  const reached = bounds
    ? `; ${best.kind} ${formatPercent(bounds.attainableNs / best.medianNs)} of the attainable ${formatNs(bounds.attainableNs)}`
    : '';
  return `${formatCandidate(best.candidate)}, candidate ${best.candidate.id}${reached}`;
}

/** What did not work, in numbers: the report says why. */
function described({ changes, reverted, failed }: RunView): string {
  const kept = changes?.steps.length ?? 0;
  const parts = [`${kept} kept`, `${reverted.length} reverted`, failed.length > 0 && `${failed.length} failed`];
  return parts.filter((part) => part !== false).join(', ');
}

function bestChanges(view: RunView): doc.Part {
  const steps = (view.changes?.steps ?? []).toSorted(
    (a, b) => (b.energyRatio ?? b.ratio ?? 0) - (a.energyRatio ?? a.ratio ?? 0),
  );
  const rows = new Map(view.progression.map((row) => [row.evaluationId, row]));
  return doc.table('Best changes', steps.slice(0, CHANGES_SHOWN), [
    doc.words('kept change', ({ change }) => change),
    doc.figures('gain', formatGain),
    doc.words('because of', ({ evaluationId }) => rows.get(evaluationId) && becauseOf(rows.get(evaluationId)!), 1),
  ]);
}

/** How a run ended, on a screen: result, what it took, the best changes. `report` has everything else. */
export function runEndDocument(view: RunView): doc.Document {
  const { problem, workload, device, stop } = view;
  return doc.documentOf(`${problem.name} on ${device.name}, ${workload.name}`, [
    doc.text(headline(view).sentence),
    doc.list([
      doc.fact('Best', bestLine(view)),
      doc.fact('Energy', energyInShort(view.energy ?? [])),
      doc.fact('Took', [used(view), stopped(view)]),
      doc.fact('Stopped', stop !== null && !SPENT.has(stop.reason) && `${stop.reason}: ${stop.detail}`),
      doc.fact('Changes', described(view)),
    ]),
    bestChanges(view),
  ]);
}
