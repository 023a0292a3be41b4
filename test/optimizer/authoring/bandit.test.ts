import { describe, expect, it } from 'vitest';
import { bestOf, type Left, reasonFor, standingsOf } from '../../../src/optimizer/authoring/bandit.ts';
import { randomSource } from '../../../src/stats/random.ts';
import type { ArmPrior, ArmPull, Spending } from '../../../src/store/events.ts';
import { longTests } from '../../support/sampling/matrix.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const NOTHING: Spending = { evaluations: 0, seconds: 0, gpuSeconds: 0, money: 0, tokens: 0, tokenMoney: 0 };
const UNLIMITED: Left = {
  evaluations: null,
  seconds: null,
  gpuSeconds: null,
  money: null,
  tokens: null,
  tokenMoney: null,
};
const pull = (arm: string, gain: number, used: Partial<Spending> = { evaluations: 1 }): ArmPull => ({
  arm,
  gain,
  used: { ...NOTHING, ...used },
});
const standing = (arm: string, pulls: readonly ArmPull[], left: Partial<Left>) =>
  standingsOf([arm], pulls, { ...UNLIMITED, ...left })[0]!;

describe('what a pull costs', () => {
  it('is the largest share that it takes of what a budget still holds', () => {
    const pulls = [pull('model', 0, { evaluations: 2, seconds: 30, tokens: 5000 })];
    expect(standing('model', pulls, { evaluations: 20 }).cost).toBe(0.1);
    expect(standing('model', pulls, { evaluations: 20, seconds: 60 }).cost).toBe(0.5);
    expect(standing('model', pulls, { evaluations: 20, tokens: 10_000 }).cost).toBe(0.5);
    // The same pull, when little of it is left.
    expect(standing('model', pulls, { evaluations: 20, tokens: 6250 }).cost).toBe(0.8);
  });

  it('is an evaluation at least, and time where nothing is limited', () => {
    expect(standing('a', [pull('a', 0, { evaluations: 0 })], { evaluations: 10 }).cost).toBe(0.1);
    expect(standing('a', [pull('a', 0, { seconds: 7 })], {}).cost).toBe(7);
  });
});

describe('who is next', () => {
  const left = { ...UNLIMITED, evaluations: 100 };
  const chosen = (pulls: readonly ArmPull[], arms = ['patterns', 'search', 'model']) =>
    bestOf(standingsOf(arms, pulls, left))?.arm;

  it('is each once, in order, and nobody where nobody is left', () => {
    expect(chosen([])).toBe('patterns');
    expect(chosen([pull('patterns', 0.5)])).toBe('search');
    expect(chosen([pull('patterns', 0.5), pull('search', 0)])).toBe('model');
    expect(chosen([], [])).toBeUndefined();
  });

  it('is the one that gains more for the same, and the cheaper one for the same gain', () => {
    const equal = [pull('a', 0.2), pull('b', 0.1)];
    expect(chosen(equal, ['a', 'b'])).toBe('a');
    const dear = [pull('a', 0.2, { evaluations: 8 }), pull('b', 0.1)];
    expect(chosen(dear, ['a', 'b'])).toBe('b');
  });

  it('is another as soon as one brings no more', () => {
    const pulls = [pull('a', 0.6), pull('b', 0.05)];
    for (let count = 0; count < 20; count++) {
      const arm = chosen(pulls, ['a', 'b'])!;
      pulls.push(pull(arm, arm === 'a' ? 0 : 0.05));
    }
    expect(pulls.slice(-8).filter(({ arm }) => arm === 'b').length).toBeGreaterThanOrEqual(6);
  });

  it('takes a leap of 20× for a doubling, so that one rung does not pay for many pulls', () => {
    const [leap] = standingsOf(['a'], [pull('a', Math.log(20))], left);
    expect(leap!.gain).toBeCloseTo(Math.log(2));
  });

  it('says why, in figures that add up', () => {
    const [one] = standingsOf(['a', 'b'], [pull('a', 0.2), pull('b', 0)], left);
    expect(one!.value).toBeCloseTo(one!.gain / one!.cost + one!.bonus);
    expect(reasonFor(one!)).toMatch(/^0\.2000 ÷ 1\.00 % \+ \d+\.?\d* = \d+\.?\d*, the most; after 1 pull$/);
    expect(reasonFor({ ...one!, value: null })).toBe('never asked so far');
  });
});

describe('what earlier runs brought', () => {
  const left = { ...UNLIMITED, evaluations: 100 };
  const prior = (arm: string, turns: number, gain: number, evaluations = 1): ArmPrior => ({
    ...{ arm, turns, gain },
    used: { ...NOTHING, evaluations },
  });
  const chosen = (pulls: readonly ArmPull[], priors: readonly ArmPrior[]) =>
    bestOf(standingsOf(['a', 'b'], pulls, left, priors))?.arm;

  it('chooses from the first turn on; whoever nothing is known of is asked first', () => {
    expect(chosen([], [prior('a', 3, 0.05), prior('b', 3, 0.3)])).toBe('b');
    expect(chosen([], [prior('a', 3, 0.05), prior('b', 3, 0.05, 12)])).toBe('a');
    expect(chosen([], [prior('a', 3, 0.6)])).toBe('b');
  });

  it('counts as two turns at most, so that this run soon outweighs it', () => {
    const gains = (turns: number) => standingsOf(['a'], [pull('a', 0)], left, [prior('a', turns, 0.3)])[0]!.gain;
    expect(gains(1)).toBeLessThan(gains(2));
    expect(gains(50)).toBe(gains(2));
    const wrong = [prior('a', 50, 0.6), prior('b', 50, 0)];
    const pulls: ArmPull[] = [];
    for (let count = 0; count < 20; count++) {
      const arm = chosen(pulls, wrong)!;
      pulls.push(pull(arm, arm === 'a' ? 0 : 0.05));
    }
    expect(pulls.slice(-8).filter(({ arm }) => arm === 'b').length).toBeGreaterThanOrEqual(6);
  });

  it('is told apart from the turns of this run', () => {
    const [one] = standingsOf(['a'], [pull('a', 0.2)], left, [prior('a', 5, 0.3)]);
    expect(one).toMatchObject({ pulls: 1, earlier: 5 });
    expect(reasonFor(one!)).toMatch(/, the most; after 1 pull and 5 of earlier runs$/);
  });
});

/** An arm gains in a share of its pulls, and runs dry. */
type Simulated = readonly [cost: number, share: number, gain: number, pulls: number];
type World = Readonly<Record<'patterns' | 'search' | 'model' | 'agent', Simulated>>;

const FOREVER = 1000;
/** Where the model is best, where the agent is, where a search is, where settings bring nothing, where the model runs dry. */
const WORLDS: readonly World[] = [
  {
    patterns: [1, 0.6, 0.2, 8],
    search: [1, 0.05, 0.05, FOREVER],
    model: [3, 0.3, 0.25, FOREVER],
    agent: [12, 0.3, 0.3, FOREVER],
  },
  {
    patterns: [1, 0.5, 0.3, 6],
    search: [1, 0.15, 0.05, FOREVER],
    model: [3, 0.05, 0.1, FOREVER],
    agent: [12, 0.7, 0.8, FOREVER],
  },
  {
    patterns: [1, 0.3, 0.1, 4],
    search: [1, 0.3, 0.06, 30],
    model: [3, 0.2, 0.1, FOREVER],
    agent: [12, 0.1, 0.3, FOREVER],
  },
  { patterns: [1, 0, 0, 0], search: [1, 0, 0, 0], model: [3, 0.3, 0.2, FOREVER], agent: [12, 0.5, 0.3, FOREVER] },
  {
    patterns: [1, 0.5, 0.3, 10],
    search: [1, 0.1, 0.05, FOREVER],
    model: [4, 0.5, 0.4, 3],
    agent: [10, 0.5, 0.4, FOREVER],
  },
];
const NAMES = ['patterns', 'search', 'model', 'agent'] as const;
type Choose = (pulls: readonly ArmPull[], left: number) => keyof World;

/** Turns and gain with a budget in evaluations. */
function simulate(world: World, seed: number, budget: number, choose: Choose): { pulls: ArmPull[]; total: number } {
  const random = randomSource(seed);
  const pulls: ArmPull[] = [];
  let [left, total] = [budget, 0];
  while (left > 0) {
    const arm = choose(pulls, left);
    const [cost, share, most, last] = world[arm];
    const isDry = pulls.filter((one) => one.arm === arm).length >= last;
    const gain = (random.next() % 1000) / 1000 < share && !isDry && cost <= left ? most : 0;
    pulls.push(pull(arm, gain, { evaluations: cost }));
    left -= cost;
    total += gain;
  }
  return { pulls, total };
}

const SEEDS = Array.from({ length: 40 }, (_, seed) => seed + 1);
const overAll = (budget: number, choose: Choose): number =>
  WORLDS.flatMap((world) => SEEDS.map((seed) => simulate(world, seed, budget, choose).total)).reduce(
    (a, b) => a + b,
    0,
  );

const byBandit: Choose = (pulls, left) =>
  bestOf(standingsOf(NAMES, pulls, { ...UNLIMITED, evaluations: left }))!.arm as keyof World;
const inTurn: Choose = (pulls) => NAMES[pulls.length % NAMES.length]!;

describe('over many simulated runs', () => {
  it.each([
    [30, 1.3],
    [90, 0.95],
  ])(
    'with %i evaluations, it gains more than %f times what taking turns does, and more than any arm alone',
    (budget, times) => {
      const bandit = overAll(budget, byBandit);
      expect(bandit).toBeGreaterThan(times * overAll(budget, inTurn));
      expect(bandit).toBeGreaterThan(Math.max(...NAMES.map((name) => overAll(budget, () => name))));
    },
  );

  it('it does the same with the same pulls', () => {
    expect(simulate(WORLDS[0]!, 7, 60, byBandit)).toEqual(simulate(WORLDS[0]!, 7, 60, byBandit));
  });

  /** Means over the turns of one run. */
  function priorsFrom(pulls: readonly ArmPull[]): ArmPrior[] {
    return [...Map.groupBy(pulls, ({ arm }) => arm)].map(([arm, of]) => ({
      ...{ arm, turns: of.length },
      gain: of.reduce((total, { gain }) => total + Math.min(Math.log(2), gain), 0) / of.length,
      used: of[0]!.used,
    }));
  }

  /** Gain relative to that of the same runs without the one before, which was in the world that many places on. */
  function worth(budget: number, shift: number): number {
    const before = (index: number): number => (index + shift) % WORLDS.length;
    const seeds = SEEDS.slice(0, 20);
    const alone = WORLDS.flatMap((world) => seeds.map((seed) => simulate(world, seed, budget, byBandit).total));
    const totals = WORLDS.flatMap((world, index) =>
      seeds.map((seed) => {
        const priors = priorsFrom(simulate(WORLDS[before(index)]!, seed + 1000, budget, byBandit).pulls);
        const knowing: Choose = (pulls, left) =>
          bestOf(standingsOf(NAMES, pulls, { ...UNLIMITED, evaluations: left }, priors))!.arm as keyof World;
        return simulate(world, seed, budget, knowing).total;
      }),
    );
    const sum = (of: readonly number[]): number => of.reduce((a, b) => a + b, 0);
    return sum(totals) / sum(alone);
  }

  long('one run before spares a small budget dear first looks, and does a larger one no harm', () => {
    expect(worth(20, 0)).toBeGreaterThan(1.3);
    for (const budget of [30, 60]) expect(worth(budget, 0)).toBeGreaterThan(0.97);
  });

  long('one run before that was of another kind costs an eighth at most', () => {
    for (const shift of [1, 2, 3, 4]) expect(worth(60, shift)).toBeGreaterThan(0.875);
  });
});
