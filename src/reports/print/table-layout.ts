import { sum } from '../../core/values.ts';
import type { Column } from '../document.ts';

/** How a table fits a width: which columns are shown, and how wide each is. */
export interface TableLayout {
  readonly columns: readonly { readonly index: number; readonly width: number }[];
  /** Whether a column was omitted or shortened. */
  readonly isCut: boolean;
}

/** Spaces between columns. */
export const GAP = 2;
/** Words are shortened to this many characters before a column is left out, and to the second number after. */
const READABLE = 18;
const LEAST = 10;

const columnsWidth = (widths: readonly number[]): number => sum(widths) + GAP * Math.max(0, widths.length - 1);

/** How wide a column would be, and the length of the longest word that a cell begins with, which is never broken. */
export interface ColumnSize {
  readonly natural: number;
  readonly firstWord: number;
}

interface Placed extends ColumnSize {
  readonly index: number;
  width: number;
}

/** Shortens the widest column that may be shortened, but not below `least` or its longest first word. */
function shrink(placed: Placed[], columns: readonly Column[], width: number, least: number): boolean {
  const shrinkable = placed.filter(({ index }) => columns[index]!.isShortened);
  while (columnsWidth(placed.map((one) => one.width)) > width) {
    const widest = shrinkable.reduce<Placed | undefined>(
      (most, one) => (one.width > Math.max(least, one.firstWord + 1) && one.width > (most?.width ?? 0) ? one : most),
      undefined,
    );
    if (!widest) return false;
    widest.width -= 1;
  }
  return true;
}

/**
 * Fits columns of the given sizes into `width`: words are shortened while they stay readable, then columns left
 * out by their `drop`, then words shortened further. Undefined where even that is too wide.
 */
export function layoutTable(
  columns: readonly Column[],
  sizes: readonly ColumnSize[],
  width: number,
): TableLayout | undefined {
  const drops = [...new Set(columns.map(({ drop = 0 }) => drop))].sort((a, b) => a - b);
  // From all columns to those that are never left out; then these again, shorter.
  const attempts = [...drops.toReversed().map((most) => [most, READABLE] as const), [0, LEAST] as const];
  for (const [most, least] of attempts) {
    const placed = sizes
      .map((size, index): Placed => ({ ...size, index, width: size.natural }))
      .filter(({ index }) => (columns[index]!.drop ?? 0) <= most);
    if (placed.length === 0 || !shrink(placed, columns, width, least)) continue;
    const isCut = placed.length < columns.length || placed.some((one) => one.width < one.natural);
    return { columns: placed, isCut };
  }
  return undefined;
}
