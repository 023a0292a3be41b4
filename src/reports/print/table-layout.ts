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

export const columnsWidth = (widths: readonly number[]): number => sum(widths) + GAP * Math.max(0, widths.length - 1);

interface Placed {
  readonly index: number;
  readonly natural: number;
  /** Length of the longest first word, which is never broken. */
  readonly firstWord: number;
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

/** Of each column: how wide it would be, and the longest word that one of its cells begins with. */
export interface ColumnSizes {
  readonly natural: readonly number[];
  readonly firstWords: readonly number[];
}

/**
 * Fits columns of the given sizes into `width`: words are shortened while they stay readable, then columns left
 * out by their `drop`, then words shortened further. Undefined where even that is too wide.
 */
export function layoutTable(
  columns: readonly Column[],
  { natural, firstWords }: ColumnSizes,
  width: number,
): TableLayout | undefined {
  const drops = [...new Set(columns.map(({ drop = 0 }) => drop))].sort((a, b) => a - b);
  // From all columns to those that are never left out; then these again, shorter.
  const attempts = [...drops.toReversed().map((most) => [most, READABLE] as const), [0, LEAST] as const];
  for (const [most, least] of attempts) {
    const placed = natural
      .map((size, index): Placed => ({ index, natural: size, firstWord: firstWords[index]!, width: size }))
      .filter(({ index }) => (columns[index]!.drop ?? 0) <= most);
    if (placed.length === 0 || !shrink(placed, columns, width, least)) continue;
    const isCut = placed.length < columns.length || placed.some((one) => one.width < one.natural);
    return { columns: placed, isCut };
  }
  return undefined;
}
