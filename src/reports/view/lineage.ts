import type { Evaluation } from '../../core/evaluation.ts';
import { ofType, type RecordedEvent } from '../../store/events.ts';

/** One kernel of a run in which somebody wrote: its fastest setting, below what it was made from. */
export interface LineageNode {
  kernel: string;
  /** `null` for the start, and for kernels that nobody wrote during the run. */
  parent: string | null;
  depth: number;
  /** Start's time ÷ its best time, on the first workload; `null` without a time. Measured: the product of kept ratios. */
  ratioToStart: number | null;
  status: Evaluation['status'];
  outcome: 'start' | 'best' | 'kept' | 'reverted' | 'failed';
}

/** Of a run in which somebody wrote, how fast the best was after what had been spent. */
export interface SpentPoint {
  evaluationId: string;
  kernel: string;
  medianNs: number;
  evaluations: number;
  minutes: number;
  /** For GPU time and tokens together; `null` where nothing had a price. */
  money: number | null;
}

/** Kernels that a picture has room for. */
const MOST_NODES = 14;

interface Known {
  readonly parent: string | null;
  ratio: number | null;
  status: Evaluation['status'];
  isKept: boolean;
}

/** Every kernel of the run, a child after its parent. */
export function lineageView(events: readonly RecordedEvent[]): { nodes: LineageNode[]; omitted: number } {
  const kernels = new Map<string, Known>();
  const parents = new Map<string, string>();
  const evaluations = new Map<string, Evaluation>();
  let [bestRatio, best] = [1, ''];
  for (const event of events) {
    if (event.type === 'evaluation-finished') evaluations.set(event.evaluation.id, event.evaluation);
    if (event.type === 'move-proposed' && event.move.kind === 'written')
      parents.set(event.move.kernel, event.move.parent.kernel);
    if (event.type !== 'decision') continue;
    const { candidate, status } = evaluations.get(event.evaluationId)!;
    const { kernel } = candidate;
    const known = kernels.get(kernel) ?? { parent: parents.get(kernel) ?? null, ratio: null, status, isKept: false };
    const ratio = event.comparedWith === null ? 1 : event.ratio === null ? null : event.ratio * bestRatio;
    if (ratio !== null && ratio > (known.ratio ?? 0)) Object.assign(known, { ratio, status });
    kernels.set(kernel, known);
    if (event.decision !== 'keep' || ratio === null) continue;
    known.isKept = true;
    [bestRatio, best] = [ratio, kernel];
  }
  const shown = new Set(worthShowing(kernels));
  const nodes: LineageNode[] = [];
  const add = (parent: string | null, depth: number): void => {
    for (const [kernel, { ratio, status, isKept, ...known }] of kernels) {
      if (known.parent !== parent || !shown.has(kernel)) continue;
      const outcome = ratio === null ? 'failed' : isKept ? 'kept' : 'reverted';
      const isFirst = parent === null && nodes.length === 0;
      const role = kernel === best ? 'best' : isFirst ? 'start' : outcome;
      nodes.push({ kernel, parent, depth, ratioToStart: ratio, status, outcome: role });
      add(kernel, depth + 1);
    }
  };
  add(null, 0);
  return { nodes, omitted: kernels.size - nodes.length };
}

/** What was kept, what that was made from, and the fastest of the rest. */
function worthShowing(kernels: ReadonlyMap<string, Known>): string[] {
  const chosen = new Set<string>();
  const choose = (kernel: string): void => {
    if (chosen.has(kernel)) return;
    chosen.add(kernel);
    const parent = kernels.get(kernel)?.parent;
    if (parent) choose(parent);
  };
  for (const [kernel, { parent, isKept }] of kernels) if (parent === null || isKept) choose(kernel);
  const rest = [...kernels].sort(([, a], [, b]) => (b.ratio ?? 0) - (a.ratio ?? 0));
  for (const [kernel] of rest) if (chosen.size < MOST_NODES) choose(kernel);
  return [...chosen];
}

/** A point for each new best, the start first. */
export function spentView(events: readonly RecordedEvent[]): SpentPoint[] {
  const points: SpentPoint[] = [];
  const evaluations = ofType(events, 'evaluation-finished').map(({ evaluation }) => evaluation);
  let tokenMoney: number | null = null;
  let kept: Evaluation | undefined;
  for (const event of events) {
    if (event.type === 'author-asked' && event.moneyUsed !== null) tokenMoney = event.moneyUsed;
    if (event.type === 'decision' && event.decision === 'keep')
      kept = evaluations.find(({ id }) => id === event.evaluationId);
    // The first budget after a decision says what was spent by then.
    if (event.type !== 'budget' || !kept?.timing) continue;
    const { money } = event.ledger;
    points.push({
      evaluationId: kept.id,
      kernel: kept.candidate.kernel,
      medianNs: kept.timing.medianNs,
      evaluations: event.evaluationsUsed,
      minutes: event.minutesUsed,
      money: money === null && tokenMoney === null ? null : (money ?? 0) + (tokenMoney ?? 0),
    });
    kept = undefined;
  }
  return points;
}
