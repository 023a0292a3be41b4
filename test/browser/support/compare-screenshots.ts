import { BLOCK, type Means } from './screenshot.ts';

/*
 * Screenshots are compared at two scales, because a browser that hints glyphs or places them at whole pixels draws each letter
 * elsewhere, by up to a few pixels, and takes about as much ink for all of them.
 */

/** Blocks along an edge of a tile: 128 px. */
const TILE = 8;
/** How far the mean colour of a tile may be off, of 255. Other glyphs: up to 1.7. A word of a heading that is missing: 2.6. */
const TILE_TOLERANCE = 2.2;
/** How far a block's colour may lie outside of those of the blocks around it in the other screenshot, of 255. Other glyphs: up to 36. */
const BLOCK_TOLERANCE = 40;
/** Differences that are told. */
const MOST_TOLD = 5;

const CHANNELS = [0, 1, 2] as const;

type Range = readonly [from: number, to: number];

/** Values of one channel in a part of a screenshot. */
function valuesIn({ columns, rows, blocks }: Means, channel: number, [left, right]: Range, [top, bottom]: Range) {
  const values: number[] = [];
  for (let y = Math.max(0, top); y < Math.min(rows, bottom); y++)
    for (let x = Math.max(0, left); x < Math.min(columns, right); x++)
      values.push(blocks[(y * columns + x) * CHANNELS.length + channel]!);
  return values;
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** How far a value lies outside of all these. */
const outside = (value: number, values: readonly number[]): number =>
  Math.max(Math.min(...values) - value, value - Math.max(...values));

interface Difference {
  readonly what: string;
  /** Of 255. */
  readonly by: number;
}

const placed = (what: string, x: number, y: number): string => `${what} at ${x * BLOCK}, ${y * BLOCK} px`;

function* differentTiles(stored: Means, taken: Means): Generator<Difference> {
  for (let y = 0; y < stored.rows; y += TILE)
    for (let x = 0; x < stored.columns; x += TILE) {
      const meanIn = (screenshot: Means, channel: number): number =>
        meanOf(valuesIn(screenshot, channel, [x, x + TILE], [y, y + TILE]));
      const by = Math.max(...CHANNELS.map((channel) => Math.abs(meanIn(stored, channel) - meanIn(taken, channel))));
      if (!(by <= TILE_TOLERANCE)) yield { what: placed('the tile', x, y), by };
    }
}

function* differentBlocks(stored: Means, taken: Means): Generator<Difference> {
  for (const [at, was] of stored.blocks.entries()) {
    const is = taken.blocks[at]!;
    // Otherwise the block itself is one of those around it.
    if (Math.abs(was - is) <= BLOCK_TOLERANCE) continue;
    const [block, channel] = [Math.floor(at / CHANNELS.length), at % CHANNELS.length];
    const [x, y] = [block % stored.columns, Math.floor(block / stored.columns)];
    const near = (screenshot: Means): number[] => valuesIn(screenshot, channel, [x - 1, x + 2], [y - 1, y + 2]);
    const by = Math.max(outside(was, near(taken)), outside(is, near(stored)));
    if (!(by <= BLOCK_TOLERANCE)) yield { what: placed('the block', x, y), by };
  }
}

const cut = ({ columns, blocks }: Means, rows: number): Means => ({
  columns,
  rows,
  blocks: blocks.slice(0, rows * columns * CHANNELS.length),
});

/** In what a screenshot of the page differs visibly from the stored one, in words; nothing where people would call them alike. */
export function describeDifferences(stored: Means, taken: Means): string[] {
  const size = ({ columns, rows }: Means): string => `${columns * BLOCK} × ${rows * BLOCK} px`;
  // Heights are rounded up to whole blocks.
  if (stored.columns !== taken.columns || Math.abs(stored.rows - taken.rows) > 1)
    return [`about ${size(taken)} instead of ${size(stored)}`];
  const rows = Math.min(stored.rows, taken.rows);
  const both = [cut(stored, rows), cut(taken, rows)] as const;
  return [...differentTiles(...both), ...differentBlocks(...both)]
    .sort((a, b) => b.by - a.by)
    .slice(0, MOST_TOLD)
    .map(({ what, by }) => `${what}: a colour is off by ${by.toFixed(1)} of 255`);
}
