import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';

/** FLOP per element read or written above which work on half-precision data can only be products of matrices. */
const MATRIX_FLOP_PER_ELEMENT = 16;

/** Whether the problem multiplies fp16 or bf16 matrices, which tensor cores take. */
export function hasHalfPrecisionMatrixWork(problem: ProblemFile, dimensions: Dimensions): boolean {
  const buffers = [...Object.values(problem.inputs), ...Object.values(problem.outputs)];
  const half = Object.values(problem.inputs).filter(({ dtype }) => dtype === 'f16' || dtype === 'bf16');
  if (half.length < 2) return false;
  const elements = buffers.reduce(
    (sum, { shape }) =>
      sum + shape.reduce<number>((product, extent) => product * evaluateExpression(extent, dimensions), 1),
    0,
  );
  return evaluateExpression(problem.flop, dimensions) / elements >= MATRIX_FLOP_PER_ELEMENT;
}
