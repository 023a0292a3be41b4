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

/**
 * All of both factors, or what lies behind a secret place of the axis along which their products are summed; or half of it before that place and half behind, so that the largest values of both factors
 * are alike, as a kernel may ask that compares them. Each factor is the larger one in turn.
 */
const PARTS = ['all', 'all', 'behind', 'behind', 'across', 'across'] as const;

/** The axes of both factors along which products are summed: they have one dimension there, and no result has it. */
function summedAxes({ inputs, outputs }: ProblemFile, names: readonly string[]): number[] | undefined {
  const [first, second] = names.map((name) => inputs[name]!.shape) as [Shape, Shape];
  const ofResults = Object.values(outputs).flatMap(({ shape }) => shape);
  const isSummed = (extent: string | number): boolean =>
    typeof extent === 'string' && second.includes(extent) && !ofResults.includes(extent);
  const shared = first.find(isSummed);
  return shared === undefined ? undefined : [first.indexOf(shared), second.indexOf(shared)];
}

type Shape = ProblemFile['inputs'][string]['shape'];

/** One factor is very large, the other one as much smaller, everywhere or behind some place: quantities in other units. */
function makeLopsided(
  values: Float64Array,
  { problem, buffer, index, strength, freedom, shared }: Treated,
): Float64Array {
  const names = factors(problem, freedom);
  const which = names.indexOf(buffer.name);
  if (which < 0) return values;
  const exponent = Math.round(strength * (LOPSIDED[buffer.dtype] ?? 0));
  const signed = index % 2 === which ? exponent : -exponent;
  if (PARTS[index] === 'all') {
    for (let i = 0; i < values.length; i++) values[i]! *= 2 ** signed;
    return values;
  }
  const shift = PARTS[index] === 'across' ? Math.round(signed / 2) : 0;
  const [before, behind] = [2 ** -shift, 2 ** (signed - shift)];
  const axis = summedAxes(problem, names)![which]!;
  const extent = buffer.shape[axis]!;
  const slice = buffer.shape.slice(axis + 1).reduce((product, size) => product * size, 1);
  const place = Math.floor(extent / 4) + (shared.bits(0) % Math.max(1, Math.ceil(extent / 2)));
  for (let i = 0; i < values.length; i++) values[i]! *= Math.floor(i / slice) % extent >= place ? behind : before;
  return values;
}

export const lopsided: Treatment = {
  count: (problem, freedom) => {
    const names = factors(problem, freedom);
    return names.length === 0 ? 0 : summedAxes(problem, names) ? PARTS.length : 2;
  },
  treat: makeLopsided,
  leavesSizes: true,
};
