import { isFloating, sizeOfDType } from '../../../core/dtype.ts';
import { generatorSetsOf } from '../../../core/plan/generator-sets.ts';
import type { BufferDeclaration, Generator, ProblemFile, Scaling, Tolerance } from '../../../core/problem.ts';
import { NORMAL } from '../generators/generator.ts';
import { comparisonOf } from '../tolerances/index.ts';

/** Unbounded: their author draws a spread, not a domain. */
export const UNBOUNDED: ReadonlySet<Generator['kind']> = new Set(['normal', 'large', 'alternating', 'off-grid']);

/** Whether some generator set of the problem gives this input values of either sign. */
export function isSigned(problem: ProblemFile, input: string): boolean {
  const declared = problem.inputs[input]?.generator ?? NORMAL;
  const others = Object.values(generatorSetsOf(problem)).flatMap((set) => set[input] ?? []);
  return [declared, ...others].some(({ kind }) => UNBOUNDED.has(kind));
}

/** Their values depend on one another, or are the caller's own. */
const FIXED: ReadonlySet<Generator['kind']> = new Set(['csr', 'npy', 'permutation']);

export const isArrangeable = ({ generator = NORMAL }: Pick<BufferDeclaration, 'generator'>): boolean =>
  !FIXED.has(generator.kind);

/** Scales that a kernel must bear if problem.json says nothing, by how errors are allowed to grow with the values. */
const DEFAULT_SCALING = {
  /** Tolerances that follow the values. */
  wide: { least: 2 ** -16, most: 2 ** 16, offset: 0 },
  /** The same, for half precision, where products of a few such values must fit. */
  half: { least: 2 ** -6, most: 2 ** 6, offset: 0 },
  /** Units in the last place know no cancellation. */
  ulp: { least: 2 ** -4, most: 2 ** 4, offset: 0 },
} as const satisfies Record<string, Scaling>;

/** By how much callers' values of this input may differ from the drawn ones; `undefined`: not at all. */
export function scalingOf(problem: ProblemFile, input: string): Scaling | undefined {
  const { dtype, generator = NORMAL, scaling } = { ...problem.outputs, ...problem.inputs }[input]!;
  if (scaling === false || !isFloating(dtype)) return undefined;
  if (scaling) return scaling;
  if (!UNBOUNDED.has(generator.kind)) return undefined;
  const kinds = comparisonKinds(problem);
  // An absolute tolerance fits values of one size.
  if (kinds.has('allclose')) return undefined;
  if (kinds.has('ulp')) return DEFAULT_SCALING.ulp;
  return DEFAULT_SCALING[sizeOfDType(dtype) === 2 ? 'half' : 'wide'];
}

export const milder = (scaling: Scaling | undefined, level: number): Scaling | undefined =>
  scaling && {
    least: 2 ** (Math.ceil(Math.log2(scaling.least)) / 2 ** level),
    most: 2 ** (Math.floor(Math.log2(scaling.most)) / 2 ** level),
    offset: scaling.offset / 2 ** level,
    contrast: scaling.contrast,
  };

export const comparisonsOf = (problem: ProblemFile): Tolerance[] =>
  Object.entries({ ...problem.inputs, ...problem.outputs })
    .filter(([, { access }]) => access !== 'in')
    .map(([output]) => comparisonOf(problem, output));

export const comparisonKinds = (problem: ProblemFile): ReadonlySet<string> =>
  new Set(comparisonsOf(problem).map(({ kind }) => kind));

/** Whether nothing is computed with values. */
export const isExact = (problem: ProblemFile): boolean =>
  [...comparisonKinds(problem)].every((kind) => kind === 'exact');

/** What the values of an input of whole numbers stay below in some generator set; `undefined` if the dimensions decide. */
export function largestInteger(problem: ProblemFile, input: string): number | undefined {
  const { dtype, generator } = problem.inputs[input]!;
  if (isFloating(dtype)) return undefined;
  const generators = [generator, ...Object.values(generatorSetsOf(problem)).map((set) => set[input])];
  const highs = generators.flatMap((one) =>
    one?.kind === 'index-range' && typeof one.high === 'number' ? [one.high] : [],
  );
  return highs.length > 0 ? Math.max(...highs) : undefined;
}
