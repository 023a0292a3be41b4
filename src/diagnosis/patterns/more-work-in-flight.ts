import type { Pattern } from '../pattern.ts';
import { more, movesOr, rungs } from './moves.ts';

/** Independent work to fill the waits: register tiles, pipelined loads, more warps. */
export const moreWorkInFlight: Pattern = {
  id: 'more-work-in-flight',
  title: 'Keep more independent work in flight',
  source: 'Little’s law; published ladders: eager loads 72.6 → 77.6 %, two stages 86 → 91 %',
  triggers: ['latency-bound'],
  propose: movesOr(
    'Issue loads before the work that does not need them, and give each thread several independent accumulators.',
    rungs(0.6, 'register tiles give independent accumulators'),
    more('stages', 0.5, 'the next tile loads while this one is used'),
    more('warps', 0.4, 'more warps to switch to while one waits'),
    more('ctas-per-sm', 0.4, 'more warps to switch to while one waits'),
    more('items-per-thread', 0.3, 'more independent loads of a thread in flight'),
    more('unroll', 0.3, 'more independent instructions between a load and its use'),
  ),
};
