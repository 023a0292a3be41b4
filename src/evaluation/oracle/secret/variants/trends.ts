import { isFloating } from '../../../../core/dtype.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import type { RandomStream } from '../../../../stats/random.ts';
import { summedOver } from '../../judgeable-sums.ts';
import { type Freedom, freedomOf, weightedInputs } from '../freedom.ts';
import { inputsThat, type Treated, type Treatment } from './treatment.ts';

/**
 * How values go along the rows of an input: they rise from very low to very high, the first row stands out, they fall from just below zero to very low, or all of them lie so deep that sums of
 * products reach what kernels write where nothing is to be seen: −10,000, or the least number of half precision. Or all values are as drawn until, in the second half, one row is much larger,
 * or all are from there on: a kernel that looks at the first rows to see how large scores get is wrong. Or all are alike until, in the second half, sums of products with each row of the others
 * rise by a number of powers of two of its own: a kernel whose weights are relative to an earlier maximum is wrong where they leave a format's range. Or they rise gently all along.
 */
const PROFILES = ['steep', 'sink', 'falling', 'deep', 'late', 'louder'] as const;

interface Trend {
  /** The input whose rows follow the profile. */
  readonly own: string;
  readonly profile: (typeof PROFILES)[number] | 'overtaking' | 'gentle';
}

/** Powers of two by which rows are larger: one of them, or all from a place on. */
const LARGER = { late: [3, 5], louder: [2, 4] } as const;

/**
 * Sums of products of such a row and a positive one, divided by the root of its length: ranges of powers of two, each of which is drawn half of the
 * time. The second lies below the least number of half precision.
 */
const DEEP = { octaves: [[13.5, 16] as const, [16, 16.5] as const], noise: 2 ** -9, beyondUsual: 3 } as const;

/**
 * The same sums of all rows; and of the row that stands out, so far above n others that all of their exponentials together weigh between a fiftieth and a
 * 3,000th of its own: ln n and some more. Each of them alone is negligible then, and what they are weighted with is so much larger that together they are not. No further than half precision has
 * bits for, in powers of two: an honest kernel may round weights to it.
 */
const TREND = { steep: 200, highest: 0.05, sink: { least: 4, spread: 4, mostOctaves: 22, first: 1 / 32 } } as const;

/**
 * How far values beside one that stands out are from 0: alone, and where products of rows are summed, whose exponentials are then unlike. Added one by one to the weight of the row
 * that stands out, 33,000 nearly equal ones are all rounded alike, which fp32 does not bear; some thousands may be more alike.
 */
const NOISE = { alone: 0.02, ofProducts: 1.7, ofFewProducts: 1, few: 8192 } as const;

/**
 * Powers of two by which later sums of products exceed earlier ones: half of the time very nearly those at which half precision ends, a quarter very nearly another whole number, else any up to the
 * most. `alike`: how far values are from one another that are to be nearly the same.
 */
const OVERTAKING = { ofHalf: 16, most: 20, alike: { row: 2 ** -12, column: 2 ** -8 }, spread: 1 / 2 } as const;

/**
 * Powers of two by which exponentials rise in all, beyond where half precision ends, or half of the time beyond where fp32 does: in a tile of a long row by few, so that a kernel that compares a maximum with that of the tile before, and not with what its
 * weights are relative to, never rescales.
 */
const GENTLE = [
  { least: 18, spread: 22 },
  { least: 130, spread: 30 },
] as const;

const trending = (problem: ProblemFile, { isFree }: Pick<Freedom, 'isFree'>): string[] =>
  inputsThat(problem, (name) => {
    const { dtype, shape } = problem.inputs[name]!;
    return isFree(name) && isFloating(dtype) && shape.length > 1;
  });

/** All inputs that can become positive, so that sums of products have a sign; one of them follows a profile, row after row. */
function follow(
  values: Float64Array,
  { problem, buffer, stream, shared, index, strength, freedom }: Treated,
): Float64Array {
  const names = trending(problem, freedom);
  if (!names.includes(buffer.name)) return values;
  const [columns, rows] = [buffer.shape.at(-1)!, buffer.shape.at(-2)!];
  const contrasting = names.filter(freedom.contrasts);
  const { own, profile } = trendsOf(problem, freedom)[index]!;
  const isOwn = own === buffer.name;
  if (profile === 'late' || profile === 'louder')
    return isOwn ? enlarge(values, { columns, rows, profile, stream, strength }) : values;
  // What sums are weighted with stays as it is: of nearly equal values any weights give the same.
  const isWeighted = (profile === 'deep' || profile === 'overtaking') && weightedInputs(problem).includes(buffer.name);
  if (isWeighted) return values;
  if (profile === 'overtaking')
    return isOwn ? rise(values, { columns, rows, stream, strength }) : amountByRow(values, { columns, stream });
  const unit = strength / Math.sqrt(columns);
  const above = Math.log(rows) + TREND.sink.least + TREND.sink.spread * stream.uniform(values.length);
  const sink = Math.min(above, TREND.sink.mostOctaves * Math.LN2);
  // What the others of the first row are multiplied with is next to nothing, so that it can't hide them.
  const first = profile === 'sink' && rows > 1 ? TREND.sink.first : 1;
  const depth = profile === 'deep' ? factorOfDepth(contrasting, columns, freedom, shared.uniform(0)) * strength : 0;
  const ofProducts = rows > NOISE.few ? NOISE.ofProducts : NOISE.ofFewProducts;
  const noise = names.length > 1 ? ofProducts : NOISE.alone;
  const { least, spread } = GENTLE[shared.bits(1) % GENTLE.length]!;
  const octaves = least + spread * stream.uniform(values.length + 1);
  const rises = { steep: TREND.steep, gentle: octaves * Math.LN2 };
  for (let i = 0; i < values.length; i++) {
    const row = Math.floor(i / columns) % rows;
    if (profile === 'deep') values[i] = (isOwn ? -depth : depth) * (1 + DEEP.noise * (2 * stream.uniform(i) - 1));
    else if (!isOwn) values[i] = (row === 0 ? first : 1) * (0.5 + stream.uniform(i));
    else if (profile === 'steep' || profile === 'gentle')
      values[i] = unit * rises[profile] * ((row + stream.uniform(i)) / rows - 0.5);
    else if (profile === 'falling')
      values[i] = -unit * TREND.steep * ((row + stream.uniform(i)) / rows + TREND.highest);
    else values[i] = row === 0 ? unit * sink : noise * (stream.uniform(i) - 0.5);
  }
  return values;
}

interface Enlarging extends Pick<Treated, 'stream' | 'strength'> {
  readonly columns: number;
  readonly rows: number;
  readonly profile: keyof typeof LARGER;
}

/** In each slice of several rows: one row of the second half, or all rows from it on. */
function enlarge(values: Float64Array, { columns, rows, profile, stream, strength }: Enlarging): Float64Array {
  const [least, most] = LARGER[profile];
  for (let start = 0; start < values.length; start += columns * rows) {
    const place = Math.floor(rows * (0.5 + stream.uniform(start) / 2));
    const end = profile === 'late' ? Math.min(rows, place + 1) : rows;
    const factor = 2 ** (strength * (least + (most - least) * stream.uniform(start + 1)));
    for (let i = start + place * columns; i < start + end * columns; i++) values[i] = factor * values[i]!;
  }
  return values;
}

/**
 * In each slice of several rows: next to nothing, but for one row of the second half, or all rows from it on. A product of such a row and one of ones, divided by the root of their length, is the logarithm of
 * the largest power of two of half precision. Columns differ in pairs, so that their roundings average out.
 */
function rise(values: Float64Array, { columns, rows, stream, strength }: Omit<Enlarging, 'profile'>): Float64Array {
  const { alike, ofHalf, spread } = OVERTAKING;
  const size = (strength * ofHalf * Math.LN2) / Math.sqrt(columns);
  for (let start = 0; start < values.length; start += columns * rows) {
    const place = Math.floor(rows * (0.5 + stream.uniform(start) / 2));
    const end = stream.uniform(start + 1) < 0.5 ? Math.min(rows, place + 1) : rows;
    for (let i = start; i < Math.min(values.length, start + columns * rows); i++) {
      const [row, column] = [Math.floor((i - start) / columns), i % columns];
      const isPaired = column < columns - (columns % 2);
      const beside = isPaired ? (column % 2 === 0 ? spread : -spread) * stream.uniform(2 + i - (column % 2)) : 0;
      const isRisen = row >= place && row < end;
      values[i] = size * (isRisen ? 1 + beside : alike.row * (stream.uniform(2 + i) - 0.5));
    }
  }
  return values;
}

/** Every row is one number, up to a little by column: by how many powers of two sums of products rise there, as a share of those of {@link rise}. */
function amountByRow(
  values: Float64Array,
  { columns, stream }: { columns: number; stream: RandomStream },
): Float64Array {
  const { ofHalf, most, alike } = OVERTAKING;
  for (let i = 0; i < values.length; i++) {
    const row = Math.floor(i / columns);
    const [lot, share] = [stream.bits(2 * row) % 4, stream.uniform(2 * row + 1)];
    const octaves = lot < 2 ? ofHalf : lot === 2 ? 1 + Math.floor(most * share) : most * share;
    values[i] = (octaves / ofHalf) * (1 + alike.column * (stream.uniform(2 * values.length + i) - 0.5));
  }
  return values;
}

/**
 * The size of both factors of which sums of products, divided by the root of their length, are so deep: half of the time deeper than the least number of half precision. As large as
 * single values of an input are where it is scaled.
 */
function factorOfDepth(names: readonly string[], columns: number, { most }: Freedom, share: number): number {
  const [least, deepest] = DEEP.octaves[share < 0.5 ? 0 : 1]!;
  const depth = 2 ** (least + (deepest - least) * ((2 * share) % 1));
  return Math.min(Math.sqrt(depth / Math.sqrt(columns)), ...names.map((name) => DEEP.beyondUsual * most(name)));
}

/** Every profile of each input that may have one; of those whose rows are summed over, later ones overtake earlier ones, and rise gently, besides. */
function trendsOf(problem: ProblemFile, freedom: Freedom): Trend[] {
  const names = trending(problem, freedom).filter(freedom.contrasts);
  return [
    ...names.flatMap((own) => PROFILES.map((profile) => ({ own, profile }))),
    ...(['overtaking', 'gentle'] as const).flatMap((profile) =>
      names.filter((own) => areRowsSummed(problem, own)).map((own) => ({ own, profile })),
    ),
  ];
}

const areRowsSummed = (problem: ProblemFile, input: string): boolean =>
  summedOver(problem).includes(String(problem.inputs[input]!.shape.at(-2)));

/**
 * A row that stands out is one of many terms where inputs are multiplied with one another; elsewhere its neighbours are long rows of nearly
 * equal values, whose serial sums err by more than tolerances allow.
 */
function isLongSink(problem: ProblemFile, index: number): boolean {
  const { own, profile } = trendsOf(problem, freedomOf(problem))[index]!;
  return profile === 'sink' && trending(problem, { isFree: () => true }).length > 1 && areRowsSummed(problem, own);
}

export const trends: Treatment = {
  count: (problem, freedom) => trendsOf(problem, freedom).length,
  treat: follow,
  // A kernel that leaves out tiles does so where all rows of the tile agree. Of as many elements, those may be a single row beside many keys.
  needs: (index, problem) =>
    areRowsSummed(problem, trendsOf(problem, freedomOf(problem))[index]!.own) ? 'work' : undefined,
  isForLongSums: (index, problem) => {
    const profile = trendsOf(problem, freedomOf(problem))[index]?.profile;
    if (profile === 'gentle') return 'always';
    return profile === 'steep' || isLongSink(problem, index) ? 'by lot' : undefined;
  },
  isForLongRows: (index, problem) =>
    isLongSink(problem, index) || trendsOf(problem, freedomOf(problem))[index]?.profile === 'gentle',
};
