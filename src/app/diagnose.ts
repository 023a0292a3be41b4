import { deviceRefusal } from '../core/plan/runs-on.ts';
import { PATTERNS } from '../diagnosis/patterns/index.ts';
import { proposeMoves } from '../optimizer/propose-moves.ts';
import type { DiagnosisReport } from '../reports/documents/diagnosis.ts';
import { type EvaluateOptions, judge } from './evaluate.ts';
import { loadRungs } from './target.ts';

/** The profile level of a diagnosis on a real GPU, by default. */
const DIAGNOSIS_PROFILE = 'light';

/**
 * Judges one kernel. Returns what limits it and the moves that the loop would try next.
 *
 * @throws WarpsmithError as {@link judge}.
 */
export async function diagnoseKernel(options: EvaluateOptions): Promise<DiagnosisReport> {
  const { evaluation, problem, candidate, workload, spec } = await judge(
    { ...options, profile: options.profile ?? DIAGNOSIS_PROFILE },
    'diagnose',
  );
  const rungs = await loadRungs(problem);
  const { moves, advice } = proposeMoves({
    dimensions: workload.dimensions,
    rungs: rungs.filter(({ file }) => deviceRefusal(file, { identity: evaluation.device, spec }) === undefined),
    patterns: PATTERNS,
    spec,
    best: { candidate, evaluation },
  });
  return {
    schemaVersion: 1,
    kind: 'diagnosis',
    evaluation,
    moves: moves.map(({ change, pattern, finding, expectedGain, confidence, reason }) => ({
      move: change,
      pattern,
      finding: finding.id,
      expectedGain,
      confidence,
      reason,
    })),
    advice: advice.map(({ pattern, finding, text }) => ({ pattern, finding: finding.id, text })),
  };
}
