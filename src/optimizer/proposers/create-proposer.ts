import type { OptimizeOptions } from '../run.ts';
import { GUIDED } from '../strategy-names.ts';
import { createByStrategy } from './by-strategy.ts';
import { createGuided } from './guided.ts';
import type { Proposer } from './proposer.ts';

/** @throws WarpsmithError `unknown-strategy`. */
export const createProposer = (options: OptimizeOptions): Proposer => {
  const { strategy = GUIDED } = options;
  return strategy === GUIDED ? createGuided() : createByStrategy(options, strategy);
};
