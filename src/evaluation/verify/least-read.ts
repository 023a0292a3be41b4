import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import type { Refused } from '../launches/refusal.ts';
import type { RunResult } from '../launches/run-once.ts';
import { refused } from './judged-check.ts';

/**
 * Refuses a kernel that read fewer distinct bytes of its inputs than the problem requires: it samples, or knows the answer.
 * The requirement never exceeds the size of the inputs. Only a virtual device counts read bytes.
 */
export const refuseUnread = (
  { file }: Problem,
  dimensions: Dimensions,
  { buffers }: LaunchPlan,
  { readBytes, conditions }: RunResult,
  check: string,
): Refused | undefined => {
  if (!readBytes) return undefined;
  const inputs = buffers.filter(({ role }) => role === 'in' || role === 'inout');
  const sum = (bytesOf: (input: LaunchPlan['buffers'][number]) => number): number =>
    inputs.reduce((total, input) => total + bytesOf(input), 0);
  const needed = Math.min(
    evaluateExpression(file.minimumReadBytes, dimensions),
    sum(({ bytes }) => bytes),
  );
  const read = sum(({ name }) => readBytes.get(name) ?? 0);
  if (read >= needed) return undefined;
  const each = inputs.map(({ name, bytes }) => `${name}: ${readBytes.get(name) ?? 0} of ${bytes}`).join(', ');
  return refused(
    'wrong',
    `reads ${read} distinct bytes of its inputs (${each}); at least ${needed} must be read ` +
      `(minimumReadBytes = ${file.minimumReadBytes})`,
    `${check} · ${conditions.name}`,
  );
};
