import type { Evaluation } from '../../core/evaluation.ts';
import type { Finding } from '../../core/finding.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { AuthorAskedEvent, AuthorMode, Said, StopReason, Tokens } from '../../store/events.ts';
import type { ArmChoice } from '../../store/transcript.ts';
import type { TimedEvaluation } from '../decision.ts';

/*
 * The seam to whoever writes kernels during a run. It is given what was found so far, and gives a candidate, a hypothesis and a
 * hoped ratio: never a time, a verdict, a reference, a tolerance or a seed.
 */

/** A candidate that passed and may be changed. */
export interface Member {
  readonly candidate: Candidate;
  readonly evaluation: TimedEvaluation;
  readonly ratioToStart: number;
}

/** One thing that was tried, whatever came of it. */
export interface Attempt {
  readonly parent: string;
  readonly finding: string;
  readonly hypothesis: string;
  readonly predictedRatio: number | null;
  /** Absent if it was refused before it was judged. */
  readonly judged?: {
    readonly candidate: Candidate;
    readonly evaluation: Evaluation;
    /** Parent's and start's time ÷ its time; `null` without two valid times. */
    readonly ratioToParent: number | null;
    readonly ratioToStart: number | null;
    readonly isKept: boolean;
  };
  /** Why it was not judged. */
  readonly refusal?: string;
}

/** What an author is asked for. */
export interface Task {
  readonly mode: AuthorMode;
  readonly parent: Member;
  /** The finding of the parent to work on, if it has any. */
  readonly finding: Finding | undefined;
  /** Everything so far, oldest first. `isFresh`: only a summary of it is to be shown. */
  readonly attempts: readonly Attempt[];
  readonly isFresh: boolean;
  /** The best of each structure, fastest first. */
  readonly elites: readonly Member[];
  /** Instead of something new: the last answer with this mistake mended. */
  readonly repair?: { readonly told: string } | { readonly attempt: Attempt };
  /** Of the search; `null` without a limit. */
  readonly evaluationsLeft: number | null;
  readonly minutesLeft: number | null;
  /** Of the run so far. */
  readonly evaluationsUsed: number;
  /** How often the author was sent elsewhere: after another time, what it was at does not count. */
  readonly redirections: number;
  /** Who is asked, where the author stands for several. */
  readonly by?: string;
}

/** What a request cost, and where it got to. */
export type AskedRequest = Pick<
  AuthorAskedEvent,
  'request' | 'purpose' | 'tokens' | 'money' | 'tokensUsed' | 'moneyUsed' | 'seconds'
>;

export interface Written {
  readonly kind: 'candidate';
  readonly candidate: Candidate;
  readonly hypothesis: string;
  readonly levers: readonly string[];
  readonly predictedRatio: number | null;
  readonly files: readonly { readonly file: string; readonly addedLines: number; readonly removedLines: number }[];
  /** Id of the candidate that it was made from, if that is not the task's parent. */
  readonly parent?: string;
}

/** What came of one request. */
export type Answer =
  | Written
  /** No candidate; `reason` is told to the author. */
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string; readonly hypothesis?: string }
  /** Nothing came. Asking again may help: the author waits before it does. */
  | { readonly kind: 'failed'; readonly code: string; readonly reason: string }
  /** The user cut it off. What it cost counts; it is no failure. */
  | { readonly kind: 'interrupted'; readonly code: string; readonly reason: string }
  /** No request was sent. */
  | { readonly kind: 'ended'; readonly reason: StopReason; readonly detail: string };

/** A step of an author that works by itself for a while, such as a coding agent. */
export type Step =
  | ({ readonly kind: 'began' } & Omit<Said<'author-step-began'>, 'iteration'>)
  | ({ readonly kind: 'ended' } & Omit<Said<'author-step-ended'>, 'iteration'>);

/** What came of asking an author. */
export type Came =
  | {
      readonly asked?: AskedRequest;
      readonly answer: Answer;
      /** Who answered, where the author stands for several. */
      readonly by?: string;
    }
  | { readonly step: Step };

/** What is told of a candidate of the author. */
export interface Told {
  /** As the author handed it in, or a setting of it. */
  readonly candidate: Candidate;
  readonly isSetting: boolean;
  readonly attempt?: Attempt;
  /** Why it was not judged. */
  readonly refusal?: string;
  /** It was refused through no fault of its own. */
  readonly mayComeAgain?: boolean;
  /** Who made it. */
  readonly by?: string;
  /** Of the run so far. */
  readonly evaluationsUsed: number;
}

export interface Author {
  /** For logs, e.g. `anthropic:NAME`. */
  readonly name: string;
  readonly mode: AuthorMode;
  /**
   * One request.
   *
   * @returns what was asked and came; undefined if the user interrupted.
   */
  ask(task: Task): Promise<Came | undefined>;
  /** Told of every candidate as soon as it was judged or refused. */
  told?(what: Told): void;
  /** Ends what runs for the author, and says why. @returns what there is to log. */
  rest?(why: 'caught' | 'search-ended'): Promise<Step | undefined>;
  /** Whether it works by itself, and goes on when it is asked again. */
  readonly isAtWork?: boolean;
  /** What it used and has left of budgets that only authors have; `null`: not counted, or not limited. */
  funds?(): Funds;
}

/** Of tokens, and of money for them. */
export interface Funds {
  readonly tokensUsed: number;
  readonly moneyUsed: number;
  readonly tokensLeft: number | null;
  readonly moneyLeft: number | null;
}

/** One who writes kernels beside others. */
export interface Writer {
  readonly author: Author;
  /** Its name, where the author stands for several. */
  readonly name: string;
}

/** Several who propose the moves of one run. */
export interface SharedRun {
  readonly writers: readonly Writer[];
  /** Nobody else proposes. */
  readonly isAlone: boolean;
  /** Choices of an earlier part of the run, or of one that is replayed. They come first. */
  readonly recorded: readonly ArmChoice[];
  readonly record: (choice: ArmChoice) => void;
}

/** Kernels that were right when verified and wrong when timed, after which an author's turn is over. */
export const MOST_CAUGHT = 2;

export const NO_COST: { requests: number; tokens: Tokens; money: number | null; seconds?: number } = {
  requests: 0,
  tokens: { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, isEstimate: false },
  money: null,
};
