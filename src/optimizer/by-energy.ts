import { type EnergyRatio, type EnergyVerdict, measuredEnergy } from '../core/energy.ts';
import type { Evaluation } from '../core/evaluation.ts';
import { figure } from '../core/values.ts';
import { type Decision, decide, describeComparison, isTimed, SCREEN_RATIO, type TimedEvaluation } from './decision.ts';

/** Energies of a candidate and of what it was measured beside, from the same blocks; the first comparison is with the best. */
export function energyBesideBest({ energy }: Evaluation): EnergyRatio | undefined {
  const [compared] = measuredEnergy(energy)?.comparisons ?? [];
  return compared && { ratio: compared.ratio, verdict: compared.verdict, intervalRatio: compared.intervalRatio };
}

/** e.g. `less energy: the joules of e1 ÷ its own, measured 1.250× [1.240, 1.260]`. */
export const describeEnergy = (energy: EnergyRatio, other: string): string =>
  `${VERDICT[energy.verdict]}: the joules of ${other} ÷ its own, ${describeComparison(energy)}`;

const VERDICT: Readonly<Record<EnergyVerdict, string>> = {
  less: 'less energy',
  more: 'more energy',
  equal: 'as much energy',
  ambiguous: 'ambiguous energy',
};

/**
 * Idle power is measured in some tenths of a second right after work, while the board is warm and its clocks are still up. So only half of it counts as what
 * any kernel draws at least.
 */
const SURE_SHARE_OF_IDLE = 0.5;

/**
 * What the best draws, and what any kernel draws at least, in W. Undefined where idle power is not known, or where the best draws no more than that: then it is
 * no floor.
 */
function powers({ energy }: TimedEvaluation): { watts: number; leastW: number } | undefined {
  const measured = measuredEnergy(energy);
  const watts = measured?.contenders[0]?.watts;
  const { idleW } = measured ?? {};
  return watts && idleW && idleW > 0 && watts > idleW ? { watts, leastW: SURE_SHARE_OF_IDLE * idleW } : undefined;
}

/**
 * Whether a screened candidate may need less energy than the best, and so deserves the seconds that windows take. Energy is power × time, and a board
 * that runs a kernel draws no less than when it is idle. So best's joules ÷ candidate's are at most best's time ÷ candidate's, × best's power ÷ that floor.
 *
 * @param beside the best that it was screened beside.
 * @param gained how much less energy than that the best of now needs.
 */
export function isWorthWindows(screened: Evaluation, beside: TimedEvaluation, gained: number): boolean {
  if (!isTimed(screened)) return false;
  const timeRatio = screened.comparisons?.[0]?.ratio;
  if (timeRatio === undefined) return false;
  const power = powers(beside);
  return power === undefined || (timeRatio * power.watts) / power.leastW / gained >= SCREEN_RATIO;
}

/**
 * Keeps a candidate that passed if the verdict on its energy is `less`, however long it takes. A screen, in which no energy is measured, can only revert.
 */
export function decideByEnergy(best: TimedEvaluation, candidate: Evaluation): Decision {
  const timed = decide(best, candidate);
  const time = { ...timed, decision: 'revert' } as const;
  if (timed.ratio === null || !isTimed(candidate)) return time;
  if (candidate.timing.measurement?.conditions.tier === 'screen')
    return { ...time, reason: ruledOut(best, timed.ratio) };
  const energy = energyBesideBest(candidate);
  if (!energy) return { ...time, reason: `its energy was not measured: ${whyNot(candidate)}` };
  return {
    ...time,
    decision: energy.verdict === 'less' ? 'keep' : 'revert',
    energy,
    reason: `${describeEnergy(energy, best.id)}; ${timed.reason}`,
  };
}

/** e.g. `measured 0.100× the speed of e1 in the screen: even at 35 W, half of idle power, it would need 1.17× the energy (e1 draws 300 W)`. */
function ruledOut(best: TimedEvaluation, timeRatio: number): string {
  const screened = `measured ${timeRatio.toFixed(3)}× the speed of ${best.id} in the screen`;
  const power = powers(best);
  if (!power) return `${screened}: not worth measuring longer`;
  const { watts, leastW } = power;
  const least = leastW / (timeRatio * watts);
  return `${screened}: even at ${figure(leastW)} W, half of idle power, it would need ${least.toFixed(2)}× the energy (${best.id} draws ${figure(watts)} W)`;
}

/** Why an evaluation that passed has no energy beside the best. */
export const whyNot = ({ energy }: Evaluation): string =>
  energy && 'unavailable' in energy ? energy.unavailable : 'the device says nothing of it';
