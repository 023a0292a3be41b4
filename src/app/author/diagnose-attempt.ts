import { deviceRefusal } from '../../core/plan/runs-on.ts';
import { PATTERNS } from '../../diagnosis/patterns/index.ts';
import { proposeMoves } from '../../optimizer/propose-moves.ts';
import { formatMove } from '../../reports/format.ts';
import { oneWaySentences } from '../../reports/sections/conditions.ts';
import { describeEvidence } from '../../reports/sections/findings.ts';
import { judgedCandidate } from './list-kernels.ts';
import type { Turn } from './turn.ts';

/** What limits an attempt, in full. */
export interface AttemptDiagnosis {
  id: string;
  status: string;
  findings: string[];
  /** Beyond their threshold, and worth nothing as long as something else binds. */
  hidden: string[];
  /** Parameter values that the patterns would try. */
  moves: string[];
  advice: string[];
  /** Conditions of the code that went one way in every check. */
  conditions: string[];
}

const MOST_CONDITIONS = 40;

/** The findings of an attempt, and what known remedies say to them. Runs nothing. @throws WarpsmithError `not-judged`. */
export async function diagnoseAttempt(turn: Turn, id: string): Promise<AttemptDiagnosis> {
  const { candidate, evaluation } = judgedCandidate(turn, id);
  const { device } = await turn.session();
  const rungs = turn.showsRungs ? turn.rungs.filter(({ file }) => deviceRefusal(file, device) === undefined) : [];
  const { moves, advice } = proposeMoves({
    dimensions: turn.workload.dimensions,
    rungs: [candidate.kernel, ...rungs],
    patterns: PATTERNS,
    spec: device.spec,
    best: { candidate, evaluation },
  });
  return {
    id: candidate.id,
    status: evaluation.status,
    findings: evaluation.findings.map(
      (one) =>
        `${one.id}, estimated gain ${one.estimatedSpeedup.toFixed(2)}×: ${describeEvidence(one)}; ${one.arithmetic}; ${one.advice}`,
    ),
    hidden: (evaluation.hiddenFindings ?? []).map((one) => `${one.id}: ${describeEvidence(one)}`),
    moves: moves.map(
      ({ change, expectedGain, reason }) => `${formatMove(change)}, hoped ${expectedGain.toFixed(2)}×: ${reason}`,
    ),
    advice: advice.map(({ pattern, text }) => `${pattern.title}: ${text}`),
    conditions: oneWaySentences(evaluation.coverage?.conditions, { shown: MOST_CONDITIONS, others: '' }),
  };
}
