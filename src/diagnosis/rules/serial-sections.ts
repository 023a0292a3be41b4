import type { LaunchCounters } from '../../core/counters.ts';
import { LANES_PER_WARP } from '../../core/gpu-sizes.ts';
import { figure } from '../../core/values.ts';
import { SERIAL_LANES } from '../../hardware/launch-model/constants.ts';
import { fewLaneInstructions } from '../../hardware/launch-model/latency.ts';
import { percent } from '../format.ts';
import { type ModelledLaunch, meanWarpInstructions, type Rule } from '../rule.ts';
import { estimate, packInstructions } from '../what-if.ts';
import { where } from '../where.ts';

/** Share of the CTA's critical path that one warp walks while the others wait at a barrier. */
const SERIAL_PATH_THRESHOLD = 0.2;
/** Share of warp instructions with at most FEW_LANES active lanes. */
const FEW_LANES_THRESHOLD = 0.2;
const FEW_LANES = SERIAL_LANES;

function serialPathRatio(item: ModelledLaunch): number {
  const { criticalPathInstructions } = item.launch;
  return criticalPathInstructions > 0 ? Math.max(0, 1 - meanWarpInstructions(item) / criticalPathInstructions) : 0;
}

const fewLaneRatio = (launch: LaunchCounters): number =>
  launch.instructions > 0 ? fewLaneInstructions(launch) / launch.instructions : 0;

/** Instructions left if the few-lane ones were packed 32 lanes wide, as a share of all. */
function packedRatio(launch: LaunchCounters): number {
  let saved = 0;
  for (let lanes = 1; lanes <= FEW_LANES; lanes++) {
    saved += (launch.activeLaneHistogram[lanes] ?? 0) * (1 - lanes / LANES_PER_WARP);
  }
  return launch.instructions > 0 ? 1 - saved / launch.instructions : 1;
}

/** Few lanes, or one warp, work while the rest of the CTA waits at the next barrier. */
export const serialSections: Rule = {
  id: 'serial-sections',
  minimumSpeedup: 1.02,
  observe(context) {
    const serial = context.launches.filter(
      (item) =>
        item.launch.barriers > 0 &&
        (serialPathRatio(item) > SERIAL_PATH_THRESHOLD || fewLaneRatio(item.launch) > FEW_LANES_THRESHOLD),
    );
    const worst = serial[0];
    if (!worst) return undefined;
    return {
      title:
        `serial sections: ${percent(serialPathRatio(worst))} of the CTA’s critical path is walked by one warp,` +
        ` ${percent(fewLaneRatio(worst.launch))} of instructions have at most ${FEW_LANES} lanes`,
      evidence: serial
        .flatMap((item) => [
          {
            counter: 'serial share of the critical path',
            value: serialPathRatio(item),
            threshold: SERIAL_PATH_THRESHOLD,
            comparison: 'above' as const,
            where:
              `${where(item.launch, (line) => line.instructions * LANES_PER_WARP - line.threadInstructions)}: ` +
              `${figure(item.launch.criticalPathInstructions)} instructions on the critical path,` +
              ` ${figure(meanWarpInstructions(item))} per warp in the mean`,
          },
          {
            counter: `share of instructions with at most ${FEW_LANES} active lanes`,
            value: fewLaneRatio(item.launch),
            threshold: FEW_LANES_THRESHOLD,
            comparison: 'above' as const,
            where: where(item.launch, (line) => line.instructions * LANES_PER_WARP - line.threadInstructions),
          },
        ])
        .filter((item) => item.value > item.threshold),
      advice:
        'Spread the section over all warps and lanes: one warp per row with shuffle reductions instead of one thread ' +
        'per row.',
      ...estimate(context, 'the serial work spread over every warp and lane', (item) => {
        if (!serial.includes(item)) return undefined;
        const packed = packInstructions(item.launch, packedRatio(item.launch));
        const perWarp = packed.instructions / (packed.ctaCount * item.model.schedule.warpsPerCta);
        return { launch: { ...packed, criticalPathInstructions: perWarp } };
      }),
    };
  },
};
