import type { Evaluation } from '../../core/evaluation.ts';
import type { MoveRecord } from '../../store/events.ts';
import * as doc from '../document.ts';
import { describeTiming, formatMove, formatPercent, formatRatio } from '../format.ts';
import { findingsInFull, HIDDEN_TITLE, hiddenFindings } from '../sections/findings.ts';
import { profilerRuleLines } from '../sections/outside-tools.ts';
import { evaluationTitle, statusText } from './evaluation.ts';

/** A change worth trying next, and why. */
export interface SuggestedMove {
  move: MoveRecord;
  pattern: { id: string; title: string };
  finding: string;
  /** Old time ÷ new time the pattern expects. An estimate, never a result. */
  expectedGain: number;
  confidence: number;
  reason: string;
}

export interface DiagnosisReport {
  schemaVersion: 1;
  kind: 'diagnosis';
  evaluation: Evaluation;
  /** Most promising first. */
  moves: SuggestedMove[];
  advice: { pattern: { id: string; title: string }; finding: string; text: string }[];
}

/** The same change may answer several findings: the most promising of its proposals stands for all. */
const byChange = (moves: readonly SuggestedMove[]): [SuggestedMove, ...SuggestedMove[]][] =>
  [...Map.groupBy(moves, ({ move }) => formatMove(move)).values()] as [SuggestedMove, ...SuggestedMove[]][];

const findingsOf = (proposals: readonly SuggestedMove[]): string =>
  [...new Set(proposals.map(({ finding }) => finding))].join(', ');

const reason = ({ move, finding, reason: why }: SuggestedMove): doc.Item => ({
  term: formatMove(move),
  text: `for ${finding}: ${why}`,
});

/** A line a move; why each was proposed is folded. */
const movesTable = (moves: readonly SuggestedMove[]): doc.Part => [
  doc.table('What to try', byChange(moves), [
    doc.names('change', ([{ move }]) => formatMove(move)),
    doc.figures('expected', ([{ expectedGain }]) => formatRatio(expectedGain)),
    doc.figures('confidence', ([{ confidence }]) => formatPercent(confidence), 1),
    doc.words('because of', findingsOf),
  ]),
  doc.fold('Why', [doc.list(moves.map(reason))]),
];

/** Findings with their evidence and advice, then what to try. */
export function diagnosisDocument({ evaluation, moves, advice }: DiagnosisReport): doc.Document {
  const { status, timing, findings, countersSource, profile } = evaluation;
  const summary = doc.list([
    statusText(evaluation),
    timing && describeTiming(timing),
    countersSource && `counters: ${countersSource.detail}`,
    findings.length === 0 && status === 'passed' && 'Nothing that is worth a change.',
  ]);
  const rules = profile ? `What ${profile.tool} ${profile.version} itself says (its estimates, not results)` : '';
  return doc.documentOf(
    evaluationTitle(evaluation),
    [summary],
    [
      doc.section('findings', 'Findings', [findingsInFull(findings)]),
      doc.detail('hidden', HIDDEN_TITLE, [hiddenFindings(evaluation.hiddenFindings)]),
      doc.section('rules', rules, [profile && doc.list(profilerRuleLines(profile), 'nothing')]),
      doc.section('moves', 'What to try, most promising first (gains are expectations, not results)', [
        movesTable(moves),
      ]),
      doc.section('advice', 'Advice beyond the moves at hand', [
        doc.list(advice.map(({ finding, text }) => ({ term: finding, text }))),
      ]),
    ],
  );
}
