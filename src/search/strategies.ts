import { WarpsmithError } from '../core/errors.ts';
import { suggestName } from '../core/nearest-name.ts';
import { STRATEGY_NAMES, type StrategyName } from '../core/vocabulary.ts';
import { bayesian } from './bayesian.ts';
import { evolutionary } from './evolutionary.ts';
import { exhaustive } from './exhaustive.ts';
import { random } from './random.ts';
import type { Strategy, StrategyOptions } from './strategy.ts';
import { tpe } from './tpe.ts';

/** Strategies that know nothing but the space and the times they are told. */
export const STRATEGIES = { exhaustive, random, tpe, evolutionary, bayesian } as const satisfies Readonly<
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
