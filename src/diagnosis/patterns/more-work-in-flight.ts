import type { Pattern } from '../pattern.ts';
import { orAdvice, parameterMoves, rungMoves } from './moves.ts';

/** Independent work to fill the waits: register tiles, pipelined loads, more warps. */
export const moreWorkInFlight: Pattern = {
  id: 'more-work-in-flight',
  title: 'Keep more independent work in flight',
  source: 'Little’s law; published ladders: eager loads 72.6 → 77.6 %, two stages 86 → 91 %',
  triggers: ['latency-bound'],
  propose: (context) =>
    orAdvice(
      [
        ...rungMoves(context, 0.6, 'register tiles give independent accumulators'),
        ...parameterMoves(context, {
          role: 'stages',
          direction: 'more',
          confidence: 0.5,
          reason: 'the next tile loads while this one is used',
        }),
        ...parameterMoves(context, {
          role: 'warps',
          direction: 'more',
          confidence: 0.4,
          reason: 'more warps to switch to while one waits',
        }),
        ...parameterMoves(context, {
          role: 'ctas-per-sm',
          direction: 'more',
          confidence: 0.4,
          reason: 'more warps to switch to while one waits',
        }),
        ...parameterMoves(context, {
          role: 'items-per-thread',
          direction: 'more',
          confidence: 0.3,
          reason: 'more independent loads of a thread in flight',
        }),
        ...parameterMoves(context, {
          role: 'unroll',
          direction: 'more',
          confidence: 0.3,
          reason: 'more independent instructions between a load and its use',
        }),
      ],
      'Issue loads before the work that does not need them, and give each thread several independent accumulators.',
    ),
};
