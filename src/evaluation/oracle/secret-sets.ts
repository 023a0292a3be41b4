import { type DType, isFloating, sizeOfDType } from '../../core/dtype.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { generatorSetsOf } from '../../core/plan/generator-sets.ts';
import type {
  BufferDeclaration,
  Generator,
  ProblemFile,
  ReferenceTensors,
  Scaling,
  Tolerance,
} from '../../core/problem.ts';
import { encode } from '../../core/rounding.ts';
import type { RandomStream } from '../../stats/random.ts';
import type { Expectations } from './expectations.ts';
import { type Change, type Mutated, mutate, mutatedName, mutatedSetOf, valuesOfSolution } from './mutated-inputs.ts';
import { comparisonOf, outputsOf } from './reference-runs.ts';
import { type Arrangement, arrangeRows } from './secret-rows.ts';
import {
  applyVariant,
  type Freedom,
  hasFewerAxes,
  VARIANT_KINDS,
  type VariantKind,
  variantName,
  variantOf,
  variantsOf,
} from './secret-variants.ts';
import { drawZeros } from './secret-zeros.ts';
import type { ChoosableInput } from './solve-equalities.ts';
import { unitRoundoff } from './ulp.ts';

/**
 * Generator sets that warpsmith adds to those of a problem: the declared inputs, made much larger, much smaller, each row of
 * them arranged in another way, or one of them mostly zeros. How, only the seed says. They find kernels that are right for
 * inputs of the usual size and order only: fixed maxima, clamps, tables, fixed point, one row's statistics used for another,
 * ties, peaks, terms that are skipped.
 */
export const SECRET_SETS = ['secret:large', 'secret:small', 'secret:rows', 'secret:zeros'] as const;
export type SecretKind = (typeof SECRET_SETS)[number];

/** Inputs of about the size of a number that a kernel's code compares values with. Only for kernels that do. */
const CONSTANTS = 'secret:constants';

/** Some values are exactly a number that a kernel's code asks for. Only for kernels that do. */
const EXACT = 'secret:exactly';

/** Some whole numbers are exactly one that a kernel's code asks for, or make it up, as four bytes do. Only for kernels that ask. */
const WORDS = 'secret:words';

/** Inputs of another set with changes at a few places. Only for kernels whose decisions follow from values. */
const MUTATED = 'secret:mutated';

/** Those that place values in secret ways, rather than scale them all alike. */
export const isPlacement = (kind: SecretSet['kind']): boolean =>
  kind === 'secret:rows' || kind === 'secret:zeros' || kind === MUTATED || isVariant(kind);

const isVariant = (kind: SecretSet['kind']): kind is VariantKind => (VARIANT_KINDS as readonly string[]).includes(kind);

/** How often a secret set may be made milder, where the reference overflows or its tolerance would hide everything. */
const LEVELS = 3;

export interface SecretSet {
  readonly kind: SecretKind | VariantKind | typeof CONSTANTS | typeof EXACT | typeof WORDS | typeof MUTATED;
  /** Of `secret:constants`: the size that values should have. */
  readonly about?: number | undefined;
  /** Of `secret:exactly` and `secret:words`: the numbers, and which of the ways to give them to inputs. */
  readonly among?: { readonly numbers: readonly number[]; readonly turn: number } | undefined;
  /** Of sets that come in variants: which of them. */
  readonly index?: number | undefined;
  /** Of `secret:mutated`: whose inputs are changed, and how. */
  readonly mutated?: Mutated | undefined;
  /** 0 is the strongest. Each level halves the exponents of scales, and the offsets. */
  readonly level: number;
}

/** `secret:rows, milder (1)`, `secret:constants about 600` → what they are; `undefined` of any other generator set. */
export function secretSetOf(generatorSet: string): SecretSet | undefined {
  const variant = variantOf(generatorSet);
  if (variant) return variant;
  const mutated = mutatedSetOf(generatorSet);
  if (mutated) return { kind: MUTATED, mutated, level: 0 };
  const [, exact, numbers, turn] = EXACT_NAME.exec(generatorSet) ?? [];
  if (numbers !== undefined)
    return {
      kind: exact === WORDS ? WORDS : EXACT,
      among: { numbers: numbers.split(',').map(Number), turn: Number(turn) },
      level: 0,
    };
  const [, kind, about, level = '0'] = SECRET_NAME.exec(generatorSet) ?? [];
  const known = [...SECRET_SETS, CONSTANTS].find((name) => name === kind) as SecretSet['kind'] | undefined;
  return known && { kind: known, about: about === undefined ? undefined : Number(about), level: Number(level) };
}

const SECRET_NAME = /^(secret:\w+)(?: about (\S+?))?(?:, milder \((\d)\))?$/;

const EXACT_NAME = /^(secret:exactly|secret:words) (\S+) \((\d+)\)$/;

/** Whether values repeat, or rows differ in size. */
export function areValuesPlaced(generatorSet: string): boolean {
  const secret = secretSetOf(generatorSet);
  return secret !== undefined && isPlacement(secret.kind);
}

/** Rows of these hold one value nearly everywhere, which rounds in one direction wherever it is added. */
const REPEATING: ReadonlySet<Generator['kind']> = new Set(['one-hot', 'sparse', 'constant']);

/** Whether an input of this set of the problem holds one value nearly everywhere. */
export const areValuesRepeated = (problem: ProblemFile, generatorSet: string): boolean =>
  Object.values(generatorSetsOf(problem)[baseOf(generatorSet)] ?? {}).some(({ kind }) => REPEATING.has(kind));

/** The set itself, or the one whose inputs it changes. */
const baseOf = (generatorSet: string): string => mutatedSetOf(generatorSet)?.base ?? generatorSet;

/** Names of a secret set and its milder variants, strongest first. */
export function levelsOf({ kind, about, among, index, mutated }: Omit<SecretSet, 'level'>): string[] {
  if (among) return [exactName(kind, among)];
  if (mutated) return [mutatedName(mutated)];
  const plain = isVariant(kind) ? variantName({ kind, index: index ?? 0 }) : kind;
  const name = about === undefined ? plain : `${plain} about ${about}`;
  return Array.from({ length: LEVELS }, (_, level) => (level === 0 ? name : `${name}, milder (${level})`));
}

/**
 * Generator sets with values about as large as what a kernel compares with this number: the number itself, or what is its square or its
 * root. None that no input may reach.
 */
export function setsAbout(problem: ProblemFile, constant: number): string[] {
  const scalings = Object.keys(problem.inputs)
    .map((name) => scalingOf(problem, name))
    .filter((scaling) => scaling !== undefined);
  const most = REACH * Math.max(...scalings.map((scaling) => scaling.most));
  const least = Math.min(...scalings.map((scaling) => scaling.least)) / REACH;
  const size = Math.abs(constant);
  const sizes = [2 * size, size, 2 * Math.sqrt(size), Math.sqrt(size), size ** 2];
  return [...new Set(sizes.filter((about) => about >= least && about <= most).map(roundedSize))].map(
    (about) => levelsOf({ kind: CONSTANTS, about })[0]!,
  );
}

const exactName = (kind: string, { numbers, turn }: NonNullable<SecretSet['among']>): string =>
  `${kind} ${numbers.join()} (${turn})`;

/** Most numbers, and most ways to give them to the inputs. */
const EXACTLY = { numbers: 4, turns: 6 } as const;

/** Generator sets in which values are exactly one of these, with which a kernel asks whether values are the same. None if no input takes them. */
export function setsOfExactly(problem: ProblemFile, numbers: readonly number[]): string[] {
  const inputs = Object.keys(problem.inputs).filter((name) => scalingOf(problem, name)).length;
  const some = [...new Set(numbers)].slice(0, EXACTLY.numbers);
  if (some.length === 0 || inputs === 0) return [];
  const turns = Math.min(EXACTLY.turns, Math.max(2, some.length ** inputs));
  return Array.from({ length: turns }, (_, turn) => exactName(EXACT, { numbers: some, turn }));
}

/** The same, of whole numbers, where an input has such: also of numbers that several narrow elements make up, as four bytes do. */
export function setsOfWords(problem: ProblemFile, numbers: readonly number[]): string[] {
  const some = [...new Set(numbers)].filter((number) => Math.abs(number) >= LEAST_INTEGER).slice(0, EXACTLY.numbers);
  const hasIntegers = Object.values(problem.inputs).some((input) => isArrangeable(input) && !isFloating(input.dtype));
  return some.length > 0 && hasIntegers ? [exactName(WORDS, { numbers: some, turn: 0 })] : [];
}

/** As {@link setsAbout}, of a whole number with which a kernel compares values. */
export function setsOfIntegersAbout(problem: ProblemFile, constant: number): string[] {
  const most = Math.max(...Object.keys(problem.inputs).map((name) => largestInteger(problem, name) ?? 0));
  // Compilers make one comparison of `-c < x && x < c`, with about 2c.
  const sizes = [Math.abs(constant), Math.abs(constant) + 1, Math.floor((Math.abs(constant) + 1) / 2)];
  return sizes
    .filter((size) => size >= LEAST_INTEGER && size < most)
    .map((about) => levelsOf({ kind: CONSTANTS, about })[0]!);
}

/** Smaller numbers are everywhere, and any input has values about as large. */
const LEAST_INTEGER = 16;

/** What the values of an input of whole numbers stay below in some generator set; `undefined` if the dimensions decide. */
function largestInteger(problem: ProblemFile, input: string): number | undefined {
  const { dtype, generator } = problem.inputs[input]!;
  if (isFloating(dtype)) return undefined;
  const generators = [generator, ...Object.values(generatorSetsOf(problem)).map((set) => set[input])];
  const highs = generators.flatMap((one) =>
    one?.kind === 'index-range' && typeof one.high === 'number' ? [one.high] : [],
  );
  return highs.length > 0 ? Math.max(...highs) : undefined;
}

/** Of normally distributed values, the largest are about so many times their standard deviation. */
const REACH = 4;

const roundedSize = (size: number): number => Number(size.toPrecision(3));

/** Unbounded: their author draws a spread, not a domain. */
const UNBOUNDED: ReadonlySet<Generator['kind']> = new Set(['normal', 'large', 'alternating', 'off-grid']);

/** Their values depend on one another, or are the caller's own. */
const FIXED: ReadonlySet<Generator['kind']> = new Set(['csr', 'npy', 'permutation']);

const NORMAL: Generator = { kind: 'normal' };

const isArrangeable = ({ generator = NORMAL }: Pick<BufferDeclaration, 'generator'>): boolean =>
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

const comparisonsOf = (problem: ProblemFile): Tolerance[] =>
  Object.entries({ ...problem.inputs, ...problem.outputs })
    .filter(([, { access }]) => access !== 'in')
    .map(([output]) => comparisonOf(problem, output));

const comparisonKinds = (problem: ProblemFile): ReadonlySet<string> =>
  new Set(comparisonsOf(problem).map(({ kind }) => kind));

/** The secret sets that change some input of the problem. */
export function secretSetsOf(problem: ProblemFile): SecretKind[] {
  const inputs = Object.entries(problem.inputs);
  const scalings = inputs.map(([name]) => scalingOf(problem, name)).filter((scaling) => scaling !== undefined);
  return SECRET_SETS.filter((kind) => {
    if (kind === 'secret:large') return scalings.some(({ most, offset }) => most > 1 || offset > 0);
    if (kind === 'secret:small') return scalings.some(({ least }) => least < 1);
    return inputs.some(([, input]) => isArrangeable(input));
  });
}

/** Whether nothing is computed with values. */
const isExact = (problem: ProblemFile): boolean => [...comparisonKinds(problem)].every((kind) => kind === 'exact');

/** Inputs of which single values may be chosen, with what they hold. */
export function choosableInputs(problem: ProblemFile, tensors: ReferenceTensors): ChoosableInput[] {
  const { isFree, longestRepeated } = freedomOf(problem);
  return Object.entries(problem.inputs).flatMap(([name, input], place) => {
    if (!isFree(name)) return [];
    const values = tensors[name]!;
    return {
      ...{ place, dtype: input.dtype, bytes: encode(values, input.dtype), takes: valuesTakenBy(input, values) },
      longestRepeated: hasFewerAxes(problem, name) ? Number.POSITIVE_INFINITY : longestRepeated(name),
    };
  });
}

/**
 * Whether an input may hold a value. Whole numbers may be indices, so they stay between those drawn; other numbers have a sign that was drawn. Infinities
 * must be in the domain.
 */
function valuesTakenBy(
  { dtype, domain = [] }: Pick<BufferDeclaration, 'dtype' | 'domain'>,
  drawn: Float64Array,
): (value: number) => boolean {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of drawn) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (!isFloating(dtype)) return (value) => value >= least && value <= most;
  return (value) => {
    if (Number.isNaN(value)) return false;
    if (!Number.isFinite(value)) return domain.includes(value > 0 ? 'infinity' : '-infinity');
    return value > 0 || least < 0 || value === least;
  };
}

/** What sets that come in variants may make of the inputs. */
function freedomOf(problem: ProblemFile): Freedom {
  const contrasts = (name: string): Contrasts => contrastsOf(problem, name, [...comparisonKinds(problem)]);
  return {
    isFree: (name) => isArrangeable(problem.inputs[name] ?? {}) && problem.inputs[name]?.scaling !== false,
    longestRepeated: (name) => contrasts(name).longestRepeated,
    contrasts: (name) => contrasts(name).rowContrast > 1,
    // Their tolerance grows with the largest term.
    outliers: () => [...comparisonKinds(problem)].every((kind) => kind === 'conditioned'),
    unscaled: (name) => {
      const { dtype, scaling, generator = NORMAL } = problem.inputs[name]!;
      const follows = [...comparisonKinds(problem)].every((kind) => kind === 'conditioned' || kind === 'calibrated');
      return follows && isFloating(dtype) && scaling === undefined && UNBOUNDED.has(generator.kind);
    },
    sorts: (name) => contrasts(name).sorts,
    most: (name) => scalingOf(problem, name)?.most ?? 1,
    isExact: isExact(problem),
    largestInteger: (name) => largestInteger(problem, name),
  };
}

/** The sets that come in variants and change some input of the problem. */
export function variantSetsOf(problem: ProblemFile): string[] {
  // Absolute and relative errors fit values of one size.
  return comparisonKinds(problem).has('allclose') ? [] : variantsOf(problem, freedomOf(problem));
}

/** One input of a check. */
interface DisguiseRequest {
  readonly problem: ProblemFile;
  readonly buffer: PlannedBuffer;
  /** This input's own. */
  readonly stream: RandomStream;
  /** The same for all inputs of the check. */
  readonly shared: RandomStream;
}

/** Changes an input's drawn values, in place, as the secret set says. */
export function disguise(values: Float64Array, secret: SecretSet, request: DisguiseRequest): Float64Array {
  return clampTo(request.buffer.dtype, disguised(values, secret, request));
}

function disguised(
  values: Float64Array,
  { kind, about = 1, among, index = 0, level }: SecretSet,
  { problem, buffer, stream, shared }: DisguiseRequest,
): Float64Array {
  if (isVariant(kind))
    return applyVariant(values, { kind, index, level }, { problem, buffer, stream, freedom: freedomOf(problem) });
  const { name, dtype, shape, generator = NORMAL } = buffer;
  const scaling = milder(scalingOf(problem, name), level);
  const rowLength = shape.at(-1) ?? 1;
  if (among && kind === WORDS)
    return !isFloating(dtype) && isArrangeable({ generator }) ? plantWords(values, among, dtype, stream) : values;
  if (among)
    return scaling
      ? plant(values, among, { place: Object.keys(problem.inputs).indexOf(name), stream, shared })
      : values;
  if (kind === CONSTANTS && about < (largestInteger(problem, name) ?? 0))
    return integersBelow(values, about, { problem, name, stream });
  if (kind === CONSTANTS) return scaling ? scaleTo(values, about, { scaling, dtype, stream }) : values;
  if (!isPlacement(kind))
    return scaling
      ? scaleAll(values, scaling, { kind, dtype, stream, rowLength, isOutermost: shared.uniform(1) < 0.5 })
      : values;
  if (!isArrangeable({ generator })) return values;
  const kinds = [...comparisonKinds(problem)];
  const { allowsFewTerms, ...contrasts } = inRowsOf(rowLength, kinds, contrastsOf(problem, name, kinds));
  if (kind === 'secret:zeros') {
    const arrangeable = Object.entries(problem.inputs).filter(([, input]) => isArrangeable(input));
    const isMildest = level === LEVELS - 1;
    return drawZeros(values, {
      ...{ dtype, shape, stream },
      isMostlyZeros: arrangeable[shared.bits(0) % arrangeable.length]![0] === name,
      isFree: allowsFewTerms && !isMildest,
      longestRepeated: contrasts.longestRepeated || Number.POSITIVE_INFINITY,
      domain: isMildest ? [] : (problem.inputs[name]?.domain ?? []),
      fillsRows: level === 0,
    });
  }
  const cancels = !kinds.some((rule) => rule === 'ulp' || rule === 'allclose');
  return arrangeRows(values, {
    rowLength,
    scaling,
    ...contrasts,
    stream,
    peakContrast: level === 0 && isTried(problem, name) ? TRIED_PEAK : contrasts.contrast,
    isMild: level > 0,
    cancels,
    isFloat: isFloating(dtype),
    roundoff: isFloating(dtype) ? unitRoundoff(dtype) : 0,
  });
}

/**
 * Whether this input gets high peaks although problem.json declares no scaling, and results are compared by units in the last place or by
 * absolute and relative errors: where the tolerance bears what honest arithmetic errs there, which runs on perturbed inputs tell.
 */
function isTried(problem: ProblemFile, input: string): boolean {
  const { dtype, scaling, generator = NORMAL } = { ...problem.outputs, ...problem.inputs }[input]!;
  const kinds = comparisonKinds(problem);
  return (
    scaling === undefined &&
    isFloating(dtype) &&
    UNBOUNDED.has(generator.kind) &&
    (kinds.has('ulp') || kinds.has('allclose'))
  );
}

/** How far such a peak may lie above the other values of its row. */
const TRIED_PEAK = 1024;

/** Whether the inputs of this set are to be tried: does the tolerance bear them? */
export function areValuesTried(problem: ProblemFile, generatorSet: string): boolean {
  const secret = secretSetOf(baseOf(generatorSet));
  if (secret?.kind !== 'secret:rows' || secret.level > 0) return false;
  return Object.keys(problem.inputs).some((input) => isTried(problem, input));
}

/** What changes to inputs follow from. */
interface ChangesRequest {
  readonly problem: ProblemFile;
  readonly buffer: PlannedBuffer;
  /** Of a change: this input's own stream, and the one that all inputs share. */
  readonly streamOf: (change: number, whose: 'own' | 'shared') => RandomStream;
  /** As many values as the problem draws for this input. */
  readonly fresh: () => Float64Array;
}

/** Makes the changes to an input, in place: each to one of the inputs that have values of their own, or to all of them. */
export function change(values: Float64Array, changes: readonly Change[], request: ChangesRequest): Float64Array {
  const { problem, buffer, streamOf, fresh } = request;
  const { isFree } = freedomOf(problem);
  const free = Object.keys(problem.inputs).filter(isFree);
  const kinds = [...comparisonKinds(problem)];
  const { longestRepeated } = contrastsOf(problem, buffer.name, kinds);
  const before = values.slice();
  for (const one of changes) {
    if (typeof one === 'string') {
      if (free.includes(buffer.name)) assign(values, one, Object.keys(problem.inputs).indexOf(buffer.name));
      continue;
    }
    const chosen = free[streamOf(one, 'shared').bits(0) % (free.length + 1)] ?? buffer.name;
    if (chosen !== buffer.name || !free.includes(chosen)) continue;
    mutate(values, {
      ...{ buffer, stream: streamOf(one, 'own'), longestRepeated },
      fresh: () => (scalingOf(problem, buffer.name) ? asLargeAs(values, fresh()) : fresh()),
      takesNegatives: fresh().some((value) => value < 0),
    });
  }
  const most = hasFewerAxes(problem, buffer.name) ? 0 : longestRepeated;
  return clampTo(buffer.dtype, repeatsLonger(values, most, buffer.shape.at(-1) ?? 1) ? before : values);
}

/**
 * Whether a row of several values holds one of them more often than tolerances bear: zeros beside other values are equal terms of a softmax, while a whole row of them is
 * exact. Not asked if values may repeat without end, or do not repeat.
 */
function repeatsLonger(values: Float64Array, longestRepeated: number, rowLength: number): boolean {
  if (longestRepeated === 0 || rowLength <= longestRepeated) return false;
  for (let start = 0; start < values.length; start += rowLength) {
    const counts = new Map<number, number>();
    for (let i = start; i < start + rowLength; i++) counts.set(values[i]!, (counts.get(values[i]!) ?? 0) + 1);
    if (counts.size > 1 && [...counts.values()].some((count) => count > longestRepeated)) return true;
  }
  return false;
}

function assign(values: Float64Array, solution: string, input: number): void {
  for (const assigned of valuesOfSolution(solution))
    if (assigned.input === input) values[assigned.element] = assigned.value;
}

/** The others by a power of two, in place. */
function asLargeAs(values: Float64Array, others: Float64Array): Float64Array {
  const factor = 2 ** Math.round(Math.log2(rootMeanSquare(values) / rootMeanSquare(others)));
  for (let i = 0; i < others.length; i++) others[i]! *= factor;
  return others;
}

/** How an input may be arranged. */
interface Contrasts extends Pick<Arrangement, 'rowContrast' | 'contrast' | 'sorts' | 'longestRepeated'> {
  /** Whether a result may come of a few values alone, all others being zeros. */
  readonly allowsFewTerms: boolean;
}

/**
 * How unlike one another the values of an input may be. Tolerances expect a row's sums to wander as those of values in random
 * order do: sorted rows, or one value much larger than the others, make honest running sums err by more. A tolerance for
 * storage in half precision expects weights and values of one size, and errors of many terms that average out. And where a
 * tolerance follows from a naive run, rows of one value make a whole row of results err by one rounding, of which the naive run
 * has another. So what exceeds that comes only if problem.json declares it, or if nothing may err.
 */
function contrastsOf(problem: ProblemFile, input: string, kinds: readonly string[]): Contrasts {
  const declared = problem.inputs[input]?.scaling;
  const most = scalingOf(problem, input)?.most ?? 1;
  const allowsFewTerms = !kinds.includes('calibrated');
  const longestRepeated = longestRepeatedOf(problem, input);
  if (declared) {
    const contrast = declared.contrast ?? most;
    const allows = contrast > 1 || allowsFewTerms;
    return {
      ...{ rowContrast: contrast, contrast, allowsFewTerms: allows },
      // Neighbours in a sorted row round in the same direction, more than a tolerance for terms in random order allows.
      sorts: !kinds.includes('conditioned'),
      longestRepeated: allows ? longestRepeated : 0,
    };
  }
  if (kinds.every((rule) => rule === 'exact'))
    return { rowContrast: most, contrast: most, sorts: true, longestRepeated, allowsFewTerms };
  const followsRows = kinds.every((rule) => rule === 'exact' || rule === 'conditioned');
  return {
    rowContrast: followsRows ? most : 1,
    contrast: followsRows ? Math.min(most, MODERATE_CONTRAST) : 1,
    sorts: false,
    longestRepeated: allowsFewTerms ? longestRepeated : 0,
    allowsFewTerms,
  };
}

/**
 * Values that are the same round in the same direction, so that n additions of them err by n roundings. Tolerances in units of the
 * last place, absolute and relative ones allow a number of roundings. Others grow with the sum, for which a limit that keeps them
 * below the signal is enough.
 */
function longestRepeatedOf(problem: ProblemFile, input: string): number {
  if (!isFloating({ ...problem.outputs, ...problem.inputs }[input]!.dtype)) return Number.POSITIVE_INFINITY;
  const limits = comparisonsOf(problem).map((comparison) => {
    if (comparison.kind === 'ulp') return comparison.maximumUlps;
    return comparison.kind === 'allclose' ? comparison.rtol / unitRoundoff('f32') : LONGEST_REPEATED;
  });
  return Math.min(...limits);
}

const LONGEST_REPEATED = 2 ** 18;

/** What a running sum has left of a value this much larger than the next ones lies within their tolerance. */
const MODERATE_CONTRAST = 16;

/**
 * In rows of up to so many values, tolerances that grow with the root of their number bear any contrast. In longer ones tens of thousands of like terms, each
 * of a few units in the last place of the sum, all round in one direction (a serial sum of squares was 0.5 % off at 130,000), and a sum loses tens of thousands of terms far smaller than
 * it (one of exponentials of values four times as large was 1,500 units off at 65,600).
 */
const LONGEST_CONTRASTED = 2 ** 15;

function inRowsOf(rowLength: number, kinds: readonly string[], contrasts: Contrasts): Contrasts {
  if (rowLength <= LONGEST_CONTRASTED) return contrasts;
  if (kinds.includes('calibrated')) return { ...contrasts, contrast: Math.min(contrasts.contrast, MODERATE_CONTRAST) };
  return kinds.includes('ulp') ? { ...contrasts, rowContrast: 1 } : contrasts;
}

const milder = (scaling: Scaling | undefined, level: number): Scaling | undefined =>
  scaling && {
    least: 2 ** (Math.ceil(Math.log2(scaling.least)) / 2 ** level),
    most: 2 ** (Math.floor(Math.log2(scaling.most)) / 2 ** level),
    offset: scaling.offset / 2 ** level,
    contrast: scaling.contrast,
  };

/** How often the mean moves away from zero, how often by as much as it may, and how often neighbouring rows move apart. */
const OFFSET = { ratio: 2 / 3, outermost: 1 / 2, alternating: 3 / 4 } as const;

/** How often the mean moves away from zero where a number of the code is aimed at. */
const AIMED_OFFSET_RATIO = 1 / 4;

/** x → 2^k · (x + offset), so that values are about this large, as far as the scaling allows. */
function scaleTo(
  values: Float64Array,
  about: number,
  { scaling, dtype, stream }: { scaling: Scaling; dtype: DType; stream: RandomStream },
): Float64Array {
  const sign = stream.uniform(1) < 0.5 ? -1 : 1;
  const offset = stream.uniform(2) < AIMED_OFFSET_RATIO ? sign * scaling.offset : 0;
  const wanted = Math.log2(about / (rootMeanSquare(values) + Math.abs(offset))) + stream.uniform(3) - 0.5;
  const exponent = Math.min(Math.log2(scaling.most), Math.max(Math.log2(scaling.least), wanted));
  const factor = 2 ** storableExponent(values, { exponent: Math.round(exponent), offset, dtype });
  for (let i = 0; i < values.length; i++) values[i] = factor * (values[i]! + offset);
  return values;
}

/** How many values at the beginning, where kernels look, become one of the numbers, and what share of the others. */
const PLANTED = { first: 8, share: 1 / 16, otherRatio: 1 / 4, loneRatio: 1 / 2 } as const;

/**
 * Values at the beginning and at a few other places become one number each; inputs get theirs in turns, so that every combination comes. In half
 * of the draws the first ones are all the same but one.
 */
function plant(
  values: Float64Array,
  { numbers, turn }: NonNullable<SecretSet['among']>,
  { place, stream, shared }: { place: number; stream: RandomStream; shared: RandomStream },
): Float64Array {
  const hasSign = values.some((value) => value < 0);
  const fitting = numbers.filter((number) => hasSign || number > 0);
  if (fitting.length === 0) return values;
  let index = 0;
  const draw = (): number => stream.uniform(index++);
  const any = (): number => fitting[Math.floor(draw() * fitting.length)]!;
  const own = fitting[Math.floor((turn + (shared.bits(0) % 64)) / fitting.length ** place) % fitting.length]!;
  const isLone = draw() < PLANTED.loneRatio;
  const lone = Math.floor(draw() * PLANTED.first);
  const mixed = (): number => (draw() < PLANTED.otherRatio ? any() : own);
  for (let i = 0; i < values.length; i++) {
    if (i < PLANTED.first) values[i] = isLone ? (i === lone ? any() : own) : mixed();
    else if (draw() < PLANTED.share) values[i] = mixed();
  }
  return values;
}

const WORD_BYTES = 4;

/** One in so many words becomes a number. */
const WORDS_BESIDE = 16;

/** Some words of an input of whole numbers become one of these: elements, or as many narrower neighbours as make up a word. None beyond the values drawn. */
function plantWords(
  values: Float64Array,
  { numbers }: NonNullable<SecretSet['among']>,
  dtype: DType,
  stream: RandomStream,
): Float64Array {
  const bytes = sizeOfDType(dtype);
  const parts = Math.max(1, WORD_BYTES / bytes);
  const [least, most] = values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [0, 0]);
  const wordOf = (number: number): number[] =>
    parts === 1 ? [number] : Array.from({ length: parts }, (_, i) => partOf(number, i, bytes, dtype));
  const words = numbers.map(wordOf).filter((word) => word.every((part) => part >= least && part <= most));
  for (let start = 0; words.length > 0 && start + parts <= values.length; start += parts)
    if (stream.bits(start) % WORDS_BESIDE === 0) values.set(words[stream.bits(start + 1) % words.length]!, start);
  return values;
}

/** The i-th element of a word, least significant first. */
function partOf(number: number, i: number, bytes: number, dtype: DType): number {
  const [bits, span] = [Math.floor((number >>> 0) / 2 ** (8 * bytes * i)), 2 ** (8 * bytes)];
  const part = bits % span;
  return dtype.startsWith('i') && part >= span / 2 ? part - span : part;
}

/** The second half consists of stretches of so many whole numbers that are unlike one another. */
const STRETCH = { length: 1024, fewest: 8 } as const;

/** What the whole numbers of a stretch are: all the largest, of either sign; near it; of any size. */
const STRETCHES = ['largest', 'least', 'near', 'any'] as const;

/**
 * Whole numbers below this one: first alike in kind, half of the time of one sign and near it, where sums of many overflow; then in stretches, some of
 * which hold one number only.
 */
function integersBelow(
  values: Float64Array,
  most: number,
  { problem, name, stream }: { problem: ProblemFile; name: string; stream: RandomStream },
): Float64Array {
  const hasSign = values.some((value) => value < 0) || problem.inputs[name]!.dtype.startsWith('i');
  const [isNear, isNegative] = [stream.uniform(0) < 0.5, hasSign && stream.uniform(1) < 0.5];
  const sign = isNegative ? -1 : 1;
  const length = Math.max(1, Math.min(STRETCH.length, Math.floor(values.length / STRETCH.fewest)));
  for (let i = 0; i < values.length; i++) {
    const lot = stream.bits(2 + values.length + Math.floor(i / length));
    const kind = i < values.length / 2 ? (isNear ? 'near' : 'any') : STRETCHES[lot % STRETCHES.length]!;
    const share = stream.uniform(i + 2);
    const isOther = kind === 'any' && (share * 4096) % 1 >= 0.5;
    const size = kind === 'any' ? share : kind === 'near' ? 1 - share / 8 : 1;
    const own = !hasSign || kind === 'largest' ? 1 : kind === 'least' ? -1 : isOther ? -sign : sign;
    values[i] = own * Math.min(Math.floor(most * size), most - 1);
  }
  return values;
}

/** Of the finite values; 1 if all are zero. */
function rootMeanSquare(values: Float64Array): number {
  let [sum, count] = [0, 0];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    sum += value * value;
    count += 1;
  }
  return Math.sqrt(sum / count) || 1;
}

interface ScaleRequest {
  readonly kind: SecretSet['kind'];
  readonly dtype: DType;
  readonly stream: RandomStream;
  readonly rowLength: number;
  /** Whether values become as large or small as may be. */
  readonly isOutermost: boolean;
}

/**
 * x → 2^k · (x + offset) with one secret k, from the outer half of those allowed; in half of the checks the outermost, for all inputs
 * alike, because products of several large inputs show what one alone does not. Usually, every second row moves the other way, so
 * that a statistic of one row says nothing about its neighbour.
 */
function scaleAll(
  values: Float64Array,
  scaling: Scaling,
  { kind, dtype, stream, rowLength, isOutermost }: ScaleRequest,
): Float64Array {
  const [outermost, share] = [Math.log2(kind === 'secret:large' ? scaling.most : scaling.least), stream.uniform(0)];
  const exponent = Math.round(isOutermost ? outermost : outermost * (1 - share / 2));
  const sign = stream.uniform(1) < 0.5 ? -1 : 1;
  const size = stream.uniform(4) < OFFSET.outermost ? 1 : 1 - stream.uniform(3) / 2;
  const drawn = stream.uniform(2) < OFFSET.ratio ? sign * scaling.offset * size : 0;
  const alternates = (scaling.contrast ?? scaling.most) > 1 && stream.uniform(5) < OFFSET.alternating;
  const move = (offset: number): void => moveRows(values, { offset, rowLength, alternates });
  move(drawn);
  // The largest values of a dtype have no room for a shift.
  if (storableExponent(values, { exponent, dtype }) < exponent) move(-drawn);
  const factor = 2 ** storableExponent(values, { exponent, dtype });
  for (let i = 0; i < values.length; i++) values[i]! *= factor;
  return values;
}

/** Every row, or every second one by as much the other way. */
function moveRows(
  values: Float64Array,
  { offset, rowLength, alternates }: { offset: number; rowLength: number; alternates: boolean },
): void {
  if (offset === 0) return;
  for (let start = 0, own = offset; start < values.length; start += rowLength) {
    for (let i = start; i < start + rowLength; i++) values[i]! += own;
    if (alternates) own = -own;
  }
}

/** The exponent, or the next smaller one with which nearly all values are finite numbers. */
function storableExponent(
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

/** Finite values beyond the dtype's largest become that one. */
function clampTo(dtype: DType, values: Float64Array): Float64Array {
  const most = LARGEST[dtype];
  if (most === undefined) return values;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (Math.abs(value) > most && Number.isFinite(value)) values[i] = Math.sign(value) * most;
  }
  return values;
}

/** Largest finite values. */
const LARGEST: { readonly [D in DType]?: number } = {
  f16: 65_504,
  bf16: 2 ** 128 * (1 - 2 ** -8),
  f32: 2 ** 128 * (1 - 2 ** -24),
  f64: Number.MAX_VALUE,
};

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
