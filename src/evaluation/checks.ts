import type { KernelFile, ParameterValues } from '../core/kernel.ts';
import { completeDimensions } from '../core/plan/dimensions.ts';
import { failedLimit } from '../core/plan/limits.ts';
import { failedConstraint } from '../core/plan/parameters.ts';
import type { Dimensions, ProblemFile } from '../core/problem.ts';

/** Name of the generator set in which every input uses its own declared generator. */
export const DECLARED = 'declared';

/** One binding of the dimensions with one way to fill the inputs; run whole and compared whole. */
export interface Check {
  readonly dimensions: Dimensions;
  readonly generatorSet: string;
  /** The workload that is also counted and timed. */
  readonly isMain: boolean;
}

/** All generator sets a problem names; the declared generators when it names none. */
export const generatorSetNames = (problem: ProblemFile): string[] => {
  const names = Object.keys(problem.generatorSets ?? {});
  return names.length > 0 ? names : [DECLARED];
};

/** The problem's check shapes, each with its generator sets. */
export const shapeChecks = (problem: ProblemFile): Check[] =>
  problem.checkShapes.flatMap((shape) =>
    (shape.generators ?? generatorSetNames(problem)).map((generatorSet) => ({
      dimensions: completeDimensions(problem.dimensions, shape.dimensions),
      generatorSet,
      isMain: false,
    })),
  );

/**
 * What a candidate is verified on before its time is believed: the check shapes it takes, then the main workload. A
 * kernel whose limits or constraints turn away every check shape is verified on the main workload with all generator
 * sets instead, so that narrow limits never mean fewer kinds of input.
 */
export const checksFor = (
  problem: ProblemFile,
  kernel: KernelFile,
  parameters: ParameterValues,
  dimensions: Dimensions,
): Check[] => {
  const takes = (check: Check): boolean =>
    failedLimit(kernel, check.dimensions) === undefined &&
    failedConstraint(kernel, parameters, check.dimensions) === undefined;
  const shapes = shapeChecks(problem).filter(takes);
  const main = { dimensions, generatorSet: DECLARED, isMain: true };
  if (shapes.length > 0) return [...shapes, main];
  const others = generatorSetNames(problem).filter((name) => name !== DECLARED);
  return [...others.map((generatorSet) => ({ dimensions, generatorSet, isMain: false })), main];
};

/** e.g. `B=1, S=113, D=64, causal=1 · large`. */
export const describeCheck = ({ dimensions, generatorSet }: Check): string =>
  `${Object.entries(dimensions)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')} · ${generatorSet} inputs`;
