import type { Rule } from '../rule.ts';
import { boundBy } from './bound-by.ts';

/** Warps wait for results most of the time, and too few others are there to fill the gaps. */
export const latencyBound: Rule = {
  id: 'latency-bound',
  minimumSpeedup: 1.02,
  observe: (context) =>
    boundBy(context, {
      resources: new Set(['latency']),
      label: 'latency-bound',
      advice: () =>
        'More independent work in flight: more warps per SM, register tiles with independent accumulators, loads issued ' +
        'ahead of their use, shorter dependency chains.',
    }),
};
