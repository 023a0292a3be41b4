import { figure, nanoseconds, percent } from '../format.ts';
import type { DiagnosisContext, Rule } from '../rule.ts';

/** Launch overhead ÷ predicted time. */
const THRESHOLD = 0.5;
/** What is estimated where there is one launch: half its overhead, as when two sequences share one. */
const SHARED_LAUNCH = 0.5;

/** What remains of the overhead: one launch for the whole sequence; of a single launch, half. */
function remainingNs({ launches }: DiagnosisContext, overheadNs: number): { ns: number; what: string } {
  const count = launches.length;
  return count > 1
    ? { ns: overheadNs / count, what: `one launch instead of ${count}` }
    : { ns: overheadNs * SHARED_LAUNCH, what: 'one launch for the work of two' };
}

/** The launches themselves take most of the time: what they do is too little. */
export const launchBound: Rule = {
  id: 'launch-bound',
  minimumSpeedup: 1.05,
  observe(context) {
    const { launches, totalNs } = context;
    const overheadNs = launches.reduce((sum, { model }) => sum + model.launchOverheadNs, 0);
    const value = overheadNs / totalNs;
    if (!(value > THRESHOLD)) return undefined;
    const { ns, what } = remainingNs(context, overheadNs);
    const afterNs = totalNs - overheadNs + ns;
    const estimatedSpeedup = totalNs / afterNs;
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
        'Fuse launches that follow each other, let the last CTA to finish do the final step, or batch more work into one ' +
        'launch; what remains is hidden by replaying a CUDA graph.',
      estimatedSpeedup,
      arithmetic: `${what}: ${nanoseconds(totalNs)} → ${nanoseconds(afterNs)} = ${figure(estimatedSpeedup)}×`,
    };
  },
};
