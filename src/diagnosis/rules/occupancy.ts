import type { Occupancy } from '../../core/timing.ts';
import { figure } from '../../core/values.ts';
import { percent } from '../format.ts';
import type { ModelledLaunch, Rule } from '../rule.ts';
import { estimate } from '../what-if.ts';

const THRESHOLD = 0.5;

const ADVICE: Readonly<Record<Occupancy['limiter'], string>> = {
  warps: 'Use CTAs whose warps divide the SM’s limit.',
  registers: 'Lower registers per thread: smaller per-thread tiles, less unrolling, or __launch_bounds__.',
  'shared-memory': 'Lower shared memory per CTA: smaller tiles, fewer stages, or store fp16 instead of fp32.',
  ctas: 'Use more warps per CTA: the limit is on CTAs, not on warps.',
};

/** Fewer resident warps than the SM could hold, although there are CTAs to fill it. */
export const occupancyRule: Rule = {
  id: 'occupancy',
  minimumSpeedup: 1.02,
  observe(context) {
    const smCount = context.spec.smCount.value;
    const low = context.launches.filter(({ launch, model: { schedule } }) => {
      const waiting = launch.ctaCount / smCount > schedule.occupancy.ctasPerSm;
      return schedule.occupancy.ratio < THRESHOLD && waiting;
    });
    const worst = low[0];
    if (!worst) return undefined;
    const { occupancy } = worst.model.schedule;
    const fullCtas = ({ model }: ModelledLaunch): number =>
      Math.max(1, Math.floor(context.spec.maximumWarpsPerSm.value / model.schedule.warpsPerCta));
    return {
      title:
        `theoretical occupancy ${percent(occupancy.ratio)}: ${occupancy.ctasPerSm} CTAs per SM,` +
        ` limited by ${occupancy.limiter}`,
      evidence: low.map(({ launch, model: { schedule } }) => ({
        counter: 'theoretical occupancy',
        value: schedule.occupancy.ratio,
        threshold: THRESHOLD,
        comparison: 'below' as const,
        where:
          `${launch.functionName}: ${schedule.occupancy.warpsPerSm} of ${schedule.occupancy.maximumWarpsPerSm} warps,` +
          ` limited by ${schedule.occupancy.limiter} (${launch.resources.registersPerThread} registers per thread` +
          ` ${launch.resources.registersSource}, ` +
          `${launch.resources.staticSharedBytes + launch.resources.dynamicSharedBytes} B shared per CTA)`,
      })),
      advice: ADVICE[occupancy.limiter],
      ...estimate(
        context,
        `${figure(fullCtas(worst))} resident CTAs per SM instead of ${occupancy.ctasPerSm}`,
        (item) => (low.includes(item) ? { assumptions: { ctasPerSm: fullCtas(item) } } : undefined),
      ),
    };
  },
};
