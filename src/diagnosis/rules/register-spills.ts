import type { LaunchCounters } from '../../core/counters.ts';
import { figure } from '../../core/values.ts';
import { percent } from '../format.ts';
import type { Rule } from '../rule.ts';
import { estimate, replaceInstructions } from '../what-if.ts';

/** Local-memory requests ÷ instructions. */
const THRESHOLD = 0.01;

const localRatio = (launch: LaunchCounters): number =>
  launch.instructions > 0 ? (launch.localLoadRequests + launch.localStoreRequests) / launch.instructions : 0;

/** Per-thread arrays or spilled registers live in local memory, which is global memory behind L1. */
export const registerSpills: Rule = {
  id: 'register-spills',
  minimumSpeedup: 1.01,
  observe(context) {
    const spilling = context.launches.filter(({ launch }) => localRatio(launch) > THRESHOLD);
    const worst = spilling[0];
    if (!worst) return undefined;
    const { resources } = worst.launch;
    return {
      title: `local memory: ${percent(localRatio(worst.launch))} of instructions are spills or indexed local arrays`,
      evidence: spilling.map(({ launch }) => ({
        counter: 'local requests ÷ instructions',
        value: localRatio(launch),
        threshold: THRESHOLD,
        comparison: 'above' as const,
        where:
          `${launch.functionName}: ${figure(launch.localLoadRequests)} loads, ${figure(launch.localStoreRequests)}` +
          ` stores, ${launch.resources.localBytesPerThread} B per thread`,
      })),
      advice:
        'Index per-thread arrays with constants only (unroll the loops over them), or shrink the per-thread tile' +
        ` (${resources.registersPerThread} registers ${resources.registersSource}).`,
      ...estimate(context, 'registers instead of local memory', (item) =>
        spilling.includes(item)
          ? {
              launch: {
                ...replaceInstructions(item, { 'local-load': 0, 'local-store': 0 }),
                localLoadRequests: 0,
                localStoreRequests: 0,
              },
            }
          : undefined,
      ),
    };
  },
};
