import { figure } from '../../core/values.ts';
import { combineBounds } from '../../hardware/launch-model/model-launch.ts';
import { nanoseconds, percent } from '../format.ts';
import type { DiagnosisContext, ModelledLaunch, Observation } from '../rule.ts';

/** The binding resource must take this share of the launches' time. */
const THRESHOLD = 0.6;
/** What is estimated: the demand on the binding resource halved, a realistic next step. */
const HALVED = 0.5;

interface BoundKind {
  /** Resources of this kind. */
  readonly resources: ReadonlySet<string>;
  readonly label: string;
  readonly advice: (resource: string) => string;
}

function halvedNs({ model }: ModelledLaunch, resources: ReadonlySet<string>): number {
  const bounds = model.bounds.map((bound) =>
    resources.has(bound.resource) ? { ...bound, ns: bound.ns * HALVED } : bound,
  );
  return combineBounds(bounds) + model.launchOverheadNs;
}

/**
 * Says that one kind of resource binds the sequence: its slowest bound makes up most of the time. The estimate is what
 * half its demand would give.
 */
export function boundBy(context: DiagnosisContext, kind: BoundKind): Observation | undefined {
  const bound = context.launches.filter(({ model }) => kind.resources.has(model.bindingResource));
  const bindingNs = bound.reduce((sum, { model }) => sum + (model.bounds[0]?.ns ?? 0), 0);
  const value = context.totalNs > 0 ? bindingNs / context.totalNs : 0;
  const worst = bound[0];
  const slowest = worst?.model.bounds[0];
  if (!worst || !slowest || !(value > THRESHOLD)) return undefined;
  const afterNs = context.launches.reduce(
    (sum, item) => sum + (bound.includes(item) ? halvedNs(item, kind.resources) : item.model.ns),
    0,
  );
  const estimatedSpeedup = context.totalNs / afterNs;
  return {
    title: `${kind.label}: ${slowest.resource} takes ${percent(value)} of the time`,
    evidence: [
      {
        counter: `${slowest.resource} time ÷ predicted time`,
        value,
        threshold: THRESHOLD,
        comparison: 'above',
        where: `${worst.launch.functionName}: ${slowest.arithmetic}`,
      },
    ],
    advice: kind.advice(slowest.resource),
    estimatedSpeedup,
    arithmetic:
      `half the demand on ${slowest.resource}: ${nanoseconds(context.totalNs)} → ${nanoseconds(afterNs)}` +
      ` = ${figure(estimatedSpeedup)}×`,
  };
}
