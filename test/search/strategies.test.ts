import { describe, expect, it } from 'vitest';
import { STRATEGY_NAMES } from '../../src/core/vocabulary.ts';
import { listSpace } from '../../src/search/list-space.ts';
import { createStrategy, DEFAULT_BLIND_STRATEGY } from '../../src/search/strategies.ts';
import type { Outcome } from '../../src/search/strategy.ts';
import { sampled } from '../support/sampling/matrix.ts';
import { drive, knownSpace, product, tiles } from './support/spaces.ts';

const FAILED: Outcome = { kind: 'failed' };
const space = tiles();
const small = knownSpace(product({ a: [1, 2, 3], b: ['x', 'y'], c: [true, false] }), ({ a }) => 10 + a);
const seeded = STRATEGY_NAMES.filter((name) => name !== 'exhaustive');

describe.each(STRATEGY_NAMES)('%s', (name) => {
  const create = (seed = 1, of = space.space) => createStrategy(name, { space: of, seed });

  it('asks for every configuration of a small space once, then for none', () => {
    const strategy = create(3, small.space);
    const asked = drive(strategy, small.outcomeOf);
    expect(asked.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, index) => index));
    expect(strategy.ask()).toBeUndefined();
  });

  it('never repeats itself, answered or not', () => {
    const strategy = create();
    const unanswered = Array.from({ length: 40 }, () => strategy.ask()!);
    const asked = [...unanswered, ...drive(strategy, space.outcomeOf, 80)];
    expect(new Set(asked).size).toBe(120);
  });

  it('never asks for what it was told', () => {
    const strategy = create(5, small.space);
    for (const index of [0, 4, 7, 11]) strategy.tell(index, small.outcomeOf(index));
    expect(drive(strategy, small.outcomeOf).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 5, 6, 8, 9, 10]);
  });

  it('asks the same again for the same seed and answers', () => {
    expect(drive(create(2), space.outcomeOf, 60)).toEqual(drive(create(2), space.outcomeOf, 60));
  });

  it('foresees what it asks for next while it is told nothing, and asks for the same as if it had not looked', () => {
    const [looking, other] = [create(6), create(6)];
    for (let step = 0; step < 40; step += 1) {
      const foreseen = looking.foresee?.(6) ?? [];
      if (name === 'random' || name === 'exhaustive') expect(foreseen).toHaveLength(6);
      const asked = looking.ask()!;
      expect(asked).toBe(other.ask());
      if (foreseen.length > 0) expect(foreseen[0]).toBe(asked);
      if (step % 3 > 0) for (const each of [looking, other]) each.tell(asked, space.outcomeOf(asked));
    }
    const last = create(7, small.space);
    for (let index = 0; index < 10; index += 1) last.tell(index, FAILED);
    const foreseen = last.foresee?.(6) ?? [];
    expect([10, 11]).toEqual(expect.arrayContaining([...foreseen]));
    const several = create(8);
    const next = several.foresee?.(5) ?? [];
    expect(next.map(() => several.ask())).toEqual(next);
  });

  it.each([1, 7, 22, 61])('goes on as before after being told %i old answers in order', (told) => {
    const asked = drive(create(4), space.outcomeOf, told + 25);
    const resumed = create(4);
    for (const index of asked.slice(0, told)) resumed.tell(index, space.outcomeOf(index));
    expect(drive(resumed, space.outcomeOf, 25)).toEqual(asked.slice(told));
  });

  it('goes through a space in which everything fails', () => {
    expect(new Set(drive(create(1), () => FAILED, 150)).size).toBe(150);
    expect(drive(create(1, small.space), () => FAILED)).toHaveLength(12);
  });

  it('takes a space of one configuration, with parameters or without', () => {
    for (const configurations of [[{ a: 1 }], [{}]]) {
      const one = create(1, listSpace(configurations));
      expect(drive(one, () => ({ kind: 'timed', timeNs: 5 }))).toEqual([0]);
    }
  });

  it('takes equal times, and screened-out ones', () => {
    const kinds: Outcome['kind'][] = ['timed', 'screened-out', 'failed'];
    const outcomeOf = (index: number): Outcome => ({ kind: kinds[index % 3]!, timeNs: 100 }) as Outcome;
    expect(new Set(drive(create(), outcomeOf, 70)).size).toBe(70);
  });

  it('asks for configurations of the space only, where most combinations are not in it', () => {
    const sparse = knownSpace(
      product(
        { a: [1, 2, 3, 4, 5, 6], b: [1, 2, 3, 4, 5, 6], c: [1, 2, 3, 4, 5, 6] },
        ({ a, b, c }) => [a, b, c].reduce((sum: number, value) => sum + Number(value), 0) === 10,
      ),
      ({ a, b }) => 5 + a * b,
    );
    const asked = drive(create(1, sparse.space), sparse.outcomeOf);
    expect(new Set(asked).size).toBe(sparse.space.size);
    expect(Math.max(...asked)).toBeLessThan(sparse.space.size);
  });
});

sampled('strategies in ranges', STRATEGY_NAMES, { oneIn: 2 })(
  '%s takes a range of thousands of values in its stride',
  (name) => {
    const long = knownSpace(
      product({ a: Array.from({ length: 4096 }, (_, index) => index + 1), b: [1, 2] }),
      ({ a, b }) => 5 + Math.abs(Number(a) - 80) + Number(b),
    );
    const asked = drive(createStrategy(name, { space: long.space, seed: 1 }), long.outcomeOf, 40);
    expect(new Set(asked).size).toBe(40);
  },
);

it.each(seeded)('%s asks otherwise for another seed', (name) => {
  const asked = [1, 2].map((seed) => drive(createStrategy(name, { space: space.space, seed }), space.outcomeOf, 10));
  expect(asked[0]).not.toEqual(asked[1]);
});

sampled('strategies in large spaces', seeded, { oneIn: 2 })('%s takes large spaces', (name) => {
  const values = [1, 2, 4, 8, 16, 32, 64, 128];
  const large = listSpace(product({ a: values, b: values, c: values, d: values, e: values, f: [1, 2] }));
  expect(large.size).toBe(65_536);
  const outcomeOf = (index: number): Outcome => {
    const at = large.at(index);
    return { kind: 'timed', timeNs: 10 + Math.abs(at[0]! - 5) + Math.abs(at[1]! - 2) + at[2]! };
  };
  expect(new Set(drive(createStrategy(name, { space: large, seed: 1 }), outcomeOf, 40)).size).toBe(40);
});

describe('createStrategy', () => {
  it('knows the default', () => expect(STRATEGY_NAMES).toContain(DEFAULT_BLIND_STRATEGY));
  it('refuses other names with the nearest one', () =>
    expect(() => createStrategy('evolutionery', { space: small.space, seed: 1 })).toThrow(
      expect.objectContaining({
        details: expect.objectContaining({ code: 'unknown-strategy', hint: expect.stringContaining('evolutionary') }),
      }),
    ));
  it('refuses names that only objects know', () =>
    expect(() => createStrategy('constructor', { space: small.space, seed: 1 })).toThrow('no strategy'));
});

describe('what is asked for and not told yet', () => {
  /** Of 6 asked for at once after 40 answers: those that differ from an earlier one in one parameter alone. */
  const alike = (name: string, seed: number): number => {
    const strategy = createStrategy(name, { space: space.space, seed });
    drive(strategy, space.outcomeOf, 40);
    const asked = Array.from({ length: 6 }, () => Array.from(space.space.at(strategy.ask()!)));
    return asked.filter((places, index) =>
      asked.slice(0, index).some((other) => other.filter((place, i) => place !== places[i]).length === 1),
    ).length;
  };
  const SEEDS = 6;

  sampled('strategies and neighbours', ['bayesian', 'tpe'], { oneIn: 2 })(
    '%s seldom asks for a neighbour of it',
    (name) => {
      // If it forgot what it asked for, these would be 2.4 of 6.
      const counts = Array.from({ length: SEEDS }, (_, seed) => alike(name, seed));
      expect(counts.reduce((sum, count) => sum + count, 0) / SEEDS).toBeLessThan(1.6);
    },
  );
});
