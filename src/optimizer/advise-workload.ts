import type { Evaluation } from '../core/evaluation.ts';
import { followersOf, isShapeOf } from '../core/plan/dimensions.ts';
import { expandBuffers } from '../core/plan/expand-buffers.ts';
import { workloadOf } from '../core/plan/resolve-workload.ts';
import type { Dimensions } from '../core/problem.ts';
import { product } from '../core/values.ts';
import type { FindingId } from '../core/vocabulary.ts';
import type { WeightedWorkload, WorkloadAdviceEvent } from '../store/events.ts';
import { isTimed, type TimedEvaluation } from './decision.ts';
import { emit, evaluateOnce, isInterrupted, type Run } from './run.ts';

/** Findings for which the device has too little work. */
const UNDER_FILLED: readonly FindingId[] = ['parallelism', 'tail-effect'];
/** Most larger workloads to try, each twice as large as the previous one. */
const MOST_ROWS = 8;
/** The device is full if doubling the work twice changes the attained ratio by less than this. */
const SATURATED_RATIO = 0.05;
/** Limits for one row: buffers on the device, and device time or instructions of one run. */
const MOST_BYTES = 2 * 1024 ** 3;
const MOST_MEASURED_NS = 20e6;
const MOST_INSTRUCTIONS = 50e6;

type Row = WorkloadAdviceEvent['rows'][number];

/**
 * If the winner under-fills the device: judges the same kernel on larger and larger workloads until the device is full.
 * This shows how large a workload must be. The rows do different work, so no ratio between them is a speed-up.
 */
export async function adviseWorkload(run: Run): Promise<void> {
  const { options, best } = run;
  const dimensions = options.problem.file.independentDimensions ?? [];
  const isUnderFilled = best?.evaluation.findings.some(({ id }) => (UNDER_FILLED as readonly string[]).includes(id));
  if (!best || !isUnderFilled || dimensions.length === 0) return;
  const sizeOf = (values: Dimensions) => product(dimensions.map((name) => values[name]!));
  const rows: Row[] = [rowOf(best.evaluation, sizeOf(options.workloads[0]!.dimensions))];
  let workload: WeightedWorkload | undefined = options.workloads[0]!;
  while (rows.length <= MOST_ROWS && !isSaturated(rows) && !isInterrupted(run) && !isSpent(run)) {
    workload = twiceAsLarge(run, workload, dimensions);
    const factor = workload && sizeOf(workload.dimensions) / rows[0]!.product;
    if (!workload || !isAffordable(run, best.evaluation, workload, factor!)) break;
    const evaluation = await evaluateOnce(run, { candidate: best.candidate, workload });
    if (!evaluation) return;
    rows.push(rowOf(evaluation, sizeOf(workload.dimensions)));
    if (!isTimed(evaluation)) break;
  }
  if (rows.length < 2 || isInterrupted(run)) return;
  emit(run, {
    type: 'workload-advice',
    candidate: best.candidate.id,
    dimensions,
    rows,
    saturatedAt: saturatedAt(rows),
    text: adviceText(dimensions, rows),
  });
}

/** In a resumed run the log decides while it lasts, because the clock was different then. */
function isSpent({ budget, history }: Run): boolean {
  const logged = history.next();
  if (logged) return logged.type !== 'evaluation-finished';
  return budget.spentAfterSearch(0) !== undefined;
}

function rowOf(evaluation: Evaluation, product: number): Row {
  const timing = isTimed(evaluation) ? evaluation.timing : undefined;
  return {
    product,
    workload: evaluation.workload.name,
    evaluationId: evaluation.id,
    kind: timing?.kind ?? 'predicted',
    medianNs: timing?.medianNs ?? null,
    attainableNs: timing?.attainableNs ?? null,
    attainedRatio: timing ? timing.attainableNs / timing.medianNs : null,
  };
}

const isNear = (ratio: number | null | undefined, last: number): boolean =>
  ratio != null && Math.abs(ratio / last - 1) < SATURATED_RATIO;

function isSaturated(rows: readonly Row[]): boolean {
  const [last, ...before] = rows.slice(-3).reverse();
  return (
    before.length === 2 &&
    last!.attainedRatio != null &&
    before.every((row) => isNear(row.attainedRatio, last!.attainedRatio!))
  );
}

/** The least work that fills the device; `null` if larger workloads still gain. */
function saturatedAt(rows: readonly Row[]): number | null {
  if (!isSaturated(rows)) return null;
  const last = rows.at(-1)!.attainedRatio!;
  const below = rows.findLastIndex((row) => !isNear(row.attainedRatio, last));
  return rows[below + 1]!.product;
}

/** Doubles the first dimension that may still grow. */
function twiceAsLarge(
  { options }: Run,
  workload: WeightedWorkload,
  names: readonly string[],
): WeightedWorkload | undefined {
  const { file } = options.problem;
  const dimensions = names
    .map((name) => {
      const { following } = followersOf(file.dimensions, workload.dimensions, name);
      const doubled = [name, ...following].map((each) => [each, 2 * workload.dimensions[name]!]);
      return { ...workload.dimensions, ...Object.fromEntries(doubled) };
    })
    .find((doubled) => isShapeOf(file, doubled));
  if (dimensions === undefined) return undefined;
  return { ...workload, ...workloadOf(file, dimensions), cache: workload.cache };
}

/** Uses only figures that a resumed run has again, never the clock. */
function isAffordable(
  { options }: Run,
  { timing, counters }: TimedEvaluation,
  { dimensions }: WeightedWorkload,
  factor: number,
): boolean {
  const bytes = expandBuffers(options.problem.file, dimensions).reduce((sum, buffer) => sum + buffer.bytes, 0);
  if (bytes > MOST_BYTES) return false;
  if (timing.kind === 'measured') return timing.medianNs * factor <= MOST_MEASURED_NS;
  return (counters?.totals.instructions ?? 0) * factor <= MOST_INSTRUCTIONS;
}

function adviceText(dimensions: readonly string[], rows: readonly Row[]): string {
  const name = dimensions.join('·');
  const percent = ({ attainedRatio, kind }: Row) =>
    attainedRatio === null ? 'an unknown share' : `${kind} ${(100 * attainedRatio).toPrecision(2)} %`;
  const first = rows[0]!;
  const last = rows.findLast(({ attainedRatio }) => attainedRatio !== null)!;
  const full = saturatedAt(rows);
  const reached = `at ${name} = ${first.product} it reaches ${percent(first)} of attainable`;
  if (full === first.product)
    return `more work does not help: ${reached}, and at ${name} = ${last.product} ${percent(last)}`;
  const start = `the workload under-fills the device: ${reached}`;
  if (last === first) return `${start}; larger workloads could not be judged`;
  return full === null
    ? `${start}; at ${name} = ${last.product} it reaches ${percent(last)}, and larger workloads may still gain`
    : `${start}; at ${name} ≥ ${full} it reaches ${percent(last)}`;
}
