import type { Coverage } from '../../core/evaluation.ts';
import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { KernelFile, ParameterValues } from '../../core/kernel.ts';
import { completeDimensions, isShapeOf } from '../../core/plan/dimensions.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import { generatorSetsOf } from '../../core/plan/generator-sets.ts';
import { failedLimit } from '../../core/plan/limits.ts';
import { failedConstraint } from '../../core/plan/parameters.ts';
import type { Dimensions, Generator, ProblemFile } from '../../core/problem.ts';
import { createStream } from '../../stats/random.ts';
import { elementCountOf } from '../launches/layout.ts';
import { costsLittle, drawShapes } from './drawn-shapes.ts';
import { outputsOf } from './reference-runs.ts';

/** Name of the generator set in which every input uses its own declared generator. */
export const DECLARED = 'declared';

/** One binding of the dimensions with one way to fill the inputs. */
export interface Check {
  readonly dimensions: Dimensions;
  readonly generatorSet: string;
  /** The workload that is also counted and timed. */
  readonly isMain: boolean;
  /** Run once, and compared in some rows where the whole reference takes long; else run twice and compared whole. */
  readonly isOnce: boolean;
  /** Of a shape that the seed chose. */
  readonly isDrawn: boolean;
}

/** All generator sets a problem names; the declared generators when it names none. */
export const generatorSetNames = (problem: ProblemFile): string[] => {
  const names = Object.keys(generatorSetsOf(problem));
  return names.length > 0 ? names : [DECLARED];
};

/** Run twice, of a shape that the problem names. */
const USUAL = { isMain: false, isOnce: false, isDrawn: false } as const;

/** The problem's check shapes, each with its generator sets. */
export const shapeChecks = (problem: ProblemFile): Check[] =>
  problem.checkShapes.flatMap((shape) => {
    const dimensions = completeDimensions(problem.dimensions, shape.dimensions);
    const generatorSets = shape.generators ?? generatorSetNames(problem);
    return generatorSets.map((generatorSet) => ({ dimensions, generatorSet, ...USUAL }));
  });

/** Generator sets that fill some input otherwise than it declares. */
const otherGeneratorSets = (problem: ProblemFile): string[] => {
  const inputs = { ...problem.outputs, ...problem.inputs };
  return Object.entries(generatorSetsOf(problem))
    .filter(([, set]) =>
      Object.entries(set).some(
        ([input, generator]) => JSON.stringify(generator) !== JSON.stringify(inputs[input]?.generator ?? NORMAL),
      ),
    )
    .map(([name]) => name);
};

const NORMAL: Generator = { kind: 'normal' };

/** Shapes that the seed chooses for every verification, and for a thorough one. */
const DRAWN_SHAPES = { usual: 3, thorough: 5 } as const;

/**
 * Elements of all inputs up to which the timed workload is run with every generator set: drawing them takes a host
 * seconds for each further set. Of larger ones as many sets as fit, at least one; a thorough verification runs all.
 */
const MOST_DRAWN_ELEMENTS = 2 ** 25;

/** The problem's FLOP in all runs of further generator sets, where a CPU stands in for the GPU: tensor cores take it 10 s. */
const MOST_EMULATED_FLOP = 2 ** 29;

/** Checks in the order they are run, and what they cover. */
export interface ChosenChecks {
  readonly checks: readonly Check[];
  readonly coverage: Coverage;
}

/**
 * What a candidate is verified on before its time is believed: the check shapes it takes; the main workload with its
 * declared inputs; shapes that the seed draws within the kernel's limits, so that none can be right at the listed ones
 * only; then the main workload with every other generator set, so that none can treat the timed shape as if only ordinary
 * inputs came with it. Those run in two ways come first: they say best what is wrong. A kernel whose limits or constraints turn away every other shape is run twice with every generator set.
 */
export const checksFor = (request: {
  problem: ProblemFile;
  kernel: KernelFile;
  parameters: ParameterValues;
  /** The main workload's. */
  dimensions: Dimensions;
  seed: number;
  thorough?: boolean;
  /** Whether a CPU runs the kernels: of a large timed workload, fewer generator sets fit. */
  isEmulated?: boolean;
  /** Whether the device has room for the launches at these dimensions; those without are as if a limit turned them away. */
  fits?: (dimensions: Dimensions) => boolean;
}): ChosenChecks => {
  const { problem, kernel, parameters, dimensions, seed, thorough = false, isEmulated = false } = request;
  const { fits = () => true } = request;
  const takes = (shape: Dimensions): boolean =>
    isShapeOf(problem, shape) &&
    failedLimit(kernel, shape) === undefined &&
    failedConstraint(kernel, parameters, shape) === undefined &&
    fits(shape);
  const declared = shapesOf(problem);
  const known = declared.filter(takes);
  const drawn = drawShapes({
    ...{ problem, takes, timed: dimensions, known, seed },
    count: DRAWN_SHAPES[thorough ? 'thorough' : 'usual'],
  });
  const others = furtherGeneratorSets(problem, seed);
  const onMain = thorough ? others : others.slice(0, setsThatFit(problem, dimensions, isEmulated));
  const differs = (shape: Dimensions): boolean => keyOf(shape) !== keyOf(dimensions);
  const timedShapeOnly = drawn.shapes.length === 0 && !known.some(differs);
  const checks: Check[] = [
    ...shapeChecks(problem).filter((check) => takes(check.dimensions)),
    { dimensions, generatorSet: DECLARED, ...USUAL, isMain: true },
    ...drawn.shapes.flatMap((shape, i) => drawnChecks(problem, shape, thorough ? others : others.slice(i, i + 1))),
    ...onMain.map((generatorSet) => ({ dimensions, generatorSet, ...USUAL, isOnce: !timedShapeOnly })),
  ];
  return {
    checks,
    coverage: {
      checkShapes: known.length,
      excludedShapes: declared.filter((shape) => !takes(shape)),
      drawnShapes: drawn.shapes,
      generatorSets: onMain,
      leftOut: others
        .filter((name) => !onMain.includes(name))
        .map((name) => ({
          check: describeCheck({ dimensions, generatorSet: name }),
          reason: 'the timed workload is large: its generator sets are drawn by lot, and a confirmation runs them all',
        })),
      fixedDimensions: drawn.fixed,
      timedShapeOnly,
    },
  };
};

/** The problem's check shapes, each once. */
const shapesOf = (problem: ProblemFile): Dimensions[] => {
  const shapes = problem.checkShapes.map((shape) => completeDimensions(problem.dimensions, shape.dimensions));
  return shapes.filter((shape, i) => shapes.findIndex((other) => keyOf(other) === keyOf(shape)) === i);
};

const keyOf = (dimensions: Dimensions): string => JSON.stringify(Object.entries(dimensions).sort());

/** Its declared inputs, run twice, and other generator sets, run once; only the first where even that takes long. */
const drawnChecks = (problem: ProblemFile, dimensions: Dimensions, generatorSets: readonly string[]): Check[] => {
  const isOnce = !costsLittle(problem, dimensions);
  if (isOnce) return [{ dimensions, generatorSet: DECLARED, ...USUAL, isOnce, isDrawn: true }];
  return [
    { dimensions, generatorSet: DECLARED, ...USUAL, isDrawn: true },
    ...generatorSets.map((generatorSet) => ({ dimensions, generatorSet, ...USUAL, isOnce: true, isDrawn: true })),
  ];
};

/** Generator sets that fill some input otherwise than it declares, in an order that only the seed tells. */
export const furtherGeneratorSets = (problem: ProblemFile, seed: number): string[] => {
  const stream = createStream(seed, 'generator sets of the main workload');
  return otherGeneratorSets(problem)
    .map((name, i) => ({ name, place: stream.bits(i) }))
    .sort((a, b) => a.place - b.place)
    .map(({ name }) => name);
};

const setsThatFit = (problem: ProblemFile, dimensions: Dimensions, isEmulated: boolean): number => {
  const elements = expandBuffers(problem, dimensions)
    .filter(({ role }) => role !== 'out')
    .reduce((sum, buffer) => sum + elementCountOf(buffer), 0);
  const flop = isEmulated ? evaluateExpression(problem.flop, dimensions) : 0;
  return Math.max(
    1,
    Math.floor(
      Math.min(MOST_DRAWN_ELEMENTS / elements, flop > 0 ? MOST_EMULATED_FLOP / flop : Number.POSITIVE_INFINITY),
    ),
  );
};

/** Fewest output elements with which a kernel's launches are worth repeating: several warps have work. */
const LEAST_REPEATED_ELEMENTS = 1000;

/**
 * The check whose launches are cheapest to repeat: of those with enough outputs for several warps the one with the
 * fewest operations, else the one with the most outputs.
 */
export const cheapestToRepeat = (problem: ProblemFile, checks: readonly Check[]): Check => {
  const costs = checks
    .filter(({ isOnce, isDrawn }) => !isOnce && !isDrawn)
    .map((check) => ({
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
export const describeCheck = ({ dimensions, generatorSet }: Pick<Check, 'dimensions' | 'generatorSet'>): string =>
  `${Object.entries(dimensions)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')} · ${generatorSet} inputs`;
