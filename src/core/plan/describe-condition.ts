import { namedValues } from '../expressions/evaluate.ts';
import type { Expression } from '../expressions/syntax-tree.ts';
import type { Scope } from './scope.ts';

/** A condition with the values of the names in it: `BLOCK_M * D <= 8192 (BLOCK_M = 128, D = 128)`. */
export function describeCondition(condition: Expression, scope: Scope): string {
  const values = namedValues(condition, scope);
  return values.length === 0 ? String(condition) : `${condition} (${values.join(', ')})`;
}
