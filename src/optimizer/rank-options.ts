import type { KernelCost, Lesson, Priors, RankedOption } from '../store/events.ts';
import type { MoveLedger } from './move-ledger.ts';
import type { ProposedMove } from './propose-moves.ts';

/** Weight of a pattern's own expectation, in attempted moves. */
const PSEUDO_ATTEMPTS = 4;
/** A move that has used this many times its share of the evaluations is given up. */
const SHARES_BEFORE_ABANDONING = 2;

export interface RankingContext {
  readonly ledger: MoveLedger;
  readonly priors: Priors;
  /** Name of the device. */
  readonly device: string;
  /** Evaluations left; `null` where they are not limited. */
  readonly evaluationsLeft: number | null;
  /** Whether times are measured. If so, a candidate is screened first, and measured again if it is promising. */
  readonly isMeasured: boolean;
  readonly workloadCount: number;
  /** The best candidate's evaluation, to which the findings belong. */
  readonly evaluationId: string;
}

export interface Ranking {
  readonly share: number | null;
  /** Open moves by descending value; then the moves given up now because they used more than twice their share. */
  readonly options: RankedOption[];
  /** The open moves in that order, each with its most promising candidate. */
  readonly moves: ProposedMove[];
  readonly overspent: RankedOption[];
}

/**
 * Ranks the open moves by (expected gain − 1) × confidence ÷ cost. Gain and confidence are the pattern's expectations,
 * combined with its results in this run and in earlier ones.
 *
 * @param open moves that may be tried, the most promising candidate of each move first.
 */
export function rankOptions(open: readonly ProposedMove[], context: RankingContext): Ranking {
  const moves = firstOfEach(open);
  const share = context.evaluationsLeft === null ? null : context.evaluationsLeft / Math.max(1, moves.length);
  const options = moves.map((move) => ({ move, option: optionOf(move, context) }));
  options.sort((a, b) => b.option.value - a.option.value);
  const overspent = overspentOf(options, share);
  const left = options.filter((one) => !overspent.includes(one));
  return {
    share,
    moves: left.map(({ move }) => move),
    options: [
      ...left.map(({ option }, i): RankedOption => ({ ...option, state: i === 0 ? 'next' : 'open' })),
      ...overspent.map(({ option }): RankedOption => ({ ...option, state: 'abandoned' })),
    ],
    overspent: overspent.map(({ option }) => option),
  };
}

/** One candidate per move, in the order in which the moves first appear. This breaks ties of value. */
function firstOfEach(open: readonly ProposedMove[]): ProposedMove[] {
  const byKey = new Map<string, ProposedMove>();
  for (const move of open) if (!byKey.has(move.key)) byKey.set(move.key, move);
  return [...byKey.values()];
}

type Ranked = { move: ProposedMove; option: RankedOption };

/** If every move has used twice its share, none is given up. */
function overspentOf(options: readonly Ranked[], share: number | null): Ranked[] {
  if (share === null) return [];
  const overspent = options.filter(({ option }) => option.used >= SHARES_BEFORE_ABANDONING * share);
  return overspent.length < options.length ? overspent : [];
}

function optionOf(move: ProposedMove, context: RankingContext): RankedOption {
  const { expectedGain, confidence, evidence } = weigh(move, context);
  const cost = costOf(move, confidence, context);
  const value = ((expectedGain - 1) * confidence) / (cost.evaluations + cost.compile);
  const { used, failures } = context.ledger.standing(move.key);
  return {
    moveKey: move.key,
    pattern: move.pattern,
    finding: { id: move.finding.id, evaluationId: context.evaluationId },
    move: move.change,
    expectedGain,
    confidence,
    evidence,
    cost,
    value,
    arithmetic: `(${expectedGain.toFixed(2)} − 1) × ${confidence.toFixed(2)} ÷ (${cost.evaluations.toFixed(1)} + ${cost.compile.toFixed(1)}) = ${value.toFixed(3)}`,
    used,
    failures,
    state: 'open',
  };
}

/** Fewest attempts at a finding for which they tell more than all attempts of the pattern. */
const ATTEMPTS_FOR_A_LESSON = 3;

/** What came of the pattern where it worked on the same finding, on the same device. */
const lessonFor = ({ pattern, finding }: ProposedMove, { lessons = [] }: Priors, on: string): Lesson | undefined =>
  lessons.find(
    (lesson) =>
      lesson.pattern === pattern.id &&
      lesson.finding === finding.id &&
      lesson.device === on &&
      lesson.attempts >= ATTEMPTS_FOR_A_LESSON,
  );

/** Combines expectation and results: gain as a geometric mean, confidence as an arithmetic mean. */
function weigh(
  move: ProposedMove,
  { ledger, priors, device }: RankingContext,
): Pick<RankedOption, 'expectedGain' | 'confidence' | 'evidence'> {
  const here = ledger.realised(move.pattern.id);
  const before = lessonFor(move, priors, device) ?? priors.patterns.find(({ pattern }) => pattern === move.pattern.id);
  const attempts = here.attempts + (before?.attempts ?? 0);
  const kept = here.kept + (before?.kept ?? 0);
  const seen = here.logGain + (before ? before.kept * Math.log(before.realisedGain) : 0);
  const logGain = (PSEUDO_ATTEMPTS * Math.log(move.expectedGain) + seen) / (PSEUDO_ATTEMPTS + kept);
  return {
    expectedGain: Math.max(1, Math.exp(logGain)),
    confidence: (PSEUDO_ATTEMPTS * move.confidence + kept) / (PSEUDO_ATTEMPTS + attempts),
    evidence: { attempts, kept },
  };
}

/**
 * Expected evaluations. Predicted: one, plus one per further workload if the first goes well. Measured: a screen, plus a
 * measurement on each workload if the screen goes well. Compile times come from earlier runs: if a ranking depended on this
 * run's clock, a resumed run would rank differently.
 */
function costOf(
  move: ProposedMove,
  confidence: number,
  { isMeasured, workloadCount, priors }: RankingContext,
): RankedOption['cost'] {
  const evaluations = 1 + confidence * (isMeasured ? workloadCount : workloadCount - 1);
  return { evaluations, compile: compileCost(move.candidate.kernel.file.name, priors.costs) };
}

/** A kernel that was never compiled gets the mean of the others, so that it does not count as the cheapest. */
function compileCost(name: string, costs: readonly KernelCost[]): number {
  const shares = costs
    .filter(({ runMs }) => runMs > 0)
    .map(({ kernel, compileMs, runMs }) => ({ kernel, share: compileMs / runMs }));
  const known = shares.find(({ kernel }) => kernel === name);
  if (known) return known.share;
  return shares.length === 0 ? 0 : shares.reduce((sum, { share }) => sum + share, 0) / shares.length;
}
