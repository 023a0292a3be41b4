import { isDeepStrictEqual } from 'node:util';
import { namesInExpression } from '../../../core/expressions/evaluate.ts';
import { completeDimensions, isShapeOf } from '../../../core/plan/dimensions.ts';
import { expandBuffers } from '../../../core/plan/expand-buffers.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import { fromRight, type Mutant, zeros } from './mutant.ts';

const shapesOf = (problem: ProblemFile, dimensions: Dimensions): string =>
  JSON.stringify(expandBuffers(problem, dimensions).map(({ shape }) => shape));

/** Outputs are row-major here, whatever lies in memory: a kernel that mistakes a layout cannot be played. */
const isOfLayout = ({ inputs, outputs }: ProblemFile, flag: string): boolean =>
  [...Object.values(inputs), ...Object.values(outputs)].some(({ strides = [] }) =>
    strides.some((stride) => namesInExpression(stride).includes(flag)),
  );

/** Kernels that invert a yes-or-no dimension, such as `causal`. */
export const flagMutants = (problem: ProblemFile): Mutant[] =>
  Object.entries(problem.dimensions)
    .filter(([name, { values }]) => values?.toSorted().join() === '0,1' && !isOfLayout(problem, name))
    .map(([flag]) => ({
      id: `flipped:${flag}`,
      title: `computes as if ${flag} were the other way`,
      mustShow: true,
      outputs: ({ dimensions, compute }) => {
        const flipped = { ...dimensions, [flag]: 1 - dimensions[flag]! };
        if (!isShapeOf(problem, flipped)) return undefined;
        if (shapesOf(problem, flipped) !== shapesOf(problem, dimensions)) return undefined;
        return compute({ dimensions: flipped });
      },
    }));

const copyOf = (input: string): Mutant => ({
  id: `copy:${input}`,
  title: `copies ${input} to the output`,
  outputs: (context) => {
    const source = context.inputs[input]!;
    return fromRight(context, (values) => values.map((_, i) => source[i % source.length]!));
  },
});

const ignoring = (input: string): Mutant => ({
  id: `ignored-input:${input}`,
  title: `never reads ${input} and takes it as zeros`,
  mustShow: true,
  outputs: ({ inputs, compute }) =>
    compute({ inputs: { ...inputs, [input]: new Float64Array(inputs[input]!.length) } }),
});

/** Kernels that copy an input, or never look at one. */
export function inputMutants(problem: ProblemFile): Mutant[] {
  const buffers = [...Object.entries(problem.inputs), ...Object.entries(problem.outputs)];
  const names = buffers.filter(([, { access }]) => access !== 'out').map(([name]) => name);
  return [...names.map(copyOf), ...names.map(ignoring)];
}

/** Kernels that are right where their author could look. */
export function knowingMutants(problem: ProblemFile): Mutant[] {
  const shape = completeDimensions(problem.dimensions, problem.checkShapes[0]!.dimensions);
  return [
    {
      id: 'one-shape-only',
      title: 'is right at the first check shape, and zero at every other',
      outputs: (context) => (isDeepStrictEqual(context.dimensions, shape) ? context.right : zeros(context)),
    },
  ];
}

/** Kernels that make the mistakes that problem.json names. */
export const namedMistakes = ({ mistakes = {} }: ProblemFile): Mutant[] =>
  Object.entries(mistakes).map(([name, title]) => ({
    id: name,
    title,
    outputs: ({ compute }) => compute({ mistake: name }),
  }));
