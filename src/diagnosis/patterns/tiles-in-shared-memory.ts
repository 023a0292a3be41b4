import type { Pattern } from '../pattern.ts';
import { more, movesOr, rungs } from './moves.ts';

/** Load a tile once, coalesced, and let every row of the CTA use it. */
export const tilesInSharedMemory: Pattern = {
  id: 'tiles-in-shared-memory',
  title: 'Stage tiles in shared memory, loaded coalesced and used by many rows',
  source: 'FlashAttention tiling; L4 ladder phases 1 to 4',
  triggers: ['uncoalesced-access', 'redundant-global-loads'],
  propose: (context) =>
    movesOr(
      'Copy a tile of the operand into shared memory with neighbouring lanes on neighbouring addresses.',
      rungs(0.7, 'tiles come through shared memory, coalesced'),
      more(
        'row-tile',
        context.finding.id === 'redundant-global-loads' ? 0.5 : 0.1,
        'more rows per CTA use each loaded tile',
      ),
    )(context),
};
