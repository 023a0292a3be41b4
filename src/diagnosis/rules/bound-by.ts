import { figure } from '../../core/values.ts';
import { combineBounds, overlapOf } from '../../hardware/launch-model/model-launch.ts';
import { nanoseconds, percent } from '../format.ts';
import type { DiagnosisContext, ModelledLaunch, Observation, Rule } from '../rule.ts';

/** The binding resource must take this share of the launches' time. */
const THRESHOLD = 0.6;
/** What is estimated: the demand on the binding resource halved, a realistic next step. */
const HALVED = 0.5;

interface BoundKind {
  readonly id: 'memory-bound' | 'compute-bound' | 'latency-bound';
  /** Resources of this kind. */
  readonly resources: ReadonlySet<string>;
  /** By resource. */
  readonly advice: Readonly<Record<string, string>>;
  /** For the others. */
  readonly otherAdvice: string;
}

const boundRule = (kind: BoundKind): Rule => ({
  id: kind.id,
  minimumSpeedup: 1.02,
  observe: (context) => boundBy(context, kind),
});

function halvedNs({ launch, model }: ModelledLaunch, resources: ReadonlySet<string>): number {
  const bounds = model.bounds.map((bound) =>
    resources.has(bound.resource) ? { ...bound, ns: bound.ns * HALVED } : bound,
  );
  return combineBounds(bounds, model.schedule, overlapOf(launch)) + model.launchOverheadNs;
}

/**
 * Says that one kind of resource binds the sequence: its slowest bound makes up most of the time. The estimate is what
 * half its demand would give.
 */
function boundBy(context: DiagnosisContext, kind: BoundKind): Observation | undefined {
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
    title: `${kind.id}: ${slowest.resource} takes ${percent(value)} of the time`,
    evidence: [
      {
        counter: `${slowest.resource} time ÷ predicted time`,
        value,
        threshold: THRESHOLD,
        comparison: 'above',
        where: `${worst.launch.functionName}: ${slowest.arithmetic}`,
      },
    ],
    advice: kind.advice[slowest.resource] ?? kind.otherAdvice,
    estimatedSpeedup,
    arithmetic:
      `half the demand on ${slowest.resource}: ${nanoseconds(context.totalNs)} → ${nanoseconds(afterNs)}` +
      ` = ${figure(estimatedSpeedup)}×`,
  };
}

/** Moving data takes the time, at one level of the memory hierarchy. */
export const memoryBound = boundRule({
  id: 'memory-bound',
  resources: new Set(['dram', 'l2', 'l1', 'lsu', 'shared', 'shuffle', 'atomics']),
  advice: {
    dram: 'Move fewer bytes: fuse launches, keep data in fp16, reuse tiles.',
    l2: 'Reuse data inside the CTA: larger tiles in shared memory or registers.',
    l1: 'Reuse data in registers or shared memory, and coalesce the rest.',
    lsu: 'Fewer, wider global requests: 16 bytes per lane.',
    shared: 'Fewer, wider shared loads: register tiles that use each loaded value several times.',
    atomics: 'Reduce inside the warp and the CTA before an atomic, or spread the atomics over addresses.',
    shuffle: 'Fewer shuffles: reduce inside a thread first, across lanes once at the end.',
  },
  otherAdvice: 'Move fewer bytes.',
});

/** An instruction pipe, or the issue slots, take the time; the special-function units have a rule of their own. */
export const computeBound = boundRule({
  id: 'compute-bound',
  resources: new Set(['issue', 'fp32', 'fp16', 'fp64', 'integer', 'conversion', 'tensor']),
  advice: {
    issue: 'Fewer instructions: unroll, wider loads, strength-reduce addresses, packed half2 arithmetic.',
    integer: 'Fewer address calculations: constant strides, unrolled loops, pointers that advance.',
    conversion: 'Convert once and keep the result, or compute in the storage type.',
  },
  otherAdvice: 'Use a faster pipe for the same operations, or fewer operations.',
});

/** Warps wait for results most of the time, or CTAs for each other, and too few others are there to fill the gaps. */
export const latencyBound = boundRule({
  id: 'latency-bound',
  resources: new Set(['latency', 'chain']),
  advice: { chain: 'Fewer CTAs with more work each: the chain through them has fewer steps.' },
  otherAdvice:
    'More independent work in flight: more warps per SM, register tiles with independent accumulators, loads issued ' +
    'ahead of their use, shorter dependency chains.',
});
