import { evaluateExpression } from '../core/expressions/evaluate.ts';
import type { KernelFile, ParameterValues } from '../core/kernel.ts';
import { completeDimensions } from '../core/plan/dimensions.ts';
import { expandBuffers } from '../core/plan/expand-buffers.ts';
import { failedLimit } from '../core/plan/limits.ts';
import { failedConstraint } from '../core/plan/parameters.ts';
import type { Dimensions, Generator, ProblemFile } from '../core/problem.ts';
import { elementCountOf } from './layout.ts';
import { createStream } from './random.ts';
import { outputsOf } from './reference-runs.ts';

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
  problem.checkShapes.flatMap((shape) => {
    const dimensions = completeDimensions(problem.dimensions, shape.dimensions);
    const generatorSets = shape.generators ?? generatorSetNames(problem);
    return generatorSets.map((generatorSet) => ({ dimensions, generatorSet, isMain: false }));
  });

/** Generator sets that fill some input otherwise than it declares. */
const otherGeneratorSets = (problem: ProblemFile): string[] => {
  const inputs = { ...problem.outputs, ...problem.inputs };
  return Object.entries(problem.generatorSets ?? {})
    .filter(([, set]) =>
      Object.entries(set).some(
        ([input, generator]) => JSON.stringify(generator) !== JSON.stringify(inputs[input]?.generator ?? NORMAL),
      ),
    )
    .map(([name]) => name);
};

const NORMAL: Generator = { kind: 'normal' };

/**
 * What a candidate is verified on before its time is believed: the check shapes it takes; the main workload with a
 * generator set drawn by the seed, so that no kernel can treat the timed shape as if only ordinary inputs came with it;
 * then the main workload with its declared inputs. A kernel whose limits or constraints turn away every check shape is
 * verified on the main workload with all generator sets, so that narrow limits never mean fewer kinds of input.
 */
export const checksFor = (request: {
  problem: ProblemFile;
  kernel: KernelFile;
  parameters: ParameterValues;
  /** The main workload's. */
  dimensions: Dimensions;
  seed: number;
  /** Whether the device has room for the launches at these dimensions; those without are as if a limit turned them away. */
  fits?: (dimensions: Dimensions) => boolean;
}): Check[] => {
  const { problem, kernel, parameters, dimensions, seed, fits = () => true } = request;
  const takes = (check: Check): boolean =>
    failedLimit(kernel, check.dimensions) === undefined &&
    failedConstraint(kernel, parameters, check.dimensions) === undefined &&
    fits(check.dimensions);
  const shapes = shapeChecks(problem).filter(takes);
  const others = otherGeneratorSets(problem);
  const drawn = others[createStream(seed, 'generator set of the main workload').bits(0) % others.length];
  const onMain = shapes.length === 0 ? others : others.filter((name) => name === drawn);
  return [
    ...shapes,
    ...onMain.map((generatorSet) => ({ dimensions, generatorSet, isMain: false })),
    { dimensions, generatorSet: DECLARED, isMain: true },
  ];
};

/** Fewest output elements with which a kernel's launches are worth repeating: several warps have work. */
const LEAST_REPEATED_ELEMENTS = 1000;

/**
 * The check whose launches are cheapest to repeat: of those with enough outputs for several warps the one with the
 * fewest operations, else the one with the most outputs.
 */
export const cheapestToRepeat = (problem: ProblemFile, checks: readonly Check[]): Check => {
  const costs = checks.map((check) => ({
    check,
    flop: evaluateExpression(problem.flop, check.dimensions),
    elements: outputsOf(expandBuffers(problem, check.dimensions)).reduce(
      (sum, buffer) => sum + elementCountOf(buffer),
      0,
    ),
  }));
  const large = costs.filter(({ elements }) => elements >= LEAST_REPEATED_ELEMENTS);
  const [best] =
    large.length > 0 ? large.sort((a, b) => a.flop - b.flop) : costs.sort((a, b) => b.elements - a.elements);
  return best!.check;
};

/** e.g. `B=1, S=113, D=64, causal=1 · large`. */
export const describeCheck = ({ dimensions, generatorSet }: Check): string =>
  `${Object.entries(dimensions)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')} · ${generatorSet} inputs`;
