import { describe, expect, it } from 'vitest';
import { benchSpace, benchStrategy, randomCurve } from '../../src/search/bench.ts';
import { bestRankFor, randomSearch } from '../../src/search/random-search.ts';
import { replayStrategy } from '../../src/search/replay.ts';
import { createStrategy } from '../../src/search/strategies.ts';
import type { Outcome } from '../../src/search/strategy.ts';
import { valley } from './support/spaces.ts';

const timed = (timeNs: number): Outcome => ({ kind: 'timed', timeNs });
const FAILED: Outcome = { kind: 'failed' };

describe('randomSearch', () => {
  it.each([
    [4362, 1, 2181.5, 2181],
    [11130, 99, 111.31, 78],
    [10, 10, 1, 1],
    [1, 1, 1, 1],
  ])('of %i configurations, %i good: the mean is %d, the median %i', (size, good, mean, median) => {
    const search = randomSearch(size, good);
    expect(search.meanEvaluations).toBeCloseTo(mean, 2);
    expect(search.evaluationsFor(0.5)).toBe(median);
  });
  it('is certain when only good ones are left out no longer', () =>
    expect(randomSearch(10, 3).evaluationsFor(1)).toBe(8));
  it('agrees with counting all orders', () => {
    // 5 configurations, 2 good: the first good one is at place 1, 2, 3, 4 with 4, 3, 2, 1 chances of 10.
    const search = randomSearch(5, 2);
    expect([0.4, 0.41, 0.7, 0.71, 0.9, 0.91].map((p) => search.evaluationsFor(p))).toEqual([1, 2, 2, 3, 3, 4]);
    expect(search.meanEvaluations).toBe(2);
  });
  it('knows the rank of the best of so many draws', () => {
    // The best of 2 out of 4 is rank 0 with 3 chances of 6, rank 1 with 2, rank 2 with 1.
    expect([0.4, 0.6, 0.9].map((p) => bestRankFor(4, 2, p))).toEqual([0, 1, 2]);
    expect(bestRankFor(4, 4, 1)).toBe(0);
  });
});

describe('replayStrategy', () => {
  const outcomes = [FAILED, timed(30), timed(10), timed(20)];
  const listed = (): { ask(): number | undefined; tell(): void } => {
    let next = 0;
    return { ask: () => (next < outcomes.length ? next++ : undefined), tell: () => {} };
  };
  const replay = (evaluations: number, enoughNs = 0) =>
    replayStrategy(listed(), (index) => outcomes[index]!, { evaluations, enoughNs });
  it('counts what fails as an evaluation', () => expect(replay(9)).toEqual([Number.POSITIVE_INFINITY, 30, 10, 10]));
  it('ends at its limit, and when it has enough', () => {
    expect(replay(2)).toHaveLength(2);
    expect(replay(9, 10)).toHaveLength(3);
  });
});

describe('benchStrategy', () => {
  const space = benchSpace([timed(100), timed(104), timed(200), FAILED], 5);
  it('knows the space', () => {
    expect(space).toMatchObject({ configurations: 4, valid: 3, bestNs: 100, good: 2 });
    expect(space.random).toMatchObject({ meanEvaluations: 5 / 3, medianEvaluations: 1, p90Evaluations: 3 });
  });
  const never = [Number.POSITIVE_INFINITY, 200, 200];
  it('sums up evaluations, shares and the best so far', () => {
    const bench = benchStrategy('some', [[200, 104], [100], never], space, 3);
    expect(bench).toMatchObject({ seeds: 3, evaluations: { median: 2, p90: null }, reached: 2 / 3, checkpoints: [] });
    expect(bench.curve.map(({ median }) => median)).toEqual([2, 1.04, 1.04]);
    expect(bench.curve[0]!.p90).toBeNull();
  });
  it('has no median where most seeds found nothing', () =>
    expect(benchStrategy('some', [[100], never, never], space, 3).evaluations.median).toBeNull());
});

it('randomCurve is what many random searches come to', () => {
  const { space, outcomeOf } = valley();
  const outcomes = Array.from({ length: space.size }, (_, index) => outcomeOf(index));
  const runs = Array.from({ length: 200 }, (_, seed) =>
    replayStrategy(createStrategy('random', { space, seed }), outcomeOf, { evaluations: 40, enoughNs: 0 }),
  );
  const simulated = benchStrategy('random', runs, benchSpace(outcomes, 5), 40).curve;
  const exact = randomCurve(outcomes, 40);
  for (const place of [0, 9, 39]) expect(simulated[place]!.median! / exact[place]!.median!).toBeCloseTo(1, 0.9);
});
