import { GUIDED } from '../../core/requests/options.ts';
import { DEFAULT_BLIND_STRATEGY } from '../../search/strategies.ts';
import type { OptimizeOptions, Run } from '../run.ts';
import { createByStrategy } from './by-strategy.ts';
import { createGuided } from './guided.ts';
import { handingOver } from './handing-over.ts';
import type { Proposer } from './proposer.ts';

/** @throws WarpsmithError `unknown-strategy`; for a ladder with more settings than a strategy can list. */
export const createProposer = (options: OptimizeOptions): Proposer<Run> => {
  const { strategy = GUIDED, exploring = true } = options;
  if (strategy !== GUIDED) return createByStrategy(options, strategy);
  const guided = createGuided();
  return exploring ? handingOver(guided, () => createByStrategy(options, DEFAULT_BLIND_STRATEGY)) : guided;
};
