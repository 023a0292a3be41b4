import { WarpsmithError } from '../core/errors.ts';
import { suggestName } from '../core/nearest-name.ts';
import { STRATEGY_NAMES, type StrategyName } from '../core/vocabulary.ts';
import { bayesian } from './bayesian.ts';
import { stepSource } from './draw.ts';
import { evolutionary } from './evolutionary.ts';
import type { Strategy, StrategyOptions } from './strategy.ts';
import { tpe } from './tpe.ts';
import { askedFor, unvisitedOf } from './unvisited.ts';

/** Strategies that know nothing but the space and the times they are told. */
const STRATEGIES = { exhaustive, random, tpe, evolutionary, bayesian } as const satisfies Readonly<
  Record<StrategyName, (options: StrategyOptions) => Strategy>
>;

/** Default: needs the fewest evaluations if nothing is known beforehand. */
export const DEFAULT_BLIND_STRATEGY: StrategyName = 'bayesian';

/**
 * The strategy of this name over a space.
 *
 * @throws WarpsmithError `unknown-strategy`.
 */
export function createStrategy(name: string, options: StrategyOptions): Strategy {
  if (!isStrategyName(name)) throw unknownStrategy(name);
  return STRATEGIES[name](options);
}

const isStrategyName = (name: string): name is StrategyName => Object.hasOwn(STRATEGIES, name);

const unknownStrategy = (name: string): Error =>
  new WarpsmithError({
    code: 'unknown-strategy',
    message: `There is no strategy \`${name}\`.`,
    received: name,
    expected: `one of ${STRATEGY_NAMES.join(', ')}`,
    hint: suggestName(name, STRATEGY_NAMES, 'Strategies'),
  });

/** Any configuration that is left, each as likely. */
function random({ space, seed }: StrategyOptions): Strategy {
  const unvisited = unvisitedOf(space.size);
  const sourceOf = stepSource(seed);
  const ask = (): number | undefined => {
    const index = unvisited.draw(sourceOf(unvisited.taken));
    if (index !== undefined) unvisited.take(index);
    return index;
  };
  return {
    ask,
    foresee: (count) => unvisited.trying(() => askedFor(count, ask)),
    tell: (index) => unvisited.take(index),
  };
}

/** Every configuration, in the space's order. */
function exhaustive({ space }: StrategyOptions): Strategy {
  const taken = new Uint8Array(space.size);
  let next = 0;
  return {
    ask() {
      while (taken[next] === 1) next += 1;
      if (next >= space.size) return undefined;
      taken[next] = 1;
      return next;
    },
    foresee(count) {
      const foreseen: number[] = [];
      for (let index = next; index < space.size && foreseen.length < count; index += 1)
        if (taken[index] !== 1) foreseen.push(index);
      return foreseen;
    },
    tell(index) {
      taken[index] = 1;
    },
  };
}
