import { availableParallelism } from 'node:os';
import type { Candidate } from '../core/kernel.ts';
import { takesWorkload } from '../core/plan/takes-workload.ts';
import { onRung } from './propose-moves.ts';
import type { OptimizeOptions } from './run.ts';

/** With fewer cores, what compiles for nothing delays what is needed. */
const LEAST_CORES = 12;
/** As many as compile in the time in which a candidate is judged. */
const IF_KEPT = 6;
/** The start is profiled, and its checks are worked out for the first time: seconds in which no finding says what comes next. */
const AT_START = 12;

/**
 * Most candidates that compile ahead for the case that the one being judged is kept. None where times are predicted: a virtual GPU uses
 * the cores itself.
 */
export const preparedIfKept = ({ device, preparesMore }: OptimizeOptions): number =>
  (preparesMore ?? (device.kind === 'cuda' && availableParallelism() >= LEAST_CORES)) ? IF_KEPT : 0;

/** What compiles while the start is judged: its successors on the next rungs. */
export function preparedAtStart(options: OptimizeOptions): Candidate[] {
  const { start, rungs, workloads, budgets } = options;
  if (preparedIfKept(options) === 0) return [];
  const own = rungs.findIndex(({ file }) => file.name === start.kernel.file.name);
  const later = own < 0 ? [] : rungs.slice(own + 1);
  const successors = later.flatMap((rung) => onRung(start, rung, workloads[0]!.dimensions) ?? []);
  const isTaken = (candidate: Candidate) => workloads.every(({ dimensions }) => takesWorkload(candidate, dimensions));
  const left = (budgets.maximumEvaluations ?? Number.POSITIVE_INFINITY) - workloads.length;
  return successors.filter(isTaken).slice(0, Math.max(0, Math.min(AT_START, left)));
}
