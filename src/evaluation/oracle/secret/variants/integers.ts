import { isFloating } from '../../../../core/dtype.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import { type Freedom, wideRangeOf } from '../freedom.ts';
import { scalingOf } from '../scaling.ts';
import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/** Whole numbers in a floating-point input, or an input of whole numbers of a wide range. */
const takesIntegers = (problem: ProblemFile, name: string, freedom: Freedom): boolean =>
  isFloating(problem.inputs[name]!.dtype) || wideRangeOf(name, freedom) !== undefined;

/** Whole numbers within a byte, and every so often one beyond; or arithmetic progressions, each with a step of its own. */
const INTEGERS = {
  usual: 100,
  beyond: { every: 64, from: 200, to: 1000 },
  progression: { length: 64, step: 3 },
} as const;

/** Near the end of the range; where that is none, within a byte, and every so often beyond. */
function largeIntegers(values: Float64Array, { buffer, stream, strength, freedom }: Treated): Float64Array {
  const range = isFloating(buffer.dtype) ? undefined : wideRangeOf(buffer.name, freedom);
  const { usual, beyond } = INTEGERS;
  for (let i = 0; i < values.length; i++) {
    const share = stream.uniform(i);
    if (range !== undefined) values[i] = Math.floor(range * (1 - share / 8)) - 1;
    else if (stream.bits(values.length + i) % beyond.every === 0)
      values[i] = Math.floor(strength * (beyond.from + share * (beyond.to - beyond.from)));
    else values[i] = Math.floor(usual * strength * (2 * share - 1)) || 1;
  }
  return values;
}

function progressions(values: Float64Array, { stream, strength }: Treated): Float64Array {
  const { usual, progression } = INTEGERS;
  for (let i = 0; i < values.length; i++) {
    const [at, place] = [Math.floor(i / progression.length), i % progression.length];
    const step = Math.round(progression.step * (2 * stream.uniform(2 * at) - 1));
    const first = 1 + Math.floor(usual * strength * stream.uniform(2 * at + 1));
    values[i] = first + (step < 0 ? step * (place - progression.length) : step * place);
  }
  return values;
}

/** What flags, signs, ratings and pixels of two colours are. Without zero and negative numbers where there are none. */
const POOLS = [
  [0, 1],
  [-1, 1],
  [0, 1, 2, 3, 4],
  [1, 2],
  [0, 0, 0, 1],
] as const;

/** Lengths of patterns, of the stretches that have one, and of the parts of a long row that hold other numbers each. */
const PATTERN = { least: 2, lengths: 4, stretch: 64, part: 1024 } as const;

/**
 * Each row, or each part of a long one, holds a few whole numbers, at random places, so that some of its elements say nothing about the others; or, in every second stretch,
 * a pattern of two to five of them again and again.
 */
function fewIntegers(values: Float64Array, { buffer, stream, freedom }: Treated): Float64Array {
  const columns = columnsOf(buffer);
  if (isFloating(buffer.dtype) && columns > freedom.longestRepeated(buffer.name)) return values;
  const [isSigned, hasZero] = [values.some((value) => value < 0), values.some((value) => value <= 0)];
  const fitting = POOLS.filter((pool) => pool.every((value) => value > 0 || (value < 0 ? isSigned : hasZero)));
  const together = Math.min(columns, PATTERN.part);
  for (let i = 0; i < values.length; i++) {
    const pool = fitting[stream.bits(values.length + Math.floor(i / together)) % fitting.length]!;
    const [within, stretch] = [i % PATTERN.stretch, Math.floor(i / PATTERN.stretch)];
    const period = PATTERN.least + (stream.bits(2 * values.length + stretch) % PATTERN.lengths);
    const repeats = stretch % 2 === 1 && within >= period;
    values[i] = repeats ? values[i - period]! : pool[stream.bits(i) % pool.length]!;
  }
  return values;
}

/** Numbers that people write down: multiples of a tenth or of a hundredth. */
function decimals(values: Float64Array, { buffer, stream, strength }: Treated): Float64Array {
  if (!isFloating(buffer.dtype)) return values;
  const isSigned = values.some((value) => value < 0);
  for (let i = 0; i < values.length; i++) {
    const digits = stream.bits(2 * i) % 2 === 0 ? 10 : 100;
    const whole = 1 + Math.floor(strength * digits * stream.uniform(2 * i + 1));
    values[i] = ((isSigned && stream.bits(2 * i) & 2 ? -1 : 1) * whole) / digits;
  }
  return values;
}

/** Bytes, signed ones, numbers of 9 to 13 bits and 16-bit numbers of one sign, which in sums of a few dozen or hundred leave the range of their size, or 16 bits. */
const ONE_SIDED = [
  [129, 255],
  [257, 511],
  [-128, -65],
  [513, 1023],
  [65, 127],
  [1025, 2047],
  [32_769, 65_535],
  [2049, 4095],
  [4097, 8191],
] as const;
/** The same in floating-point inputs of a wide range: a kernel that adds whole numbers as such has them in 32 bits, a few thousand at a time, or a few dozen. */
const ONE_SIDED_FLOATS = [
  [2 ** 15, 2 ** 16 - 1],
  [2 ** 22, 2 ** 23 - 1],
  [2 ** 24, 2 ** 25 - 2],
] as const;
const LEAST_WIDE = 2 ** 16;
const ONE_SIDED_STRETCH = 2048;

/** In each stretch, whole numbers of one sign from the upper half of what a byte or a 16-bit number holds, or of what fp32 holds exactly and beyond. */
function oneSided(values: Float64Array, { problem, buffer, stream }: Treated): Float64Array {
  const isFloat = isFloating(buffer.dtype);
  if (isFloat && !((scalingOf(problem, buffer.name)?.most ?? 0) >= LEAST_WIDE)) return values;
  const isSigned = values.some((value) => value < 0);
  const ranges = isFloat ? ONE_SIDED_FLOATS : ONE_SIDED.filter(([low]) => low > 0 || isSigned);
  for (let i = 0; i < values.length; i++) {
    const [low, high] = ranges[Math.floor(i / ONE_SIDED_STRETCH + stream.bits(0)) % ranges.length]!;
    values[i] = low + (stream.bits(1 + i) % (high - low + 1));
  }
  return values;
}

/**
 * Differences of neighbours among a few small numbers, as of a signal that hardly changes: however many are added up, sums stay at such a number, −1 and 0
 * among them, with which kernels say that a word is not there yet.
 */
function differences(values: Float64Array, { buffer, stream, freedom }: Treated): Float64Array {
  const columns = columnsOf(buffer);
  if (!values.some((value) => value < 0)) return values;
  if (isFloating(buffer.dtype) && columns > freedom.longestRepeated(buffer.name)) return values;
  for (let start = 0; start < values.length; start += columns) {
    // Rows that stay at one number from some place on are among them.
    const [sums, end] = [SUMS[stream.bits(start) % SUMS.length]!, columns >> (stream.bits(start + 1) % 8)];
    for (let i = start, before = 0; i < Math.min(start + columns, values.length); i++) {
      const sum = i - start < end ? sums[stream.bits(2 + i) % sums.length]! : before;
      values[i] = sum - before;
      before = sum;
    }
  }
  return values;
}

const SUMS = [[-1], [-1, 0], [-1, 0, 1]] as const;

/** What a byte holds, and just one more. Of products, all factors are like that. */
const BYTES_AND_MORE = [
  [-128, 128],
  [0, 256],
] as const;
const ENDS_ONE_IN = 16;

/** Whole numbers up to a bound that is off by one, which is among them. */
function endsOfBytes(values: Float64Array, { buffer, stream, shared }: Treated): Float64Array {
  if (!isFloating(buffer.dtype)) return values;
  const isSigned = values.some((value) => value < 0);
  const fitting = BYTES_AND_MORE.filter(([low]) => low >= 0 || isSigned);
  const [low, high] = fitting[shared.bits(0) % fitting.length]!;
  for (let i = 0; i < values.length; i++) {
    const lot = stream.bits(i);
    values[i] = lot % ENDS_ONE_IN === 0 ? high : low + (Math.floor(lot / ENDS_ONE_IN) % (high - low + 1));
  }
  return values;
}

/**
 * Zeros, but for one large power of two at the beginning of each row and at a few places further on: every sum behind it ends in as many zero bits, with which kernels
 * say that a word holds nothing. Only in inputs of integers.
 */
function powers(values: Float64Array, { buffer, stream, freedom }: Treated): Float64Array {
  const range = isFloating(buffer.dtype) ? undefined : wideRangeOf(buffer.name, freedom);
  if (range === undefined) return values;
  const power = 2 ** Math.floor(Math.log2(range - 1));
  const columns = columnsOf(buffer);
  for (let i = 0; i < values.length; i++)
    values[i] = i % columns === 0 || stream.bits(i) % SPARSE_POWERS === 0 ? power : 0;
  return values;
}

/** One further power of two among so many zeros. */
const SPARSE_POWERS = 8192;

const VARIANTS = [
  largeIntegers,
  progressions,
  fewIntegers,
  decimals,
  endsOfBytes,
  oneSided,
  differences,
  powers,
] as const;

function makeIntegers(values: Float64Array, request: Treated): Float64Array {
  const { problem, buffer, index, freedom } = request;
  if (!freedom.isFree(buffer.name) || !takesIntegers(problem, buffer.name, freedom)) return values;
  return VARIANTS[index]!(values, request);
}

export const integers: Treatment = {
  count: (problem, freedom) =>
    inputsThat(problem, (name) => freedom.isFree(name) && takesIntegers(problem, name, freedom)).length > 0
      ? VARIANTS.length
      : 0,
  treat: makeIntegers,
  // Sums of millions of large whole numbers of one sign leave the 53 bits that fp64 holds exactly.
  isForLongSums: (index, { inputs }) => {
    if (VARIANTS[index] !== largeIntegers) return undefined;
    return Object.values(inputs).some(({ dtype }) => !isFloating(dtype)) ? 'always' : 'by lot';
  },
};
