import { formatKindAndTime } from '../../reports/format.ts';
import type { Submitted } from './lineage.ts';
import type { Turn } from './turn.ts';

/** The lineage in short. */
export interface History {
  /** A line each, oldest first. */
  attempts: string[];
  /** The fastest of those that passed, for each finding that limits one; the fastest first. */
  frontier: string[];
  best: string | null;
  /** Those without a verdict yet. */
  waiting: string[];
}

const MOST_FRONTIER = 3;

/** What was tried, hoped and found. @param last only so many attempts, the newest. */
export function historyOf(turn: Turn, last: number): History {
  const lineage = turn.lineage();
  const passed = lineage.filter(isTimed).sort((a, b) => timeOf(a) - timeOf(b));
  return {
    attempts: lineage.slice(-last).map(lineOf),
    frontier: frontierOf(passed).map(lineOf),
    best: passed[0]?.candidate.id ?? null,
    waiting: turn
      .pending()
      .map(({ candidate, state, said, reason }) =>
        [`${candidate.id} ${state}`, reason, said.hypothesis].filter(Boolean).join(': '),
      ),
  };
}

const isTimed = ({ results: [result] }: Submitted): boolean =>
  result?.status === 'passed' && result.timing !== undefined;
const timeOf = ({ results: [result] }: Submitted): number => result!.timing!.medianNs;

/** What something else limits may lead on where the others are stuck. */
function frontierOf(fastestFirst: readonly Submitted[]): Submitted[] {
  const byLimit = new Map<string, Submitted>();
  for (const attempt of fastestFirst) {
    const limit = attempt.results[0]?.finding ?? 'nothing found';
    if (!byLimit.has(limit)) byLimit.set(limit, attempt);
  }
  return [...byLimit.values()].slice(0, MOST_FRONTIER);
}

const LONGEST_HYPOTHESIS = 120;

/** As many whole words as fit. */
const shortened = (text: string): string =>
  text.length <= LONGEST_HYPOTHESIS ? text : `${text.slice(0, LONGEST_HYPOTHESIS).replace(/\s+\S*$/, '')} …`;

function lineOf({ candidate, authored, results: [result] }: Submitted): string {
  const { author, parent, hypothesis, predictedRatio, ratioToParent, ratioToStart } = authored;
  const hoped = predictedRatio === null ? '' : `, hoped ${predictedRatio.toFixed(2)}×`;
  const got = ratioToParent === null ? '' : `, got ${ratioToParent.toFixed(2)}× of parent`;
  const whole = ratioToStart === null ? '' : `, ${ratioToStart.toFixed(2)}× of start`;
  const outcome =
    result?.status === 'passed'
      ? `passed, ${formatKindAndTime(result.timing)}${got}${whole}${result.finding ? `, limited by ${result.finding}` : ''}`
      : `${result?.status}: ${shortened(result?.reason ?? '')}`;
  const from = parent === null ? '' : ` from ${parent}`;
  return `${candidate.id}${from} by ${author}: “${shortened(hypothesis)}”${hoped}; ${outcome}`;
}
