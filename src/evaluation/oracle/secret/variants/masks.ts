import type { DType } from '../../../../core/dtype.ts';
import type { PlannedBuffer } from '../../../../core/launch-plan.ts';
import type { RandomStream } from '../../../../stats/random.ts';
import { columnsOf, type Treated, type Treatment } from './treatment.ts';

/**
 * Rows end in what people write instead of −∞, or hold −∞ at their beginning, at their end or in between, as padding and windows do; or what people write is added to them. Or a
 * level or sorted row holds −∞ in short runs: what takes a few samples of it sees none.
 */
const MASKS = ['numbers', 'stretches', 'added', 'runs'] as const;

/** What people write into masked places; where nothing is computed with them, also the dtype's lowest number. */
const MASK_NUMBERS: { readonly [D in DType]?: readonly number[] } = {
  f16: [-1e4, -65_504],
  bf16: [-1e4, -1e9, -1e30],
  f32: [-1e4, -1e9, -1e30],
  f64: [-1e4, -1e9, -1e30],
};

/** What people add to scores; half precision has room for it. */
const ADDED = -1e4;

/** How many rows hold nothing but one such number, and how many end in it; which share of a row a stretch of −∞ takes. */
const MASKED = { whole: 1 / 4, end: 1 / 2, stretch: { least: 1 / 4, most: 7 / 8 } } as const;

function mask(values: Float64Array, { problem, buffer, stream, index, freedom }: Treated): Float64Array {
  if (!problem.inputs[buffer.name]?.domain?.includes('-infinity')) return values;
  if (MASKS[index] === 'stretches') return maskStretches(values, buffer, stream);
  if (MASKS[index] === 'runs') return maskRuns(values, buffer, stream);
  const numbers = [...(MASK_NUMBERS[buffer.dtype] ?? []), ...(freedom.isExact ? [-Number.MAX_VALUE] : [])];
  if (numbers.length === 0) return values;
  const columns = columnsOf(buffer);
  const isAdded = MASKS[index] === 'added';
  for (let row = 0; row * columns < values.length; row++) {
    const [lot, which, where] = [0, 1, 2].map((at) => stream.uniform(3 * row + at)) as [number, number, number];
    const number = row === 0 ? numbers.at(-1)! : numbers[Math.floor(which * numbers.length)]!;
    // A few rows show what whole rows of the lowest number do in any case.
    const from =
      row === 0 || lot < MASKED.whole ? 0 : lot < MASKED.whole + MASKED.end ? Math.ceil(where * columns) : columns;
    const [first, end] = [row * columns + from, Math.min(values.length, (row + 1) * columns)];
    if (isAdded) for (let i = first; i < end; i++) values[i]! += ADDED;
    else values.fill(number, first, end);
  }
  return values;
}

/** Each row holds −∞ in one stretch; the first row begins with the longest one. */
function maskStretches(values: Float64Array, buffer: Pick<PlannedBuffer, 'shape'>, stream: RandomStream): Float64Array {
  const columns = columnsOf(buffer);
  const { least, most } = MASKED.stretch;
  for (let row = 0; row * columns < values.length; row++) {
    const [where, share] = [stream.bits(2 * row) % 3, stream.uniform(2 * row + 1)];
    const length = Math.floor(columns * (row === 0 ? most : least + share * (most - least)));
    const from = row === 0 ? 0 : Math.floor(((columns - length) * where) / 2);
    values.fill(Number.NEGATIVE_INFINITY, row * columns + from, row * columns + from + length);
  }
  return values;
}

/** Runs of a row, and up to how many columns it is sorted: a serial sum of many terms that hardly differ is off by what each is rounded by, and not by chance. */
const RUNS = { each: 2, sorted: 1024 } as const;

/** Level rows; short ones are level, descending and ascending in turn. Each has runs of −∞ of any length up to half of it, as many short ones as long ones; its first value stays. */
function maskRuns(values: Float64Array, buffer: Pick<PlannedBuffer, 'shape'>, stream: RandomStream): Float64Array {
  const columns = columnsOf(buffer);
  for (let row = 0; row * columns < values.length; row++) {
    const line = values.subarray(row * columns, (row + 1) * columns);
    if (row % 3 === 0 || columns > RUNS.sorted) line.fill(line[0]!);
    else line.sort();
    if (row % 3 === 1) line.reverse();
    for (let run = 0; run < RUNS.each; run++) {
      const [share, where] = [0, 1].map((at) => stream.uniform(2 * (RUNS.each * row + run) + at)) as [number, number];
      const length = Math.floor((columns / 2) ** share);
      const from = 1 + Math.floor(where * (columns - length));
      line.fill(Number.NEGATIVE_INFINITY, from, from + length);
    }
  }
  return values;
}

export const masks: Treatment = {
  count: ({ inputs }) => (Object.values(inputs).some(({ domain }) => domain?.includes('-infinity')) ? MASKS.length : 0),
  treat: mask,
  isForLongRows: (index) => MASKS[index] !== 'numbers',
};
