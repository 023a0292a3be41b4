import { STRATEGY_NAMES } from '../search/strategies.ts';

/** The strategy that findings and patterns guide; every other one is of search/ and knows nothing of them. */
export const GUIDED = 'guided';

/** What a run may be searched with. */
export const RUN_STRATEGIES: readonly string[] = [GUIDED, ...STRATEGY_NAMES];
