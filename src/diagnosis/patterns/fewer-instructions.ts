import type { Pattern } from '../pattern.ts';
import { fewer, more, movesOr, rungs } from './moves.ts';

/** Fewer address calculations, loads and conversions per useful operation. */
export const fewerInstructions: Pattern = {
  id: 'fewer-instructions',
  title: 'Spend fewer instructions per useful operation',
  source: 'published ladder on A100: fewer IADD3/LOP3/SHF 80.3 → 87.8 %, fewer MOVs → 95.3 %',
  triggers: ['compute-bound'],
  propose: movesOr(
    'Hoist address arithmetic out of loops, convert once, fold scales into exp2, and use packed half2 arithmetic.',
    rungs(0.5, 'it does the same with fewer instructions'),
    more('rows-per-warp', 0.4, 'loads and conversions are shared by more rows'),
    more('row-tile', 0.4, 'each warp owns more rows, which share its loads and conversions'),
    fewer('warps', 0.3, 'fewer warps own more rows each, which share loads and conversions'),
    more('unroll', 0.3, 'fewer loop and address instructions'),
  ),
};
