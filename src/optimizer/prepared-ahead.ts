import { availableParallelism } from 'node:os';
import type { Candidate } from '../core/kernel.ts';
import { takesWorkloads } from '../core/plan/takes-workload.ts';
import { laterRungs, onRung } from './propose-moves.ts';
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

/**
 * What compiles while the start is judged: what a proposer asks for first where it knows that, else the start's successors on the next rungs.
 */
export function preparedAtStart(options: OptimizeOptions, first?: readonly Candidate[]): Candidate[] {
  if (preparedIfKept(options) === 0) return [];
  const { workloads, budgets } = options;
  const left = Math.max(0, (budgets.maximumEvaluations ?? Number.POSITIVE_INFINITY) - workloads.length);
  return (first ?? successors(options).slice(0, AT_START)).slice(0, left);
}

function successors({ start, rungs, workloads }: OptimizeOptions): Candidate[] {
  return laterRungs(rungs, start)
    .flatMap((rung) => onRung(start, rung, workloads[0]!.dimensions) ?? [])
    .filter((candidate) => takesWorkloads(candidate, workloads));
}
