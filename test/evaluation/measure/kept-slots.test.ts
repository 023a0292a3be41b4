import { expect, it } from 'vitest';
import type { ContenderFailure } from '../../../src/evaluation/measure/contender.ts';
import { type Kept, KeptSlots } from '../../../src/evaluation/measure/kept-slots.ts';

const MIB = 1024 ** 2;
const wrong = (reason: string): ContenderFailure => ({ ok: false, status: 'wrong', reason });

/** Notes when each begins and ends. */
function noted(notes: string[], contender: string, name: string, outcome: { ok: true } | ContenderFailure): Kept {
  return {
    contender,
    bytes: MIB,
    async judge() {
      notes.push(`${name} begins`);
      await new Promise(setImmediate);
      notes.push(`${name} ends`);
      return outcome;
    },
  };
}

it('compares the first slot of each contender before its others, and those side by side', async () => {
  const notes: string[] = [];
  const kept = new KeptSlots();
  for (const [contender, name] of ['a1', 'b1', 'a2', 'b2', 'a3'].map((name) => [name[0]!, name] as const))
    kept.add(noted(notes, contender, name, { ok: true }));
  expect(await kept.judge()).toEqual(new Map());
  expect(notes.slice(0, 4)).toEqual(['a1 begins', 'b1 begins', 'a1 ends', 'b1 ends']);
  expect(notes.slice(4, 7)).toEqual(['a2 begins', 'b2 begins', 'a3 begins']);
  expect(await kept.judge()).toEqual(new Map());
  expect(notes).toHaveLength(10);
});

it('tells of each contender the mistake that was kept first, whichever is found first', async () => {
  const kept = new KeptSlots();
  kept.add(noted([], 'a', 'a1', { ok: true }));
  kept.add({
    contender: 'a',
    bytes: 1,
    async judge() {
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
      return wrong('block 2');
    },
  });
  kept.add(noted([], 'a', 'a3', wrong('block 3')));
  kept.add(noted([], 'b', 'b1', { ok: true }));
  expect(await kept.judge()).toEqual(new Map([['a', wrong('block 2')]]));
});

it('compares nothing more of a contender that is wrong', async () => {
  const notes: string[] = [];
  const kept = new KeptSlots();
  kept.add(noted(notes, 'a', 'a1', wrong('at once')));
  kept.add(noted(notes, 'a', 'a2', { ok: true }));
  expect(await kept.judge()).toEqual(new Map([['a', wrong('at once')]]));
  expect(notes).toEqual(['a1 begins', 'a1 ends']);
});

it('is full before the host’s memory is', async () => {
  const kept = new KeptSlots();
  for (let i = 0; i < 255; i++) kept.add(noted([], 'a', `${i}`, { ok: true }));
  expect(kept.isFull).toBe(false);
  kept.add(noted([], 'a', 'last', { ok: true }));
  expect(kept.isFull).toBe(true);
  await kept.judge();
  expect(kept.isFull).toBe(false);
});
