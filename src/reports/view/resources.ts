import type { Evaluation } from '../../core/evaluation.ts';
import type { Timing } from '../../core/timing.ts';
import { predictTime } from '../../hardware/launch-model/predict-time.ts';
import { boardNamed } from '../../hardware/spec-from-attributes.ts';

type Bound = NonNullable<Timing['bounds']>[number];

/** How long one resource alone would need for an evaluation's work, at the best rate the time model grants it. */
export interface ResourceUse extends Bound {
  /** `ns` ÷ time of the evaluation: how near the resource is to its limit; 1 is the limit. */
  share: number;
}

/** Every resource's demand against the time that the evaluation took, largest first. */
export interface ResourcesView {
  evaluationId: string;
  /** Of the time that is divided by. */
  kind: Timing['kind'];
  medianNs: number;
  /** Who counted the work, where it is not the device itself. */
  countedBy: string | null;
  uses: ResourceUse[];
}

/** Terms that the time model adds to the resources' demands. They have no limit, and a measurement does not contain them. */
const OF_THE_MODEL = new Set(['latency', 'launch', 'chain']);

/**
 * A prediction has bounds. For a measured time they are computed from the counters and the model's rates for the board; they
 * are undefined if either is unknown.
 */
function boundsOf({ timing, counters, device }: Evaluation): Timing['bounds'] {
  if (timing?.kind !== 'measured') return timing?.bounds;
  const spec = boardNamed(device.name);
  if (!spec || !counters) return undefined;
  return predictTime(counters.launches, spec, timing).bounds?.filter(({ resource }) => !OF_THE_MODEL.has(resource));
}

/** `null` if nothing was counted or the device is unknown. */
export function resourcesOf(evaluation: Evaluation | undefined): ResourcesView | null {
  const bounds = evaluation?.status === 'passed' ? boundsOf(evaluation) : undefined;
  if (!evaluation?.timing || !bounds || bounds.length === 0) return null;
  const { kind, medianNs } = evaluation.timing;
  return {
    evaluationId: evaluation.id,
    kind,
    medianNs,
    countedBy: evaluation.countersSource?.detail ?? null,
    uses: bounds.map(({ resource, ns, arithmetic }) => ({ resource, ns, share: ns / medianNs, arithmetic })),
  };
}
