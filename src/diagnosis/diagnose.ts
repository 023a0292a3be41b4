import type { Finding } from '../core/finding.ts';
import { modelLaunch } from '../hardware/launch-model/model-launch.ts';
import { type DiagnosisContext, type DiagnosisInput, toFinding } from './rule.ts';
import { RULES } from './rules/index.ts';

function makeContext(input: DiagnosisInput): DiagnosisContext {
  const modelled = input.counters.launches
    .filter((launch) => launch.instructions > 0 && launch.ctaCount > 0)
    .map((launch) => ({ launch, model: modelLaunch(launch, input.spec) }));
  const totalNs = modelled.reduce((sum, { model }) => sum + model.ns, 0);
  const launches = modelled
    .map((item) => ({ ...item, timeShare: item.model.ns / totalNs }))
    .sort((a, b) => b.timeShare - a.timeShare);
  return { ...input, launches, totalNs };
}

/** Order of findings: parallelism first, because no other gain is real while SMs are idle; then by estimated gain. */
function inOrder(a: Finding, b: Finding): number {
  const first = Number(b.id === 'parallelism') - Number(a.id === 'parallelism');
  return first !== 0 ? first : b.estimatedSpeedup - a.estimatedSpeedup;
}

/**
 * Finds what limits a candidate, from its counters. Parallelism comes first if it fires, the rest by estimated speed-up.
 * Empty if nothing was executed or no rule fires.
 */
export const diagnose = (input: DiagnosisInput): Finding[] => diagnoseWhole(input).findings;

/** The findings of a candidate, and the hidden ones that would matter if nothing else did. */
export interface Diagnosis {
  /** As {@link diagnose} says. */
  readonly findings: Finding[];
  /** Findings beyond their threshold whose gain is below their rule's minimum, because another resource binds. */
  readonly hiddenFindings: Finding[];
}

export function diagnoseWhole(input: DiagnosisInput): Diagnosis {
  const context = makeContext(input);
  if (context.launches.length === 0) return { findings: [], hiddenFindings: [] };
  const observed = RULES.flatMap((rule) => {
    const observation = rule.observe(context);
    return observation ? [{ rule, observation, counts: observation.estimatedSpeedup >= rule.minimumSpeedup }] : [];
  });
  const those = (counts: boolean): Finding[] =>
    observed.filter((one) => one.counts === counts).map(({ rule, observation }) => toFinding(rule, observation));
  return { findings: those(true).sort(inOrder), hiddenFindings: those(false) };
}
