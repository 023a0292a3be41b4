import type { Evaluation } from '../../core/evaluation.ts';
import type { MoveRecord } from '../../store/events.ts';
import { type Document, documentOf, list, section } from '../document.ts';
import { describeTiming, formatMove } from '../format.ts';
import { findingsInFull, HIDDEN_TITLE, hiddenFindings } from '../sections/findings.ts';
import { profilerRuleLines } from '../sections/outside-tools.ts';
import { evaluationTitle, statusText } from './evaluation.ts';

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

const moveLine = ({ move, finding, expectedGain, confidence, reason }: DiagnosisView['moves'][number]): string =>
  `${formatMove(move)}: expected ${expectedGain.toFixed(2)}× at confidence ${confidence.toFixed(2)}, for ${finding}: ${reason}`;

/** Findings with their evidence and arithmetic, then what to try. */
export function diagnosisDocument({ evaluation, moves, advice }: DiagnosisView): Document {
  const { status, timing, findings, countersSource, profile } = evaluation;
  const summary = list([
    statusText(evaluation),
    timing && describeTiming(timing),
    countersSource && `counters: ${countersSource.detail}`,
    findings.length === 0 && status === 'passed' && 'Nothing that is worth a change.',
  ]);
  const rules = profile ? `What ${profile.tool} ${profile.version} itself says (its estimates, not results)` : '';
  return documentOf(
    evaluationTitle(evaluation),
    [summary],
    [
      section('findings', 'Findings', [findingsInFull(findings)]),
      section('hidden', HIDDEN_TITLE, [hiddenFindings(evaluation.hiddenFindings)]),
      section('rules', rules, [profile && list(profilerRuleLines(profile), 'nothing')]),
      section('moves', 'What to try, most promising first (gains are expectations, not results)', [
        list(moves.map(moveLine)),
      ]),
      section('advice', 'Advice beyond the moves at hand', [
        list(advice.map(({ finding, text }) => ({ term: finding, text }))),
      ]),
    ],
  );
}
