import { isTooManyAssignments } from '../../core/plan/parameters.ts';
import { GUIDED } from '../../core/requests/options.ts';
import { DEFAULT_BLIND_STRATEGY } from '../../search/strategies.ts';
import { Lineage } from '../authoring/lineage.ts';
import type { ProposedMove } from '../propose-moves.ts';
import type { OptimizeOptions, Run } from '../run.ts';
import { createByAuthor } from './by-author.ts';
import { ByBandit, type Chooser } from './by-bandit.ts';
import { createByStrategy } from './by-strategy.ts';
import { createGuided } from './guided.ts';
import type { Judged, Proposer, Turn } from './proposer.ts';

/** @throws WarpsmithError `unknown-strategy`; for a ladder with more settings than a strategy can list. */
export function createProposer(options: OptimizeOptions): Proposer<Run> {
  const { strategy = GUIDED, exploring = true, author, shared, priors } = options;
  if (shared) return new ByBandit(options, shared, shared.isAlone ? [] : choosersOf(options));
  if (author) return createByAuthor({ author, lineage: new Lineage([author], priors) });
  if (strategy !== GUIDED) return createByStrategy(options, strategy);
  const guided = createGuided();
  return exploring ? handingOver(guided, () => createByStrategy(options, DEFAULT_BLIND_STRATEGY)) : guided;
}

/** Those who propose without writing. They try what authors may see: the start, what was written, and rungs that are shown. */
function choosersOf(options: OptimizeOptions): Chooser[] {
  const { exploring = true, request, start } = options;
  const rungs = options.rungs.filter(({ file }) => request.showRungs || file.name === start.kernel.file.name);
  const patterns: Chooser = { name: 'patterns', followsBest: true, create: () => createGuided(rungs) };
  const search: Chooser = {
    name: 'search',
    followsBest: false,
    create: () => createByStrategy({ ...options, rungs }, DEFAULT_BLIND_STRATEGY),
  };
  return exploring ? [patterns, search] : [patterns];
}

/**
 * Asks `first` while it has a move, otherwise `second`. Both are told every judged move. After a new best, `first` is asked
 * again. Creates `second` when first needed.
 */
function handingOver(first: Proposer<Run>, createSecond: () => Proposer<Run>): Proposer<Run> {
  const judgements: [ProposedMove, Judged][] = [];
  let second: Proposer<Run> | undefined;
  const take = (): Proposer<Run> => {
    if (second) return second;
    second = createSecond();
    for (const [move, judged] of judgements) second.note(move, judged);
    return second;
  };
  return {
    async next(run) {
      const { exhausted, ...turn } = await first.next(run);
      if (!exhausted) return turn;
      try {
        return { ...turn, ...(await take().next(run)) };
      } catch (error) {
        // Findings need no list of all settings. If there are too many to list, only findings propose moves.
        if (isTooManyAssignments(error)) return { ...turn, exhausted } satisfies Turn;
        throw error;
      }
    },
    note(move, judged) {
      first.note(move, judged);
      if (second) second.note(move, judged);
      else judgements.push([move, judged]);
    },
  };
}
