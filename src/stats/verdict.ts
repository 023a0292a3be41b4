import type { Verdict } from '../core/vocabulary.ts';
import type { Interval } from './bootstrap.ts';

/** With fewer counted blocks there is no verdict. */
export const LEAST_BLOCKS_FOR_VERDICT = 10;
/** Ratios from 1 ÷ 1.01 to 1.01 make no difference worth a name. */
export const EQUIVALENCE_MARGIN = 0.01;

const UPPER = 1 + EQUIVALENCE_MARGIN;
const LOWER = 1 / UPPER;

/** The verdict on the candidate from the 95 % interval of baseline time ÷ candidate time. NaN gives `ambiguous`. */
export function verdictOf([low, high]: Interval, blockCount: number): Verdict {
  if (!(blockCount >= LEAST_BLOCKS_FOR_VERDICT && low <= high)) return 'ambiguous';
  if (low > UPPER) return 'faster';
  if (high < LOWER) return 'slower';
  return low >= LOWER && high <= UPPER ? 'same' : 'ambiguous';
}
