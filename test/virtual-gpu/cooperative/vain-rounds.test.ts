import { expect, it } from 'vitest';
import type { CtaState, Poll } from '../../../src/virtual-gpu/runtime/cta-state.ts';
import { SuspendedLanes } from '../../../src/virtual-gpu/runtime/mbarriers/suspended-lanes.ts';
import type { PrivateMemory } from '../../../src/virtual-gpu/runtime/memories.ts';
import { Standstill } from '../../../src/virtual-gpu/runtime/standstill.ts';
import { isAfterPowerOfTwo, OlderRounds, stateOf, VainRounds } from '../../../src/virtual-gpu/runtime/vain-rounds.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

/** The round in which a CTA counts as waiting that has these states, one after the other, and so on. */
function waitsAt(kind: 'reads' | 'changes', stateIn: (round: number) => string, most = 5000): number | undefined {
  const vain = new VainRounds();
  for (let round = 1; round <= most; round++) {
    vain.add(kind, () => stateIn(round));
    if (vain.waits) return round;
  }
  return undefined;
}

it('a CTA waits once it comes back to a state, be it after reads of several places', () => {
  expect(waitsAt('reads', () => 'same')).toBe(9);
  expect(waitsAt('changes', () => 'same')).toBe(9);
  expect(waitsAt('reads', (round) => `place ${round % 3}`)).toBe(11);
});

it('one that is never in the same state waits after long, unless it changes memory', () => {
  const always = (round: number): string => `look ${round}`;
  expect(waitsAt('reads', always)).toBe(1024);
  expect(waitsAt('changes', always)).toBeUndefined();
});

it('one that does anything else than poll begins anew, and so does one that waited and goes on', () => {
  const vain = new VainRounds();
  for (let round = 0; round < 9; round++) vain.add('reads', () => 'same');
  expect(vain.waits).toBe(true);
  vain.add(undefined);
  expect(vain.waits).toBe(false);
  for (let round = 0; round < 9; round++) vain.add('changes', () => 'same');
  vain.add('changes', () => 'another');
  expect(vain.waits).toBe(false);
});

it('states are compared ever more rarely', () => {
  const rounds = Array.from({ length: 40 }, (_, round) => round + 1).filter(isAfterPowerOfTwo);
  expect(rounds).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 32, 33, 34, 35]);
});

it('a standstill is certain where states and memory come back, and not where memory changes', () => {
  const rounds = Array.from({ length: 200 });
  const standsStill = (memoryIn: (round: number) => string): boolean => {
    const standstill = new Standstill();
    return rounds.some((_, round) =>
      standstill.isCertain(
        () => 'same',
        () => memoryIn(round),
      ),
    );
  };
  expect(standsStill(() => 'same')).toBe(true);
  expect(standsStill((round) => `count ${round}`)).toBe(false);
  const counting = new Standstill();
  const isCertain = (round: number): boolean =>
    counting.isCertain(
      () => `look ${round}`,
      () => 'same',
    );
  expect(rounds.some((_, round) => isCertain(round))).toBe(false);
});

it('reads of older values end early only where nothing counts them', () => {
  const endsAt = (stateIn: (round: number) => string): number => {
    const older = new OlderRounds();
    return Array.from({ length: 4000 }, (_, round) => round).findIndex((round) => older.isSame(() => stateIn(round)));
  };
  expect(endsAt(() => 'same')).toBe(16);
  expect(endsAt((round) => `look ${round}`)).toBe(-1);
});

it('a state is another where any byte is another, wherever it lies', () => {
  const base = [bytes(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20), bytes(1, 2, 3)];
  const states = base.flatMap((memory, which) =>
    [...memory.keys()].map((at) => stateOf(base.map((one, i) => (i === which ? one.with(at, one[at]! ^ 1) : one)))),
  );
  expect(new Set([...states, stateOf(base)]).size).toBe(24);
  expect(stateOf(base.map((one) => one.slice()))).toBe(stateOf(base));
});

it('waits at mbarriers are in vain after long, unless reads get older values: the next ones get others', () => {
  const warp = 0;
  const polls = new Map([[warp, [{ lanes: [0], suspends: false } as unknown as Poll]]]);
  const cta = { barriers: { changes: 0 }, polls } as unknown as CtaState;
  const lanes = new SuspendedLanes(cta, { i32: new Int32Array(1024).fill(1) } as unknown as PrivateMemory);
  lanes.reset();
  expect(lanes.suspend(warp)).toBe(false);
  const rounds = (count: number, readsOlder: (round: number) => boolean): boolean => {
    for (let round = 0; round < count; round++) lanes.resume(readsOlder(round));
    return lanes.isStuck;
  };
  expect(rounds(5000, (round) => round % 1000 === 0)).toBe(false);
  expect(rounds(2001, () => false)).toBe(true);
});
