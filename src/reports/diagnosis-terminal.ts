import type { Evaluation } from '../core/evaluation.ts';
import type { MoveRecord } from '../store/events.ts';
import { describeTiming, formatMove, formatParameters } from './format.ts';
import { type Paint, plainPaint } from './paint.ts';
import { profilerRuleLines } from './profile-text.ts';
import { describeEvidence, describeGain, describeHidden, HIDDEN_TITLE } from './run-text.ts';

/** What `diagnose` shows. */
export interface DiagnosisView {
  evaluation: Evaluation;
  moves: readonly {
    move: MoveRecord;
    pattern: { id: string; title: string };
    finding: string;
    expectedGain: number;
    confidence: number;
    reason: string;
  }[];
  advice: readonly { finding: string; text: string }[];
}

/** Findings with their evidence and arithmetic, then what to try, for a terminal. */
export function diagnosisTerminal({ evaluation, moves, advice }: DiagnosisView, paint: Paint = plainPaint): string {
  const { candidate, workload, device, status, timing, findings, hiddenFindings = [] } = evaluation;
  const lines = [
    `${paint('bold', candidate.kernel)} (${formatParameters(candidate.parameters) || 'no parameters'}), ${workload.name} on ${device.name}`,
    `${paint(status === 'passed' ? 'green' : 'red', status)}${evaluation.reason ? `: ${evaluation.reason}` : ''}`,
  ];
  if (timing) lines.push(describeTiming(timing));
  if (evaluation.countersSource) lines.push(`counters: ${evaluation.countersSource.detail}`);
  findings.forEach((finding, index) => {
    lines.push('', paint('bold', `${index + 1}. ${finding.title} [${finding.id}], ${describeGain(finding)}`));
    lines.push(
      `   evidence: ${describeEvidence(finding)}`,
      `   arithmetic: ${finding.arithmetic}`,
      `   advice: ${finding.advice}`,
    );
  });
  if (findings.length === 0 && status === 'passed') lines.push('', 'Nothing that is worth a change.');
  if (hiddenFindings.length > 0) lines.push('', paint('bold', HIDDEN_TITLE));
  for (const finding of hiddenFindings) lines.push(`  ${describeHidden(finding)}; ${finding.arithmetic}`);
  if (evaluation.profile) {
    const { tool, version, rules } = evaluation.profile;
    lines.push('', paint('bold', `What ${tool} ${version} itself says (its estimates, not results)`));
    lines.push(...(rules.length > 0 ? profilerRuleLines(evaluation.profile) : ['nothing']).map((line) => `  ${line}`));
  }
  if (moves.length > 0)
    lines.push('', paint('bold', 'What to try, most promising first (gains are expectations, not results)'));
  for (const { move, finding, expectedGain, confidence, reason } of moves) {
    lines.push(
      `  ${formatMove(move)}: expected ${expectedGain.toFixed(2)}× at confidence ${confidence.toFixed(2)}, for ${finding}: ${reason}`,
    );
  }
  if (advice.length > 0) lines.push('', paint('bold', 'Advice beyond the moves at hand'));
  for (const { finding, text } of advice) lines.push(`  ${finding}: ${text}`);
  return `${lines.join('\n')}\n`;
}
