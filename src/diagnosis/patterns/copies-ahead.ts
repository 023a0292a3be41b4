import type { Pattern } from '../pattern.ts';
import { mended, more, movesOr, rungs } from './moves.ts';

/** Tiles on their way before they are needed. */
export const copiesAhead: Pattern = {
  id: 'copies-ahead',
  title: 'Copy tiles ahead of their use',
  source: 'CUDA C++ Programming Guide, asynchronous copies; attention notebook: cp.async ring 1.28 to 1.35×',
  triggers: ['exposed-copies', 'few-stages'],
  propose: movesOr(
    'A ring of tiles filled by cp.async, or by TMA and a producer warp, with as many stages as shared memory holds.',
    rungs(0.7, 'its copies run ahead of the products'),
    mended(more('stages', 0.5, 'more tiles are on their way at once')),
    more('column-tile', 0.3, 'larger tiles: more bytes on their way at once'),
  ),
};
