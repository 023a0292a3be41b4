import { copyWaitRatio } from '../../hardware/launch-model/latency.ts';
import { percent } from '../format.ts';
import type { DiagnosisContext, ModelledLaunch, Rule } from '../rule.ts';
import { estimate, replaceInstructions } from '../what-if.ts';
import { where } from '../where.ts';
import { isTensorWork, stallRatio } from './tensor-work.ts';

/** Share of a warp's time that it waits for copies. */
const THRESHOLD = 0.15;

/** A tile passes through registers: loads, stores to shared memory, a barrier. */
const copiesThroughRegisters = ({ launch: { instructionsByClass: classes } }: ModelledLaunch): boolean =>
  classes['async-copy'] === 0 && classes['global-load'] > 0 && classes['shared-store'] > 0 && classes.barrier > 0;

const waitRatio = ({ spec }: DiagnosisContext, { launch, model }: ModelledLaunch): number =>
  stallRatio(launch, ['long_scoreboard', 'barrier']) ?? copyWaitRatio(launch, model.traffic, spec);

/** Tensor cores wait for tiles: the warps that multiply also copy, and a copy ends before a product begins. */
export const exposedCopies: Rule = {
  id: 'exposed-copies',
  minimumSpeedup: 1.02,
  observe(context) {
    const exposed = context.launches
      .filter((item) => isTensorWork(item.launch) && copiesThroughRegisters(item))
      .map((item) => ({ item, value: waitRatio(context, item) }))
      .filter(({ value }) => value > THRESHOLD);
    const worst = exposed[0];
    if (!worst) return undefined;
    return {
      title: `copies and products take turns: warps wait for copies ${percent(worst.value)} of the time`,
      evidence: exposed.map(({ item: { launch }, value }) => ({
        counter: 'share of a warp’s time that it waits for global loads and at barriers',
        value,
        threshold: THRESHOLD,
        comparison: 'above' as const,
        where: where(launch, (line) => line.globalLoadSectors),
      })),
      advice:
        'Copy with cp.async or TMA into a ring of tiles, so that the next tile is on its way while this one is multiplied.',
      ...estimate(context, 'copies that nobody waits for', (item) => {
        if (!exposed.some((one) => one.item === item)) return undefined;
        const { 'global-load': loads, barrier } = item.launch.instructionsByClass;
        const launch = replaceInstructions(item, {
          'global-load': 0,
          'shared-store': 0,
          'async-copy': loads,
          barrier: barrier / 2,
        });
        return { launch };
      }),
    };
  },
};
