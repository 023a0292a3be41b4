import { describe, expect, it } from 'vitest';
import { randomSearch } from '../../src/search/random-search.ts';
import { createStrategy } from '../../src/search/strategies.ts';
import type { Outcome } from '../../src/search/strategy.ts';
import { median } from '../../src/stats/quantile.ts';
import { longTests } from '../support/sampling/matrix.ts';
import { drive, evaluationsUntil, type KnownSpace, knownSpace, product, tiles, valley } from './support/spaces.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const SEEDS = Array.from({ length: 11 }, (_, index) => index + 1);
const space = tiles();

const medianEvaluations = (name: string, of: KnownSpace, seeds = SEEDS): number =>
  median(seeds.map((seed) => evaluationsUntil(createStrategy(name, { space: of.space, seed }), of, 0.05)));

/** Of random search, computed exactly. */
function randomMedian({ space: { size }, outcomeOf, bestNs }: KnownSpace): number {
  const outcomes = Array.from({ length: size }, (_, index) => outcomeOf(index));
  const good = outcomes.filter((outcome) => outcome.kind === 'timed' && outcome.timeNs <= 1.05 * bestNs);
  return randomSearch(size, good.length).evaluationsFor(0.5);
}

describe('where times follow from the parameters', () => {
  it.each([
    ['tpe', 0.4],
    ['evolutionary', 0.4],
    ['bayesian', 0.2],
  ])('%s needs at most %d of random search’s evaluations', (name, share) => {
    expect(medianEvaluations(name, valley())).toBeLessThanOrEqual(share * randomMedian(valley()));
  });

  long('bayesian sees through cliffs and alignment', () =>
    expect(medianEvaluations('bayesian', space, SEEDS.slice(0, 5))).toBeLessThanOrEqual(0.3 * randomMedian(space)),
  );
});

const differing = (of: typeof space.space, a: number, b: number): number =>
  of.dimensions.filter((_, dimension) => of.at(a)[dimension] !== of.at(b)[dimension]).length;

describe('evolutionary', () => {
  it('mutates at most two parameters of its only elite', () => {
    const strategy = createStrategy('evolutionary', { space: space.space, seed: 3 });
    const elite = 700;
    strategy.tell(elite, { kind: 'timed', timeNs: 1 });
    const asked = drive(strategy, () => ({ kind: 'failed' }), 60).slice(20);
    expect(asked.every((index) => differing(space.space, index, elite) <= 2)).toBe(true);
    expect(asked.some((index) => differing(space.space, index, elite) === 2)).toBe(true);
  });

  it('crosses elites over', () => {
    const strategy = createStrategy('evolutionary', { space: space.space, seed: 3 });
    const [first, second] = [0, space.space.size - 1] as const;
    for (const index of [first, second]) strategy.tell(index, { kind: 'timed', timeNs: 1 });
    expect(differing(space.space, first, second)).toBeGreaterThan(4);
    const asked = drive(strategy, () => ({ kind: 'failed' }), 80).slice(20);
    const distances = asked.map((index) =>
      Math.min(differing(space.space, index, first), differing(space.space, index, second)),
    );
    // One parent alone can't explain three differences from either.
    expect(distances.some((distance) => distance > 2)).toBe(true);
  });

  it('lets what was screened out have no children', () => {
    const strategy = createStrategy('evolutionary', { space: space.space, seed: 1 });
    strategy.tell(5, { kind: 'screened-out', timeNs: 1 });
    strategy.tell(700, { kind: 'timed', timeNs: 100 });
    const asked = drive(strategy, () => ({ kind: 'failed' }), 50).slice(20);
    expect(asked.every((index) => differing(space.space, index, 700) <= 2)).toBe(true);
  });

  it('finds the parameters that another rung needs', () => {
    const rungs = knownSpace(
      [
        ...product({ kernel: ['plain'], size: [1, 2, 4, 8] }),
        ...product({ kernel: ['tiled'], size: [1, 2, 4, 8], tile: [8, 16, 32, 64], pad: [0, 1] }),
      ],
      ({ kernel, size, tile }) => (kernel === 'plain' ? 100 : 50 / size + Math.abs(tile - 32)),
    );
    const strategy = createStrategy('evolutionary', { space: rungs.space, seed: 2 });
    expect(evaluationsUntil(strategy, rungs, 0.05)).toBeLessThan(rungs.space.size);
  });
});

/** The half of a space where a parameter has its first value looks fast, but is never more than screened. */
const half = knownSpace(
  product({ side: ['left', 'right'], a: [1, 2, 3, 4, 5, 6, 7, 8], b: [1, 2, 3, 4, 5, 6, 7, 8] }),
  ({ a, b }) => 100 + a + b,
);
const isLeft = (index: number): boolean => half.space.at(index)[0] === 0;
const left = (asked: readonly number[]): number => asked.filter(isLeft).length;

it('tpe takes what was screened out for bad, however fast', () => {
  const answer = (kind: 'timed' | 'screened-out') => (index: number) =>
    (isLeft(index) ? { kind, timeNs: 1 } : half.outcomeOf(index)) as Outcome;
  const asked = (kind: 'timed' | 'screened-out') =>
    left(drive(createStrategy('tpe', { space: half.space, seed: 1 }), answer(kind), 50).slice(20));
  expect(asked('timed')).toBeGreaterThan(20);
  expect(asked('screened-out')).toBeLessThan(asked('timed') / 2);
});

it('bayesian keeps away from where everything fails', () => {
  const answer = (index: number): Outcome => (isLeft(index) ? { kind: 'failed' } : half.outcomeOf(index));
  const asked = drive(createStrategy('bayesian', { space: half.space, seed: 1 }), answer, 50).slice(20);
  expect(left(asked)).toBeLessThan(5);
});

long('bayesian finds what is near the best of a space too large to predict whole', () => {
  const values = [1, 2, 4, 8, 16, 32, 64, 128];
  const large = knownSpace(
    product({ a: values, b: values, c: values, d: values, e: values }),
    ({ a, b, c, d, e }) =>
      10 + [a - 32, b - 4, c - 64, d - 2, e - 16].reduce((sum, off) => sum + Math.abs(off) / 16, 0),
  );
  const evaluations = SEEDS.slice(0, 3).map((seed) =>
    evaluationsUntil(createStrategy('bayesian', { space: large.space, seed }), large, 0.02),
  );
  expect(Math.max(...evaluations)).toBeLessThan(150);
});
