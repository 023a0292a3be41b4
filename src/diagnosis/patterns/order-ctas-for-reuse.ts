import type { Pattern } from '../pattern.ts';
import { more, movesOr, rungs } from './moves.ts';

/** CTAs that run side by side read the same tiles, while these are in L2. */
export const orderCtasForReuse: Pattern = {
  id: 'order-ctas-for-reuse',
  title: 'Order CTAs so that those resident at once share their tiles in L2',
  source:
    'CUTLASS threadblock swizzle; Triton matrix-multiplication tutorial, grouped ordering: 220 → 245 TFLOPS on A100',
  triggers: ['cache-reuse'],
  propose: movesOr(
    'Number the CTAs in square blocks instead of along rows (blockIdx swizzle), or finish all passes over a part that ' +
      'fits L2 before the next part.',
    more('cta-group', 0.6, 'larger groups of neighbouring CTAs share rows and columns in L2'),
    rungs(0.6, 'its CTAs re-read data that is still in L2'),
    more('row-tile', 0.4, 'each tile that comes from DRAM is used for more rows'),
    more('column-tile', 0.4, 'each tile that comes from DRAM is used for more columns'),
  ),
};
