import { has } from '../../ptx/instruction-parts.ts';
import { LANES } from '../layout.ts';
import { unsupported } from '../unsupported.ts';
import type { WarpContext } from './warp-context.ts';

const ROW_BYTES = 16;
const ROWS = 8;

const MATRIX_COUNTS: ReadonlyMap<string, number> = new Map([
  ['x1', 1],
  ['x2', 2],
  ['x4', 4],
]);

/**
 * ldmatrix: up to four 8×8 matrices of 16-bit elements from shared memory; lanes 8i … 8i + 7 give the rows of matrix
 * i, and lane l gets elements 2·(l mod 4) and the next of row ⌊l / 4⌋ (of the transposed matrix under `.trans`).
 * Source: PTX ISA, ldmatrix.
 */
export function loadMatrix(context: WarpContext): void {
  const { instruction, operands, lanes } = context;
  const count = MATRIX_COUNTS.get(instruction.modifiers.find((m) => MATRIX_COUNTS.has(m)) ?? '');
  if (count === undefined || lanes.length !== LANES || !has(instruction, 'b16')) throw unsupported(instruction);
  const transposed = has(instruction, 'trans');
  const words = new Int32Array(LANES);
  for (let matrix = 0; matrix < count; matrix++) {
    const rows = context.sharedRows(operands[count]!, matrix * ROWS, ROWS, ROW_BYTES);
    const halves = context.sharedHalves;
    for (let lane = 0; lane < LANES; lane++) {
      const row = lane >> 2;
      const column = (lane & 3) * 2;
      words[lane] = transposed
        ? halves[rows[column]! + row]! | (halves[rows[column + 1]! + row]! << 16)
        : halves[rows[row]! + column]! | (halves[rows[row]! + column + 1]! << 16);
    }
    context.setWords(operands[matrix]!, words);
  }
}
