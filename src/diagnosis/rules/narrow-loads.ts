import { LANES_PER_WARP } from '../../core/gpu-sizes.ts';
import { figure } from '../../core/values.ts';
import { fewerLines, replaceInstructions } from '../what-if.ts';
import { where } from '../where.ts';
import { figureRule } from './figure-rule.ts';

/** Bytes that a lane asks for per global load. */
const THRESHOLD_BYTES = 8;
const WIDEST_BYTES = 16;
/** Share of the instructions that loads must make up to be worth widening. */
const MINIMUM_LOAD_SHARE = 0.01;

/** Many narrow global loads where a few 16-byte ones would move the same bytes. */
export const narrowLoads = figureRule({
  id: 'narrow-loads',
  minimumSpeedup: 1.02,
  counter: 'bytes per lane and global load request',
  unit: 'B',
  threshold: THRESHOLD_BYTES,
  comparison: 'below',
  valueOf: ({ launch: { globalLoadRequests: requests, globalLoadBytes, instructions } }) =>
    requests / instructions < MINIMUM_LOAD_SHARE ? undefined : globalLoadBytes / (requests * LANES_PER_WARP),
  title: ({ value }) => `narrow loads: ${figure(value)} B per lane and global load, where ${WIDEST_BYTES} are possible`,
  where: ({ launch }) =>
    `${where(launch, (line) => line.globalLoadRequests)}: ${figure(launch.globalLoadRequests)} requests`,
  advice: 'Load 16 bytes per lane (float4, or 8 halves) where addresses are 16-byte aligned.',
  remedy: `${WIDEST_BYTES}-byte loads of the same bytes`,
  change: (item) => {
    const { launch, value } = item;
    const remaining = value / WIDEST_BYTES;
    const loads = launch.instructionsByClass['global-load'] * remaining;
    return {
      launch: {
        ...replaceInstructions(item, { 'global-load': loads }),
        globalLoadRequests: launch.globalLoadRequests * remaining,
        globalLoadLines: fewerLines(launch, remaining),
      },
    };
  },
});
