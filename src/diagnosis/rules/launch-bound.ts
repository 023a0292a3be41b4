import { figure } from '../../core/values.ts';
import { nanoseconds, percent } from '../format.ts';
import type { DiagnosisContext, Observation, Rule } from '../rule.ts';

/** Launch overhead ÷ predicted time. */
const THRESHOLD = 0.5;

/** What one launch for the whole sequence gives. A single launch is one already: more work in it is other work. */
function estimateOf(
  { launches, totalNs }: DiagnosisContext,
  overheadNs: number,
): Pick<Observation, 'estimatedSpeedup' | 'arithmetic'> {
  const count = launches.length;
  if (count === 1) return { estimatedSpeedup: 1, arithmetic: 'one launch already: nothing to fuse it with' };
  const afterNs = totalNs - overheadNs + overheadNs / count;
  const estimatedSpeedup = totalNs / afterNs;
  const arithmetic =
    `one launch instead of ${count}: ${nanoseconds(totalNs)} → ${nanoseconds(afterNs)} = ` +
    `${figure(estimatedSpeedup)}×`;
  return { estimatedSpeedup, arithmetic };
}

/** The launches themselves take most of the time: what they do is too little. */
export const launchBound: Rule = {
  id: 'launch-bound',
  minimumSpeedup: 1,
  observe(context) {
    const { launches, totalNs } = context;
    const overheadNs = launches.reduce((sum, { model }) => sum + model.launchOverheadNs, 0);
    const value = overheadNs / totalNs;
    if (!(value > THRESHOLD)) return undefined;
    const plural = launches.length > 1 ? `${launches.length} launches take` : 'the launch takes';
    return {
      title: `${plural} ${percent(value)} of the time before any work is done`,
      evidence: [
        {
          counter: 'launch overhead ÷ predicted time',
          value,
          threshold: THRESHOLD,
          comparison: 'above',
          where:
            `${launches.map(({ launch }) => launch.functionName).join(', ')}: ${launches.length} ×` +
            ` ${nanoseconds(overheadNs / launches.length)} of ${nanoseconds(totalNs)}`,
        },
      ],
      advice:
        launches.length > 1
          ? 'Fuse launches that follow each other, let the last CTA to finish do the final step, or batch more work into ' +
            'one launch; what remains is hidden by replaying a CUDA graph.'
          : 'No change of this kernel makes its one launch cheaper: batch more work into a launch, or replay a CUDA graph.',
      ...estimateOf(context, overheadNs),
    };
  },
};
