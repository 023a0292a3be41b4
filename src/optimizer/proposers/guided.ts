import { makeCandidate } from '../../core/candidate.ts';
import type { Kernel } from '../../core/kernel.ts';
import { listValues } from '../../core/plan/parameter-values.ts';
import { failedConstraint } from '../../core/plan/parameters.ts';
import { takesWorkloads } from '../../core/plan/takes-workload.ts';
import type { Dimensions } from '../../core/problem.ts';
import { type RandomSource, randomSource, shuffle } from '../../stats/random.ts';
import { preparedIfKept } from '../prepared-ahead.ts';
import { type Advice, onRung, type ProposedMove, proposeMoves, type RealisedMove } from '../propose-moves.ts';
import { type Ranking, rankOptions } from '../rank-options.ts';
import type { Best, Run } from '../run.ts';
import { type Proposer, preparedAheadOf, type Turn } from './proposer.ts';

/** Lines of the options table that are logged. */
const LISTED_OPTIONS = 20;

/**
 * Findings of the best candidate trigger patterns. Ranks their moves by expected gain and cost.
 *
 * @param rungs those that it may propose; all of the problem's when absent.
 */
export function createGuided(rungs?: readonly Kernel[]): Proposer<Run> {
  return {
    next(run) {
      const { moves, advice } = suggested(run, rungs ?? run.options.rungs);
      const open = openMoves(run, moves);
      const ranking = rankOptions(open, contextOf(run));
      for (const { moveKey } of ranking.overspent) run.ledger.abandon(moveKey);
      const [move] = ranking.moves;
      if (!move) return { advice, ...turnOf(run, ranking), ...EXHAUSTED };
      const next = [...upcoming(run, ranking), ...ifKept(run, rungs ?? run.options.rungs, move)];
      return { advice, ...turnOf(run, ranking), move, upcoming: next };
    },
    note() {},
  };
}

const contextOf = ({ options, budget, ledger, best }: Run) => ({
  ledger,
  priors: options.priors ?? { patterns: [], costs: [] },
  device: options.device.name,
  evaluationsLeft: budget.searchEvaluationsLeft,
  isMeasured: best!.evaluation.timing.kind === 'measured',
  workloadCount: options.workloads.length,
  evaluationId: best!.evaluation.id,
});

/** Without diagnosis: the same changes in random order. The comparison shows what findings are worth. */
function suggested(run: Run, rungs: readonly Kernel[]): { moves: ProposedMove[]; advice: Advice[] } {
  const { options, iteration } = run;
  const best = run.best!;
  const { dimensions } = options.workloads[0]!;
  if (options.request.diagnosis === false) {
    const random = randomSource(options.seed + iteration);
    return { moves: undirectedMoves(best, rungs, dimensions, random), advice: [] };
  }
  const { patterns, spec } = options;
  return proposeMoves({ dimensions, rungs, patterns, spec, best });
}

function openMoves(run: Run, suggested: readonly ProposedMove[]): ProposedMove[] {
  const seen = new Set<string>();
  return suggested.filter((move) => {
    const isNew = !seen.has(move.candidate.id);
    seen.add(move.candidate.id);
    // A candidate that does not take one of the workloads can't win.
    return isNew && run.ledger.isOpen(move) && takesWorkloads(move.candidate, run.options.workloads);
  });
}

function turnOf(run: Run, { share, options, overspent }: Ranking): Pick<Turn, 'ranked' | 'abandoned'> {
  const open = options.length - overspent.length;
  const listed = [...options.slice(0, Math.min(open, LISTED_OPTIONS)), ...options.slice(open)];
  return {
    ranked: options.length > 0 ? { share, options: listed, omitted: options.length - listed.length } : undefined,
    abandoned: overspent.map(({ moveKey, used, failures }) => ({
      moveKey,
      failureCount: failures,
      why: 'overspent' as const,
      reason: `no gain after ${used} evaluation${used === 1 ? '' : 's'}, twice its share of ${share!.toFixed(2)} (${run.budget.searchEvaluationsLeft} left ÷ ${open + overspent.length} moves)`,
    })),
  };
}

/** No more than the evaluations that are left after this move could ask for: compiling takes as long as judging a small kernel. */
function upcoming({ budget, options }: Run, { moves }: Ranking): ProposedMove[] {
  const left = budget.searchEvaluationsLeft ?? Number.POSITIVE_INFINITY;
  return moves.slice(1, Math.min(1 + preparedAheadOf(options.evaluator), left));
}

/**
 * What would probably follow if the move is kept: what the findings of the best suggest for its candidate. Its own findings are not
 * known yet.
 */
function ifKept(run: Run, rungs: readonly Kernel[], { candidate }: ProposedMove): ProposedMove[] {
  const { options, budget, best } = run;
  // The move, its longer measurement, and one that follows.
  const left = (budget.searchEvaluationsLeft ?? Number.POSITIVE_INFINITY) - 2;
  const count = Math.min(preparedIfKept(options), left);
  if (!(count > 0) || options.request.diagnosis === false) return [];
  const { patterns, spec } = options;
  const { dimensions } = options.workloads[0]!;
  const imagined = { candidate, evaluation: best!.evaluation };
  const { moves } = proposeMoves({ dimensions, rungs, patterns, spec, best: imagined });
  const open = openMoves(run, moves);
  // The first candidate of every move, then their others.
  return [...new Set([...rankOptions(open, contextOf(run)).moves, ...open])].slice(0, count);
}

const EXHAUSTED: Pick<Turn, 'exhausted'> = {
  exhausted: {
    reason: 'no-moves-left',
    detail: 'every move suggested by the findings of the best candidate has been tried',
  },
};

/** Every change of one parameter or of the rung, in random order: guided search without findings. */
function undirectedMoves(
  best: Best,
  rungs: readonly Kernel[],
  dimensions: Dimensions,
  random: RandomSource,
): ProposedMove[] {
  const all = [...settings(best, dimensions), ...otherRungs(best, rungs, dimensions)].map((change) => ({
    ...change,
    pattern: { id: 'undirected', title: 'Any change, whatever the findings say' },
    finding: { id: 'none', estimatedSpeedup: 1, evidence: 'findings were not asked' },
    expectedGain: 1,
    confidence: 0,
    reason: 'chosen at random',
  }));
  return shuffle(all, (bound) => random.next() % bound);
}

/**
 * Every valid setting of the best candidate's kernel that differs in one parameter, in the order of all settings, with the
 * last parameter varying fastest.
 */
function settings({ candidate: { kernel, parameters } }: Best, dimensions: Dimensions): RealisedMove[] {
  const { name } = kernel.file;
  const changeTo = (parameter: string, to: number): RealisedMove[] => {
    const values = { ...parameters, [parameter]: to };
    if (failedConstraint(kernel.file, values, dimensions) !== undefined) return [];
    const change = { kind: 'parameter' as const, kernel: name, parameter, from: parameters[parameter]!, to };
    return [{ key: `undirected/${name}.${parameter}=${to}`, change, candidate: makeCandidate(kernel, values) }];
  };
  const before: RealisedMove[] = [];
  const after: RealisedMove[][] = [];
  for (const [parameter, declaration] of Object.entries(kernel.file.parameters ?? {})) {
    const values = listValues(declaration.values);
    const own = values.indexOf(parameters[parameter]!);
    before.push(...values.slice(0, own).flatMap((value) => changeTo(parameter, value)));
    after.unshift(values.slice(own + 1).flatMap((value) => changeTo(parameter, value)));
  }
  return [...before, ...after.flat()];
}

/** The best candidate's successors on every other rung. */
function otherRungs({ candidate }: Best, rungs: readonly Kernel[], dimensions: Dimensions): RealisedMove[] {
  const from = candidate.kernel.file.name;
  return rungs
    .filter(({ file }) => file.name !== from)
    .flatMap((rung): RealisedMove[] => {
      const successor = onRung(candidate, rung, dimensions);
      const to = rung.file.name;
      return successor ? [{ key: `undirected/${to}`, change: { kind: 'rung', from, to }, candidate: successor }] : [];
    });
}
