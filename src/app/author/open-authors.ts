import type { Evaluator } from '../../core/evaluation.ts';
import type { Candidate, Kernel } from '../../core/kernel.ts';
import type { Problem, Workload } from '../../core/problem.ts';
import type { Writer } from '../../optimizer/authoring/author.ts';
import type { OptimizeOptions } from '../../optimizer/optimize.ts';
import type { Surroundings } from '../session.ts';
import { type AuthorOptions, MODEL } from './author-options.ts';
import type { ServeTurn } from './command/command-author.ts';
import { quietEvaluator } from './command/quiet-evaluator.ts';
import type { RunAtHand } from './run-at-hand.ts';
import { openRunTranscript } from './run-transcript.ts';

/** What a run with authors was asked for. */
export interface AuthorsRequest {
  readonly request: AuthorOptions &
    Pick<Surroundings, 'signal' | 'onStep'> & { readonly store: string; readonly serveAgents?: ServeTurn };
  readonly problem: Problem;
  readonly workloads: readonly Workload[];
  readonly start: Candidate;
  readonly rungs: readonly Kernel[];
  /** Of a resumed run, larger than those that its log holds. */
  readonly authorLimits?: Partial<Pick<AuthorOptions, 'maximumTokens' | 'maximumCost'>>;
}

/**
 * Those who write a run's kernels: one alone, or several, with what chooses among kernels that there are, who share its moves. The modules of
 * models and agents load only where they are used.
 *
 * @throws WarpsmithError as `openModelAuthor`, `openCommandAuthor`; `no-transcript`, `damaged-transcript`.
 */
export async function openAuthors(
  { request, problem, workloads, start, rungs, authorLimits }: AuthorsRequest,
  { session, run, priors, seed, closing }: RunAtHand,
): Promise<Pick<OptimizeOptions, 'author' | 'shared'> & Partial<Pick<OptimizeOptions, 'evaluator'>>> {
  const { author = [], transcript, model = '', onlyAuthors: isAlone = false, serveAgents } = request;
  const kept = openRunTranscript({ run, transcript, model, problem, session, seed, priors });
  const rest = { problem, workload: workloads[0]!, session, priors, kept, closing };
  const writers: Writer[] = [];
  let quiet: { evaluator?: Evaluator } = {};
  if (author.includes(MODEL)) {
    const { openModelAuthor } = await import('./model/open-model-author.ts');
    const opened = await openModelAuthor({ options: { ...request, ...authorLimits }, seed, ...rest });
    writers.push({ author: opened, name: opened.name });
  }
  if (author.some((who) => who !== MODEL)) {
    const { openCommandAuthor } = await import('./command/open-command-author.ts');
    const opened = await openCommandAuthor({ options: request, serveAgents, run, start, rungs, ...rest });
    writers.push(...opened.names.map((name) => ({ author: opened, name })));
    if (session.device.identity.kind === 'cuda') quiet = { evaluator: quietEvaluator(session.evaluator, opened) };
  }
  if (isAlone && writers.length === 1) return { author: writers[0]!.author, ...quiet };
  const { choices: recorded } = kept.recorded;
  return { shared: { writers, isAlone, recorded, record: (choice) => kept.record({ choice }) }, ...quiet };
}
