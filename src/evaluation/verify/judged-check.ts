import type { PlannedBuffer } from '../../core/launch-plan.ts';
import type { FailureStatus } from '../../core/status.ts';
import type { Refused } from '../launches/refusal.ts';
import type { RunResult } from '../launches/run-once.ts';
import type { OutputVerdict } from '../oracle/compare.ts';
import { compareRows } from '../oracle/compare-rows.ts';
import { describeVerdict } from '../oracle/describe-verdict.ts';
import type { Expectations } from '../oracle/expectations.ts';
import type { CheckRuns } from './check-runs.ts';
import type { CorrectnessTally } from './correctness-tally.ts';
import { countOf, differingElements, type Outputs, placeOf } from './differences.ts';

/** Output name → how it compared. */
export type Verdicts = ReadonlyMap<string, OutputVerdict>;

/** A check whose runs are being judged. */
export interface JudgedCheck {
  readonly runs: CheckRuns;
  /** Buffers a kernel must fill. */
  readonly outputs: readonly PlannedBuffer[];
  readonly expectations: Expectations;
  readonly tally: CorrectnessTally;
  /** Whether runs must agree bit for bit, not only each with the oracle. */
  readonly isBitwise: boolean;
}

export const compareOutputs = (outputs: readonly PlannedBuffer[], expectations: Expectations, got: Outputs): Verdicts =>
  compareRows(outputs, { expectations }, got);

export const passes = (verdicts: Verdicts): boolean => [...verdicts.values()].every(({ passed }) => passed);

/** An error of more tolerances than that is no chance: two runs on changed inputs estimate less than a hundredth of a condition once in 10,000 times. */
const CHANCE = 100;

/** Whether results that fail may be right by the tolerances of more runs. NaN never is. */
export const mayBeChance = (verdicts: Verdicts): boolean =>
  [...verdicts.values()].every(
    ({ worstErrorRatio, rmsErrorRatio }) => worstErrorRatio <= CHANCE && rmsErrorRatio <= CHANCE,
  );

/** Whether another run differs: in bits, or in its verdict if bits may differ. */
export function cameOutOtherwise(judged: JudgedCheck, first: RunResult, other: RunResult): boolean {
  const { outputs, expectations, isBitwise } = judged;
  if (!differingElements(outputs, first.outputs, other.outputs)) return false;
  const passed = (run: RunResult): boolean => passes(compareOutputs(outputs, expectations, run.outputs));
  return isBitwise || passed(first) !== passed(other);
}

/** e.g. `17 of 51 elements of Y differ between runs, first [2, 16]`; `undefined` when no bit differs. */
export function describeDifference(
  outputs: readonly PlannedBuffer[],
  left: Outputs,
  right: Outputs,
): string | undefined {
  const differing = differingElements(outputs, left, right);
  return differing && `${countOf(differing)} differ between runs, first ${placeOf(differing)}`;
}

/** Why the first output that is wrong is wrong. */
export function describeWrong(verdicts: Verdicts): string | undefined {
  for (const [output, verdict] of verdicts) {
    const reason = describeVerdict(output, verdict);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

export const refused = (status: FailureStatus, reason: string, failedCheck: string): Refused => ({
  ok: false,
  status,
  reason,
  failedCheck,
});
