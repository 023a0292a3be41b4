import type { Pattern, PatternMove } from '../pattern.ts';
import { fillingMoves } from './computed-settings.ts';
import { orAdvice, rungMoves } from './moves.ts';

const CONFIDENCE = 0.9;

/** Fill the GPU before anything else: 2 CTAs on 58 SMs use 3.4 % of it. */
export const parallelismFirst: Pattern = {
  id: 'parallelism-first',
  title: 'Parallelism first: give every SM a CTA',
  source: 'seed pattern 18 (parallelism first); the B1 H1 S128 case of the L4 reports',
  triggers: ['parallelism'],
  propose: (context): PatternMove[] =>
    orAdvice(
      [...fillingMoves(context, CONFIDENCE), ...rungMoves(context, CONFIDENCE / 2, 'a rung with more CTAs')],
      'Split the reduced axis over CTAs and combine the partial results: no parameter of this kernel makes more CTAs. ' +
        'Derive the merge of two partial results by hand on a small case first.',
    ),
};
