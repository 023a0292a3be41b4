import type { KernelResources } from '../core/counters.ts';
import { type ExpressionScope, evaluateExpression, evaluateUnrounded } from '../core/expressions/evaluate.ts';
import { LANES_PER_WARP } from '../core/gpu-sizes.ts';
import type { KernelFile, LaunchStepDeclaration, ParameterValues } from '../core/kernel.ts';
import { repetitionScope } from '../core/plan/scope.ts';
import type { LaunchTiming } from '../core/timing.ts';
import { product } from '../core/values.ts';
import { filledShare, type LaunchCut, recutLaunchNs } from '../hardware/launch-model/recut-launch.ts';
import { occupancy } from '../hardware/occupancy.ts';
import type { PatternContext } from './pattern.ts';

/** Launches of a step beyond which nothing is forecast. */
const MOST_REPEATS = 64;

/** A launch as kernel.json says it for some parameters. */
export interface ForecastLaunch extends LaunchCut {
  readonly sharedBytes: number;
  readonly threadsPerCta: number;
  /** Registers and static shared memory; absent before the kernel was compiled. */
  readonly resources?: KernelResources;
}

/** Forecast of one setting of the best candidate's kernel, which was not compiled. */
export interface Forecast {
  readonly launches: readonly ForecastLaunch[];
  /** The launch that takes the most time now; the one with the most CTAs where that is not known. */
  readonly main: ForecastLaunch;
  /** Time now ÷ forecast time of the launch sequence. An estimate. */
  readonly gain: number;
}

export interface Forecaster {
  readonly now: Forecast;
  /** Undefined if kernel.json does not determine the launches, or if no CTA fits on an SM. */
  of(parameters: ParameterValues): Forecast | undefined;
}

/**
 * Forecasts other settings of the candidate's kernel from kernel.json's expressions and the bounds of its evaluation: how
 * many CTAs they have, how many fit on an SM, and what time that gives by the model that predicts. Undefined where grid
 * and block can't be told from dimensions and parameters, or are not those that were evaluated.
 */
export function createForecaster(context: PatternContext): Forecaster | undefined {
  const { candidate, evaluation, spec } = context;
  const timed = evaluation.timing?.launches ?? [];
  // Measured without a profile, a sequence has no bounds to go by; what is left is how CTAs spread.
  const timings = timed.length > 0 ? timed : undefined;
  const counted = evaluation.counters?.launches ?? [];
  const cut = (parameters: ParameterValues, before?: readonly ForecastLaunch[]): ForecastLaunch[] | undefined =>
    cutLaunches(context, parameters, (launch, index) => {
      const resources = counted[index]?.resources;
      return { resources, ctasPerSm: fitting(context, launch, resources, before?.[index], timings?.[index]) };
    });
  const evaluated = cut(candidate.parameters);
  if (!evaluated || evaluated.length === 0) return undefined;
  if (timings && !isSame(evaluated, timings)) return undefined;
  const mainAt = indexOfMost(timings?.map(({ medianNs }) => medianNs) ?? evaluated.map(({ ctaCount }) => ctaCount));
  const memsetNs = evaluation.timing?.bounds?.find(({ resource }) => resource === 'memset')?.ns ?? 0;
  const nsOf = (launches: readonly ForecastLaunch[]): number | undefined =>
    timings?.reduce((sum, timing, i) => sum + recutLaunchNs(timing, evaluated[i]!, launches[i]!, spec), memsetNs);
  const nowNs = nsOf(evaluated);
  const forecast = (launches: readonly ForecastLaunch[]): Forecast => {
    const ns = nsOf(launches);
    const main = launches[mainAt]!;
    const gain =
      nowNs !== undefined && ns !== undefined && ns > 0
        ? nowNs / ns
        : filledShare(main, spec) / filledShare(evaluated[mainAt]!, spec);
    return { launches, main, gain };
  };
  return {
    now: forecast(evaluated),
    of(parameters) {
      const launches = cut(parameters, evaluated);
      if (launches?.length !== evaluated.length) return undefined;
      return launches.every(({ ctasPerSm }) => ctasPerSm >= 1) ? forecast(launches) : undefined;
    },
  };
}

const indexOfMost = (values: readonly number[]): number => values.indexOf(Math.max(...values));

const isSame = (launches: readonly ForecastLaunch[], timings: readonly LaunchTiming[]): boolean =>
  launches.length === timings.length && launches.every(({ ctaCount }, i) => ctaCount === timings[i]!.ctaCount);

/** Resident CTAs of a launch per SM; 0 if its resources changed and are not known. */
function fitting(
  { spec }: PatternContext,
  { threadsPerCta, sharedBytes }: Pick<ForecastLaunch, 'threadsPerCta' | 'sharedBytes'>,
  resources: KernelResources | undefined,
  before: ForecastLaunch | undefined,
  timing: LaunchTiming | undefined,
): number {
  if (threadsPerCta > spec.maximumThreadsPerCta.value) return 0;
  if (resources) {
    return occupancy({ ...resources, dynamicSharedBytes: sharedBytes }, threadsPerCta, spec).ctasPerSm;
  }
  if (!timing) return spec.maximumCtasPerSm.value;
  const isLike = !before || (before.threadsPerCta === threadsPerCta && before.sharedBytes === sharedBytes);
  return isLike ? timing.occupancy.ctasPerSm : 0;
}

type Residency = Pick<ForecastLaunch, 'ctasPerSm' | 'resources'>;

/** The launches for these parameters, in order; undefined if kernel.json alone does not determine them. */
function cutLaunches(
  { candidate, dimensions, spec }: PatternContext,
  parameters: ParameterValues,
  residencyOf: (launch: Pick<ForecastLaunch, 'threadsPerCta' | 'sharedBytes'>, index: number) => Residency,
): ForecastLaunch[] | undefined {
  const scope = { ...dimensions, ...parameters, 'device.smCount': spec.smCount.value, 'kernel.ctasPerSm': 1 };
  try {
    const steps = stepsOf(candidate.kernel.file, scope);
    if (!steps) return undefined;
    const sized = steps.map(({ step, scope: own }, index) => {
      const threadsPerCta = product(step.block.map((extent) => evaluateExpression(extent, own)));
      const sharedBytes = evaluateExpression(step.sharedBytes ?? 0, own);
      return { step, own, threadsPerCta, sharedBytes, ...residencyOf({ threadsPerCta, sharedBytes }, index) };
    });
    const resident = Math.max(1, Math.min(...sized.map(({ ctasPerSm }) => ctasPerSm)));
    return sized.map(({ step, own, ...launch }) => {
      const known = { ...own, 'kernel.ctasPerSm': resident };
      const ctaCount = product(step.grid.map((extent) => evaluateExpression(extent, known)));
      const filledCtas = Math.min(ctaCount, product(step.grid.map((extent) => evaluateUnrounded(extent, known))));
      return { ...launch, ctaCount, filledCtas, warpsPerCta: Math.ceil(launch.threadsPerCta / LANES_PER_WARP) };
    });
  } catch {
    // An expression names what only a plan knows (a scalar), or can't be evaluated for this setting.
    return undefined;
  }
}

function stepsOf(
  { steps }: Pick<KernelFile, 'steps'>,
  scope: ExpressionScope,
): { step: LaunchStepDeclaration; scope: ExpressionScope }[] | undefined {
  const launches: { step: LaunchStepDeclaration; scope: ExpressionScope }[] = [];
  for (const step of steps) {
    if ('memset' in step || 'copy' in step) continue;
    if (step.when !== undefined && evaluateExpression(step.when, scope) === 0) continue;
    const repeats = step.repeat === undefined ? 1 : evaluateExpression(step.repeat, scope);
    if (!(repeats <= MOST_REPEATS)) return undefined;
    const named = 'steps' in step ? step : {};
    let own = 0;
    for (let number = 0; number < repeats; number += 1) {
      const inside = step.repeat === undefined ? scope : repetitionScope(named, number, scope);
      const inner = 'steps' in step ? stepsOf(step, inside) : [{ step, scope: inside }];
      own += inner?.length ?? 0;
      if (inner === undefined || own > MOST_REPEATS) return undefined;
      launches.push(...inner);
    }
  }
  return launches;
}
