import { has } from '../codegen/instruction-parts.ts';
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
  for (let matrix = 0; matrix < count; matrix++) {
    const rows = Array.from({ length: ROWS }, (_, row) => {
      const lane = matrix * ROWS + row;
      const address = context.address(operands[count]!, lane);
      return { lane, address, ...context.resolve(address, 'shared', ROW_BYTES, false, lane) };
    });
    context.countRequest(rows, ROW_BYTES, 'load');
    const element = (row: number, column: number) =>
      transposed
        ? rows[column]!.view.getUint16(rows[column]!.offset + row * 2, true)
        : rows[row]!.view.getUint16(rows[row]!.offset + column * 2, true);
    for (const lane of lanes) {
      const [row, column] = [lane >> 2, (lane & 3) * 2];
      context.setWord(operands[matrix]!, lane, element(row, column) | (element(row, column + 1) << 16));
    }
  }
}
