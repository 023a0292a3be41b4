import { figure } from '../../core/values.ts';
import type { Rule } from '../rule.ts';
import { estimate, replaceInstructions } from '../what-if.ts';
import { where } from '../where.ts';

/** Bytes that a lane asks for per global load. */
const THRESHOLD_BYTES = 8;
const WIDEST_BYTES = 16;
const LANES = 32;
/** Share of the instructions that loads must make up to be worth widening. */
const MINIMUM_LOAD_SHARE = 0.01;

/** Many narrow global loads where a few 16-byte ones would move the same bytes. */
export const narrowLoads: Rule = {
  id: 'narrow-loads',
  minimumSpeedup: 1.02,
  observe(context) {
    const narrow = context.launches.flatMap(({ launch }) => {
      const requests = launch.globalLoadRequests;
      if (requests / launch.instructions < MINIMUM_LOAD_SHARE) return [];
      const value = launch.globalLoadBytes / (requests * LANES);
      return value < THRESHOLD_BYTES ? [{ launch, value }] : [];
    });
    const worst = narrow[0];
    if (!worst) return undefined;
    return {
      title: `narrow loads: ${figure(worst.value)} B per lane and global load, where ${WIDEST_BYTES} are possible`,
      evidence: narrow.map(({ launch, value }) => ({
        counter: 'bytes per lane and global load request',
        value,
        unit: 'B',
        threshold: THRESHOLD_BYTES,
        comparison: 'below' as const,
        where: `${where(launch, (line) => line.globalLoadRequests)}: ${figure(launch.globalLoadRequests)} requests`,
      })),
      advice: 'Load 16 bytes per lane (float4, or 8 halves): raise VECTOR_WIDTH where addresses are 16-byte aligned.',
      ...estimate(context, `${WIDEST_BYTES}-byte loads of the same bytes`, (item) => {
        const { launch } = item;
        const found = narrow.find((other) => other.launch === launch);
        if (!found) return undefined;
        const remaining = found.value / WIDEST_BYTES;
        const loads = launch.instructionsByClass['global-load'] * remaining;
        return {
          launch: {
            ...replaceInstructions(item, { 'global-load': loads }),
            globalLoadRequests: launch.globalLoadRequests * remaining,
          },
        };
      }),
    };
  },
};
