import { isFloating } from '../../../../core/dtype.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import { followsLongSums } from '../../judgeable-sums.ts';
import type { Freedom } from '../freedom.ts';
import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/**
 * Whole rows lie below zero; or parts of them below the others, by so much that a running sum of exponentials loses nothing that counts, and
 * each result is still a number of its own. Or, in sums: all values of a row but one, by so much that the exponential of each is negligible and those of all together are not; or all
 * but one behind the first quarter, about as far as exponentials of fp32 or of fp16 reach.
 */
const DEPTHS = ['rows', 'parts', 'sink', 'lead', 'half lead'] as const;

/** Spreads of whole rows, as powers of two; how many parts a row has, and how far below the others they lie. */
const DEPTH = { least: 3, bits: 4, parts: 2, from: 20, to: 40 } as const;

/**
 * How far the one lies above n others, beside ln n; how far these are from one another; and up to how many powers of two above them it may come first: a serial sum loses what it adds to it then.
 */
const SINK = { least: 3, spread: 5, noise: 1, octavesIfFirst: 18, firstRatio: 0.5 } as const;

/**
 * Where exponentials relative to a maximum that is out of date end, as powers of two: of fp32, whose reciprocals are subnormal a little before, and a little beyond; and of fp16. In which part of a row the one lies that is so far above all others.
 */
const LEAD = { lead: [125.5, 132], 'half lead': [14.5, 16.5], from: 1 / 4 } as const;

const isDeep = (name: string, { isFree, most }: Freedom): boolean =>
  isFree(name) && most(name) >= 2 ** (DEPTH.least + DEPTH.bits - 1);

/** Rows of this input are summed, and no tolerance grows with their largest term: it would hide all others. */
const isSummed = (problem: ProblemFile, name: string): boolean =>
  problem.reducedAxis?.input === name &&
  problem.reducedAxis.axis === problem.inputs[name]!.shape.length - 1 &&
  !followsLongSums(problem);

function sink(values: Float64Array, { buffer, stream, strength }: Treated): Float64Array {
  const columns = columnsOf(buffer);
  for (let row = 0; row * columns < values.length; row++) {
    const lot = (which: number): number => stream.uniform(values.length + 2 * row + which);
    const height = Math.log(columns) + strength * (SINK.least + SINK.spread * lot(0));
    const isFirst = lot(1) < SINK.firstRatio && height <= SINK.octavesIfFirst * Math.LN2;
    for (let i = 0; i < columns; i++)
      values[row * columns + i] = SINK.noise * (stream.uniform(row * columns + i) - 0.5);
    values[row * columns + (isFirst ? 0 : columns - 1)] = height;
  }
  return values;
}

function lead(
  values: Float64Array,
  { buffer, stream }: Treated,
  [least, most]: readonly [number, number],
): Float64Array {
  const columns = columnsOf(buffer);
  for (let row = 0; row * columns < values.length; row++) {
    const lot = (which: number): number => stream.uniform(values.length + 2 * row + which);
    for (let i = 0; i < columns; i++) values[row * columns + i] = -stream.uniform(row * columns + i);
    const place = Math.floor(columns * (LEAD.from + (1 - LEAD.from) * lot(0)));
    values[row * columns + place] = (least + (most - least) * lot(1)) * Math.LN2;
  }
  return values;
}

/** Those of sums. */
const OF_SUMS: Readonly<Record<string, Treatment['treat']>> = {
  sink,
  lead: (values, input) => lead(values, input, LEAD.lead),
  'half lead': (values, input) => lead(values, input, LEAD['half lead']),
};

function deepen(values: Float64Array, request: Treated): Float64Array {
  const { problem, buffer, stream, index, freedom } = request;
  if (!isDeep(buffer.name, freedom) || !isFloating(buffer.dtype)) return values;
  const ofSums = OF_SUMS[DEPTHS[index]!];
  if (ofSums) return isSummed(problem, buffer.name) ? ofSums(values, request) : values;
  const columns = columnsOf(buffer);
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

export const depths: Treatment = {
  count: (problem, freedom) => {
    const deep = inputsThat(problem, (name) => isDeep(name, freedom));
    if (deep.length === 0) return 0;
    // Those of sums are the last ones.
    return DEPTHS.length - (deep.some((name) => isSummed(problem, name)) ? 0 : Object.keys(OF_SUMS).length);
  },
  treat: deepen,
  // A serial sum of a million exponentials of about one size beside one of 2¹⁵ is beyond the tolerance of drawn values by up to three times.
  isForLongRows: (index) => DEPTHS[index] !== 'rows' && DEPTHS[index] !== 'half lead',
};
