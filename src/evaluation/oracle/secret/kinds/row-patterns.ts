import type { Scaling } from '../../../../core/problem.ts';
import { below, type Draw, logBelow, type RandomStream } from '../../../../stats/random.ts';

export interface Arrangement {
  /** Elements of a row. */
  readonly rowLength: number;
  /** How far a row's values may leave the drawn ones; absent: they stay among them. */
  readonly scaling: Scaling | undefined;
  /** Largest factor of a row's values against the drawn ones. */
  readonly rowContrast: number;
  /** Largest factor between values of one row. */
  readonly contrast: number;
  /** How far one value may lie above all others of its row. */
  readonly peakContrast: number;
  /** Whether rows may be sorted. */
  readonly sorts: boolean;
  /** Longest row in which values may be the same; 0: none. */
  readonly longestRepeated: number;
  /** Chooses each row's pattern. */
  readonly stream: RandomStream;
  /** Whether rows of nothing but one value are left out: a formula may be undefined there. */
  readonly isMild: boolean;
  /** Whether the tolerance grows where large values cancel. */
  readonly cancels: boolean;
  readonly isFloat: boolean;
  /** 1 ulp ÷ 2 of values just below 1. */
  readonly roundoff: number;
}

/** One row or a part of one, and the row before. */
interface Row extends Arrangement {
  readonly values: Float64Array;
  readonly before: Float64Array | undefined;
  readonly draw: Draw;
}

export interface Pattern {
  readonly arrange: (row: Row) => void;
  /** Whether it may be used on rows of this length. */
  readonly suits: (arrangement: Arrangement, length: number) => boolean;
}

const always = (): boolean => true;
const sortable = ({ sorts }: Arrangement): boolean => sorts;
const contrasting = ({ contrast }: Arrangement): boolean => contrast > 1;

export const repeatable = ({ longestRepeated, rowLength }: Arrangement): boolean => rowLength <= longestRepeated;

const asDrawn: Pattern = { suits: always, arrange: () => undefined };

const ascending: Pattern = { suits: sortable, arrange: ({ values }) => void values.sort() };

const descending: Pattern = { suits: sortable, arrange: ({ values }) => void values.sort().reverse() };

/** Sorted but for a few values, which lie where others belong: what looks sorted need not be. */
const nearlySorted: Pattern = {
  suits: sortable,
  arrange: ({ values, draw }) => {
    values.sort();
    if (draw() < 0.5) values.reverse();
    for (let swaps = logBelow(draw, Math.ceil(values.length / ALL_BUT)); swaps > 0; swaps--)
      swap(values, below(draw, values.length), below(draw, values.length));
  },
};

/** Ascending up to a secret place and descending from there, or the other way round. */
const organPipe: Pattern = {
  suits: sortable,
  arrange: ({ values, draw }) => {
    const top = below(draw, values.length);
    const [rising, falling] =
      draw() < 0.5 ? [values.subarray(0, top), values.subarray(top)] : [values.subarray(top), values.subarray(0, top)];
    rising.sort();
    falling.sort().reverse();
  },
};

export function swap(values: Float64Array, a: number, b: number): void {
  const value = values[a]!;
  values[a] = values[b]!;
  values[b] = value;
}

/** Every value is one of two to four of them: ties. */
const fewValues: Pattern = {
  suits: repeatable,
  arrange: (row) => {
    const { values, draw } = row;
    const pool = Array.from({ length: 2 + below(draw, 3) }, repeatedValue(row));
    for (let i = 0; i < values.length; i++) values[i] = pool[below(draw, pool.length)]!;
  },
};

/** Runs of one value each, of every order of length: the begin of a tile says nothing about its end. */
const runs: Pattern = {
  suits: repeatable,
  arrange: (row) => {
    const { values, draw } = row;
    const next = repeatedValue(row);
    for (let start = 0; start < values.length; ) {
      const end = Math.min(values.length, start + logBelow(draw, values.length));
      values.fill(next(), start, end);
      start = end;
    }
  },
};

/** One value everywhere but at a few places. */
const allButFew: Pattern = {
  suits: repeatable,
  arrange: (row) => {
    const { values, draw } = row;
    const next = repeatedValue(row);
    const others = Array.from({ length: logBelow(draw, Math.ceil(values.length / ALL_BUT)) }, next);
    values.fill(next());
    for (const other of others) values[below(draw, values.length)] = other;
  },
};

/** Of so many elements of a row, at most one differs from the others. */
const ALL_BUT = 24;

const constant: Pattern = {
  suits: (arrangement) => !arrangement.isMild && repeatable(arrangement),
  arrange: (row) => void row.values.fill(repeatedValue(row)()),
};

/** As two keys that are the same, or two tokens. */
const asBefore: Pattern = {
  suits: always,
  arrange: ({ values, before }) => {
    if (before?.length === values.length) values.set(before);
  },
};

const zeros: Pattern = {
  suits: ({ isMild, scaling, rowContrast }) => !isMild && scaling !== undefined && rowContrast > 1,
  arrange: ({ values, draw }) => {
    for (let i = 0; i < values.length; i++) values[i] = draw() < 0.5 ? 0 : -0;
  },
};

/** Anywhere between two bounds, but in half of the rows one of them. */
const outward = (least: number, most: number, draw: Draw): number =>
  draw() < 0.5 ? (draw() < 0.5 ? least : most) : least + draw() * (most - least);

/** Larger or smaller than its neighbours, and about another mean. */
const moved: Pattern = {
  suits: ({ scaling, rowContrast }) => scaling !== undefined && rowContrast > 1,
  arrange: ({ values, scaling, rowContrast, draw }) => {
    const { least, most, offset } = scaling!;
    const [smallest, largest] = [Math.log2(Math.max(least, 1 / rowContrast)), Math.log2(Math.min(most, rowContrast))];
    const factor = 2 ** Math.round(outward(smallest, largest, draw));
    const shift = outward(-offset, offset, draw);
    for (let i = 0; i < values.length; i++) values[i] = factor * (values[i]! + shift);
  },
};

/**
 * One value above all others, at a secret place, the first or the last. In half of the rows so high that a sum of exponentials
 * is neither this value's alone nor that of the others; in a part of the others, that its exponential is one of the largest numbers in fp32, whose
 * reciprocal is subnormal, if the maximum is taken from the others.
 */
const peak: Pattern = {
  suits: ({ peakContrast }) => peakContrast > 1,
  arrange: (row) => {
    const { values, peakContrast, draw } = row;
    const size = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
    const exponential = Math.log(values.length) + draw() * LN_2 * BITS_OF_F32;
    const isExponential = draw() < 0.5 && exponential > size && exponential <= peakContrast * size;
    const nearLargest = values.reduce((most, value) => Math.max(most, value), 0) + LN_2 * (F32_EXPONENT - 2 * draw());
    const isNearLargest = !isExponential && draw() < NEAR_LARGEST && nearLargest <= peakContrast * size;
    const other = isNearLargest ? nearLargest : size * peakContrast ** draw();
    const height = audible(isExponential ? exponential : other, row);
    const where = draw();
    const place = where < 0.2 ? 0 : where < 0.4 ? values.length - 1 : below(draw, values.length);
    values[place] = draw() < 0.75 ? height : -height;
  },
};

/**
 * Beside a peak of about 2^24 of them, a serial sum of exponentials loses the small ones. Where tolerances don't follow sums, peaks
 * of long rows are lower, or so high that nothing is lost.
 */
function audible(height: number, row: Row): number {
  if (repeatable(row)) return height;
  const lost = LN_2 * BITS_OF_F32 + Math.log(row.values.length);
  return height > LN_2 * KEPT_BITS && height < lost ? LN_2 * KEPT_BITS : height;
}

/** Powers of two from this exponent on are infinite in fp32; and how often peaks come near it that are no others. */
const F32_EXPONENT = 128;
const NEAR_LARGEST = 0.4;

const KEPT_BITS = 18;
const LN_2 = Math.log(2);
const BITS_OF_F32 = 24;

/** Two large values whose sum is nothing, among small ones. */
const cancelling: Pattern = {
  suits: (arrangement, length) => !arrangement.isMild && arrangement.cancels && contrasting(arrangement) && length >= 2,
  arrange: ({ values, contrast, draw }) => {
    const [first, step] = [below(draw, values.length), 1 + below(draw, values.length - 1)];
    const large = values[first]! * contrast;
    values[first] = large;
    values[(first + step) % values.length] = -large;
  },
};

/** Every second, fourth or eighth value spreads wider than those between. */
const interleaved: Pattern = {
  suits: (arrangement) => contrasting(arrangement) && repeatable(arrangement),
  arrange: ({ values, contrast, draw }) => {
    const [step, factor] = [2 ** (1 + below(draw, 3)), contrast ** draw()];
    for (let i = below(draw, step); i < values.length; i += step) values[i]! *= factor;
  },
};

/**
 * Powers of two, and the numbers next to them on one side or both: where exponents and logarithms are rounded to the wrong one. In some
 * rows far from 1, where a logarithm has fewer bits for what follows its point.
 */
const besidePowers: Pattern = {
  suits: (arrangement) => arrangement.isFloat && repeatable(arrangement),
  arrange: ({ values, scaling, rowContrast, roundoff, draw }) => {
    const most = Math.floor(Math.log2(Math.min(scaling?.most ?? 1, rowContrast)));
    const shift = Math.round(outward(-most, most, draw));
    const sides = draw() < 0.5 ? [BESIDE[below(draw, BESIDE.length)]!] : BESIDE;
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!;
      const power = 2 ** (Math.round(Math.log2(Math.abs(value))) + shift);
      if (value !== 0 && Number.isFinite(value))
        values[i] = Math.sign(value) * power * (1 + sides[below(draw, sides.length)]! * roundoff);
    }
  },
};

/** In units of half an ulp above, and one below. */
const BESIDE = [-1, 0, 2] as const;

export const PATTERNS: readonly Pattern[] = [
  ...[
    asDrawn,
    asBefore,
    ascending,
    descending,
    nearlySorted,
    nearlySorted,
    organPipe,
    moved,
    moved,
    peak,
    peak,
    interleaved,
    cancelling,
  ],
  ...[fewValues, runs, allButFew, allButFew, constant, zeros, besidePowers],
];

/** Repeated values are multiples of a sixteenth of the row's largest, so that serial sums of a million of them are exact. */
const REPEATED_BITS = 4;

/** Draws among the row's values as they are now; rounded if they are floats. */
function repeatedValue({ values, draw, isFloat }: Row): () => number {
  const drawn = values.slice();
  const largest = drawn.reduce((most, other) => Math.max(most, Math.abs(other)), 0);
  const unit = 2 ** (Math.floor(Math.log2(largest)) - REPEATED_BITS + 1);
  return () => {
    const value = drawn[below(draw, drawn.length)]!;
    if (!isFloat || largest === 0 || !Number.isFinite(largest)) return value;
    return (Math.sign(value) || 1) * unit * Math.max(1, Math.floor(Math.abs(value) / unit));
  };
}
