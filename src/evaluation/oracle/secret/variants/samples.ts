import { isFloating } from '../../../../core/dtype.ts';
import type { PlannedBuffer } from '../../../../core/launch-plan.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import type { RandomStream } from '../../../../stats/random.ts';
import { weightedInputs, wideRangeOf } from '../freedom.ts';
import { rootMeanSquare } from '../root-mean-square.ts';
import { isSigned } from '../scaling.ts';
import { takesSpecks } from './specks.ts';
import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/**
 * What such elements become, unlike the others: whole numbers, or zeros where the input has them; or every so many elements are small; or the last
 * one of each row is the first one again; or lines of elements in turns are positive and negative, all alike in size; or all elements are ones but for a few, which weigh half as much as all others.
 */
const SAMPLED_AS = ['whole', 'zero', 'strided', 'closed', 'lines', 'alike'] as const;
/** Those of fractions, the last ones. */
const OF_FRACTIONS: readonly string[] = ['lines', 'alike'];

/** One stride for each stretch, which is as long as several tiles; and what small whole numbers are below. */
const STRIDED = { strides: [2, 4, 8, 16, 32], stretch: 8192, small: 100 } as const;

/**
 * How long lines are, of either kind in turns, and how many elements have lines of one length: as many as several tiles. Values that a softmax weighs are smaller where they are
 * negative: if they cancelled, a row would be what roundings of half-precision weights leave of it.
 */
const LINES = { lengths: [1, 4, 8, 16, 32, 64, 128, 1024, 4096], stretch: 2 ** 16, weighted: 1 / 4 } as const;

/** One in so many elements is another number. They weigh half as much as all others, where values may be as large. */
const UNLIKE = { oneIn: 4096, weight: 1 / 2 } as const;

function changeSamples(values: Float64Array, { problem, buffer, stream, index, freedom }: Treated): Float64Array {
  if (!freedom.isFree(buffer.name)) return values;
  const range = isFloating(buffer.dtype) ? undefined : wideRangeOf(buffer.name, freedom);
  if (SAMPLED_AS[index] === 'strided')
    return isFloating(buffer.dtype) || range !== undefined ? atStridedPlaces(values, stream, range) : values;
  if (SAMPLED_AS[index] === 'closed') return closed(values, buffer);
  if (SAMPLED_AS[index] === 'lines')
    return isFloating(buffer.dtype)
      ? inLines(values, { stream, negative: negativeSize(problem, buffer.name) })
      : values;
  if (SAMPLED_AS[index] === 'alike')
    return takesSpecks(problem, freedom).includes(buffer.name)
      ? allButAFewAlike(values, { buffer, stream, most: freedom.most(buffer.name) })
      : values;
  if (SAMPLED_AS[index] === 'whole')
    return isFloating(buffer.dtype)
      ? atSampledPlaces(values, buffer, (value) => Math.sign(value || 1) * Math.ceil(Math.abs(value) || 1))
      : values;
  return values.some((value) => value <= 0) ? atSampledPlaces(values, buffer, () => 0) : values;
}

/** Changes the first elements of every row, those in its middle and at its quarters, and the last ones, in place. */
function atSampledPlaces(
  values: Float64Array,
  buffer: Pick<PlannedBuffer, 'shape'>,
  change: (value: number) => number,
): Float64Array {
  const columns = columnsOf(buffer);
  const middle = [1 / 4, 1 / 2, 3 / 4].map((share) => Math.floor(share * columns));
  const places = [0, 1, 2, 3, ...middle, middle[1]! - 1, columns - 2, columns - 1];
  const within = [...new Set(places)].filter((place) => place >= 0 && place < columns);
  for (let row = 0; row < values.length; row += columns)
    for (const place of within) values[row + place] = change(values[row + place]!);
  return values;
}

/** Small whole numbers at every so many places, where kernels look that test one element of a vector, or one thread's, for all. */
function atStridedPlaces(values: Float64Array, stream: RandomStream, largest: number | undefined): Float64Array {
  for (let i = 0; i < values.length; i++) {
    const stretch = Math.floor(i / STRIDED.stretch);
    const stride = STRIDED.strides[stream.bits(stretch) % STRIDED.strides.length]!;
    const share = stream.uniform(values.length + i);
    if (i % stride === 0) values[i] = Math.sign(values[i]! || 1) * (1 + Math.floor(STRIDED.small * share));
    else if (largest !== undefined) values[i] = Math.floor(largest * (1 - share / 2)) - 1;
  }
  return values;
}

/**
 * A kernel that looks at every second line, as at one half of each tile, finds values that differ little, and may take the others for the same.
 * Where inputs are never negative, the others stay as drawn.
 */
function inLines(values: Float64Array, { stream, negative }: { stream: RandomStream; negative: number }): Float64Array {
  const size = rootMeanSquare(values);
  for (let i = 0; i < values.length; i++) {
    const lot = stream.bits(Math.floor(i / LINES.stretch));
    const length = LINES.lengths[lot % LINES.lengths.length]!;
    const side = Math.floor(lot / LINES.lengths.length) % 2;
    const isPositive = Math.floor(i / length) % 2 === side;
    if (isPositive || negative > 0)
      values[i] = (isPositive ? size : -negative * size) * (1 + stream.uniform(values.length + i));
  }
  return values;
}

/** Ones, which add up exactly: a kernel that finds a thousand places alike takes the others for the same. */
function allButAFewAlike(
  values: Float64Array,
  { buffer, stream, most }: Pick<Treated, 'buffer' | 'stream'> & { most: number },
): Float64Array {
  const columns = columnsOf(buffer);
  const count = Math.max(1, Math.floor(columns / UNLIKE.oneIn));
  const other = Math.max(2, Math.min(most, Math.floor((UNLIKE.weight * columns) / count)));
  values.fill(1);
  for (let row = 0, lot = 0; row < values.length; row += columns)
    for (let i = 0; i < count; i++) values[row + Math.floor(stream.uniform(lot++) * columns)] = other;
  return values;
}

/** Size of the negative lines, relative to the positive ones; 0 where values are never negative. */
function negativeSize(problem: ProblemFile, name: string): number {
  if (!isSigned(problem, name)) return 0;
  return weightedInputs(problem).includes(name) ? LINES.weighted : 1;
}

function closed(values: Float64Array, buffer: Pick<PlannedBuffer, 'shape'>): Float64Array {
  const columns = columnsOf(buffer);
  for (let row = 0; row < values.length; row += columns) values[row + columns - 1] = values[row]!;
  return values;
}

export const samples: Treatment = {
  count: (problem, { isFree }) => {
    const free = inputsThat(problem, isFree);
    if (free.length === 0) return 0;
    const hasFractions = free.some((name) => isFloating(problem.inputs[name]!.dtype));
    return SAMPLED_AS.length - (hasFractions ? 0 : OF_FRACTIONS.length);
  },
  treat: changeSamples,
  isForLongSums: (index) => (OF_FRACTIONS.includes(SAMPLED_AS[index]!) ? 'always' : undefined),
  isForLongestVectors: (index) => SAMPLED_AS[index] === 'alike',
};
