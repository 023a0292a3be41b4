import type { ProposedMove } from './propose-moves.ts';

/** Failures of one move after which the loop no longer proposes it. */
const FAILURES_BEFORE_ABANDONING = 3;

/**
 * If this many settings of one kernel were right when verified and wrong when timed, the loop proposes none of its settings
 * any more.
 */
const LIES_BEFORE_DISTRUST = 2;

/** What a pattern's moves gave in this run. */
export interface Realised {
  /** Moves being judged are among them, as if they gave nothing: then their pattern is not believed twice. */
  readonly attempts: number;
  readonly kept: number;
  /** Sum of ln(old time ÷ new time) over the kept moves. */
  readonly logGain: number;
}

/** How a move stands since it last helped. */
export interface Standing {
  /** Evaluations it used. */
  readonly used: number;
  readonly failures: number;
}

/**
 * Records all attempts, so that the loop evaluates no candidate twice and gives up moves that keep failing or cost too
 * much.
 */
export interface MoveLedger {
  /** It is being judged. Until it is decided on, its candidate is not proposed again. */
  notePending(move: ProposedMove): void;
  /** It is not being judged any more. */
  noteLanded(move: ProposedMove): void;
  isPending(candidateId: string): boolean;
  noteEvaluated(candidateId: string): void;
  /** The device failed before it judged the candidate, so the candidate may be proposed again. */
  noteUnjudged(candidateId: string): void;
  /** A kept change resets the move's failures and used share. */
  noteKept(move: ProposedMove, ratio: number): void;
  /** Returns the move's failures so far, and whether it is now given up. */
  noteFailed(move: ProposedMove, evaluationsUsed: number): { failureCount: number; abandoned: boolean };
  /**
   * Records that a setting of this kernel was right when verified and wrong when timed. Returns whether the kernel has lost
   * trust.
   */
  noteWrongWhenTimed(kernel: string): boolean;
  isTrusted(kernel: string): boolean;
  abandon(moveKey: string): void;
  isAbandoned(moveKey: string): boolean;
  standing(moveKey: string): Standing;
  realised(patternId: string): Realised;
  /**
   * Whether the move may be tried: its candidate is not yet judged, its kernel is trusted, and the move is not given up.
   */
  isOpen(move: ProposedMove): boolean;
}

const FRESH: Standing = { used: 0, failures: 0 };
const NOTHING: Realised = { attempts: 0, kept: 0, logGain: 0 };

export function createMoveLedger(): MoveLedger {
  const pending = new Map<string, ProposedMove>();
  const evaluated = new Set<string>();
  const abandoned = new Set<string>();
  const standings = new Map<string, Standing>();
  const realised = new Map<string, Realised>();
  const lies = new Map<string, number>();
  const isTrusted = (kernel: string) => (lies.get(kernel) ?? 0) < LIES_BEFORE_DISTRUST;
  const standing = (moveKey: string) => standings.get(moveKey) ?? FRESH;
  const realise = (patternId: string, logGain: number | undefined) => {
    const before = realised.get(patternId) ?? NOTHING;
    realised.set(patternId, {
      attempts: before.attempts + 1,
      kept: before.kept + (logGain === undefined ? 0 : 1),
      logGain: before.logGain + (logGain ?? 0),
    });
  };
  const pendingOf = (patternId: string): number =>
    [...pending.values()].filter(({ pattern }) => pattern.id === patternId).length;
  return {
    notePending: (move) => void pending.set(move.candidate.id, move),
    noteLanded: ({ candidate }) => void pending.delete(candidate.id),
    isPending: (candidateId) => pending.has(candidateId),
    noteEvaluated: (candidateId) => void evaluated.add(candidateId),
    noteUnjudged: (candidateId) => void evaluated.delete(candidateId),
    noteKept(move, ratio) {
      standings.delete(move.key);
      realise(move.pattern.id, Math.log(ratio));
    },
    noteFailed(move, evaluationsUsed) {
      const { used, failures } = standing(move.key);
      const failureCount = failures + 1;
      standings.set(move.key, { used: used + evaluationsUsed, failures: failureCount });
      realise(move.pattern.id, undefined);
      const isLast = failureCount === FAILURES_BEFORE_ABANDONING;
      if (isLast) abandoned.add(move.key);
      return { failureCount, abandoned: isLast };
    },
    noteWrongWhenTimed(kernel) {
      lies.set(kernel, (lies.get(kernel) ?? 0) + 1);
      return !isTrusted(kernel);
    },
    isTrusted,
    abandon: (moveKey) => void abandoned.add(moveKey),
    isAbandoned: (moveKey) => abandoned.has(moveKey),
    standing,
    realised(patternId) {
      const judged = realised.get(patternId) ?? NOTHING;
      return { ...judged, attempts: judged.attempts + pendingOf(patternId) };
    },
    isOpen: ({ candidate, key }) =>
      !evaluated.has(candidate.id) &&
      !pending.has(candidate.id) &&
      !abandoned.has(key) &&
      isTrusted(candidate.kernel.file.name),
  };
}
