import { WarpsmithError } from '../../../core/errors.ts';
import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import type { RandomStream } from '../../../stats/random.ts';
import type { Generate } from './generator.ts';

/**
 * Row offsets or column indices of one random sparse matrix, in compressed-sparse-row form with
 * floor(rows · columns · density) non-zeros. A buffer of rows + 1 elements gets the offsets; one with as many elements
 * as there are non-zeros gets the column indices, ascending within each row. Buffers of one check that name the same
 * rows, columns and density belong to the same matrix. Row lengths are skewed on purpose (some rows several times the
 * mean, some empty), because even rows hide load imbalance.
 */
export const csr: Generate<'csr'> = (generator, { input, elementCount, dimensions, sharedStream }) => {
  const rows = evaluateExpression(generator.rows, dimensions);
  const columns = evaluateExpression(generator.columns, dimensions);
  const nonZeroCount = Math.floor(rows * columns * Math.min(1, generator.density));
  const stream = sharedStream(`csr ${rows}x${columns} ${generator.density}`);
  const offsets = drawRowOffsets(rows, columns, nonZeroCount, stream);
  if (elementCount === rows + 1) return offsets;
  if (elementCount === nonZeroCount) return drawColumns(offsets, columns, stream);
  throw new WarpsmithError({
    code: 'csr-shape',
    message: `input '${input}' fits neither the row offsets nor the column indices of its CSR matrix`,
    path: `inputs.${input}.shape`,
    received: `${elementCount} elements`,
    expected: `${rows + 1} (rows + 1) or ${nonZeroCount} (floor(rows · columns · density))`,
    hint: 'Make the shape one of the two.',
  });
};

/** Offsets of rows whose lengths follow squared-uniform weights, capped at `columns`, summing to `nonZeroCount`. */
function drawRowOffsets(rows: number, columns: number, nonZeroCount: number, stream: RandomStream): Float64Array {
  const weights = Array.from({ length: rows }, (_, row) => stream.uniform(row) ** 2);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const lengths = weights.map((weight) => Math.min(columns, Math.floor((nonZeroCount * weight) / total)));
  let missing = nonZeroCount - lengths.reduce((sum, length) => sum + length, 0);
  for (let row = 0; missing > 0; row = (row + 1) % rows) {
    if (lengths[row]! >= columns) continue;
    lengths[row]!++;
    missing--;
  }
  const offsets = new Float64Array(rows + 1);
  lengths.forEach((length, row) => {
    offsets[row + 1] = offsets[row]! + length;
  });
  return offsets;
}

/** Distinct ascending columns for each row, by selection sampling (Knuth's algorithm S). */
function drawColumns(offsets: Float64Array, columns: number, stream: RandomStream): Float64Array {
  const rows = offsets.length - 1;
  const result = new Float64Array(offsets[rows]!);
  for (let row = 0; row < rows; row++) {
    let position = offsets[row]!;
    for (let column = 0; position < offsets[row + 1]!; column++) {
      const chance = (offsets[row + 1]! - position) / (columns - column);
      if (stream.uniform(rows + row * columns + column) < chance) result[position++] = column;
    }
  }
  return result;
}
