import type { Rule } from '../rule.ts';
import { boundBy } from './bound-by.ts';

const RESOURCES = new Set(['issue', 'fp32', 'fp16', 'fp64', 'integer', 'conversion', 'tensor']);
const ADVICE: Readonly<Record<string, string>> = {
  issue: 'Fewer instructions: unroll, wider loads, strength-reduce addresses, packed half2 arithmetic.',
  integer: 'Fewer address calculations: constant strides, unrolled loops, pointers that advance.',
  conversion: 'Convert once and keep the result, or compute in the storage type.',
};

/** An instruction pipe, or the issue slots, take the time; the special-function units have a rule of their own. */
export const computeBound: Rule = {
  id: 'compute-bound',
  minimumSpeedup: 1.02,
  observe: (context) =>
    boundBy(context, {
      resources: RESOURCES,
      label: 'compute-bound',
      advice: (resource) => ADVICE[resource] ?? 'Use a faster pipe for the same operations, or fewer operations.',
    }),
};
