import type { DeviceIdentity } from '../core/device.ts';
import type { TimedEvaluation } from './decision.ts';
import type { Best } from './run.ts';

/** Name of the start among the contenders of a measurement, so that times of several GPUs can be compared. */
export const ANCHOR = 'start';

const boardOf = ({ uuid, id }: DeviceIdentity): string => uuid ?? id;

/**
 * A candidate's evaluations with the times that the GPU of the start would measure: its time ÷ the start's time in the same
 * blocks, × the start's time at home. Times of two GPUs are compared in no other way. NaN where the start was not measured
 * beside it, which reaches no goal.
 */
export function atHome(evaluations: Best['evaluations'], start: Best): Best['evaluations'] {
  return new Map(
    [...evaluations].map(([workload, evaluation]) => [
      workload,
      oneAtHome(evaluation, start, start.evaluations.get(workload)!),
    ]),
  );
}

function oneAtHome(evaluation: TimedEvaluation, { candidate }: Best, start: TimedEvaluation): TimedEvaluation {
  const {
    timing,
    device,
    baselines = [],
    candidate: { id },
  } = evaluation;
  if (timing.kind === 'predicted' || id === candidate.id || boardOf(device) === boardOf(start.device))
    return evaluation;
  const anchor = baselines.find(({ name }) => name === ANCHOR)?.measurement.summary.medianNs ?? Number.NaN;
  return { ...evaluation, timing: { ...timing, medianNs: (timing.medianNs / anchor) * start.timing.medianNs } };
}
