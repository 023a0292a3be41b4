import { isFloating } from '../../../../core/dtype.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import type { Freedom } from '../freedom.ts';
import { scalingOf } from '../scaling.ts';
import { inputsThat, type Treated, type Treatment } from './treatment.ts';

/** Of several inputs whose values callers may scale. */
function scaled(problem: ProblemFile, { isFree }: Freedom): string[] {
  const names = inputsThat(
    problem,
    (name) => isFree(name) && isFloating(problem.inputs[name]!.dtype) && scalingOf(problem, name) !== undefined,
  );
  return names.length > 1 ? names : [];
}

/**
 * One input is as large as callers' may be, and of one sign; the others are as small as may be. So scores are alike, all weights too, and a sum of weighted values
 * that is not divided yet grows with every term: beyond 65,504 in fp16, though the result is far below. No value is below the scale itself, so that a share of 1,024 terms is enough.
 */
function scale(values: Float64Array, { problem, buffer, index, strength, freedom }: Treated): Float64Array {
  const names = scaled(problem, freedom);
  if (!names.includes(buffer.name)) return values;
  const { least, most } = scalingOf(problem, buffer.name)!;
  const isLarge = names[index] === buffer.name;
  const factor = (isLarge ? most : least) ** strength;
  for (let i = 0; i < values.length; i++)
    values[i] = factor * (isLarge ? Math.max(1, Math.abs(values[i]!)) : values[i]!);
  return values;
}

export const scales: Treatment = {
  count: (problem, freedom) => scaled(problem, freedom).length,
  treat: scale,
  isForLongSums: () => 'by lot',
  isForLongRows: () => true,
  isAsDrawn: () => true,
};
