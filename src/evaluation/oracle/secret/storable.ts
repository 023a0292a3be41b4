import type { DType } from '../../../core/dtype.ts';
import type { PlannedBuffer } from '../../../core/launch-plan.ts';
import type { ProblemFile } from '../../../core/problem.ts';
import type { Expectations } from '../expectations.ts';
import { outputsOf } from '../reference-runs.ts';
import { isExact } from './scaling.ts';
import type { SecretSet } from './secret-set.ts';

/** Largest finite values. */
const LARGEST: { readonly [D in DType]?: number } = {
  f16: 65_504,
  bf16: 2 ** 128 * (1 - 2 ** -8),
  f32: 2 ** 128 * (1 - 2 ** -24),
  f64: Number.MAX_VALUE,
};

/** Finite values beyond the dtype's largest become that one. */
export function clampTo(dtype: DType, values: Float64Array): Float64Array {
  const most = LARGEST[dtype];
  if (most === undefined) return values;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (Math.abs(value) > most && Number.isFinite(value)) values[i] = Math.sign(value) * most;
  }
  return values;
}

/** The exponent, or the next smaller one with which nearly all values are finite numbers. */
export function storableExponent(
  values: Float64Array,
  { exponent, offset = 0, dtype }: { exponent: number; offset?: number; dtype: DType },
): number {
  const most = (LARGEST[dtype] ?? Number.POSITIVE_INFINITY) / 2 ** exponent;
  const clampedAt = (limit: number): number =>
    values.reduce((count, value) => count + Number(Math.abs(value + offset) > limit), 0);
  let less = 0;
  while (less < exponent && clampedAt(most * 2 ** less) > MOST_CLAMPED * values.length) less++;
  return exponent - less;
}

/** Share of values that become their dtype's largest because they would be beyond it. */
const MOST_CLAMPED = 1 / 64;

/** Results stay this far below the largest value, so that a kernel may form sums of a few of them. */
const HEADROOM = 4;

/**
 * Whether the right results are far from where their dtype ends. The logarithm of nothing, -infinity, is right; other infinities
 * and NaN are where the inputs have special values, but not where whole rows are nothing else: then there is no right result.
 */
export function isStorable(
  problem: ProblemFile,
  {
    buffers,
    expectations,
    secret,
  }: { buffers: readonly PlannedBuffer[]; expectations: Expectations; secret?: SecretSet },
): boolean {
  const hasSpecial = secret?.kind === 'secret:zeros';
  const headroom = isExact(problem) ? 1 : HEADROOM;
  const isRight = (value: number, most: number): boolean =>
    value === Number.NEGATIVE_INFINITY ||
    Math.abs(value) <= most ||
    (hasSpecial && (value === Number.POSITIVE_INFINITY || (secret.level > 0 && Number.isNaN(value))));
  return outputsOf(buffers).every(({ name, dtype }) => {
    const most = (LARGEST[dtype] ?? Number.POSITIVE_INFINITY) / headroom;
    const { want } = expectations.get(name)!;
    // Not `every`, which takes five times as long, nor an iterator: there are millions of elements.
    for (let i = 0; i < want.length; i++) if (!isRight(want[i]!, most)) return false;
    return true;
  });
}
