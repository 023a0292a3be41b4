import { describe, expect, it } from 'vitest';
import { createLadder, type Ladder, type Outcome } from '../../../src/optimizer/authoring/ladder.ts';

const outcome = (rest: Partial<Outcome> = {}): Outcome => ({
  isKept: false,
  isNearDuplicate: false,
  realised: null,
  ...rest,
});
const KEPT = outcome({ isKept: true, realised: 1 });

const note = (ladder: Ladder, count: number, of: Outcome) =>
  Array.from({ length: count }, () => ladder.note(of)).at(-1);

describe('a standstill', () => {
  it('is five in a row without a gain; the ladder goes step by step, and ends', () => {
    const ladder = createLadder('insight');
    expect(note(ladder, 4, outcome())).toBeUndefined();
    expect(ladder.note(outcome())).toMatchObject({ signal: 'no-gain', step: 'other-finding' });
    expect(ladder.direction).toEqual({ findingRank: 1, parentRank: 0, mode: 'insight', isFresh: false });
    expect(note(ladder, 5, outcome())).toMatchObject({ step: 'other-parent' });
    expect(ladder.direction).toMatchObject({ findingRank: 0, parentRank: 1 });
    expect(note(ladder, 5, outcome())).toMatchObject({ step: 'other-mode' });
    expect(ladder.direction.mode).toBe('full');
    expect(note(ladder, 5, outcome())).toMatchObject({ step: 'fresh-context' });
    expect(ladder.direction).toMatchObject({ parentRank: 0, isFresh: true });
    expect(note(ladder, 5, outcome())).toMatchObject({ step: 'stop' });
  });

  it('is two near-duplicates in a row', () => {
    const ladder = createLadder('free');
    ladder.note(outcome({ isNearDuplicate: true }));
    ladder.note(outcome());
    expect(ladder.note(outcome({ isNearDuplicate: true }))).toBeUndefined();
    expect(ladder.note(outcome({ isNearDuplicate: true }))).toMatchObject({ signal: 'near-duplicates' });
  });

  it.each([0.4, 2.5])('is three predictions in a row off by more than 2×: realised ÷ hoped %d', (realised) => {
    const ladder = createLadder('insight');
    ladder.note(outcome({ realised }));
    // A refusal says nothing of predictions.
    ladder.note(outcome());
    expect(ladder.note(outcome({ realised }))).toBeUndefined();
    expect(ladder.note(outcome({ realised }))).toMatchObject({ signal: 'wrong-predictions' });
  });

  it('is none after predictions that were about right, or NaN alone', () => {
    const ladder = createLadder('insight');
    expect(note(ladder, 4, outcome({ realised: 1.9 }))).toBeUndefined();
    const other = createLadder('insight');
    expect(note(other, 3, outcome({ realised: Number.NaN }))).toMatchObject({ signal: 'wrong-predictions' });
  });

  it('ends with a gain, which leads back to the first step', () => {
    const ladder = createLadder('insight');
    note(ladder, 10, outcome());
    expect(ladder.direction.parentRank).toBe(1);
    expect(ladder.note(KEPT)).toBeUndefined();
    expect(ladder.direction).toMatchObject({ findingRank: 0, parentRank: 0, isFresh: false });
    expect(note(ladder, 4, outcome())).toBeUndefined();
    expect(ladder.note(outcome())).toMatchObject({ step: 'other-finding' });
  });
});
