import { namesInExpression } from '../../core/expressions/evaluate.ts';
import type { Expression } from '../../core/expressions/syntax-tree.ts';
import { launchesOf } from '../../core/plan/declared-steps.ts';
import { listValues } from '../../core/plan/parameter-values.ts';
import { ctasOnBusiestSm, filledShare } from '../../hardware/launch-model/recut-launch.ts';
import { createForecaster, type Forecast, type Forecaster, type ForecastLaunch } from '../forecast.ts';
import { ctas, percent } from '../format.ts';
import type { PatternContext, PatternMove, SettingChange } from '../pattern.ts';
import { meetsConstraints, mendingChanges } from './mend-setting.ts';

/** Settings that break a constraint for which another parameter is changed along, the most promising of each parameter. */
const MOST_MENDED = 32;
/** Settings that one pattern proposes. */
const MOST_PROPOSED = 6;

/** Another setting of the candidate's kernel, and what it would be like. */
export interface ComputedSetting {
  /** What differs; what the setting is about comes first. */
  readonly changes: readonly SettingChange[];
  readonly forecast: Forecast;
}

/** Expressions of a launch in which a parameter may stand. */
type LaunchPart = 'grid' | 'block' | 'sharedBytes';

/** Parameters that these parts of any launch name, in declared order. */
export function parametersIn({ candidate }: PatternContext, parts: readonly LaunchPart[]): string[] {
  const { steps, parameters = {} } = candidate.kernel.file;
  const launches = launchesOf(steps);
  const expressions = launches.flatMap((step) => parts.flatMap((part): Expression[] => [step[part] ?? 0].flat()));
  const named = new Set(expressions.flatMap((expression) => namesInExpression(expression)));
  return Object.keys(parameters).filter((name) => named.has(name));
}

/**
 * Settings in which one of these parameters has another value, as far as `isWanted` takes their forecast. Where that
 * alone breaks a constraint, the nearest value of one other parameter that mends it is changed along, so that
 * `BLOCK_M = 80` comes with `WARPS = 5`.
 */
export function settingsAround(
  context: PatternContext,
  forecaster: Forecaster,
  names: readonly string[],
  isWanted: (forecast: Forecast) => boolean,
): ComputedSetting[] {
  const { kernel, parameters } = context.candidate;
  const valuesOf = (name: string): readonly number[] => listValues(kernel.file.parameters![name]!.values);
  const settings: ComputedSetting[] = [];
  const broken: ComputedSetting[] = [];
  for (const parameter of names) {
    const from = parameters[parameter];
    if (from === undefined) continue;
    for (const value of valuesOf(parameter)) {
      if (value === from) continue;
      const changed = { ...parameters, [parameter]: value };
      const forecast = forecaster.of(changed);
      if (!forecast || !isWanted(forecast)) continue;
      const setting = { changes: [{ parameter, from, value }], forecast };
      (meetsConstraints(context, changed) ? settings : broken).push(setting);
    }
  }
  broken.sort((a, b) => b.forecast.gain - a.forecast.gain);
  for (const setting of broken.slice(0, MOST_MENDED)) {
    const mended = mend(context, forecaster, setting, isWanted);
    if (mended) settings.push(mended);
  }
  return settings;
}

function mend(
  context: PatternContext,
  forecaster: Forecaster,
  { changes: [first] }: ComputedSetting,
  isWanted: (forecast: Forecast) => boolean,
): ComputedSetting | undefined {
  const wanted = { ...context.candidate.parameters, [first!.parameter]: first!.value };
  for (const along of mendingChanges(context, first!)) {
    const forecast = forecaster.of({ ...wanted, [along.parameter]: along.value });
    if (forecast && isWanted(forecast)) return { changes: [first!, along], forecast };
  }
  return undefined;
}

/** The best of these settings as moves, each with its own reason; expected is the forecast, at most what the finding says. */
export function computedMoves(
  context: PatternContext,
  settings: readonly ComputedSetting[],
  describe: { readonly confidence: number; readonly reason: (setting: ComputedSetting) => string },
): PatternMove[] {
  return settings.slice(0, MOST_PROPOSED).map((setting): PatternMove => {
    const expectation = {
      expectedGain: Math.max(1, Math.min(context.finding.estimatedSpeedup, setting.forecast.gain)),
      confidence: describe.confidence,
      reason: describe.reason(setting),
    };
    const [first, ...along] = setting.changes;
    return along.length === 0
      ? { kind: 'parameter', ...first!, ...expectation }
      : { kind: 'parameters', changes: setting.changes, ...expectation };
  });
}

/** Least forecast gain that is worth an evaluation. */
export const MINIMUM_GAIN = 1.03;
/** Gains this close are equal: what counts then is which tile is larger. */
const SAME_GAIN = 1e-9;

/** Settings whose CTAs fill more of the SMs' time, by forecast gain; of equal ones that with fewer, larger CTAs. */
export function fillingMoves(context: PatternContext, confidence: number): PatternMove[] {
  const forecaster = createForecaster(context);
  if (!forecaster) return [];
  const { spec } = context;
  const now = filledShare(forecaster.now.main, spec);
  const settings = settingsAround(
    context,
    forecaster,
    parametersIn(context, ['grid']),
    ({ gain, main }) => gain >= MINIMUM_GAIN && filledShare(main, spec) > now,
  );
  settings.sort((a, b) =>
    Math.abs(b.forecast.gain - a.forecast.gain) > SAME_GAIN
      ? b.forecast.gain - a.forecast.gain
      : a.forecast.main.ctaCount - b.forecast.main.ctaCount,
  );
  return computedMoves(context, settings, {
    confidence,
    reason: (setting) => fillingText(setting, forecaster.now.main, spec),
  });
}

/** `BLOCK_M = 80 gives 56 CTAs on 58 SMs, at most 1 each: 97 % of their time is used; now 64 CTAs, at most 2: 55 %`. */
function fillingText(setting: ComputedSetting, now: ForecastLaunch, spec: PatternContext['spec']): string {
  const { main } = setting.forecast;
  const most = (launch: ForecastLaunch): string => `at most ${ctasOnBusiestSm(launch, spec)}`;
  const used = (launch: ForecastLaunch): string => percent(filledShare(launch, spec));
  const padding = main.ctaCount / main.filledCtas - 1;
  const padded = padding >= NOTABLE_PADDING ? ` without ${percent(padding)} of padding` : '';
  return (
    `${settingText(setting)} gives ${ctas(main.ctaCount)} on ${spec.smCount.value} SMs, ${most(main)} each:` +
    ` ${used(main)} of their time is used${padded}; now ${ctas(now.ctaCount)}, ${most(now)}: ${used(now)}`
  );
}

/** Part of the work in padding that is worth a word. */
const NOTABLE_PADDING = 0.005;

/** `BLOCK_M = 80, WARPS = 5`. */
export const settingText = ({ changes }: ComputedSetting): string =>
  changes.map(({ parameter, value }) => `${parameter} = ${value}`).join(', ');
