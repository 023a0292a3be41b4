import { copyWaitRatio } from '../../hardware/launch-model/latency.ts';
import { percent } from '../format.ts';
import type { DiagnosisContext, ModelledLaunch } from '../rule.ts';
import { replaceInstructions } from '../what-if.ts';
import { where } from '../where.ts';
import { figureRule } from './figure-rule.ts';
import { isTensorWork } from './tensor-work.ts';

/** Share of a warp's time that it waits for copies. */
const THRESHOLD = 0.15;

/** A tile passes through registers: loads, stores to shared memory, a barrier. */
const copiesThroughRegisters = ({ launch: { instructionsByClass: classes } }: ModelledLaunch): boolean =>
  classes['async-copy'] === 0 && classes['global-load'] > 0 && classes['shared-store'] > 0 && classes.barrier > 0;

/** As the profiler saw it, else by the model. */
function waitRatio({ spec }: DiagnosisContext, { launch, model }: ModelledLaunch): number {
  const { long_scoreboard: copies, barrier } = launch.activity?.stallRatios ?? {};
  if (copies === undefined && barrier === undefined) return copyWaitRatio(launch, model.traffic, spec);
  return (copies ?? 0) + (barrier ?? 0);
}

/** Tensor cores wait for tiles: the warps that multiply also copy, and a copy ends before a product begins. */
export const exposedCopies = figureRule({
  id: 'exposed-copies',
  minimumSpeedup: 1.02,
  counter: 'share of a warp’s time that it waits for global loads and at barriers',
  threshold: THRESHOLD,
  comparison: 'above',
  valueOf: (item, context) =>
    isTensorWork(item.launch) && copiesThroughRegisters(item) ? waitRatio(context, item) : undefined,
  title: ({ value }) => `copies and products take turns: warps wait for copies ${percent(value)} of the time`,
  where: ({ launch }) => where(launch, (line) => line.globalLoadSectors),
  advice:
    'Copy with cp.async or TMA into a ring of tiles, so that the next tile is on its way while this one is multiplied.',
  remedy: 'copies that nobody waits for',
  change: (item) => {
    const { 'global-load': loads, barrier } = item.launch.instructionsByClass;
    const launch = replaceInstructions(item, {
      'global-load': 0,
      'shared-store': 0,
      'async-copy': loads,
      barrier: barrier / 2,
    });
    return { launch };
  },
});
