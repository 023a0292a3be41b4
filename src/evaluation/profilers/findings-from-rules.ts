import type { Finding } from '../../core/finding.ts';
import type { ProfilerRule } from '../../core/profile.ts';
import type { DetailsRule } from './parse-details-page.ts';

/** Rules that only remark something are kept in the report and are no findings. */
const REMARK = 'INF';
/** A local estimate says what one unit's work could shrink by, not the launch's time. */
const OF_THE_TIME = 'global';

/**
 * ncu's own rules as findings, `ncu/<rule>`, the largest estimate first. Its percentage p of the launch's time is a
 * speed-up of 1 ÷ (1 − p); an estimate for one unit alone says nothing of the time and counts as 1.
 */
export function findingsFromRules(
  rules: readonly DetailsRule[],
  functionOf: (launchIndex: number) => string,
): Finding[] {
  return rules
    .filter(({ kind }) => kind !== REMARK)
    .map((rule) => finding(rule, functionOf(rule.launchIndex)))
    .sort((a, b) => b.estimatedSpeedup - a.estimatedSpeedup);
}

function finding(rule: DetailsRule, functionName: string): Finding {
  const percent = rule.estimatedSpeedupPercent;
  const isOfTime = percent !== undefined && percent < 100 && rule.speedupScope.toLowerCase() === OF_THE_TIME;
  const estimatedSpeedup = isOfTime ? Math.max(1, 1 / (1 - percent / 100)) : 1;
  return {
    id: `ncu/${rule.id}`,
    title: `${functionName}: ${rule.title}`,
    estimatedSpeedup,
    arithmetic: arithmetic(rule, isOfTime, estimatedSpeedup),
    evidence:
      percent === undefined
        ? []
        : [
            {
              counter: `ncu’s estimate (${rule.speedupScope || 'unspecified'})`,
              value: percent,
              unit: '%',
              threshold: 0,
              comparison: 'above',
              where: functionName,
            },
          ],
    advice: rule.message,
  };
}

function arithmetic(
  { estimatedSpeedupPercent: percent, speedupScope }: DetailsRule,
  isOfTime: boolean,
  speedup: number,
) {
  if (percent === undefined) return 'ncu gives no estimate';
  if (!isOfTime) return `ncu estimates ${percent} % (${speedupScope || 'unspecified'}), not of the launch’s time`;
  return `ncu estimates ${percent} % of the launch’s time: 1 ÷ (1 − ${percent / 100}) = ${Number(speedup.toPrecision(4))}×`;
}

/** The rules as the report keeps them. */
export const reportedRules = (
  rules: readonly DetailsRule[],
  functionOf: (launchIndex: number) => string,
): ProfilerRule[] =>
  rules.map(({ id, title, message, estimatedSpeedupPercent, launchIndex }) => ({
    id,
    title,
    message,
    ...(estimatedSpeedupPercent !== undefined && { estimatedSpeedupPercent }),
    functionName: functionOf(launchIndex),
  }));
