import { figure } from '../../core/values.ts';
import { percent } from '../format.ts';
import { replaceInstructions } from '../what-if.ts';
import { figureRule } from './figure-rule.ts';

/** Local-memory requests ÷ instructions. */
const THRESHOLD = 0.01;

/** Per-thread arrays or spilled registers live in local memory, which is global memory behind L1. */
export const registerSpills = figureRule({
  id: 'register-spills',
  minimumSpeedup: 1.01,
  counter: 'local requests ÷ instructions',
  threshold: THRESHOLD,
  comparison: 'above',
  valueOf: ({ launch }) => (launch.localLoadRequests + launch.localStoreRequests) / launch.instructions,
  title: ({ value }) => `local memory: ${percent(value)} of instructions are spills or indexed local arrays`,
  where: ({ launch }) =>
    `${launch.functionName}: ${figure(launch.localLoadRequests)} loads, ${figure(launch.localStoreRequests)}` +
    ` stores, ${launch.resources.localBytesPerThread} B per thread`,
  advice: ({ launch: { resources } }) =>
    'Index per-thread arrays with constants only (unroll the loops over them), or shrink the per-thread tile' +
    ` (${resources.registersPerThread} registers ${resources.registersSource}).`,
  remedy: 'registers instead of local memory',
  change: (item) => ({
    launch: {
      ...replaceInstructions(item, { 'local-load': 0, 'local-store': 0 }),
      localLoadRequests: 0,
      localStoreRequests: 0,
    },
  }),
});
