import type { CounterTotals, LaunchCounters } from '../../core/counters.ts';
import { SECTOR_BYTES } from '../../core/gpu-sizes.ts';
import { figure } from '../../core/values.ts';
import type { Rule } from '../rule.ts';
import { estimate } from '../what-if.ts';
import { where } from '../where.ts';

/** Sectors moved ÷ sectors the bytes would fill. */
const THRESHOLD = 2;

interface Access {
  readonly name: string;
  readonly requests: number;
  readonly sectors: number;
  readonly bytes: number;
}

const loads = (counters: CounterTotals): Access => ({
  name: 'load',
  requests: counters.globalLoadRequests,
  sectors: counters.globalLoadSectors,
  bytes: counters.globalLoadBytes,
});
const stores = (counters: CounterTotals): Access => ({
  name: 'store',
  requests: counters.globalStoreRequests,
  sectors: counters.globalStoreSectors,
  bytes: counters.globalStoreBytes,
});

const idealSectors = (access: Access): number => Math.max(access.requests, access.bytes / SECTOR_BYTES);
const excess = (access: Access): number => (access.sectors > 0 ? access.sectors / idealSectors(access) : 1);
const isScattered = (access: Access): boolean => excess(access) > THRESHOLD;

/** The launch with every request touching only the sectors its bytes fill. */
function coalesced(launch: LaunchCounters): LaunchCounters {
  return {
    ...launch,
    // Follows from the sectors.
    globalLoadLines: undefined,
    globalLoadSectors: Math.min(launch.globalLoadSectors, idealSectors(loads(launch))),
    globalStoreSectors: Math.min(launch.globalStoreSectors, idealSectors(stores(launch))),
  };
}

/** Lanes of a request lie far apart, so that it moves many sectors of which it uses a few bytes each. */
export const uncoalescedAccess: Rule = {
  id: 'uncoalesced-access',
  minimumSpeedup: 1.02,
  observe(context) {
    const evidence = context.launches.flatMap(({ launch }) =>
      [loads(launch), stores(launch)].filter(isScattered).map((access) => ({
        counter: `sectors per global ${access.name} request ÷ ideal`,
        value: excess(access),
        threshold: THRESHOLD,
        comparison: 'above' as const,
        where:
          `${where(launch, (line) => (access.name === 'load' ? line.globalLoadSectors : line.globalStoreSectors))}: ` +
          `${figure(access.sectors / access.requests)} sectors per request,` +
          ` ${figure(idealSectors(access) / access.requests)} would hold the ${figure(access.bytes / access.requests)} B`,
      })),
    );
    const worst = evidence[0];
    if (!worst) return undefined;
    return {
      title: `uncoalesced global access: ${figure(worst.value)}× the sectors that the bytes need`,
      evidence,
      advice:
        'Let neighbouring lanes read neighbouring addresses: change the lane-to-element mapping, transpose through ' +
        'shared memory, or load whole vectors per lane.',
      ...estimate(context, 'every request on the sectors its bytes fill', ({ launch }) => ({
        launch: coalesced(launch),
      })),
    };
  },
};
