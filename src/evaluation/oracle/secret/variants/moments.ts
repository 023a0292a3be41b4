import { isFloating } from '../../../../core/dtype.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import { comparisonOf } from '../../tolerances/index.ts';
import type { Freedom } from '../freedom.ts';
import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/** What a row is about which a mean and a variance are easily worked out wrong. */
const ROWS = ['first stands out', 'halves apart'] as const;

/**
 * By how many deviations. The first value by the root of the row's length, once or twice: its square weighs as much as all others' together, and a sum that begins with it still holds them one by
 * one. Halves by a few: merges of their moments count then.
 */
const APART = { first: [1, 2], halves: 4 } as const;

/** Rows that one result each is worked out from, for every value of them: those of a normalisation. */
const normalised = (problem: ProblemFile, { isFree }: Freedom): string[] =>
  inputsThat(problem, (name) => {
    const { dtype, shape } = problem.inputs[name]!;
    const { reducedAxis, outputs } = problem;
    const isRow = reducedAxis?.input === name && reducedAxis.axis === shape.length - 1 && shape.length > 1;
    // Where units of the last place are counted, as of a softmax, no variance is behind the results.
    const isAnswered = Object.entries(outputs).some(
      ([output, { shape: answers }]) => answers.join() === shape.join() && comparisonOf(problem, output).kind !== 'ulp',
    );
    return isFree(name) && isFloating(dtype) && isRow && isAnswered;
  });

function deviationOf(row: Float64Array): number {
  let [sum, squares] = [0, 0];
  for (const value of row) {
    sum += value;
    squares += value * value;
  }
  return Math.sqrt(Math.max(0, squares / row.length - (sum / row.length) ** 2));
}

/** Of each row the first value stands out, or its second half: a variance about the first value cancels, and so does a merge whose counts or means are wrong. */
function treat(values: Float64Array, { problem, buffer, stream, index, strength, freedom }: Treated): Float64Array {
  if (!normalised(problem, freedom).includes(buffer.name)) return values;
  const columns = columnsOf(buffer);
  const [least, most] = APART.first;
  for (let start = 0; start < values.length; start += columns) {
    const row = values.subarray(start, start + columns);
    const deviation = deviationOf(row);
    if (ROWS[index] === 'first stands out') {
      const times = strength * (least + (most - least) * stream.uniform(start)) * Math.sqrt(columns);
      row[0]! += times * deviation;
    } else for (let i = row.length >> 1; i < row.length; i++) row[i]! += strength * APART.halves * deviation;
  }
  return values;
}

export const moments: Treatment = {
  count: (problem, freedom) => (normalised(problem, freedom).length > 0 ? ROWS.length : 0),
  treat,
  isForLongRows: () => true,
};
