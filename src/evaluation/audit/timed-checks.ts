import { evaluateExpression, namesInExpression } from '../../core/expressions/evaluate.ts';
import { completeDimensions, isShapeOf } from '../../core/plan/dimensions.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { valuesKey } from '../../core/values.ts';
import type { Check } from '../oracle/check.ts';
import { generatorSetNames, shapeChecks } from '../oracle/checks/listed.ts';
import { isWithin } from '../oracle/shapes/cost.ts';

/** What the host computes some hundred times in seconds. */
const AFFORDABLE = { flop: 2 ** 23, elements: 2 ** 18 };

/** Largest sizes of the dimensions that are not reduced over, tried in this order. */
const CAPS = [1024, 256, 64, 17, 8, 4, 2];

/** Most halvings of the reduced extent: 2⁴⁰ becomes 1. */
const MOST_HALVINGS = 40;

/**
 * The timed workload as far as a host affords it, with every generator set, as `evaluate` runs them there: the longest
 * reduced axis of all workloads, and as little of the other dimensions as it takes. None if the problem lists that shape.
 */
export function timedChecks(problem: ProblemFile): Check[] {
  const dimensions = timedShape(problem);
  const listed = shapeChecks(problem).map((check) => valuesKey(check.dimensions));
  if (!dimensions || listed.includes(valuesKey(dimensions))) return [];
  return generatorSetNames(problem).map((generatorSet) => ({
    ...{ dimensions, generatorSet },
    ...{ isMain: true, isOnce: true, isDrawn: false },
  }));
}

function timedShape(problem: ProblemFile): Dimensions | undefined {
  const kept = reducedDimensions(problem);
  const workload = largestWorkload(problem, kept);
  for (let halvings = 0; halvings <= MOST_HALVINGS; halvings++) {
    for (const cap of CAPS) {
      const shape = Object.fromEntries(
        Object.entries(workload).map(([name, value]) => {
          if (problem.dimensions[name]!.values) return [name, value];
          return [name, kept.includes(name) ? Math.ceil(value / 2 ** halvings) : Math.min(value, cap)];
        }),
      );
      if (isShapeOf(problem, shape) && isWithin(AFFORDABLE, problem, shape, 1)) return shape;
    }
  }
  return undefined;
}

/** Dimensions that make the reduced axis long; none if problem.json names no such axis. */
function reducedDimensions({ reducedAxis, inputs, outputs }: ProblemFile): string[] {
  if (!reducedAxis) return [];
  const extent = (inputs[reducedAxis.input] ?? outputs[reducedAxis.input])!.shape[reducedAxis.axis]!;
  return namesInExpression(extent);
}

/** The first of those with the longest reduced axis, or with the most work if no axis is reduced. */
function largestWorkload(problem: ProblemFile, kept: readonly string[]): Dimensions {
  const sizeOf = (dimensions: Dimensions): number =>
    kept.length > 0
      ? kept.reduce((product, name) => product * dimensions[name]!, 1)
      : evaluateExpression(problem.flop, dimensions);
  return problem.workloads
    .map(({ dimensions }) => completeDimensions(problem.dimensions, dimensions))
    .reduce((largest, one) => (sizeOf(one) > sizeOf(largest) ? one : largest));
}
