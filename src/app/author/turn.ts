import { WarpsmithError } from '../../core/errors.ts';
import type { Evaluation } from '../../core/evaluation.ts';
import type { Candidate, Kernel } from '../../core/kernel.ts';
import type { Allowance } from './allowance.ts';
import type { Bench } from './check-submission.ts';
import type { Submitted } from './lineage.ts';

/** What an author says of a candidate: never a time, a verdict, a reference or a seed. */
export interface Said {
  readonly hypothesis: string;
  readonly predictedRatio: number | null;
  /** Id of the candidate that it was made from. */
  readonly parent: string | null;
}

export type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A submission on its way to a verdict. */
export interface Pending {
  readonly candidate: Candidate;
  readonly said: Said;
  readonly state: 'waiting' | 'running' | 'failed' | 'cancelled';
  /** When judging began, ms since the epoch. */
  readonly begunAt?: number;
  /** Why it has no verdict. */
  readonly reason?: string;
  /** Settles when there is a verdict, or none will come. Never rejects. */
  readonly done: Promise<void>;
}

/** Whether it still waits or runs. */
export const isOpen = (pending: { readonly state: Search['state'] } | undefined): boolean =>
  pending?.state === 'waiting' || pending?.state === 'running';

/** A search over the parameters of a kernel, in the background. */
export interface Search {
  readonly id: string;
  readonly candidate: Candidate;
  readonly state: Pending['state'] | 'finished';
  readonly reason?: string;
  /** Id of the best candidate found. */
  readonly best?: string;
  readonly done: Promise<void>;
}

/** An author's turn on one problem, workload and device, as the tools of the MCP server see it. */
export interface Turn extends Bench {
  readonly start: Candidate;
  readonly rungs: readonly Kernel[];
  /** Whether the author sees the problem's other rungs. */
  readonly showsRungs: boolean;
  readonly allowance: Pick<Allowance, 'left' | 'take'>;
  /** Whether the author was caught twice, and may submit nothing any more. */
  readonly isOver: boolean;
  /** Attempts with a verdict, oldest first. */
  lineage(): Submitted[];
  /** The whole evaluation of an attempt, or undefined if it is no longer there. */
  evaluationOf(attempt: Submitted): Evaluation | undefined;
  pending(): readonly Pending[];
  pendingOf(id: string): Pending | undefined;
  /**
   * Puts a candidate in the queue of those to judge.
   *
   * @returns whether it is new; a candidate that was judged before, or waits, is not judged again and costs nothing.
   * @throws WarpsmithError `turn-over`; `budget-spent`; for launch plans that can't be used.
   */
  submit(candidate: Candidate, said: Said): Promise<{ readonly isNew: boolean }>;
  searchOf(id: string): Search | undefined;
  /**
   * Begins a search over a candidate's parameters.
   *
   * @param evaluations at most so many, taken from the budget; what is not used is given back.
   * @returns its id.
   * @throws WarpsmithError `turn-over`; `budget-spent`; `no-parameters`; `near-attainable` for one that was judged, where the search would end at once.
   */
  search(candidate: Candidate, evaluations: number): string;
  /** Ends a submission or search that has no verdict yet. @returns whether there was one. */
  cancel(id: string): boolean;
  /** The start's attempt; judged now if it never was. It costs the author nothing. */
  judgedStart(): Promise<Submitted | undefined>;
  /** The candidate that a text names: `start`, or an id. @throws WarpsmithError `unknown-attempt`. */
  candidate(id: string): Candidate;
}

/** How the start is named. */
export const START = 'start';

export const turnOver = (author: string, caught: number): WarpsmithError =>
  new WarpsmithError({
    code: 'turn-over',
    message: `The turn of ${author} is over: ${caught} of its kernels were right when verified and wrong when timed.`,
    received: `${caught} such kernels`,
    expected: 'kernels that compute the same whether or not they are timed',
    hint: 'Nothing more is judged for this author. Report what `history` holds.',
  });

/** What is asked about an attempt without a verdict. */
export const notJudged = (id: string): WarpsmithError =>
  new WarpsmithError({
    code: 'not-judged',
    message: `${id} has no verdict yet.`,
    received: id,
    expected: 'an attempt that was judged',
    hint: 'Call wait with its id.',
  });

export const unknownAttempt = (id: string, lineage: readonly Submitted[]): WarpsmithError =>
  new WarpsmithError({
    code: 'unknown-attempt',
    message: `There is no attempt ${id} here.`,
    received: id,
    expected: [START, ...lineage.slice(-10).map(({ candidate }) => candidate.id)].join(', '),
    hint: 'See `history`.',
  });
