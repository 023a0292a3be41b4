import { isFloating } from '../../../../core/dtype.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import { below, type Draw, inOrder, shuffle } from '../../../../stats/random.ts';
import { NORMAL } from '../../generators/generator.ts';
import { unitRoundoff } from '../../ulp.ts';
import type { DisguiseRequest } from '../disguise-request.ts';
import { contrastsOf, inRowsOf } from '../freedom.ts';
import { comparisonKinds, isArrangeable, milder, scalingOf, UNBOUNDED } from '../scaling.ts';
import type { SecretSet } from '../secret-set.ts';
import { type Arrangement, PATTERNS, type Pattern, repeatable, swap } from './row-patterns.ts';

/** Each row in another order, with ties, peaks, or another size, as far as tolerances bear that. */
export function disguiseRows(
  values: Float64Array,
  { level }: SecretSet,
  { problem, buffer, stream }: DisguiseRequest,
): Float64Array {
  if (!isArrangeable(buffer)) return values;
  const { name, dtype, shape } = buffer;
  const rowLength = shape.at(-1) ?? 1;
  const kinds = [...comparisonKinds(problem)];
  const { allowsFewTerms: _, ...contrasts } = inRowsOf(rowLength, kinds, contrastsOf(problem, name, kinds));
  return arrangeRows(values, {
    ...{ rowLength, scaling: milder(scalingOf(problem, name), level), ...contrasts, stream },
    peakContrast: level === 0 && isTried(problem, name) ? TRIED_PEAK : contrasts.contrast,
    isMild: level > 0,
    cancels: !kinds.some((rule) => rule === 'ulp' || rule === 'allclose'),
    isFloat: isFloating(dtype),
    roundoff: isFloating(dtype) ? unitRoundoff(dtype) : 0,
  });
}

/**
 * Whether this input gets high peaks although problem.json declares no scaling, and results are compared by units in the last place or by
 * absolute and relative errors: where the tolerance bears what honest arithmetic errs there, which runs on perturbed inputs tell.
 */
export function isTried(problem: ProblemFile, input: string): boolean {
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

/** From this length on, a row may be arranged in parts. */
const LEAST_IN_PARTS = 64;

/** How often a row is arranged in parts, if it is long enough; nearly always if there are few rows. */
const PARTED = { few: 0.85, many: 0.15, fewRows: 4 } as const;

/** Parts begin at multiples of one of these: of warps, of CTAs, or anywhere. */
const PART_UNITS = [1, 32, 256] as const;

/**
 * Arranges every row (last axis) in a secret way of its own: order, ties, runs, size, offset, a value above all others. Rows
 * take turns, so that few rows show many ways; long rows may have several ways side by side.
 */
function arrangeRows(values: Float64Array, arrangement: Arrangement): Float64Array {
  const { rowLength, stream } = arrangement;
  const rowCount = values.length / rowLength;
  const draw = inOrder(stream);
  const nextPattern = inTurns(draw);
  const parted = rowCount <= PARTED.fewRows ? PARTED.few : PARTED.many;
  for (let start = 0; start < values.length; start += rowLength) {
    const row = values.subarray(start, start + rowLength);
    const before = start > 0 ? values.subarray(start - rowLength, start) : undefined;
    const isParted = rowLength >= LEAST_IN_PARTS && draw() < parted;
    const within = isParted ? withinRow(arrangement) : arrangement;
    for (const part of isParted ? partsOf(row, draw) : [row])
      nextPattern(within, part.length).arrange({ ...within, values: part, before, draw });
    if (rowLength >= LEAST_WITH_END && draw() < END.ratio) largestToEnd(row, draw);
  }
  return values;
}

/** Rows so long may have places that a kernel's index has no bits for; and how often, and in which last part of them, the largest value lies. */
const LEAST_WITH_END = 2 ** 15;
const END = { ratio: 0.75, lastRatio: 0.5, share: 1 / 64 } as const;

/** Exchanges the largest value with one near the end: hardly ever does it lie there by itself. */
function largestToEnd(row: Float64Array, draw: Draw): void {
  let largest = 0;
  for (let i = 1; i < row.length; i++) if (row[i]! > row[largest]!) largest = i;
  swap(row, largest, row.length - 1 - (draw() < END.lastRatio ? 0 : below(draw, Math.ceil(row.length * END.share))));
}

/**
 * Between parts of one row, values may differ by no more than between any values of a row; not at all where a serial sum of many
 * small ones beside large ones would err by more than a fixed number of roundings.
 */
function withinRow(arrangement: Arrangement): Arrangement {
  const contrast = repeatable(arrangement) ? arrangement.contrast : 1;
  return { ...arrangement, contrast, rowContrast: contrast };
}

/** Patterns in a secret order, each once before any comes again; the next one that suits. */
function inTurns(draw: Draw): (arrangement: Arrangement, length: number) => Pattern {
  let waiting: Pattern[] = [];
  return (arrangement, length) => {
    const suits = (pattern: Pattern): boolean => pattern.suits(arrangement, length);
    if (!waiting.some(suits)) waiting = shuffle([...PATTERNS], (bound) => below(draw, bound));
    const at = waiting.findIndex(suits);
    const [next] = waiting.splice(at, 1);
    return next!;
  };
}

/** Two parts and more, of unlike lengths. */
function partsOf(row: Float64Array, draw: Draw): Float64Array[] {
  const unit = PART_UNITS[below(draw, PART_UNITS.length)]!;
  const parts: Float64Array[] = [];
  for (let start = 0; start < row.length; ) {
    const length = unit * Math.ceil((LEAST_IN_PARTS / 2 + draw() ** 4 * row.length) / unit);
    parts.push(row.subarray(start, start + length));
    start += length;
  }
  return parts;
}
