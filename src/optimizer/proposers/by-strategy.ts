import type { Candidate } from '../../core/kernel.ts';
import { takesWorkloads } from '../../core/plan/takes-workload.ts';
import { type KernelSpace, kernelSpace } from '../../search/kernel-space.ts';
import { createStrategy } from '../../search/strategies.ts';
import type { Outcome, SearchPrior } from '../../search/strategy.ts';
import type { KnownTimes } from '../../store/events.ts';
import type { ProposedMove } from '../propose-moves.ts';
import type { OptimizeOptions, Run } from '../run.ts';
import { type Judged, type Proposer, preparedAheadOf, type Turn } from './proposer.ts';

/**
 * Proposes the configurations that a blind strategy asks for, over all rungs, and tells it each result as start's time ÷
 * candidate's time.
 */
export function createByStrategy(options: OptimizeOptions, name: string): Proposer<Run> {
  const { rungs, start, workloads, seed, priors } = options;
  const isOnLadder = rungs.some(({ file }) => file.name === start.kernel.file.name);
  const kernels = isOnLadder ? rungs : [start.kernel, ...rungs];
  const listed = kernelSpace(kernels, workloads[0]!.dimensions);
  const { space, candidateAt, indexOf } = listed;
  const strategy = createStrategy(name, { space, seed, prior: searchPriorOf(priors?.times, listed) });
  const tell = (candidate: Candidate, judged: Judged) => {
    const index = indexOf(candidate);
    if (index !== undefined) strategy.tell(index, outcomeOf(judged));
  };
  tell(start, { ratio: 1, isScreenedOut: false });
  const isPossible = (candidate: Candidate) => takesWorkloads(candidate, workloads);
  let skipped = 0;
  /** A configuration that does not take every workload, or is not trusted, counts as failed without an evaluation. */
  const ask = ({ ledger }: Run): Candidate | undefined => {
    for (let index = strategy.ask(); index !== undefined; index = strategy.ask()) {
      const candidate = candidateAt(index);
      // Another proposer's move: the strategy is told of it when it is judged.
      if (ledger.isPending(candidate.id)) continue;
      if (isPossible(candidate) && ledger.isTrusted(candidate.kernel.file.name)) return candidate;
      skipped += 1;
      strategy.tell(index, { kind: 'failed' });
    }
    return undefined;
  };
  /** No more than the evaluations that are left could ask for. */
  const upcoming = (run: Run): ProposedMove[] => {
    const left = (run.budget.searchEvaluationsLeft ?? Number.POSITIVE_INFINITY) - 1;
    const foreseen = foresee(Math.min(preparedAheadOf(options.evaluator), left));
    return foreseen.map((candidate) => moveTo(candidate, name, run));
  };
  const foresee = (count: number): Candidate[] =>
    (strategy.foresee?.(Math.max(0, count)) ?? []).map((index) => candidateAt(index)).filter(isPossible);
  /** Asked for but not yet judged, by id. After a device failure it is tried again. */
  const unjudged = new Map<string, Candidate>();
  return {
    asksNoFindings: true,
    first: () => foresee(preparedAheadOf(options.evaluator)),
    next(run) {
      const again = [...unjudged.values()].find(({ id }) => !run.ledger.isPending(id));
      const candidate = again ?? ask(run);
      if (!candidate) return exhausted(space.size, skipped);
      unjudged.set(candidate.id, candidate);
      return { move: moveTo(candidate, name, run), upcoming: upcoming(run) };
    },
    note(move, judged) {
      unjudged.delete(move.candidate.id);
      tell(move.candidate, judged);
    },
  };
}

/** Times relative to the start's. A strategy compares only these, so drifting clocks matter less. */
function outcomeOf({ ratio, isScreenedOut }: Judged): Outcome {
  if (ratio === undefined) return { kind: 'failed' };
  return { kind: isScreenedOut ? 'screened-out' : 'timed', timeNs: 1 / ratio };
}

function moveTo(candidate: Candidate, strategy: string, { iteration }: Run): ProposedMove {
  const { kernel, parameters } = candidate;
  return {
    key: `${strategy}/${iteration + 1}`,
    pattern: { id: strategy, title: `Choice of the ${strategy} strategy` },
    finding: { id: 'none', estimatedSpeedup: 1, evidence: 'a blind strategy chose it; it uses no findings' },
    change: { kind: 'configuration', kernel: kernel.file.name, parameters },
    candidate,
    expectedGain: 1,
    confidence: 0,
    reason: `the ${strategy} strategy chose it`,
  };
}

function exhausted(size: number, skipped: number): Turn {
  const butFor = skipped === 0 ? '' : `, except ${skipped} that do not take every workload`;
  return {
    exhausted: { reason: 'space-exhausted', detail: `all ${size} configurations have been evaluated${butFor}` },
  };
}

/** What the times known beforehand say of a space; undefined if they say nothing of it. */
function searchPriorOf(known: KnownTimes | undefined, { find }: KernelSpace): SearchPrior | undefined {
  const outcomes = new Map<number, Outcome>();
  for (const { kernel, parameters, rows } of known?.kernels ?? []) {
    for (const row of rows) {
      const index = find(kernel, Object.fromEntries(parameters.map((name, place) => [name, row[place]!])));
      if (index !== undefined) outcomes.set(index, knownOutcome(row.at(-1)!));
    }
  }
  return outcomes.size > 0 ? { outcomes } : undefined;
}

const knownOutcome = (time: number | null): Outcome =>
  time === null ? { kind: 'failed' } : { kind: 'timed', timeNs: time };
