import type { DType } from '../../../../core/dtype.ts';
import type { ProblemFile, Scaling } from '../../../../core/problem.ts';
import type { RandomStream } from '../../../../stats/random.ts';
import type { DisguiseRequest } from '../disguise-request.ts';
import { rootMeanSquare } from '../root-mean-square.ts';
import { largestInteger, milder, scalingOf } from '../scaling.ts';
import { CONSTANTS, nameOf, type SecretSet, STEPS, WHOLES } from '../secret-set.ts';
import { storableExponent } from '../storable.ts';

/**
 * Generator sets with values about as large as what a kernel compares with this number: the number itself, what the largest of a row reaches it with, or what is its
 * square or its root. None that no input may reach.
 */
export function setsAbout(problem: ProblemFile, constant: number): string[] {
  const scalings = Object.keys(problem.inputs)
    .map((name) => scalingOf(problem, name))
    .filter((scaling) => scaling !== undefined);
  const most = REACH * Math.max(...scalings.map((scaling) => scaling.most));
  const least = Math.min(...scalings.map((scaling) => scaling.least)) / REACH;
  const size = Math.abs(constant);
  const sizes = [2 * size, size, size / REACH, 2 * Math.sqrt(size), Math.sqrt(size), size ** 2];
  return [...new Set(sizes.filter((about) => about >= least && about <= most).map(roundedSize))].map((about) =>
    nameOf({ kind: CONSTANTS, about }),
  );
}

/** Of normally distributed values, the largest are about so many times their standard deviation. */
const REACH = 4;

const roundedSize = (size: number): number => Number(size.toPrecision(3));

/** As {@link setsAbout}, of a whole number with which a kernel compares values. */
export function setsOfIntegersAbout(problem: ProblemFile, constant: number): string[] {
  const most = Math.max(...Object.keys(problem.inputs).map((name) => largestInteger(problem, name) ?? 0));
  // Compilers make one comparison of `-c < x && x < c`, with about 2c.
  const sizes = [Math.abs(constant), Math.abs(constant) + 1, Math.floor((Math.abs(constant) + 1) / 2)];
  return sizes
    .filter((size) => size >= LEAST_INTEGER && size < most)
    .map((about) => nameOf({ kind: CONSTANTS, about }));
}

/** Smaller numbers are everywhere, and any input has values about as large. */
export const LEAST_INTEGER = 16;

/** Smaller whole numbers are among those of any kernel, and sums of larger ones are among `secret:integers`. */
const WHOLES_BETWEEN = [4, 4096] as const;

/**
 * Generator sets of whole numbers up to one of these, with which a kernel compares floating-point values: one that takes small whole numbers for what they are multiplies them in fewer bits,
 * in which sums of the largest end.
 */
export const setsOfWholesUpTo = (problem: ProblemFile, constants: readonly number[]): string[] =>
  [...new Set(constants.map((constant) => Math.floor(Math.abs(constant))))]
    .filter((size) => size >= WHOLES_BETWEEN[0] && size <= WHOLES_BETWEEN[1])
    .filter((size) => Object.keys(problem.inputs).some((name) => size <= (scalingOf(problem, name)?.most ?? 0)))
    .map((about) => nameOf({ kind: WHOLES, about }));

/** In each input of floating-point numbers that may be so large. */
export function applyWholes(
  values: Float64Array,
  { about = 1 }: SecretSet,
  { problem, buffer, stream }: DisguiseRequest,
): Float64Array {
  const { name } = buffer;
  if (!(about <= (scalingOf(problem, name)?.most ?? 0))) return values;
  return integersBelow(values, about + 1, { problem, name, stream, isNear: true });
}

/** Generator sets of rows that rise by a little less than one of these, which a kernel's code adds to values: it may look on until values are so far apart, and something overflows before. */
export const setsOfSteps = (problem: ProblemFile, gaps: readonly number[]): string[] =>
  gaps
    .filter((gap) => Object.keys(problem.inputs).some((name) => gap <= (scalingOf(problem, name)?.most ?? 0)))
    .map((about) => nameOf({ kind: STEPS, about }));

/** Rows begin with up to so many low values, and rise by so much less than the step. The others are this near one another, for equal ones add up their errors. */
const STEP = { mostExponent: 7, less: 2 ** -12, spread: 1 / 4 } as const;

/** In each input of floating-point numbers that may be so large: each row begins as far below the others. */
export function applySteps(
  values: Float64Array,
  { about = 1 }: SecretSet,
  { problem, buffer, stream }: DisguiseRequest,
): Float64Array {
  if (!(about <= (scalingOf(problem, buffer.name)?.most ?? 0))) return values;
  const columns = buffer.shape.at(-1) ?? 1;
  for (let start = 0; start < values.length; start += columns) {
    const end = start + 2 ** (stream.bits(start) % (STEP.mostExponent + 1));
    const last = Math.min(values.length, start + columns);
    for (let i = start; i < last; i++)
      values[i] = i < end ? -about * (1 - STEP.less) : -STEP.spread * stream.uniform(values.length + i);
  }
  return values;
}

/** As far as the input takes values of that size. */
export function applyConstants(
  values: Float64Array,
  { about = 1, level }: SecretSet,
  { problem, buffer, stream }: DisguiseRequest,
): Float64Array {
  const { name, dtype } = buffer;
  if (about < (largestInteger(problem, name) ?? 0))
    return integersBelow(values, about, { problem, name, stream, isNear: stream.uniform(0) < 0.5 });
  const scaling = milder(scalingOf(problem, name), level);
  return scaling ? scaleTo(values, about, { scaling, dtype, stream }) : values;
}

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

/** The second half consists of stretches of so many whole numbers that are unlike one another. */
const STRETCH = { length: 1024, fewest: 8 } as const;

/** What the whole numbers of a stretch are: all the largest, of either sign; near it; of any size. */
const STRETCHES = ['largest', 'least', 'near', 'any'] as const;

/**
 * Whole numbers below this one: first alike in kind, if asked for of one sign and near it, where sums of many overflow; then in stretches, some of
 * which hold one number only.
 */
function integersBelow(
  values: Float64Array,
  most: number,
  { problem, name, stream, isNear }: { problem: ProblemFile; name: string; stream: RandomStream; isNear: boolean },
): Float64Array {
  const hasSign = values.some((value) => value < 0) || problem.inputs[name]!.dtype.startsWith('i');
  const isNegative = hasSign && stream.uniform(1) < 0.5;
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
