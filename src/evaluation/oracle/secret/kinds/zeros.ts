import type { DType } from '../../../../core/dtype.ts';
import type { SpecialValue } from '../../../../core/vocabulary.ts';
import { below, type Draw, inOrder, logBelow, type RandomStream, shuffle } from '../../../../stats/random.ts';
import { specialValue } from '../../generators/special.ts';
import type { DisguiseRequest } from '../disguise-request.ts';
import { contrastsOf, inRowsOf } from '../freedom.ts';
import { comparisonKinds, isArrangeable } from '../scaling.ts';
import { LEVELS, type SecretSet } from '../secret-set.ts';

/** Of all inputs one, by lot, becomes mostly zeros, and others get a few, as far as tolerances bear that. */
export function disguiseZeros(
  values: Float64Array,
  { level }: SecretSet,
  { problem, buffer, stream, shared }: DisguiseRequest,
): Float64Array {
  if (!isArrangeable(buffer)) return values;
  const { name, dtype, shape } = buffer;
  const kinds = [...comparisonKinds(problem)];
  const contrasts = inRowsOf(shape.at(-1) ?? 1, kinds, contrastsOf(problem, name, kinds));
  const arrangeable = Object.keys(problem.inputs).filter((input) => isArrangeable(problem.inputs[input]!));
  const isMildest = level === LEVELS - 1;
  return drawZeros(values, {
    ...{ dtype, shape, stream },
    isMostlyZeros: arrangeable[shared.bits(0) % arrangeable.length] === name,
    isFree: contrasts.allowsFewTerms && !isMildest,
    longestRepeated: contrasts.longestRepeated || Number.POSITIVE_INFINITY,
    domain: isMildest ? [] : (problem.inputs[name]?.domain ?? []),
    fillsRows: level === 0,
  });
}

interface ZerosRequest {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Chooses the places. */
  readonly stream: RandomStream;
  /** Whether most values become zeros; otherwise few do. */
  readonly isMostlyZeros: boolean;
  /** Whether zeros may be anywhere; otherwise a quarter of the values stays, for tolerances that need many of one size. */
  readonly isFree: boolean;
  /** In longer rows, no part becomes zeros: only whole rows do. */
  readonly longestRepeated: number;
  /** Special values that callers may pass here. */
  readonly domain: readonly SpecialValue[];
  /** Whether rows may hold nothing but one special value. */
  readonly fillsRows: boolean;
}

/** Rows side by side. */
interface Slab {
  readonly values: Float64Array;
  readonly columns: number;
  readonly masks: readonly Mask[];
  readonly isFree: boolean;
  readonly draw: Draw;
}

/** Which elements become zeros. */
type Mask = (slab: Omit<Slab, 'masks'>) => (row: number, column: number) => boolean;

/** Smallest share of values that stays where tolerances need many, and at random places elsewhere. */
const LEAST_KEPT = { many: 1 / 4, few: 0.003 } as const;

/** Smallest share that stays when rows, columns or tiles become zeros. */
const keptOf = ({ isFree, draw }: Pick<Slab, 'isFree' | 'draw'>): number => (isFree ? 0 : LEAST_KEPT.many) + draw() / 2;

const scattered: Mask = (slab) => {
  const { many, few } = LEAST_KEPT;
  const kept = slab.isFree ? few * (0.3 / few) ** slab.draw() : many + slab.draw() * (1 - many);
  return () => slab.draw() >= kept;
};

/** By groups of rows and columns. */
const byTiles =
  (height: number, width: number): Mask =>
  (slab) => {
    const { values, columns, draw } = slab;
    const [kept, perRow] = [keptOf(slab), Math.ceil(columns / width)];
    const tiles = Math.ceil(values.length / columns / height) * perRow;
    const isZero = Uint8Array.from({ length: tiles }, () => Number(draw() >= kept));
    return (row, column) => isZero[Math.floor(row / height) * perRow + Math.floor(column / width)] === 1;
  };

/** From a secret column on, or up to it, as padding lies. */
const ends: Mask = (slab) => {
  const { columns, draw } = slab;
  const [kept, isBegin] = [Math.ceil(keptOf(slab) * columns), draw() < 0.5];
  return (_, column) => (isBegin ? column < columns - kept : column >= kept);
};

const nothing: Mask = () => () => false;

const WHOLE = Number.MAX_SAFE_INTEGER;
const WHOLE_ROWS: readonly Mask[] = [byTiles(1, WHOLE), nothing];
const MASKS: readonly Mask[] = [
  ...[...WHOLE_ROWS, scattered, scattered, ends],
  ...[byTiles(WHOLE, 1), byTiles(16, 16), byTiles(32, 64)],
];

/** How often everything becomes zeros, and how often all rows get theirs in one way. */
const RATIOS = { allZeros: 1 / 8, oneSlab: 1 / 2 } as const;

/** Share of zeros in inputs that keep most values, and how often they have any. */
const FEW = { share: 1 / 8, ratio: 1 / 2 } as const;

/** In this share of rows, special values stand at so many places at most, or everywhere. */
const SPECIAL = { rowRatio: 1 / 4, places: 3, wholeRatio: 1 / 2 } as const;

/** Single rows are treated as several of one of these lengths. */
const FOLDED = [16, 64, 256] as const;

/** Sides of a block of whole tiles, as far as the matrix has room: kernels that leave out tiles of zeros look at whole ones. */
const BLOCK_SIDES = [32, 64, 128, 256] as const;

/** How often such a block is as large as it may be, and the largest share of the values that it takes. */
const BLOCK = { largestRatio: 3 / 4, share: 1 / 2, shareWhereManyStay: 1 / 4 } as const;

/**
 * Replaces drawn values by zeros of either sign: at random places, in whole rows, columns or tiles, at one end, everywhere;
 * each slab of rows in another secret way. And by special values of the domain, at few places or in whole rows. Last of all, one
 * block of whole tiles becomes zeros whose bits are 0, without special values.
 */
function drawZeros(values: Float64Array, request: ZerosRequest): Float64Array {
  const { shape, stream, isMostlyZeros, isFree, longestRepeated } = request;
  const draw = inOrder(stream);
  const length = shape.at(-1) ?? 1;
  const inRows = length <= longestRepeated;
  const isFolded = inRows && length === values.length && length > FOLDED[0];
  const columns = isFolded ? FOLDED[below(draw, FOLDED.length)]! : length;
  const hasZero = containsZero(values);
  if (hasZero) {
    if (!isMostlyZeros && inRows && draw() < FEW.ratio) zeroWhere(values, draw, () => draw() < FEW.share);
    if (isMostlyZeros && isFree && draw() < RATIOS.allZeros) zeroWhere(values, draw, () => true);
    else if (isMostlyZeros) zeroSlabs(values, { columns, masks: inRows ? MASKS : WHOLE_ROWS, isFree, draw });
  }
  setSpecial(values, { ...request, columns: length, draw });
  if (isMostlyZeros && hasZero) {
    const rows = Math.ceil(isFolded ? values.length / columns : (shape.at(-2) ?? 1));
    zeroBlock(values, { rows, columns, wholeRows: !inRows, isFree, draw });
  }
  return values;
}

interface BlockRequest extends Pick<Slab, 'columns' | 'isFree' | 'draw'> {
  /** Of each matrix. */
  readonly rows: number;
  /** Whether a row is zeros as a whole or not at all. */
  readonly wholeRows: boolean;
}

/** One block of whole tiles of one of the matrices: it begins at a multiple of its sides. */
function zeroBlock(values: Float64Array, { rows, columns, wholeRows, isFree, draw }: BlockRequest): void {
  const isLargest = draw() < BLOCK.largestRatio;
  const sideWithin = (length: number): number => {
    const fitting = BLOCK_SIDES.filter((side) => side <= length);
    return (isLargest ? fitting.at(-1) : fitting[below(draw, fitting.length)]) ?? length;
  };
  let height = sideWithin(rows);
  let width = wholeRows ? columns : sideWithin(columns);
  const most = values.length * (isFree ? BLOCK.share : BLOCK.shareWhereManyStay);
  while (height * width > most) {
    if (height > 1 && (height >= width || wholeRows)) height = Math.ceil(height / 2);
    else if (width > 1 && !wholeRows) width = Math.ceil(width / 2);
    else return;
  }
  const matrix = below(draw, Math.floor(values.length / (rows * columns))) * rows * columns;
  const [top, left] = [
    height * below(draw, Math.floor(rows / height)),
    width * below(draw, Math.floor(columns / width)),
  ];
  for (let row = top; row < top + height; row++) {
    const start = matrix + row * columns + left;
    values.fill(0, start, start + width);
  }
}

/** Whether zero lies among the values, so that a problem with positive ones gets none. */
const containsZero = (values: Float64Array): boolean =>
  values.some((value) => value <= 0) && values.some((value) => value >= 0);

function zeroWhere(values: Float64Array, draw: Draw, isZero: (i: number) => boolean): void {
  for (let i = 0; i < values.length; i++) if (isZero(i)) values[i] = draw() < 0.5 ? 0 : -0;
}

function zeroSlabs(values: Float64Array, { columns, masks, isFree, draw }: Omit<Slab, 'values'>): void {
  const rows = Math.ceil(values.length / columns);
  const isOne = draw() < RATIOS.oneSlab;
  let waiting: Mask[] = [];
  for (let row = 0; row < rows; ) {
    const height = isOne ? rows : logBelow(draw, rows);
    const slab = values.subarray(row * columns, (row + height) * columns);
    if (waiting.length === 0) waiting = shuffle([...masks], (bound) => below(draw, bound));
    const isZero = waiting.pop()!({ values: slab, columns, isFree, draw });
    zeroWhere(slab, draw, (i) => isZero(Math.floor(i / columns), i % columns));
    row += height;
  }
}

function setSpecial(
  values: Float64Array,
  { dtype, domain, fillsRows, columns, draw }: ZerosRequest & { readonly columns: number; readonly draw: Draw },
): void {
  const choices = domain.filter((value) => value !== 'subnormal' && value !== 'zero');
  if (choices.length === 0) return;
  for (let start = 0; start < values.length; start += columns) {
    if (draw() >= SPECIAL.rowRatio) continue;
    const value = specialValue(choices[below(draw, choices.length)]!, dtype);
    if (fillsRows && draw() < SPECIAL.wholeRatio) values.fill(value, start, start + columns);
    else if (columns > 1)
      for (let i = Math.min(columns - 1, 1 + below(draw, SPECIAL.places)); i > 0; i--)
        values[start + below(draw, columns)] = value;
  }
}
