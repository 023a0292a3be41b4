import { type ComparedSizes, conditionsOf } from '../core/compared-sizes.ts';
import type { Expression } from '../core/expressions/syntax-tree.ts';
import type { ProblemFile } from '../core/problem.ts';

/** A condition of a call, and what is said where it does not hold: the refusal, the values of its names, the hint. */
export interface RefusedUnless {
  readonly condition: Expression;
  readonly refusal: string;
  readonly hint?: string;
}

/** The way out, as refused calls name it. */
const HINT =
  'evaluate the kernel with a workload of this size and export it again, or export it with --unverified-sizes';

/** What refuses calls of sizes at which no result was compared; nothing if no size is to be refused. */
export const sizeConditions = (problem: ProblemFile, sizes: ComparedSizes | undefined): RefusedUnless[] =>
  sizes === undefined
    ? []
    : conditionsOf(problem, sizes).map(({ condition, compared }) => ({
        condition,
        refusal: `results were compared for ${compared} only`,
        hint: HINT,
      }));
