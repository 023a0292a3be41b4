import type { PtxInstruction } from '../../ptx/ast.ts';
import { has } from '../../ptx/instruction-parts.ts';

/** Of the matrices of ldmatrix and stmatrix: 8×8 elements of 16 bits. */
export const MATRIX_ROWS = 8;
export const MATRIX_ROW_BYTES = 16;

const COUNTS = [1, 2, 4];

/** Number of matrices that an ldmatrix or stmatrix moves; undefined for other elements. */
export const matrixCountOf = (instruction: PtxInstruction): number | undefined =>
  has(instruction, 'b16') ? COUNTS.find((count) => has(instruction, `x${count}`)) : undefined;
