import type { Finding } from '../../../core/finding.ts';
import type { ProfilerRule } from '../../../core/profile.ts';
import { figure } from '../../../core/values.ts';
import { type DetailsRule, sentencesOf } from './parse-details-page.ts';

/** A rule whose share of the launch's time is smaller gives no finding; the report keeps the rule. */
const LEAST_PERCENT = 1;

type EstimatedRule = DetailsRule & { readonly estimatedSpeedupPercent: number };

/**
 * ncu's own rules as findings, `ncu/<rule>`, the largest estimate first. A rule that estimates a saving of a share p of the
 * launch's time gives a speed-up of 1 ÷ (1 − p). Rules without an estimate, or with one for a single unit, become notes of
 * the report.
 */
export function findingsFromRules(
  rules: readonly DetailsRule[],
  functionOf: (launchIndex: number) => string,
): Finding[] {
  const findings = rules
    .filter(isOfTheTime)
    .sort((a, b) => b.estimatedSpeedupPercent - a.estimatedSpeedupPercent)
    .map((rule) => ({ rule, functionName: functionOf(rule.launchIndex) }));
  return oncePerFunction(findings).map(({ rule, functionName }) => finding(rule, functionName));
}

function isOfTheTime(rule: DetailsRule): rule is EstimatedRule {
  const { estimatedSpeedupPercent: percent = 0, estimateScope } = rule;
  return estimateScope === 'launch' && percent >= LEAST_PERCENT && percent < 100;
}

/** A function that is launched several times breaks the same rule each time, so only one of them is kept. */
function oncePerFunction<T extends { rule: { id: string }; functionName: string }>(items: readonly T[]): T[] {
  const keyOf = ({ rule, functionName }: T): string => `${rule.id} ${functionName}`;
  return items.filter((item, i) => items.findIndex((other) => keyOf(other) === keyOf(item)) === i);
}

function finding({ id, message, estimatedSpeedupPercent: percent }: EstimatedRule, functionName: string): Finding {
  const estimatedSpeedup = 1 / (1 - percent / 100);
  const [first = '', ...others] = sentencesOf(message);
  return {
    id: `ncu/${id}`,
    title: `${functionName}: ${first.replace(/\.$/, '')}`,
    estimatedSpeedup,
    arithmetic:
      `ncu estimates ${percent} % of the launch’s time: 1 ÷ (1 − ${figure(percent / 100)}) = ` +
      `${figure(estimatedSpeedup)}×`,
    evidence: [
      {
        counter: 'ncu’s estimate of the time to be saved',
        value: percent,
        unit: '%',
        threshold: LEAST_PERCENT,
        comparison: 'above',
        where: functionName,
      },
    ],
    advice: others.length > 0 ? others.join(' ') : message,
  };
}

/** The rules as the report keeps them. */
export const reportedRules = (
  rules: readonly DetailsRule[],
  functionOf: (launchIndex: number) => string,
): ProfilerRule[] =>
  oncePerFunction(
    rules.map(({ launchIndex, kind: _, ...rule }) => ({ rule, functionName: functionOf(launchIndex) })),
  ).map(({ rule, functionName }) => ({ ...rule, functionName }));
