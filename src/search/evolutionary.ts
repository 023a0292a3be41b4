import type { RandomSource } from '../stats/random.ts';
import { integerBelow, unit } from './draw.ts';
import { fromHypercube } from './from-hypercube.ts';
import type { SearchSpace, Strategy, StrategyOptions, Trial } from './strategy.ts';
import type { Unvisited } from './unvisited.ts';

/** Evaluated before the first child. */
const START_COUNT = 20;
/** The fastest so far: the only ones that have children. */
const ELITE_COUNT = 10;
const CROSSOVER_RATE = 0.5;
const MOST_MUTATIONS = 2;
/** Children that are no listed, unvisited configuration before the strategy settles for any configuration. */
const MOST_TRIES = 100;

/**
 * Steady-state evolution: every child descends from the elites at that moment, crossed over or not, and differs from its
 * parents' values in at most two parameters. A Latin hypercube comes first. What fails or is screened out has no children.
 */
export function evolutionary(options: StrategyOptions): Strategy {
  let elites: Trial[] = [];
  return fromHypercube(options, {
    startCount: START_COUNT,
    choose: (unvisited, random) => breed(options.space, elites, unvisited, random),
    learn(index, outcome) {
      if (outcome.kind !== 'timed') return;
      elites = [...elites, { index, timeNs: outcome.timeNs }].sort((a, b) => a.timeNs - b.timeNs).slice(0, ELITE_COUNT);
    },
  });
}

/** An unvisited child of the elites; undefined when none turns up. */
function breed(
  space: SearchSpace,
  elites: readonly Trial[],
  unvisited: Unvisited,
  random: RandomSource,
): number | undefined {
  if (elites.length === 0) return undefined;
  for (let attempt = 0; attempt < MOST_TRIES; attempt += 1) {
    const child = Uint16Array.from(space.at(pickElite(elites, random)));
    if (unit(random) < CROSSOVER_RATE) crossOver(child, space.at(pickElite(elites, random)), random);
    mutate(space, child, random);
    const index = space.find(child) ?? completeConditionals(space, child, unvisited, random);
    if (index !== undefined && unvisited.has(index)) return index;
  }
  return undefined;
}

/** The better of two. Elites are sorted. */
const pickElite = (elites: readonly Trial[], random: RandomSource): number =>
  elites[Math.min(integerBelow(random, elites.length), integerBelow(random, elites.length))]!.index;

/** Each value of the other parent as likely as not. */
function crossOver(child: Uint16Array, other: Readonly<ArrayLike<number>>, random: RandomSource): void {
  for (let dimension = 0; dimension < child.length; dimension += 1) {
    if (unit(random) < 0.5) child[dimension] = other[dimension]!;
  }
}

/** New values for one or two of the parameters that have others: a neighbour as often as any. */
function mutate(space: SearchSpace, child: Uint16Array, random: RandomSource): void {
  const mutable = space.dimensions.flatMap(({ values }, dimension) => (values.length > 1 ? [dimension] : []));
  if (mutable.length === 0) return;
  const count = 1 + integerBelow(random, MOST_MUTATIONS);
  for (let mutation = 0; mutation < count; mutation += 1) {
    const dimension = mutable[integerBelow(random, mutable.length)]!;
    const { values, ordered } = space.dimensions[dimension]!;
    const place = child[dimension]!;
    const step = unit(random) < 0.5 ? -1 : 1;
    const isNear = ordered && unit(random) < 0.5 && values[place + step] !== undefined;
    child[dimension] = isNear ? place + step : (place + 1 + integerBelow(random, values.length - 1)) % values.length;
  }
}

/** Configurations looked through for one that a child of another rung may become. */
const MOST_COMPLETIONS = 512;

/**
 * A child that changed its rung lacks that rung's own parameters and has some it doesn't take: a configuration that
 * agrees with it wherever both have a value, others' values drawn.
 */
function completeConditionals(
  space: SearchSpace,
  child: Uint16Array,
  unvisited: Unvisited,
  random: RandomSource,
): number | undefined {
  if (!space.dimensions.some(({ values }) => values[0] === null)) return undefined;
  for (let attempt = 0; attempt < MOST_COMPLETIONS; attempt += 1) {
    const index = unvisited.draw(random);
    if (index !== undefined && agrees(space, space.at(index), child)) return index;
  }
  return undefined;
}

const agrees = (space: SearchSpace, places: Readonly<ArrayLike<number>>, child: Uint16Array): boolean =>
  space.dimensions.every(
    ({ values }, dimension) =>
      places[dimension] === child[dimension] ||
      values[places[dimension]!] === null ||
      values[child[dimension]!] === null,
  );
