import type { DType } from '../dtype.ts';
import { evaluateExpression } from '../expressions/evaluate.ts';
import type { Expression } from '../expressions/syntax-tree.ts';
import type { Dimensions } from '../problem.ts';
import { describeCondition } from './describe-condition.ts';

/**
 * The first limit of a kernel or problem that these dimensions violate, as text such as `D <= 128 (D = 256)`, or the dtypes
 * of a kernel that lacks the requested one; `undefined` if all limits hold.
 *
 * @throws WarpsmithError if a limit can't be evaluated.
 */
export function failedLimit(
  { limits = [], dtypes, dtype }: { limits?: readonly Expression[]; dtypes?: readonly DType[]; dtype?: DType },
  dimensions: Dimensions,
): string | undefined {
  if (dtype !== undefined && dtypes !== undefined && !dtypes.includes(dtype))
    return `dtype in ${dtypes.join(', ')} (dtype = ${dtype})`;
  const index = limits.findIndex(
    (limit, position) => evaluateExpression(limit, dimensions, { path: `limits[${position}]` }) === 0,
  );
  if (index < 0) return undefined;
  return describeCondition(limits[index]!, dimensions);
}
