import type { Pattern } from '../pattern.ts';
import { orAdvice, parameterMoves, rungMoves } from './moves.ts';

/** Rows of a shared array that start in different banks. */
export const padSharedRows: Pattern = {
  id: 'pad-shared-rows',
  title: 'Pad (or swizzle) the rows of shared arrays',
  source:
    'published attention ladders: conflict-free shared memory 15.8 → 72.6 % of FA2 on A100, 68 → 86 % on RTX 5090',
  triggers: ['bank-conflicts'],
  propose: (context) =>
    orAdvice(
      [
        ...parameterMoves(context, {
          role: 'padding',
          direction: 'more',
          confidence: 0.8,
          reason: 'padding puts the rows that a request reads into different banks',
        }),
        ...rungMoves(context, 0.5, 'its shared layout avoids the conflicts'),
        ...parameterMoves(context, {
          role: 'padding',
          direction: 'fewer',
          confidence: 0.2,
          reason: 'this padding does not spread the rows; a smaller one may',
        }),
      ],
      'Pad each row of the shared array by one access width, or swizzle its columns by the row.',
    ),
};
