import type { ProposedMove } from './propose-moves.ts';

/** Failures of one move after which it is no longer proposed. */
export const FAILURES_BEFORE_ABANDONING = 3;

/** What has been tried: no candidate is evaluated twice, and a move that keeps failing is given up. */
export interface MoveLedger {
  noteEvaluated(candidateId: string): void;
  /** The device failed before the candidate was judged: it may be proposed again. */
  noteUnjudged(candidateId: string): void;
  /** A kept change clears the move's failures. */
  noteKept(moveKey: string): void;
  /** Returns the failures of the move so far, and whether this one was the last it gets. */
  noteFailed(moveKey: string): { failureCount: number; abandoned: boolean };
  isOpen(move: ProposedMove): boolean;
}

export function createMoveLedger(): MoveLedger {
  const evaluated = new Set<string>();
  const failures = new Map<string, number>();
  return {
    noteEvaluated: (candidateId) => void evaluated.add(candidateId),
    noteUnjudged: (candidateId) => void evaluated.delete(candidateId),
    noteKept: (moveKey) => void failures.delete(moveKey),
    noteFailed(moveKey) {
      const failureCount = (failures.get(moveKey) ?? 0) + 1;
      failures.set(moveKey, failureCount);
      return { failureCount, abandoned: failureCount === FAILURES_BEFORE_ABANDONING };
    },
    isOpen: (move) => !evaluated.has(move.candidate.id) && (failures.get(move.key) ?? 0) < FAILURES_BEFORE_ABANDONING,
  };
}
