import type { Occupancy } from '../../core/timing.ts';
import { figure } from '../../core/values.ts';
import { percent } from '../format.ts';
import type { DiagnosisContext, ModelledLaunch } from '../rule.ts';
import { figureRule } from './figure-rule.ts';

const THRESHOLD = 0.5;

const ADVICE: Readonly<Record<Occupancy['limiter'], string>> = {
  warps: 'Use CTAs whose warps divide the SM’s limit.',
  registers: 'Lower registers per thread: smaller per-thread tiles, less unrolling, or __launch_bounds__.',
  'shared-memory': 'Lower shared memory per CTA: smaller tiles, fewer stages, or store fp16 instead of fp32.',
  ctas: 'Use more warps per CTA: the limit is on CTAs, not on warps.',
};

const fullCtas = ({ model }: ModelledLaunch, { spec }: DiagnosisContext): number =>
  Math.max(1, Math.floor(spec.maximumWarpsPerSm.value / model.schedule.warpsPerCta));

/** Fewer resident warps than the SM could hold, although there are CTAs to fill it. */
export const occupancyRule = figureRule({
  id: 'occupancy',
  minimumSpeedup: 1.02,
  counter: 'theoretical occupancy',
  threshold: THRESHOLD,
  comparison: 'below',
  valueOf({ launch, model: { schedule } }, { spec }) {
    const isWaiting = launch.ctaCount / spec.smCount.value > schedule.occupancy.ctasPerSm;
    return isWaiting ? schedule.occupancy.ratio : undefined;
  },
  title: ({ value, model: { schedule } }) =>
    `theoretical occupancy ${percent(value)}: ${schedule.occupancy.ctasPerSm} CTAs per SM,` +
    ` limited by ${schedule.occupancy.limiter}`,
  where: ({ launch, model: { schedule } }) =>
    `${launch.functionName}: ${schedule.occupancy.warpsPerSm} of ${schedule.occupancy.maximumWarpsPerSm} warps,` +
    ` limited by ${schedule.occupancy.limiter} (${launch.resources.registersPerThread} registers per thread` +
    ` ${launch.resources.registersSource}, ` +
    `${launch.resources.staticSharedBytes + launch.resources.dynamicSharedBytes} B shared per CTA)`,
  advice: ({ model }) => ADVICE[model.schedule.occupancy.limiter],
  remedy: (worst, context) =>
    `${figure(fullCtas(worst, context))} resident CTAs per SM instead of ${worst.model.schedule.occupancy.ctasPerSm}`,
  change: (item, context) => ({ assumptions: { ctasPerSm: fullCtas(item, context) } }),
});
