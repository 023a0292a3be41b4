import type { Coverage } from '../../../core/evaluation.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import { distinctValues, isSame } from '../../../core/values.ts';
import { createStream } from '../../../stats/random.ts';
import { type Check, DECLARED, describeCheck, onceAt, USUAL } from '../check.ts';
import type { SecretKind } from '../secret/secret-set.ts';
import { showsEnds } from '../secret/variants/index.ts';
import { costsLittle, largestOf } from '../shapes/cost.ts';
import { hasUsualSums } from '../shapes/large.ts';
import { extremeChecks } from './extreme.ts';
import { largeChecks } from './large.ts';
import { listedChecks, suiteChecks } from './listed.ts';
import { otherGpu } from './other-gpu.ts';
import { type ChecksRequest, takesShape } from './request.ts';
import { type ChosenSets, chooseSets, setsOfMain, setsThatFit } from './sets.ts';
import { chooseShapes } from './shapes.ts';
import { shapesForVariant } from './variants.ts';

/** Checks in their order, and what they cover. */
export interface ChosenChecks {
  readonly checks: readonly Check[];
  readonly coverage: Coverage;
}

/**
 * The checks of a candidate, before its time counts: the check shapes that it takes; the main workload with its declared
 * inputs; shapes that the seed draws within the kernel's limits, so that no kernel can be right at the listed shapes only;
 * then the main workload with every other generator set, so that no kernel can rely on ordinary inputs at the timed shape.
 * Checks with two runs come first, because they explain mistakes best. A kernel whose limits or constraints exclude every
 * other shape runs twice with every generator set.
 */
export function checksFor(request: ChecksRequest): ChosenChecks {
  const { problem, dimensions, isEmulated = false, thorough = false, suites } = request;
  const takes = takesShape(request);
  const { checks: listed, known, excludedShapes } = listedChecks(request);
  const shapes = chooseShapes(request, known);
  const sets = chooseSets(request);
  const differs = (shape: Dimensions): boolean => !isSame(shape, dimensions);
  const timedShapeOnly = shapes.drawn.length === 0 && !known.some(differs);
  const isWhole = thorough || timedShapeOnly || costsLittle(problem, dimensions);
  const onMain = setsOfMain([...sets.others, ...(isWhole ? sets.sizes : sets.sizes.slice(0, 1))], {
    ...{ placements: sets.placements, seed: request.seed },
    most: thorough ? Number.POSITIVE_INFINITY : setsThatFit(problem, dimensions, isEmulated),
  });
  const largeRuns = largeChecks(request, { ...shapes, ...sets });
  const checks: Check[] = [
    ...listed,
    { dimensions, generatorSet: DECLARED, ...USUAL, isMain: true },
    ...placedChecks(problem, listed, sets.placements),
    ...shapes.drawn.flatMap((shape, i) => drawnChecks(problem, shape, setsOfDrawn(sets, i, thorough))),
    ...[...shapes.options, ...shapes.partlyAligned, ...shapes.powers].map((shape) => onceAt(shape, DECLARED)),
    ...shapes.vectorMultiples.flatMap((shape) => [DECLARED, ...sets.special].map((set) => onceAt(shape, set))),
    ...extremeChecks(problem, shapes, { ...sets, thorough, takes }).map((check, i) => ({
      ...check,
      multiprocessors: otherGpu(request, i),
    })),
    ...sets.variants.flatMap((set) => shapesForVariant(request, shapes.drawn, set).map((shape) => onceAt(shape, set))),
    ...randomSmallChecks(problem, shapes.randomSmall, { ...sets, seed: request.seed }),
    ...shapes.longSums.flatMap((shape) => sets.variants.filter(showsEnds).map((set) => onceAt(shape, set))),
    ...largeRuns,
    ...onMain.map((generatorSet) => ({ dimensions, generatorSet, ...USUAL, isOnce: !timedShapeOnly })),
    ...(suites ?? []).flatMap((suite) => suiteChecks(suite, takes)),
  ];
  const { drawn, options, partlyAligned, vectorMultiples, powers, randomSmall, longSums, middle, extremes } = shapes;
  return {
    checks,
    coverage: {
      checkShapes: known.length,
      excludedShapes: [
        ...excludedShapes,
        ...(suites ?? []).flatMap((suite) => suite.shapes.filter((one) => !takes(one))),
      ],
      drawnShapes: [
        ...drawn,
        ...options,
        ...partlyAligned,
        ...vectorMultiples,
        ...powers,
        ...randomSmall,
        ...longSums,
        ...middle,
        ...extremes,
        ...distinctValues(largeRuns.map((check) => check.dimensions)),
      ],
      generatorSets: onMain,
      leftOut: sets.others
        .filter((name) => !onMain.includes(name))
        .map((name) => ({
          check: describeCheck({ dimensions, generatorSet: name }),
          reason: 'the timed workload is large: its generator sets are drawn by lot, and a confirmation runs them all',
        })),
      fixedDimensions: shapes.fixed,
      reference: problem.originalKernel === undefined ? undefined : 'original',
      suites: suites?.map((suite) => ({ name: suite.name, shapes: suite.shapes.filter(takes).length })),
      timedShapeOnly,
    },
  };
}

/** Every second shape has its declared inputs, and long rows, of which a running sum of values that are not near 0 loses too much; the others have any. */
function randomSmallChecks(
  problem: ProblemFile,
  shapes: readonly Dimensions[],
  { others, placements, sizes, seed }: ChosenSets & { readonly seed: number },
): Check[] {
  const sets = [...others, ...placements, ...sizes];
  const lot = createStream(seed, 'inputs of random small shapes');
  return shapes.map((shape, i) =>
    onceAt(
      shape,
      i % 2 === 0 || !hasUsualSums(problem, shape) ? DECLARED : (sets[lot.bits(i) % sets.length] ?? DECLARED),
    ),
  );
}

/** Which sets the drawn shape of this number gets. */
const setsOfDrawn = (
  { others, placements, sizes }: ChosenSets,
  i: number,
  thorough: boolean,
): Parameters<typeof drawnChecks>[2] => ({
  size: sizes[i % sizes.length],
  further: [
    ...(thorough ? others : others.slice(i, i + 1)),
    ...(thorough || placements.length === 0 ? placements : [placements[i % placements.length]!]),
  ],
});

/**
 * Inputs of a secret size, run twice, then other generator sets, and values in secret places, run once; only the first if even
 * that takes long.
 */
function drawnChecks(
  problem: ProblemFile,
  dimensions: Dimensions,
  { size = DECLARED, further }: { size?: string | undefined; further: readonly string[] },
): Check[] {
  const check = { dimensions, ...USUAL, isOnce: !costsLittle(problem, dimensions), isDrawn: true };
  const first = { ...check, generatorSet: size };
  if (check.isOnce) return [first];
  return [first, ...further.map((generatorSet) => ({ ...check, generatorSet, isOnce: true }))];
}

/**
 * Values in secret places at the largest of the listed shapes that cost little, because drawn shapes are often too small for
 * tiles and long runs.
 */
function placedChecks(problem: ProblemFile, listed: readonly Check[], placements: readonly SecretKind[]): Check[] {
  const shapes = [...new Set(listed.map(({ dimensions }) => dimensions))].filter((shape) =>
    costsLittle(problem, shape),
  );
  const largest = largestOf(problem, shapes);
  if (!largest) return [];
  return placements.map((generatorSet) => ({ dimensions: largest, generatorSet, ...USUAL, isOnce: true }));
}
