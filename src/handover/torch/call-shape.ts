import { isFloating } from '../../core/dtype.ts';
import { namesInExpression } from '../../core/expressions/evaluate.ts';
import type { Expression } from '../../core/expressions/syntax-tree.ts';
import type { BufferDeclaration, DimensionDeclaration, ProblemFile } from '../../core/problem.ts';

/** What a PyTorch user passes for a problem, and gets. */
export interface CallShape {
  /** Tensors that the caller passes, in the problem's order: every input, and outputs that are also read. */
  readonly operands: readonly NamedBuffer[];
  /** Tensors that a call makes, or that the caller gives as `out`. */
  readonly results: readonly NamedBuffer[];
  /** Where a dimension's value is read off: an operand's axis. */
  readonly bound: ReadonlyMap<string, { readonly operand: string; readonly axis: number }>;
  /** Dimensions that no shape tells, in the problem's order: keyword arguments. */
  readonly keywords: readonly Keyword[];
}

export interface NamedBuffer {
  readonly name: string;
  readonly buffer: BufferDeclaration;
}

export interface Keyword {
  readonly name: string;
  readonly declaration: DimensionDeclaration;
  /** Its values are 0 and 1. */
  readonly isFlag: boolean;
  /** Strides of an operand tell it, if the caller does not: its values in the order in which they are tried. */
  readonly told: readonly number[] | undefined;
}

/**
 * The call that a problem's declarations mean. A dimension is read off the first axis of an operand whose extent is that
 * dimension alone; all others are keyword arguments. Of these, one of a few values that only strides name (`bshd`) is told by the
 * strides of the tensors.
 */
export function callShape(problem: ProblemFile): CallShape {
  const named = (buffers: ProblemFile['inputs']): NamedBuffer[] =>
    Object.entries(buffers).map(([name, buffer]) => ({ name, buffer }));
  const outputs = named(problem.outputs);
  const operands = [...named(problem.inputs), ...outputs.filter(({ buffer }) => buffer.access !== 'out')];
  const bound = new Map<string, { operand: string; axis: number }>();
  for (const { name, buffer } of operands) {
    for (const [axis, extent] of buffer.shape.entries()) {
      const dimension = typeof extent === 'string' ? extent.trim() : '';
      if (Object.hasOwn(problem.dimensions, dimension) && !bound.has(dimension))
        bound.set(dimension, { operand: name, axis });
    }
  }
  const namesOf = (list: (buffer: BufferDeclaration) => readonly Expression[]): Set<string> =>
    new Set(operands.flatMap(({ buffer }) => list(buffer).flatMap((expression) => namesInExpression(expression))));
  const inStrides = namesOf(({ strides = [] }) => strides);
  const inShapes = namesOf(({ shape }) => shape);
  const keywords = Object.entries(problem.dimensions)
    .filter(([name]) => !bound.has(name))
    .map(([name, declaration]): Keyword => {
      const { values } = declaration;
      const isTold = values !== undefined && inStrides.has(name) && !inShapes.has(name);
      return {
        name,
        declaration,
        isFlag: values?.every((value) => value === 0 || value === 1) ?? false,
        told: isTold ? defaultFirst(values, declaration.default) : undefined,
      };
    });
  return { operands, results: outputs.filter(({ buffer }) => buffer.access === 'out'), bound, keywords };
}

/** A stable order. */
const defaultFirst = (values: readonly number[], preferred: Expression | undefined): number[] =>
  [...values].sort((left, right) => Number(right === preferred) - Number(left === preferred));

/** Whether a call may say that it needs a gradient of it. */
export const hasGradient = ({ buffer }: NamedBuffer): boolean => isFloating(buffer.dtype);
