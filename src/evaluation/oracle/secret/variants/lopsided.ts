import type { DType } from '../../../../core/dtype.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import type { Freedom } from '../freedom.ts';
import { inputsThat, type Treated, type Treatment } from './treatment.ts';

/**
 * Exponents of two by which one input is larger and the other one smaller, so that products stay as large. Squares and cubes of such values fit fp32: where
 * results are normalised, they stay as large, too.
 */
const LOPSIDED: { readonly [D in DType]?: number } = { f16: 12, bf16: 40, f32: 40, f64: 40 };

/** Two factors. */
function factors(problem: ProblemFile, { isFree, unscaled }: Freedom): string[] {
  const names = inputsThat(problem, (name) => isFree(name) && unscaled(name));
  return names.length === 2 ? names : [];
}

/** One factor is very large, the other one as much smaller. */
function makeLopsided(values: Float64Array, { problem, buffer, index, strength, freedom }: Treated): Float64Array {
  const names = factors(problem, freedom);
  const exponent = Math.round(strength * (LOPSIDED[buffer.dtype] ?? 0));
  if (!names.includes(buffer.name)) return values;
  const factor = 2 ** (names[index] === buffer.name ? exponent : -exponent);
  for (let i = 0; i < values.length; i++) values[i]! *= factor;
  return values;
}

export const lopsided: Treatment = {
  count: (problem, freedom) => factors(problem, freedom).length,
  treat: makeLopsided,
  leavesSizes: true,
};
