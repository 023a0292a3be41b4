import { isFloating } from '../../../../core/dtype.ts';
import type { Freedom } from '../freedom.ts';
import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/**
 * Whole rows lie below zero; or parts of them below the others, by so much that a running sum of exponentials loses nothing that counts, and
 * each result is still a number of its own.
 */
const DEPTHS = ['rows', 'parts'] as const;

/** Spreads of whole rows, as powers of two; how many parts a row has, and how far below the others they lie. */
const DEPTH = { least: 3, bits: 4, parts: 2, from: 20, to: 40 } as const;

const isDeep = (name: string, { isFree, most }: Freedom): boolean =>
  isFree(name) && most(name) >= 2 ** (DEPTH.least + DEPTH.bits - 1);

function deepen(values: Float64Array, { buffer, stream, index, freedom }: Treated): Float64Array {
  if (!isDeep(buffer.name, freedom) || !isFloating(buffer.dtype)) return values;
  const columns = columnsOf(buffer);
  for (let i = 0; i < values.length; i++) {
    const row = Math.floor(i / columns);
    if (DEPTHS[index] === 'rows') {
      const spread = 2 ** (DEPTH.least + (stream.bits(row) % DEPTH.bits));
      values[i] = -spread * Math.abs(values[i]!) - spread / 2 ** DEPTH.least;
      continue;
    }
    const part = Math.floor(((i % columns) * DEPTH.parts) / columns);
    const share = stream.uniform(row * DEPTH.parts + part);
    // Every second one, so that neither all nor none do.
    if ((part + row) % 2 === 0) values[i]! -= DEPTH.from + share * (DEPTH.to - DEPTH.from);
  }
  return values;
}

export const depths: Treatment = {
  count: (problem, freedom) => (inputsThat(problem, (name) => isDeep(name, freedom)).length > 0 ? DEPTHS.length : 0),
  treat: deepen,
  isForLongRows: (index) => DEPTHS[index] === 'parts',
};
