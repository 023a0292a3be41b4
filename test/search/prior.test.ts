import { describe, expect, it } from 'vitest';
import { bayesian } from '../../src/search/bayesian.ts';
import { priorMeanOf } from '../../src/search/prior.ts';
import { weighPrior } from '../../src/search/prior-weight.ts';
import type { Outcome, SearchPrior } from '../../src/search/strategy.ts';
import { randomSource, shuffle } from '../../src/stats/random.ts';
import { longTests } from '../support/sampling/matrix.ts';
import { drive, evaluationsUntil, type KnownSpace, knownSpace, product, tiles } from './support/spaces.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const SEEDS = [1, 2, 3, 4];
const known = tiles();
const everything = Array.from({ length: known.space.size }, (_, index) => index);

/** Another device: twice as slow, and slower still where more is done per thread. */
const elsewhere = (index: number): Outcome => {
  const outcome = known.outcomeOf(index);
  const perThread = known.space.at(index)[2]!;
  return outcome.kind === 'failed' ? outcome : { kind: 'timed', timeNs: outcome.timeNs * (2 + 0.2 * perThread) };
};
const sibling: SearchPrior = { outcomes: new Map(everything.map((index) => [index, elsewhere(index)])) };

function shuffled(seed: number): SearchPrior {
  const random = randomSource(seed);
  const places = shuffle([...everything], (bound) => random.next() % bound);
  return { outcomes: new Map(everything.map((index) => [index, elsewhere(places[index]!)])) };
}

const total = (space: KnownSpace, priorFor: (seed: number) => SearchPrior | undefined): number =>
  SEEDS.reduce(
    (sum, seed) => sum + evaluationsUntil(bayesian({ space: space.space, seed, prior: priorFor(seed) }), space, 0.05),
    0,
  );

describe('a search that knows another device', () => {
  const without = total(known, () => undefined);

  it('needs less than half of the evaluations', () => {
    expect(total(known, () => sibling)).toBeLessThan(without / 2);
  });

  it('asks first for what was fastest there', () => {
    const [fastest] = priorMeanOf(known.space, sibling)!.fastest;
    expect(bayesian({ space: known.space, seed: 1, prior: sibling }).ask()).toBe(fastest);
  });

  long('loses little to a prior that misleads', () => {
    expect(total(known, shuffled)).toBeLessThan(without * 1.2);
  });

  long('goes on after old answers as if it had not stopped', () => {
    const options = { space: known.space, seed: 3, prior: sibling };
    const asked = drive(bayesian(options), known.outcomeOf, 12);
    const again = bayesian(options);
    for (const index of asked.slice(0, 7)) again.tell(index, known.outcomeOf(index));
    expect(drive(again, known.outcomeOf, 5)).toEqual(asked.slice(7));
  });

  it('asks for every configuration once, if all that was fast there fails here', () => {
    const small = knownSpace(product({ a: [1, 2, 4, 8], b: [1, 2, 4] }), ({ a, b }) => (a > 2 ? a * b : undefined));
    const prior: SearchPrior = {
      outcomes: new Map(Array.from({ length: 12 }, (_, index) => [index, { kind: 'timed', timeNs: 1 + index }])),
    };
    const asked = drive(bayesian({ space: small.space, seed: 1, prior }), small.outcomeOf);
    expect(asked.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, index) => index));
  });
});

describe('priorMeanOf', () => {
  it.each([
    ['two times', [5, 9]],
    ['equal times', [5, 5, 5, 5]],
  ])('learns nothing from %s', (_name, times) => {
    const outcomes = new Map(times.map((timeNs, index): [number, Outcome] => [index, { kind: 'timed', timeNs }]));
    expect(priorMeanOf(known.space, { outcomes })).toBeUndefined();
  });

  it('interpolates where nothing is known, and knows what failed', () => {
    const half = everything.filter((index) => index % 2 === 0);
    const mean = priorMeanOf(known.space, { outcomes: new Map(half.map((index) => [index, elsewhere(index)])) })!;
    const timed = everything.filter((index) => elsewhere(index).kind === 'timed');
    const whole = priorMeanOf(known.space, sibling)!;
    const odd = timed.filter((index) => index % 2 === 1);
    const away = odd.reduce((sum, index) => sum + (mean.at(index) - whole.at(index)) ** 2, 0) / odd.length;
    expect(away).toBeLessThan(0.5); // 1 if it knew nothing
    const failed = half.find((index) => elsewhere(index).kind === 'failed')!;
    expect(mean.hasFailed(failed)).toBe(true);
    expect(mean.hasFailed(timed[0]!)).toBe(false);
  });
});

describe('weighPrior', () => {
  const means = [-1, -0.5, 0, 0.4, 0.9, 1.5];
  const ones = means.map(() => 1);
  it('trusts a prior that is right but for a constant', () => {
    const { doubt, factor, unexplained } = weighPrior(
      means.map((mean, place) => mean + 7 + (place % 2) * 0.05),
      means,
      ones,
    );
    expect(doubt).toBeLessThan(0.01);
    expect(factor).toBeCloseTo(1, 1);
    expect(unexplained).toBeLessThan(0.05);
  });
  it('gives up one that is wrong', () => {
    const { doubt, factor } = weighPrior([1.4, -1, 0.9, -0.8, 0.2, -1.2], means, ones);
    expect(doubt).toBeGreaterThan(0.9);
    expect(factor).toBeLessThan(0.1);
  });
  it('learns nothing from one time', () => expect(weighPrior([3], [0], [1]).doubt).toBeCloseTo(0.2, 12));
});
