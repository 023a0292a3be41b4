import { evaluateExpression } from '../expressions/evaluate.ts';
import type { KernelFile } from '../kernel.ts';
import type { Dimensions } from '../problem.ts';
import { describeCondition } from './describe-condition.ts';

/**
 * The first of kernel.json's limits that these dimensions fail, as text such as `D <= 128 (D = 256)`; `undefined` when
 * the kernel takes the workload.
 *
 * @throws WarpsmithError when a limit can't be evaluated.
 */
export const failedLimit = (kernel: KernelFile, dimensions: Dimensions): string | undefined => {
  const index = (kernel.limits ?? []).findIndex(
    (limit, position) => evaluateExpression(limit, dimensions, { path: `limits[${position}]` }) === 0,
  );
  if (index < 0) return undefined;
  return describeCondition(kernel.limits![index]!, dimensions);
};
