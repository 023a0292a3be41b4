import type { Finding } from '../../core/finding.ts';
import { fold, heading, type Item, list, type Part, text } from '../document.ts';
import { formatFigure } from '../format.ts';

/** What a strategy that asks no findings gives in their place. */
export const NO_FINDING = 'none';

/** The counter evidence of a finding, threshold included. */
export const describeEvidence = ({ evidence }: Pick<Finding, 'evidence'>): string =>
  evidence
    .map(({ counter, value, unit, threshold, comparison, where }) => {
      const figure = `${formatFigure(value)}${unit ? ` ${unit}` : ''}`;
      return `${counter} ${figure} (${comparison} ${formatFigure(threshold)})${where ? ` in ${where}` : ''}`;
    })
    .join('; ');

/** `Bank conflicts [bank-conflicts], estimated gain 1.95×`; findings without an estimate say so. */
export const titleOf = ({ title, id, estimatedSpeedup }: Finding): string =>
  `${title} [${id}], ${estimatedSpeedup > 1 ? `estimated gain ${estimatedSpeedup.toFixed(2)}×` : 'no estimate of the gain'}`;

const inShort = (finding: Finding): string => `${titleOf(finding)}: ${describeEvidence(finding)}`;

const reasoning = ({ title, arithmetic, advice }: Finding): Item => ({ term: title, text: `${arithmetic}; ${advice}` });

/** A line for each finding, with the arithmetic and the advice folded below. */
export const findingsInShort = (findings: readonly Finding[], none?: string): Part => [
  list(findings.map(inShort), none),
  fold('Arithmetic and advice', [list(findings.map(reasoning))]),
];

/** Every finding with its evidence and its advice, the first one first; the arithmetic of its gain is folded. */
export const findingsInFull = (findings: readonly Finding[]): Part =>
  findings.map((finding, index) => [
    heading(`${index + 1}. ${titleOf(finding)}`),
    list([
      { term: 'evidence', text: describeEvidence(finding) },
      { term: 'advice', text: finding.advice },
    ]),
    fold('Arithmetic', [text(finding.arithmetic)]),
  ]);

export const HIDDEN_TITLE = 'Hidden as long as something else binds';

/** Findings that cost nothing as things are. */
export const hiddenFindings = (findings: readonly Finding[] = []): Part =>
  list(
    findings.map((finding) => `${finding.title} [${finding.id}]: ${describeEvidence(finding)}; ${finding.arithmetic}`),
  );
