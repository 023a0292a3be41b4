import type { Rule } from '../rule.ts';
import { boundBy } from './bound-by.ts';

const RESOURCES = new Set(['dram', 'l2', 'l1', 'lsu', 'shared', 'shuffle', 'atomics']);
const ADVICE: Readonly<Record<string, string>> = {
  dram: 'Move fewer bytes: fuse launches, keep data in fp16, reuse tiles.',
  l2: 'Reuse data inside the CTA: larger tiles in shared memory or registers.',
  l1: 'Reuse data in registers or shared memory, and coalesce the rest.',
  lsu: 'Fewer, wider global requests: 16 bytes per lane.',
  shared: 'Fewer, wider shared loads: register tiles that use each loaded value several times.',
  atomics: 'Reduce inside the warp and the CTA before an atomic, or spread the atomics over addresses.',
  shuffle: 'Fewer shuffles: reduce inside a thread first, across lanes once at the end.',
};

/** Moving data takes the time, at one level of the memory hierarchy. */
export const memoryBound: Rule = {
  id: 'memory-bound',
  minimumSpeedup: 1.02,
  observe: (context) =>
    boundBy(context, {
      resources: RESOURCES,
      label: 'memory-bound',
      advice: (resource) => ADVICE[resource] ?? 'Move fewer bytes.',
    }),
};
