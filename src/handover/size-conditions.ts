import { type ComparedSizes, conditionsOf } from '../core/compared-sizes.ts';
import { namesInExpression } from '../core/expressions/evaluate.ts';
import type { Expression } from '../core/expressions/syntax-tree.ts';
import type { KernelFile } from '../core/kernel.ts';
import type { ProblemFile } from '../core/problem.ts';

/** A condition of a call, and what is said where it does not hold: the refusal, the values of its names, the hint. */
export interface RefusedUnless {
  readonly condition: Expression;
  readonly refusal: string;
  readonly hint?: string;
}

/** Conditions as a file lists them. */
export const listedConditions = (conditions: readonly Expression[] = [], section: string) =>
  conditions.map((condition, index) => {
    const path = `${section}[${index}]`;
    return { condition, path, refusal: `${path}: ${condition} does not hold` };
  });

/** The constraints of a kernel that name dimensions. A candidate's others hold: its parameters are what they are. */
export const constraintsOnCalls = ({ constraints }: KernelFile, { dimensions }: ProblemFile) =>
  listedConditions(constraints, 'constraints').filter(({ condition }) =>
    namesInExpression(condition).some((name) => Object.hasOwn(dimensions, name)),
  );

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
