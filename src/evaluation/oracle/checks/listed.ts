import { completeDimensions } from '../../../core/plan/dimensions.ts';
import { generatorSetsOf } from '../../../core/plan/generator-sets.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import type { Suite } from '../../../core/suites.ts';
import { distinctValues } from '../../../core/values.ts';
import { type Check, DECLARED, USUAL } from '../check.ts';
import { type KernelTaking, takesShape } from './request.ts';

/** All generator sets a problem names; the declared generators when it names none. */
export function generatorSetNames(problem: ProblemFile): string[] {
  const names = Object.keys(generatorSetsOf(problem));
  return names.length > 0 ? names : [DECLARED];
}

/** The problem's check shapes, each with its generator sets. */
export const shapeChecks = (problem: ProblemFile): Check[] =>
  problem.checkShapes.flatMap((shape) => {
    const dimensions = completeDimensions(problem.dimensions, shape.dimensions);
    const generatorSets = shape.generators ?? generatorSetNames(problem);
    return generatorSets.map((generatorSet) => ({ dimensions, generatorSet, ...USUAL }));
  });

/** The problem's check shapes, each once. */
export const shapesOf = ({ checkShapes, dimensions }: ProblemFile): Dimensions[] =>
  distinctValues(checkShapes.map((shape) => completeDimensions(dimensions, shape.dimensions)));

/** The problem's check shapes: checks on those that the kernel takes, and the shapes that it does not take. */
export function listedChecks(request: KernelTaking): {
  readonly checks: readonly Check[];
  readonly known: readonly Dimensions[];
  readonly excludedShapes: Dimensions[];
} {
  const { problem } = request;
  const takes = takesShape(request);
  const declared = shapesOf(problem);
  return {
    checks: shapeChecks(problem).filter(({ dimensions }) => takes(dimensions)),
    known: declared.filter(takes),
    excludedShapes: declared.filter((shape) => !takes(shape)),
  };
}

/** Each shape of a suite that the kernel takes, once with each of the suite's generator sets. */
export const suiteChecks = (
  { shapes, generators = [DECLARED] }: Suite,
  takes: (shape: Dimensions) => boolean,
): Check[] =>
  shapes
    .filter(takes)
    .flatMap((dimensions) => generators.map((generatorSet) => ({ dimensions, generatorSet, ...USUAL, isOnce: true })));
