import type { Pattern } from '../pattern.ts';
import { orAdvice, parameterMoves, rungMoves } from './moves.ts';

/** Fewer address calculations, loads and conversions per useful operation. */
export const fewerInstructions: Pattern = {
  id: 'fewer-instructions',
  title: 'Spend fewer instructions per useful operation',
  source: 'published ladder on A100: fewer IADD3/LOP3/SHF 80.3 → 87.8 %, fewer MOVs → 95.3 %',
  triggers: ['compute-bound'],
  propose: (context) =>
    orAdvice(
      [
        ...rungMoves(context, 0.5, 'it does the same with fewer instructions'),
        ...parameterMoves(context, {
          role: 'rows-per-warp',
          direction: 'more',
          confidence: 0.4,
          reason: 'loads and conversions are shared by more rows',
        }),
        ...parameterMoves(context, {
          role: 'row-tile',
          direction: 'more',
          confidence: 0.4,
          reason: 'each warp owns more rows, which share its loads and conversions',
        }),
        ...parameterMoves(context, {
          role: 'warps',
          direction: 'fewer',
          confidence: 0.3,
          reason: 'fewer warps own more rows each, which share loads and conversions',
        }),
        ...parameterMoves(context, {
          role: 'unroll',
          direction: 'more',
          confidence: 0.3,
          reason: 'fewer loop and address instructions',
        }),
      ],
      'Hoist address arithmetic out of loops, convert once, fold scales into exp2, and use packed half2 arithmetic.',
    ),
};
