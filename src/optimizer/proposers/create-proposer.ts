import { isTooManyAssignments } from '../../core/plan/parameters.ts';
import { GUIDED } from '../../core/requests/options.ts';
import { DEFAULT_BLIND_STRATEGY } from '../../search/strategies.ts';
import { Lineage } from '../authoring/lineage.ts';
import type { OptimizeOptions, Run } from '../run.ts';
import { createByAuthor } from './by-author.ts';
import { ByBandit, type Chooser } from './by-bandit.ts';
import { createByStrategy } from './by-strategy.ts';
import { createGuided } from './guided.ts';
import { madeWhenAsked, type Proposer, type Turn } from './proposer.ts';

/** A guided run that knows times beforehand tries so many settings that are fast there before it goes by findings. */
const OPENING_MOVES = 3;

/** @throws WarpsmithError `unknown-strategy`; for a ladder with more settings than a strategy can list. */
export function createProposer(options: OptimizeOptions): Proposer<Run> {
  const { strategy = GUIDED, exploring = true, author, shared, priors } = options;
  if (shared) return new ByBandit(options, shared, shared.isAlone ? [] : choosersOf(options));
  if (author) return createByAuthor({ author, lineage: new Lineage([author], priors) });
  if (strategy !== GUIDED) return createByStrategy(options, strategy);
  const guided = createGuided();
  if (!exploring) return guided;
  const opening = priors?.times ? OPENING_MOVES : 0;
  return handingOver(guided, () => createByStrategy(options, DEFAULT_BLIND_STRATEGY), opening);
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
 *
 * @param opening moves that `second` makes before.
 */
function handingOver(first: Proposer<Run>, createSecond: () => Proposer<Run>, opening: number): Proposer<Run> {
  const second = madeWhenAsked(createSecond);
  let isUnlisted = false;
  return {
    async next(run) {
      const isOpening = run.iteration < opening && !isUnlisted;
      const { exhausted, ...turn } = isOpening ? OPENING : await first.next(run);
      if (!exhausted) return turn;
      try {
        return { ...turn, ...(await second.next(run)) };
      } catch (error) {
        // Findings need no list of all settings. If there are too many to list, only findings propose moves.
        if (!isTooManyAssignments(error)) throw error;
        isUnlisted = true;
        return (isOpening ? await first.next(run) : { ...turn, exhausted }) satisfies Turn;
      }
    },
    note(move, judged) {
      first.note(move, judged);
      second.note(move, judged);
    },
  };
}

/** Of whoever is not asked yet. */
const OPENING: Turn = { exhausted: { reason: 'no-moves-left', detail: 'what is known beforehand is tried first' } };
