import type { LaunchCounters } from '../../core/counters.ts';
import { figure } from '../../core/values.ts';
import type { ModelledLaunch } from '../rule.ts';
import { replaceInstructions } from '../what-if.ts';
import { where } from '../where.ts';
import { figureRule } from './figure-rule.ts';

/** Times each distinct sector is asked for. */
const THRESHOLD = 32;
/** Re-reads that remain when tiles are shared by the rows of a CTA. */
const REMAINING_REREADS = 16;

const rereads = (launch: LaunchCounters): number =>
  launch.distinctSectorsRead > 0 ? launch.globalLoadSectors / launch.distinctSectorsRead : 0;

/** The launch with most re-reads served by shared memory, one wavefront each. */
function throughSharedMemory(item: ModelledLaunch): LaunchCounters {
  const { launch } = item;
  const remaining = REMAINING_REREADS / rereads(launch);
  const moved = launch.instructionsByClass['global-load'] * (1 - remaining);
  const changed = replaceInstructions(item, {
    'global-load': launch.instructionsByClass['global-load'] - moved,
    'shared-load': launch.instructionsByClass['shared-load'] + moved,
  });
  return {
    ...changed,
    globalLoadRequests: launch.globalLoadRequests * remaining,
    globalLoadSectors: launch.globalLoadSectors * remaining,
    globalLoadBytes: launch.globalLoadBytes * remaining,
    globalLoadLines: launch.globalLoadLines && launch.globalLoadLines * remaining,
    sharedLoadRequests: launch.sharedLoadRequests + moved,
    sharedLoadWavefronts: launch.sharedLoadWavefronts + moved,
  };
}

/** The same sectors are loaded again and again from global memory. */
export const redundantGlobalLoads = figureRule({
  id: 'redundant-global-loads',
  minimumSpeedup: 1.05,
  counter: 'global load sectors ÷ distinct sectors',
  threshold: THRESHOLD,
  comparison: 'above',
  valueOf: ({ launch }) => rereads(launch),
  title: ({ value }) => `every sector is loaded ${figure(value)} times from global memory`,
  where: ({ launch }) => where(launch, (line) => line.globalLoadSectors),
  advice: 'Load a tile once per CTA into shared memory (or registers) and let all its rows use it: larger BLOCK_M.',
  remedy: `${REMAINING_REREADS} loads per sector, the others from shared memory`,
  change: (item) => ({ launch: throughSharedMemory(item) }),
});
