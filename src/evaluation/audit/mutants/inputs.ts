import type { ProblemFile } from '../../../core/problem.ts';
import { fromRight, type Mutant } from './mutant.ts';

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
