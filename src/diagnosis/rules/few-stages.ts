import { SECTOR_BYTES } from '../../core/gpu-sizes.ts';
import { figure } from '../../core/values.ts';
import { percent } from '../format.ts';
import type { DiagnosisContext, ModelledLaunch, Rule } from '../rule.ts';

/** Share of a warp's time that it waits for copies it has issued. */
const STALL_THRESHOLD = 0.25;
/** Bytes of the rings ÷ bytes that must be on their way. The tile in use is not: of three stages, two can be. */
const FLIGHT_THRESHOLD = 1.5;
/** A longer ring brings a part of what no wait at all would. */
const MOST_SPEEDUP = 2;

interface Shortage {
  readonly item: ModelledLaunch;
  readonly counter: string;
  readonly value: number;
  readonly threshold: number;
  readonly comparison: 'above' | 'below';
  readonly figures: string;
  readonly speedup: number;
}

/** Waits as the profiler saw them. A wait for a group of cp.async counts as `long_scoreboard`. */
function seenWaits(item: ModelledLaunch): Shortage | undefined {
  const { long_scoreboard: copies, sleeping = 0 } = item.launch.activity?.stallRatios ?? {};
  if (copies === undefined || !(copies + sleeping > STALL_THRESHOLD)) return undefined;
  const value = copies + sleeping;
  return {
    item,
    counter: 'share of a warp’s time that it waits for copies',
    value,
    threshold: STALL_THRESHOLD,
    comparison: 'above',
    figures: `${percent(value)} of a warp’s time`,
    speedup: 1 / (1 - Math.min(value, 1 - 1 / MOST_SPEEDUP)),
  };
}

/**
 * Little's law: the shared memory of the resident CTAs, which is all that can be on its way, against the bytes that must
 * arrive during one latency so that the busiest unit never waits.
 */
function shortFlight({ spec }: DiagnosisContext, item: ModelledLaunch): Shortage | undefined {
  const { launch, model } = item;
  const { schedule, traffic } = model;
  const bytesPerCta = Math.max(launch.globalLoadBytes, launch.globalLoadSectors * SECTOR_BYTES) / launch.ctaCount;
  const unitNs = Math.max(0, ...model.bounds.filter(({ resource }) => resource !== 'latency').map(({ ns }) => ns));
  if (!(bytesPerCta > 0 && unitNs > 0)) return undefined;
  const clocks = (unitNs * spec.sustainedClockHz.value) / 1e9;
  const wanted = ((bytesPerCta * schedule.ctasOnBusiestSm) / clocks) * traffic.globalLoadLatencyClocks;
  const { staticSharedBytes, dynamicSharedBytes } = launch.resources;
  const held = schedule.residentCtas * (staticSharedBytes + dynamicSharedBytes);
  const value = held / wanted;
  if (!(value < FLIGHT_THRESHOLD)) return undefined;
  return {
    item,
    counter: 'shared bytes of an SM’s CTAs ÷ bytes that must be on their way',
    value,
    threshold: FLIGHT_THRESHOLD,
    comparison: 'below',
    figures: `rings hold ${figure(held)} B, ${figure(wanted)} B must be on their way`,
    speedup: Math.min(MOST_SPEEDUP, FLIGHT_THRESHOLD / value),
  };
}

/** Copies run ahead of their use, and not far enough. */
export const fewStages: Rule = {
  id: 'few-stages',
  minimumSpeedup: 1.05,
  observe(context) {
    const short = context.launches
      .filter(({ launch }) => launch.instructionsByClass['async-copy'] > 0)
      .flatMap((item) => seenWaits(item) ?? shortFlight(context, item) ?? []);
    const worst = short[0];
    if (!worst) return undefined;
    const afterShare = context.launches.reduce((sum, item) => {
      const own = short.find((one) => one.item === item);
      return sum + item.timeShare / (own?.speedup ?? 1);
    }, 0);
    return {
      title: `asynchronous copies are not far enough ahead: ${worst.figures}`,
      evidence: short.map(({ item, counter, value, threshold, comparison, figures }) => ({
        counter,
        value,
        threshold,
        comparison,
        where: `${item.launch.functionName}: ${figures}`,
      })),
      advice: 'More stages, larger tiles, or one more CTA per SM; a producer warp that does nothing but copy.',
      estimatedSpeedup: 1 / afterShare,
      arithmetic: `${figure(worst.speedup)}× where warps wait, at most ${MOST_SPEEDUP}×, weighted by time = ${figure(1 / afterShare)}×`,
    };
  },
};
