import type { Pattern } from '../pattern.ts';
import { fillingMoves } from './computed-settings.ts';
import { orAdvice, rungMoves } from './moves.ts';

const CONFIDENCE = 0.5;

/** Choose the tile so that the CTAs divide evenly among the SMs. */
export const wholeWaves: Pattern = {
  id: 'whole-waves',
  title: 'Choose tiles so that CTAs fill whole waves',
  source: 'wave quantisation, CUDA C++ Best Practices Guide; FlashAttention-3 tile choices',
  triggers: ['tail-effect'],
  propose: (context) =>
    orAdvice(
      [
        ...fillingMoves(context, CONFIDENCE),
        ...rungMoves(context, CONFIDENCE, 'its CTAs draw tiles until none is left'),
      ],
      'Start the longest CTAs first, or make the grid persistent with dynamic scheduling.',
    ),
};
