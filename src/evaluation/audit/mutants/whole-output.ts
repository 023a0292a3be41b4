import { fromRight, type Mutant } from './mutant.ts';

/** One per cent too large: a wrong scale, or a forgotten term of a normalisation. */
const GAIN_ERROR = 1.01;

const meanOf = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Kernels whose output depends little on the inputs, or not at all. */
export const wholeOutputMutants: readonly Mutant[] = [
  {
    id: 'zeros',
    title: 'writes zeros',
    outputs: (context) => fromRight(context, (values) => new Float64Array(values.length)),
  },
  {
    id: 'constant',
    title: 'writes the mean of the right output everywhere',
    outputs: (context) => {
      // The mean of one element is that element.
      if (context.outputs.every(({ name }) => context.right[name]!.length < 2)) return undefined;
      return fromRight(context, (values) => new Float64Array(values.length).fill(meanOf(values)));
    },
  },
  {
    id: 'stale',
    // This includes a kernel with stored answers, because the seed it stored them for is never the seed it is judged with.
    title: 'writes the right output of other inputs',
    runsReference: true,
    outputs: (context) => context.stale(),
  },
  {
    id: 'gain',
    title: 'writes everything 1 % too large',
    outputs: (context) => fromRight(context, (values) => values.map((value) => value * GAIN_ERROR)),
  },
  {
    id: 'negated',
    title: 'writes everything with the wrong sign',
    outputs: (context) => fromRight(context, (values) => values.map((value) => -value)),
  },
];
