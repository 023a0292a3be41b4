import { occupancy, sharedBytesPerCta } from '../../hardware/occupancy.ts';
import { createForecaster, type Forecast, type Forecaster, type ForecastLaunch } from '../forecast.ts';
import { ctas } from '../format.ts';
import type { Pattern, PatternContext, PatternMove } from '../pattern.ts';
import {
  type ComputedSetting,
  computedMoves,
  MINIMUM_GAIN,
  parametersIn,
  settingsAround,
  settingText,
} from './computed-settings.ts';
import { orAdvice } from './moves.ts';

const CONFIDENCE = 0.5;

/** More CTAs on an SM, at the largest tiles and most stages that let them fit. */
export const fitCtas: Pattern = {
  id: 'fit-ctas',
  title: 'Take the largest tiles and most stages that let one more CTA fit on an SM',
  source: 'rules of cuda_occupancy.h: CTAs per SM step where shared memory per CTA crosses capacity ÷ n',
  triggers: ['occupancy', 'latency-bound'],
  propose: (context) => {
    const moves = fittingMoves(context);
    return context.finding.id === 'occupancy'
      ? orAdvice(moves, 'Shrink what a CTA keeps in shared memory until one more CTA fits on an SM.')
      : moves;
  },
};

function fittingMoves(context: PatternContext): PatternMove[] {
  const forecaster = createForecaster(context);
  if (!forecaster?.now.main.resources) return [];
  const now = forecaster.now.main;
  const names = parametersIn(context, ['sharedBytes']);
  const settings = settingsAround(
    context,
    forecaster,
    names,
    ({ gain, main }) => gain >= MINIMUM_GAIN && main.ctasPerSm > now.ctasPerSm,
  );
  return computedMoves(context, largestOfEachStep(settings), {
    confidence: CONFIDENCE,
    reason: (setting) => arithmetic(context, setting, forecaster),
  });
}

/** Of the settings of one parameter with as many CTAs per SM, the one that takes the most shared memory; best gain first. */
function largestOfEachStep(settings: readonly ComputedSetting[]): ComputedSetting[] {
  const byStep = new Map<string, ComputedSetting>();
  for (const setting of settings) {
    const { main } = setting.forecast;
    const step = `${setting.changes[0]!.parameter} ${main.ctasPerSm}`;
    const known = byStep.get(step);
    if (!known || main.sharedBytes > known.forecast.main.sharedBytes) byStep.set(step, setting);
  }
  return [...byStep.values()].sort((a, b) => b.forecast.gain - a.forecast.gain);
}

/** `STAGES = 2: 3 CTAs of 33,792 B fit in the 102,400 B of an SM; now 2 of 50,176 B`. */
function arithmetic({ spec }: PatternContext, setting: ComputedSetting, { now }: Forecaster): string {
  const taken = ({ main }: Forecast): string => {
    const bytes = sharedBytesPerCta({ ...main.resources!, dynamicSharedBytes: main.sharedBytes }, spec);
    return `${ctas(main.ctasPerSm)} of ${bytes.toLocaleString('en')} B`;
  };
  const capacity = spec.sharedBytesPerSm.value.toLocaleString('en');
  const then = limiterOf(setting.forecast.main, spec);
  return `${settingText(setting)}: ${taken(setting.forecast)} fit in the ${capacity} B of an SM (then limited by ${then}); now ${taken(now)}`;
}

const limiterOf = ({ resources, sharedBytes, threadsPerCta }: ForecastLaunch, spec: PatternContext['spec']): string =>
  occupancy({ ...resources!, dynamicSharedBytes: sharedBytes }, threadsPerCta, spec).limiter;
