import { type DType, isFloating } from '../../core/dtype.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import type { ProblemFile } from '../../core/problem.ts';
import type { RandomStream } from '../../stats/random.ts';

/**
 * Generator sets of a thorough verification that come in several variants, each of which treats the inputs in another way. They find kernels that
 * look at parameters (a fresh normalisation layer has factors of one and shifts of zero), leave out what weighs little, take tiles of whole
 * numbers for bytes, take a few samples for all values, or begin a maximum at a number that masks are below.
 */
export const VARIANT_KINDS = [
  'secret:neutral',
  'secret:trends',
  'secret:integers',
  'secret:masks',
  'secret:outliers',
  'secret:bands',
  'secret:samples',
  'secret:groups',
  'secret:depths',
  'secret:copies',
  'secret:lopsided',
] as const;
export type VariantKind = (typeof VARIANT_KINDS)[number];

/** One of the ways in which a kind treats the inputs. */
export interface Variant {
  readonly kind: VariantKind;
  readonly index: number;
  /** 0 is the strongest; each level is half as strong. */
  readonly level: number;
}

const VARIANT_NAME = new RegExp(`^(${VARIANT_KINDS.join('|')}) \\((\\d+)\\)(?:, milder \\((\\d)\\))?$`);

/** `secret:trends (3), milder (1)` → what it is; `undefined` of any other generator set. */
export function variantOf(generatorSet: string): Variant | undefined {
  const [, kind, index, level = '0'] = VARIANT_NAME.exec(generatorSet) ?? [];
  return kind === undefined ? undefined : { kind: kind as VariantKind, index: Number(index), level: Number(level) };
}

export const variantName = ({ kind, index }: Pick<Variant, 'kind' | 'index'>): string => `${kind} (${index})`;

/** What is asked of an input. */
type Asked = (input: string) => boolean;

/** What the values of inputs may be. */
export interface Freedom {
  /** They do not depend on one another, and are not the caller's own. */
  readonly isFree: Asked;
  /** Longest row in which values may be the same; 0: none. */
  readonly longestRepeated: (input: string) => number;
  /** Rows of very different sizes. */
  readonly contrasts: Asked;
  /** Values far larger than all others, beside which these still count. */
  readonly outliers: Asked;
  /** Values as large as the dtype holds, where the tolerance follows the values and problem.json names no scaling. */
  readonly unscaled: Asked;
  /** Rows may be sorted. */
  readonly sorts: Asked;
  /** By how much values may grow. */
  readonly most: (input: string) => number;
  /** Nothing is computed with values: results are some of them. */
  readonly isExact: boolean;
  /** What the values of an input of whole numbers stay below; `undefined` if the dimensions decide. */
  readonly largestInteger: (input: string) => number | undefined;
}

/** The sets that change some input of a problem. */
export function variantsOf(problem: ProblemFile, freedom: Freedom): string[] {
  const { isFree } = freedom;
  const counts: Readonly<Record<VariantKind, number>> = {
    'secret:neutral': 2 * neutralConstants(problem, freedom).length,
    'secret:trends': PROFILES.length * trending(problem, freedom).filter(freedom.contrasts).length,
    'secret:integers': Object.keys(problem.inputs).some((name) => isFree(name) && takesIntegers(problem, name, freedom))
      ? INTEGER_VARIANTS.length
      : 0,
    'secret:masks': Object.values(problem.inputs).some(({ domain }) => domain?.includes('-infinity'))
      ? MASKS.length
      : 0,
    'secret:outliers': withOutliers(problem, freedom).length > 0 ? STANDING_OUT.length : 0,
    'secret:bands': matrices(problem, freedom).length > 0 ? BANDS.length : 0,
    'secret:samples': Object.keys(problem.inputs).some(isFree) ? SAMPLED_AS.length : 0,
    'secret:depths': Object.keys(problem.inputs).some((name) => isDeep(name, freedom)) ? DEPTHS.length : 0,
    'secret:groups': Object.keys(problem.inputs).some((name) => repeating(name, freedom)) ? GROUPED.length : 0,
    'secret:copies': Object.keys(problem.inputs).some(isFree) ? COPIED.length : 0,
    'secret:lopsided': lopsided(problem, freedom).length,
  };
  return VARIANT_KINDS.flatMap((kind) =>
    Array.from({ length: counts[kind] }, (_, index) => variantName({ kind, index })),
  );
}

/** Whether a set is one for problems only whose results stay as large, as those of products do. */
export const leavesSizes = (kind: string): boolean => kind === 'secret:lopsided';

/** Of the sets of a problem, those whose mistakes show in long sums only. */
export const variantsForLongSums = (sets: readonly string[]): string[] =>
  sets.filter((set) => {
    const { kind, index } = variantOf(set)!;
    return (
      (kind === 'secret:integers' && index === 0) ||
      (kind === 'secret:outliers' && STANDING_OUT[index] === 'none') ||
      (kind === 'secret:trends' && PROFILES[index % PROFILES.length] === 'steep')
    );
  });

/** Whether a set's structure shows in square matrices only. */
export const needsSquare = (generatorSet: string): boolean => variantOf(generatorSet)?.kind === 'secret:bands';

/** Whether a set's structure shows only where sizes are divisible. */
export function needsEvenSizes(generatorSet: string): boolean {
  const variant = variantOf(generatorSet);
  return variant?.kind === 'secret:copies' && COPIED[variant.index] === 'parts';
}

/** Parameters have fewer axes than other inputs. They are not what sums go over, so that equal ones do not add up roundings. */
export function hasFewerAxes({ inputs }: ProblemFile, input: string): boolean {
  const most = Math.max(...Object.values(inputs).map(({ shape }) => shape.length));
  return inputs[input]!.shape.length < most;
}

const NEUTRAL = [1, 0] as const;
const MOST_NEUTRAL = 8;

/**
 * Constants by input: all of the inputs with fewer axes than the others, in every combination of the neutral elements of products and sums;
 * then each input alone.
 */
function neutralConstants(problem: ProblemFile, { isFree, longestRepeated }: Freedom): ReadonlyMap<string, number>[] {
  const isParameter = (name: string): boolean => hasFewerAxes(problem, name);
  const names = Object.keys(problem.inputs).filter(
    (name) =>
      isFree(name) && (isParameter(name) || longestRepeated(name) > 0) && isFloating(problem.inputs[name]!.dtype),
  );
  if (Object.keys(problem.inputs).length < 2) return [];
  const together = names.filter(isParameter).slice(0, 3);
  const joint = together.reduce<Map<string, number>[]>(
    (maps, name) => maps.flatMap((map) => NEUTRAL.map((value) => new Map([...map, [name, value]]))),
    [new Map()],
  );
  const alone = names.flatMap((name) => NEUTRAL.map((value) => new Map([[name, value]])));
  const all = [...(together.length > 1 ? joint : []), ...alone];
  return all.slice(0, MOST_NEUTRAL);
}

/**
 * How values go along the rows of an input: they rise from very low to very high, the first row stands out, or they fall from just below zero to very low.
 */
const PROFILES = ['steep', 'sink', 'falling'] as const;

/**
 * Sums of products of such a row and a positive one, divided by the root of its length: in all; and of the row that stands out, so far above n
 * others that all of their exponentials together weigh between a tenth and a 150th of its own: ln n and some more.
 */
const TREND = { steep: 200, highest: 0.05, sink: { least: 2.3, spread: 2.7, first: 1 / 32 }, noise: 0.02 } as const;

const trending = ({ inputs }: ProblemFile, { isFree }: Pick<Freedom, 'isFree'>): string[] =>
  Object.keys(inputs).filter(
    (name) => isFree(name) && isFloating(inputs[name]!.dtype) && inputs[name]!.shape.length > 1,
  );

/** Whole numbers in a floating-point input, or an input of whole numbers of a wide range. */
const takesIntegers = (problem: ProblemFile, name: string, freedom: Freedom): boolean =>
  isFloating(problem.inputs[name]!.dtype) || wideRangeOf(name, freedom) !== undefined;

/** Ranges of whole numbers from here on are wide. */
const WIDE_RANGE = 2 ** 24;

function wideRangeOf(name: string, { largestInteger }: Freedom): number | undefined {
  const most = largestInteger(name) ?? 0;
  return most >= WIDE_RANGE ? most : undefined;
}

/** Whole numbers within a byte, and every so often one beyond; or arithmetic progressions, each with a step of its own. */
const INTEGERS = {
  usual: 100,
  beyond: { every: 64, from: 200, to: 1000 },
  progression: { length: 64, step: 3 },
} as const;

/** Rows end in what people write instead of −∞, or hold −∞ at their beginning, at their end or in between, as padding and windows do. */
const MASKS = ['numbers', 'stretches'] as const;

/** What people write into masked places; where nothing is computed with them, also the dtype's lowest number. */
const MASK_NUMBERS: { readonly [D in DType]?: readonly number[] } = {
  f16: [-1e4, -65_504],
  bf16: [-1e4, -1e9, -1e30],
  f32: [-1e4, -1e9, -1e30],
  f64: [-1e4, -1e9, -1e30],
};

/** How many rows hold nothing but one such number, and how many end in it; which share of a row a stretch of −∞ takes. */
const MASKED = { whole: 1 / 4, end: 1 / 2, stretch: { least: 1 / 4, most: 7 / 8 } } as const;

/** What stands out among positive values in a row: some, or none, and all lie just below a power of two. */
const STANDING_OUT = ['some', 'none'] as const;

/**
 * How many stand out, and by which powers of two: from 2²⁴ on, fp32 loses what lies beside them; by how much of it values lie below a power of two.
 */
const OUTLIERS = { most: 2, from: 19, to: 22, below: 1 / 64 } as const;

const withOutliers = ({ inputs }: ProblemFile, { isFree, outliers }: Freedom): string[] =>
  Object.keys(inputs).filter((name) => isFree(name) && outliers(name) && inputs[name]!.dtype === 'f32');

export interface VariantRequest {
  readonly problem: ProblemFile;
  readonly buffer: Pick<PlannedBuffer, 'name' | 'dtype' | 'shape'>;
  readonly stream: RandomStream;
  readonly freedom: Freedom;
}

/** Changes an input's drawn values, in place, as the variant says. */
export function applyVariant(
  values: Float64Array,
  { kind, index, level }: Variant,
  request: VariantRequest,
): Float64Array {
  return CHANGES[kind](values, { ...request, index, strength: 2 ** -level });
}

interface Treated extends VariantRequest {
  readonly index: number;
  readonly strength: number;
}

const CHANGES: Readonly<Record<VariantKind, (values: Float64Array, request: Treated) => Float64Array>> = {
  'secret:neutral': neutral,
  'secret:trends': trends,
  'secret:integers': integers,
  'secret:masks': masks,
  'secret:outliers': addOutliers,
  'secret:bands': bands,
  'secret:samples': samples,
  'secret:groups': groups,
  'secret:depths': depths,
  'secret:copies': copies,
  'secret:lopsided': makeLopsided,
};

/** First everywhere, then everywhere but at places that kernels pass over which take some elements for all. */
function neutral(values: Float64Array, { problem, buffer, index, freedom }: Treated): Float64Array {
  const all = neutralConstants(problem, freedom);
  const constant = all[index % all.length]?.get(buffer.name);
  if (constant === undefined) return values;
  return index < all.length ? values.fill(constant) : unlessPassedOver(values, buffer, constant);
}

/** The part of a row, and the places in it, where no sample is taken: behind the first half, before the end, and in between. */
const PASSED_OVER = { from: 1 / 2, to: 7 / 8, stride: 4 } as const;

/** One value everywhere, but for such places; so samples of the beginning, of the end and at strides see nothing else. */
function unlessPassedOver(
  values: Float64Array,
  { shape }: Pick<PlannedBuffer, 'shape'>,
  constant: number,
): Float64Array {
  const columns = shape.at(-1) ?? 1;
  for (let i = 0; i < values.length; i++) {
    const share = (i % columns) / columns;
    const isPassedOver =
      share >= PASSED_OVER.from && share < PASSED_OVER.to && (i % columns) % PASSED_OVER.stride !== 0;
    if (!isPassedOver) values[i] = constant;
  }
  return values;
}

/** Changes the first elements of every row, those in its middle and at its quarters, and the last ones, in place. */
function atSampledPlaces(
  values: Float64Array,
  { shape }: Pick<PlannedBuffer, 'shape'>,
  change: (value: number) => number,
): Float64Array {
  const columns = shape.at(-1) ?? 1;
  const middle = [1 / 4, 1 / 2, 3 / 4].map((share) => Math.floor(share * columns));
  const places = [0, 1, 2, 3, ...middle, middle[1]! - 1, columns - 2, columns - 1];
  const within = [...new Set(places)].filter((place) => place >= 0 && place < columns);
  for (let row = 0; row < values.length; row += columns)
    for (const place of within) values[row + place] = change(values[row + place]!);
  return values;
}

/**
 * What such elements become, unlike the others: whole numbers, or zeros where the input has them; or every so many elements are small; or the last
 * one of each row is the first one again.
 */
const SAMPLED_AS = ['whole', 'zero', 'strided', 'closed'] as const;

/** One stride for each stretch, which is as long as several tiles; and what small whole numbers are below. */
const STRIDED = { strides: [2, 4, 8, 16, 32], stretch: 8192, small: 100 } as const;

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

function closed(values: Float64Array, { shape }: Pick<PlannedBuffer, 'shape'>): Float64Array {
  const columns = shape.at(-1) ?? 1;
  for (let row = 0; row < values.length; row += columns) values[row + columns - 1] = values[row]!;
  return values;
}

function samples(values: Float64Array, { buffer, stream, index, freedom }: Treated): Float64Array {
  if (!freedom.isFree(buffer.name)) return values;
  if (SAMPLED_AS[index] === 'strided')
    return isFloating(buffer.dtype) || wideRangeOf(buffer.name, freedom) !== undefined
      ? atStridedPlaces(values, stream, isFloating(buffer.dtype) ? undefined : wideRangeOf(buffer.name, freedom))
      : values;
  if (SAMPLED_AS[index] === 'closed') return closed(values, buffer);
  if (SAMPLED_AS[index] === 'whole')
    return isFloating(buffer.dtype)
      ? atSampledPlaces(values, buffer, (value) => Math.sign(value || 1) * Math.ceil(Math.abs(value) || 1))
      : values;
  return values.some((value) => value <= 0) ? atSampledPlaces(values, buffer, () => 0) : values;
}

/**
 * Neighbours that are equal, as in a picture that was made larger; a row that repeats its beginning; one value everywhere, but for pairs that lie as
 * far above and below it; a sorted row in which one element in 64 is another; one value up to some place; zeros but for such pairs; the second half is the first
 * one backwards, with the first element or without it, as in a spectrum.
 */
const GROUPED = ['neighbours', 'period', 'pairs', 'rising', 'prefix', 'quiet', 'mirrored'] as const;

/**
 * Sizes of groups, and of periods, in powers of two, each for a stretch; of so many elements two are a pair, in long rows of more, so that few
 * samples meet one, and of a tile the first ones are not.
 */
const GROUPS = {
  ...{ neighbours: 5, period: 8, stretch: 512, risen: 64 },
  ...{ paired: 512, pairs: 8, tile: 64, alike: 8 },
} as const;

const repeating = (name: string, { isFree, longestRepeated }: Freedom): boolean =>
  isFree(name) && longestRepeated(name) > 0;

function groups(values: Float64Array, { buffer, stream, index, freedom }: Treated): Float64Array {
  const columns = buffer.shape.at(-1) ?? 1;
  if (!repeating(buffer.name, freedom) || columns > freedom.longestRepeated(buffer.name)) return values;
  const kind = GROUPED[index]!;
  if (kind === 'rising' && !freedom.sorts(buffer.name)) return values;
  for (let start = 0; start < values.length; start += columns)
    GROUPINGS[kind](values.subarray(start, start + columns), (place) => stream.bits(1 + start + place));
  return values;
}

type Grouping = (row: Float64Array, bits: (place: number) => number) => void;

/** A power of two for each stretch of a row. */
const sizeAt = (place: number, bits: (place: number) => number, most: number): number =>
  2 ** (1 + (bits(place - (place % GROUPS.stretch)) % most));

/** One value everywhere, but for pairs that lie as far above and below it. */
function pairsBeside(middle: number, row: Float64Array, bits: (place: number) => number): void {
  const [low, high] = [row.reduce((a, b) => Math.min(a, b)), row.reduce((a, b) => Math.max(a, b))];
  const step = Math.min(1, high - middle, middle - low);
  row.fill(middle);
  const distance = Math.max(GROUPS.paired, Math.floor(row.length / GROUPS.pairs));
  // Of long rows, not at the beginning, where kernels look.
  const start = distance > GROUPS.paired ? Math.floor(distance / 2) : 0;
  for (let from = start; from + GROUPS.tile <= row.length; from += distance) {
    const place = from + GROUPS.alike + (bits(from) % (GROUPS.tile - 2 * GROUPS.alike));
    row[place]! += step;
    row[place + GROUPS.alike / 2]! -= step;
  }
}

const GROUPINGS: Readonly<Record<(typeof GROUPED)[number], Grouping>> = {
  neighbours: (row, bits) => {
    for (let i = 0; i < row.length; i++) row[i] = row[i - (i % sizeAt(i, bits, GROUPS.neighbours))]!;
  },
  period: (row, bits) => {
    for (let i = 0; i < row.length; i++) {
      const [within, size] = [i % GROUPS.stretch, sizeAt(i, bits, GROUPS.period)];
      if (within >= size) row[i] = row[i - size]!;
    }
  },
  prefix: (row, bits) => {
    const end = Math.floor((row.length * (1 + (bits(0) % 3))) / 4);
    row.fill(row[bits(1) % row.length]!, 0, end);
  },
  pairs: (row, bits) => pairsBeside(row[bits(0) % row.length]!, row, bits),
  quiet: (row, bits) => pairsBeside(row.some((value) => value < 0) ? 0 : row[0]!, row, bits),
  mirrored: (row, bits) => {
    const first = bits(0) % 2;
    for (let i = 1; i + i <= row.length; i++) row[row.length - i] = row[i - 1 + first]!;
  },
  rising: (row, bits) => {
    row.sort();
    const sorted = row.slice();
    for (let i = 1; i + 1 < row.length; i++)
      if (bits(2 * i) % GROUPS.risen === 0) row[i] = sorted[bits(2 * i + 1) % row.length]!;
  },
};

/** All inputs that can become positive, so that sums of products have a sign; one of them follows a profile, row after row. */
function trends(values: Float64Array, { problem, buffer, stream, index, strength, freedom }: Treated): Float64Array {
  const names = trending(problem, freedom);
  if (!names.includes(buffer.name)) return values;
  const [columns, rows] = [buffer.shape.at(-1)!, buffer.shape.at(-2)!];
  const isOwn = names.filter(freedom.contrasts)[Math.floor(index / PROFILES.length)] === buffer.name;
  const profile = PROFILES[index % PROFILES.length]!;
  const unit = strength / Math.sqrt(columns);
  const sink = Math.log(rows) + TREND.sink.least + TREND.sink.spread * stream.uniform(values.length);
  // What the others of the first row are multiplied with is next to nothing, so that it can't hide them.
  const first = profile === 'sink' && rows > 1 ? TREND.sink.first : 1;
  for (let i = 0; i < values.length; i++) {
    const row = Math.floor(i / columns) % rows;
    if (!isOwn) values[i] = (row === 0 ? first : 1) * (0.5 + stream.uniform(i));
    else if (profile === 'steep') values[i] = unit * TREND.steep * ((row + stream.uniform(i)) / rows - 0.5);
    else if (profile === 'falling')
      values[i] = -unit * TREND.steep * ((row + stream.uniform(i)) / rows + TREND.highest);
    else values[i] = row === 0 ? unit * sink : TREND.noise * (stream.uniform(i) - 0.5);
  }
  return values;
}

function integers(values: Float64Array, request: Treated): Float64Array {
  const { problem, buffer, index, freedom } = request;
  if (!freedom.isFree(buffer.name) || !takesIntegers(problem, buffer.name, freedom)) return values;
  return INTEGER_VARIANTS[index]!(values, request);
}

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
  const columns = buffer.shape.at(-1) ?? 1;
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

/** Bytes, signed ones and 16-bit numbers of one sign, which in sums of a few hundred leave the range of their size. */
const ONE_SIDED = [
  [129, 255],
  [-128, -65],
  [65, 127],
  [32_769, 65_535],
] as const;
const ONE_SIDED_STRETCH = 2048;

/** In each stretch, whole numbers of one sign from the upper half of what a byte or a 16-bit number holds; in inputs of integers. */
function oneSided(values: Float64Array, { buffer, stream }: Treated): Float64Array {
  if (isFloating(buffer.dtype)) return values;
  const ranges = values.some((value) => value < 0) ? ONE_SIDED : ONE_SIDED.filter(([low]) => low > 0);
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
  const columns = buffer.shape.at(-1) ?? 1;
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

const INTEGER_VARIANTS = [largeIntegers, progressions, fewIntegers, decimals, oneSided, differences] as const;

/** Each row holds −∞ in one stretch; the first row begins with the longest one. */
function maskStretches(
  values: Float64Array,
  { shape }: Pick<PlannedBuffer, 'shape'>,
  stream: RandomStream,
): Float64Array {
  const columns = shape.at(-1) ?? 1;
  const { least, most } = MASKED.stretch;
  for (let row = 0; row * columns < values.length; row++) {
    const [where, share] = [stream.bits(2 * row) % 3, stream.uniform(2 * row + 1)];
    const length = Math.floor(columns * (row === 0 ? most : least + share * (most - least)));
    const from = row === 0 ? 0 : Math.floor(((columns - length) * where) / 2);
    values.fill(Number.NEGATIVE_INFINITY, row * columns + from, row * columns + from + length);
  }
  return values;
}

/**
 * Exponents of two by which one input is larger and the other one smaller, so that products stay as large. Squares and cubes of such values fit fp32: where
 * results are normalised, they stay as large, too.
 */
const LOPSIDED: { readonly [D in DType]?: number } = { f16: 12, bf16: 40, f32: 40, f64: 40 };

/** Two factors. */
function lopsided(problem: ProblemFile, { isFree, unscaled }: Freedom): string[] {
  const names = Object.keys(problem.inputs).filter((name) => isFree(name) && unscaled(name));
  return names.length === 2 ? names : [];
}

/** One factor is very large, the other one as much smaller. */
function makeLopsided(values: Float64Array, { problem, buffer, index, strength, freedom }: Treated): Float64Array {
  const names = lopsided(problem, freedom);
  const exponent = Math.round(strength * (LOPSIDED[buffer.dtype] ?? 0));
  if (!names.includes(buffer.name)) return values;
  const factor = 2 ** (names[index] === buffer.name ? exponent : -exponent);
  for (let i = 0; i < values.length; i++) values[i]! *= factor;
  return values;
}

function masks(values: Float64Array, { problem, buffer, stream, index, freedom }: Treated): Float64Array {
  if (MASKS[index] === 'stretches')
    return problem.inputs[buffer.name]?.domain?.includes('-infinity') ? maskStretches(values, buffer, stream) : values;
  const numbers = [...(MASK_NUMBERS[buffer.dtype] ?? []), ...(freedom.isExact ? [-Number.MAX_VALUE] : [])];
  if (numbers.length === 0 || !problem.inputs[buffer.name]?.domain?.includes('-infinity')) return values;
  const columns = buffer.shape.at(-1) ?? 1;
  for (let row = 0; row * columns < values.length; row++) {
    const [lot, which, where] = [0, 1, 2].map((at) => stream.uniform(3 * row + at)) as [number, number, number];
    const number = row === 0 ? numbers.at(-1)! : numbers[Math.floor(which * numbers.length)]!;
    // A few rows show what whole rows of the lowest number do in any case.
    const from =
      row === 0 || lot < MASKED.whole ? 0 : lot < MASKED.whole + MASKED.end ? Math.ceil(where * columns) : columns;
    values.fill(number, row * columns + from, Math.min(values.length, (row + 1) * columns));
  }
  return values;
}

function addOutliers(
  values: Float64Array,
  { problem, buffer, stream, index, strength, freedom }: Treated,
): Float64Array {
  if (!withOutliers(problem, freedom).includes(buffer.name)) return values;
  if (STANDING_OUT[index] === 'none') {
    for (let i = 0; i < values.length; i++) values[i] = 1 - OUTLIERS.below * (1 - stream.uniform(i) / 2);
    return values;
  }
  const columns = buffer.shape.at(-1) ?? 1;
  for (let i = 0; i < values.length; i++) values[i] = 0.5 + stream.uniform(i + 4 * values.length);
  for (let row = 0; row * columns < values.length; row++) {
    const lots = Array.from({ length: OUTLIERS.most }, (_, i) => 2 * (OUTLIERS.most * row + i));
    // Two at one place are one.
    const powers = new Map(
      lots.map((lot) => [
        row * columns + Math.floor(stream.uniform(lot) * columns),
        strength * (OUTLIERS.from + stream.uniform(lot + 1) * (OUTLIERS.to - OUTLIERS.from)),
      ]),
    );
    for (const [place, power] of powers) if (place < values.length) values[place]! *= 2 ** Math.round(power);
  }
  return values;
}

const matrices = ({ inputs }: ProblemFile, { isFree, longestRepeated }: Freedom): string[] =>
  Object.keys(inputs).filter((name) => isFree(name) && longestRepeated(name) > 0 && inputs[name]!.shape.length > 1);

/**
 * Matrices with a structure that a few of their elements, or their sums, show in vain: zeros but for some diagonals, on one side or on both;
 * symmetric but for one element in 64; every second element of a row as large as the one before it, and of the other sign; the first row and
 * column zeros; ones on the diagonal and zeros beside it, but for one value.
 */
const BANDS = ['upper', 'both', 'symmetric', 'balanced', 'border', 'unit'] as const;

/** Diagonals beside the main one, and every so many elements of a symmetric matrix that are not. */
const BAND = { widest: 3, asymmetric: 64, besideUnit: 1 } as const;

function bands(values: Float64Array, { problem, buffer, stream, index, freedom }: Treated): Float64Array {
  if (!matrices(problem, freedom).includes(buffer.name)) return values;
  const kind = BANDS[index]!;
  const [columns, rows] = [buffer.shape.at(-1)!, buffer.shape.at(-2)!];
  const isSparse = kind === 'upper' || kind === 'both' || kind === 'unit';
  if (isSparse && columns > freedom.longestRepeated(buffer.name)) return values;
  const lots = Array.from({ length: BAND.besideUnit }, (_, lot) => stream.bits(1 + lot) % values.length);
  const beside = new Set(kind === 'unit' ? lots : []);
  const width = 1 + (stream.bits(0) % BAND.widest);
  for (let i = 0; i < values.length; i++) {
    const [row, column] = [Math.floor(i / columns) % rows, i % columns];
    const across = i - row * columns - column + column * columns + row;
    const isMirrored = row > column && column < rows && row < columns && stream.bits(1 + i) % BAND.asymmetric !== 0;
    if (kind === 'symmetric') values[i] = isMirrored ? values[across]! : values[i]!;
    else if (kind === 'balanced') values[i] = column % 2 === 0 ? values[i]! : -values[i - 1]!;
    else if (kind === 'unit') values[i] = row === column ? 1 : beside.has(i) ? values[i]! : 0;
    else if (kind === 'border') values[i] = row === 0 || column === 0 ? 0 : values[i]!;
    else if (column - row > width || column - row < (kind === 'both' ? -width : 0)) values[i] = 0;
  }
  return values;
}

/**
 * Whole rows lie below zero; or parts of them below the others, by so much that a running sum of exponentials loses nothing that counts, and
 * each result is still a number of its own.
 */
const DEPTHS = ['rows', 'parts'] as const;

/** Spreads of whole rows, as powers of two; how many parts a row has, and how far below the others they lie. */
const DEPTH = { least: 3, bits: 4, parts: 2, from: 20, to: 40 } as const;

const isDeep = (name: string, { isFree, most }: Freedom): boolean =>
  isFree(name) && most(name) >= 2 ** (DEPTH.least + DEPTH.bits - 1);

function depths(values: Float64Array, { buffer, stream, index, freedom }: Treated): Float64Array {
  if (!isDeep(buffer.name, freedom) || !isFloating(buffer.dtype)) return values;
  const columns = buffer.shape.at(-1) ?? 1;
  for (let i = 0; i < values.length; i++) {
    const row = Math.floor(i / columns);
    if (DEPTHS[index] === 'rows') {
      const spread = 2 ** (DEPTH.least + (stream.bits(row) % DEPTH.bits));
      values[i] = -spread * Math.abs(values[i]!) - spread / 2 ** DEPTH.least;
      continue;
    }
    const part = Math.floor(((i % columns) * DEPTH.parts) / columns);
    const share = stream.uniform(row * DEPTH.parts + part);
    // Every second one, so that neither all nor none do.
    if ((part + row) % 2 === 0) values[i]! -= DEPTH.from + share * (DEPTH.to - DEPTH.from);
  }
  return values;
}

/**
 * Copies that are none at a few places, for kernels that compare some places and take the rest for equal: every slice of the first axis is like the
 * first slice; most rows are like the first one of their tile; every part of a vector is like its first part.
 */
const COPIED = ['slices', 'rows', 'parts'] as const;

/**
 * One row in so many is its own, or about so many elements of a matrix or a vector, which hundreds of samples miss; sizes of tiles as powers of two;
 * and the parts.
 */
const COPY = {
  ownRow: 16,
  ownElements: 8,
  ownSize: 64,
  ownRowOfTile: 4,
  least: 3,
  sizes: 4,
  parts: [8, 4, 2, 3, 5],
} as const;

function copies(values: Float64Array, { buffer, stream, index, freedom, strength }: Treated): Float64Array {
  const { name, shape } = buffer;
  if (!freedom.isFree(name)) return values;
  const kind = COPIED[index]!;
  // What repeats within a sum makes roundings add up.
  if (kind !== 'slices' && freedom.longestRepeated(name) === 0) return values;
  const isOwn = (unit: number, one: number): boolean => stream.bits(1 + unit) % one === 0;
  const ownElement = Math.max(COPY.ownRow, Math.ceil(values.length / COPY.ownElements));
  const columns = shape.at(-1) ?? 1;
  if (kind === 'parts') {
    const part = values.length / (COPY.parts.find((parts) => values.length % parts === 0) ?? 1);
    if (shape.length === 1)
      copyUnlessOwn(
        values,
        (i) => i % part,
        (i) => isOwn(i, ownElement),
        // So few show in a sum only if they are large.
        Math.max(1, Math.min(freedom.most(name), COPY.ownSize) * strength),
      );
  } else if (shape.length > 1 && kind === 'slices') {
    const axis = shape.findIndex((extent) => extent > 1);
    const slice = shape.slice(axis + 1).reduce((product, extent) => product * extent, 1);
    const isMatrix = axis + 2 >= shape.length;
    copyUnlessOwn(
      values,
      (i) => i % slice,
      (i) => (isMatrix ? isOwn(i, ownElement) : isOwn(Math.floor(i / columns), COPY.ownRow)),
    );
  } else if (shape.length > 1) {
    const tile = columns * 2 ** (COPY.least + (stream.bits(0) % COPY.sizes));
    copyUnlessOwn(
      values,
      (i) => i - (i % tile) + (i % columns),
      (i) => isOwn(Math.floor(i / columns), COPY.ownRowOfTile),
    );
  }
  return values;
}

function copyUnlessOwn(
  values: Float64Array,
  source: (i: number) => number,
  isOwn: (i: number) => boolean,
  ownFactor = 1,
): void {
  for (let i = 0; i < values.length; i++) values[i] = isOwn(i) ? values[i]! * ownFactor : values[source(i)]!;
}

/**
 * Of the sets of a problem, those whose mistakes show in very long rows only. A row that stands out is one of many terms where inputs are multiplied with
 * one another; elsewhere its neighbours are long rows of nearly equal values, whose serial sums err by more than tolerances allow.
 */
export function variantsForLongRows(problem: ProblemFile, sets: readonly string[]): string[] {
  const isProduct = trending(problem, { isFree: () => true }).length > 1;
  return sets.filter((set) => {
    const { kind, index } = variantOf(set)!;
    if (kind === 'secret:trends') return isProduct && PROFILES[index % PROFILES.length] === 'sink';
    if (kind === 'secret:masks') return MASKS[index] === 'stretches';
    return kind === 'secret:depths' && DEPTHS[index] === 'parts';
  });
}
