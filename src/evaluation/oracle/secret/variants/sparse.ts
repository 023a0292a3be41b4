import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/** Every so many columns, or rows, of a block are zeros. A block takes whole tiles of most kernels, which begin where it begins. */
const LINES = { strides: [2, 4, 8, 16, 32], block: 128, vectorBlock: 8192 } as const;

/** Every combination comes in turn, the first by lot: stride, and whether rows or columns are zeros. */
const WAYS = LINES.strides.flatMap((stride) => [false, true].map((areRows) => ({ stride, areRows })));

/** In a quarter of the blocks the lines do not begin with the block. */
const SHIFTED = 4;

/**
 * A kernel that looks at one element of each vector, or at every second line of a tile, finds zeros only, and may take the others for zeros, too.
 * They stay as drawn.
 */
function zeroLines(values: Float64Array, { buffer, stream, freedom }: Treated): Float64Array {
  if (!freedom.isFree(buffer.name) || !values.some((value) => value <= 0)) return values;
  const columns = columnsOf(buffer);
  const rows = buffer.shape.at(-2) ?? 1;
  const side = rows > 1 ? LINES.block : LINES.vectorBlock;
  const [across, first] = [Math.ceil(columns / side), stream.bits(0)];
  for (let start = 0; start < values.length; start += columns) {
    const row = (start / columns) % rows;
    for (let left = 0; left < columns; left += side) {
      const block = Math.floor(row / side) * across + left / side;
      const { stride, areRows } = WAYS[(first + block) % WAYS.length]!;
      const lot = stream.bits(1 + block);
      const shift = lot % SHIFTED === 0 ? Math.floor(lot / SHIFTED) % stride : 0;
      const end = start + Math.min(columns, left + side);
      if (areRows && rows > 1) {
        if (row % stride === shift) values.fill(0, start + left, end);
      } else for (let i = start + left + shift; i < end; i += stride) values[i] = 0;
    }
  }
  return values;
}

export const sparse: Treatment = {
  count: (problem, { isFree }) => (inputsThat(problem, isFree).length > 0 ? 1 : 0),
  treat: zeroLines,
  // Of whole tiles: smaller shapes have few.
  needs: () => 'square',
};
