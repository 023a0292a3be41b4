import type { Pattern } from '../pattern.ts';
import { mended, more, movesOr, neighbours, rungs } from './moves.ts';

const KNOB_CONFIDENCE = 0.2;
/** One step of any parameter is expected to bring this share of what the finding promises. */
const KNOB_GAIN_SHARE = 0.2;

/** Keep the tensor cores busy while other warps exponentiate. */
export const overlapSoftmax: Pattern = {
  id: 'overlap-softmax',
  title: 'Multiply in some warps while others exponentiate',
  source: 'FlashAttention-3, ping-pong and overlap inside a warpgroup: 570 → 661 TFLOP/s; attention notebook, turns',
  triggers: ['tensor-pipe-idle'],
  propose: movesOr(
    'Issue the next product before the exponentials of this one (two sets of accumulators), or let warpgroups take turns ' +
      'with named barriers.',
    rungs(0.7, 'more of its products run beside exponentials'),
    mended(more('consumers', 0.4, 'one more warpgroup multiplies while the others exponentiate')),
    mended(more('stages', 0.3, 'warpgroups that are apart in time need tiles that are apart')),
    mended(more('column-tile', 0.3, 'fewer borders between tiles, at which nothing overlaps')),
    mended(
      neighbours(
        KNOB_GAIN_SHARE,
        KNOB_CONFIDENCE,
        (parameter) => `what overlaps with what depends on ${parameter}, too`,
      ),
    ),
  ),
};
