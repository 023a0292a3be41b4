import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import { byLot } from '../../../stats/random.ts';
import { type Check, DECLARED, extremeCheck } from '../check.ts';
import { followsLongSums, summedOver } from '../judgeable-sums.ts';
import { isForLongestVectors, isOfMoments, variantsForLongSums } from '../secret/variants/index.ts';
import { elementsIn } from '../shapes/cost.ts';
import { otherGpu } from './other-gpu.ts';
import { type ChecksRequest, hasOneSize, takesShape, threadsOf } from './request.ts';
import type { ChosenSets } from './sets.ts';
import type { ChosenShapes } from './shapes.ts';

/** Generator sets, by lot, that large shapes share, beside some with special values: in a long sum some inputs show what others hide. */
const LARGE_SETS = 3;

const SPECIAL_SETS = 2;

/** Threads of launches, or elements, of all checks of shapes as large as users' own together, where a CPU runs them: some 25 s. */
const MOST_LARGE_WORK = 2 ** 26.3;

/** Half as long: enough for counts of one value to end, in half of the time. */
const halfOf = (problem: ProblemFile, shape: Dimensions): Dimensions =>
  Object.fromEntries(
    Object.entries(shape).map(([name, size]) => [
      name,
      summedOver(problem).includes(name) ? Math.ceil(size / 2) : size,
    ]),
  );

/**
 * Checks of shapes as large as users' own: each drawn shape with the declared inputs, and one with inputs for long sums, some always and one by lot, then by lot the workloads, and
 * further inputs of those shapes, as many as fit.
 */
export function largeChecks(
  request: ChecksRequest,
  {
    large,
    thin,
    workloads,
    longest: vectors,
    longRows,
    extremes,
    variants,
    placements,
    ordinary,
    special,
  }: ChosenShapes & ChosenSets,
): Check[] {
  const { problem, seed, isEmulated, launches = () => [] } = request;
  const further = [...ordinary.slice(0, LARGE_SETS), ...special.slice(0, SPECIAL_SETS)];
  const filled = (dimensions: Dimensions, sets: readonly string[]) =>
    sets.map((generatorSet) => ({ dimensions, generatorSet }));
  const [longest, ...otherLongSums] = byLot(
    large.slice(0, 1).flatMap((shape) => filled(shape, variantsForLongSums(problem, variants, 'by lot'))),
    seed,
    'long sums',
  );
  const others = [
    ...workloads.flatMap((shape) => filled(shape, [DECLARED])),
    ...otherLongSums,
    ...large.flatMap((shape, i) =>
      filled(
        shape,
        further.filter((_, place) => place % large.length === i),
      ),
    ),
  ];
  const [declared, ...otherDeclared] = large.map((shape) => filled(shape, [DECLARED]));
  let left = isEmulated ? MOST_LARGE_WORK : Number.POSITIVE_INFINITY;
  const always = large.slice(0, 1).flatMap((shape) => filled(shape, variantsForLongSums(problem, variants, 'always')));
  // A tail that is forgotten is a few thousand of millions of terms: it shows where the others are small or zeros.
  const arranged = followsLongSums(problem) ? placements.filter((kind) => kind === 'secret:rows') : [];
  const rows = large.slice(0, 1).flatMap((shape) => filled(shape, arranged));
  const long = thin.flatMap((shape) => filled(shape, [DECLARED]));
  const first = [
    ...(declared ?? []),
    ...long,
    ...always,
    ...otherDeclared.flat(),
    ...rows,
    ...(longest ? [longest] : []),
  ];
  const affordable = [...first, ...byLot(others, seed, 'checks of large shapes')].filter(({ dimensions }) => {
    const work = Math.max(elementsIn(problem, dimensions), isEmulated ? threadsOf(launches(dimensions)) : 0);
    if (work > left) return false;
    left -= work;
    return true;
  });
  // Last, so that everything else is judged where these take too long.
  const last = [
    ...vectors.flatMap((shape) => filled(shape, [DECLARED])),
    ...(hasOneSize(problem) ? vectors.map((shape) => halfOf(problem, shape)) : [])
      .filter(takesShape(request))
      .flatMap((shape) => filled(shape, variants.filter(isForLongestVectors))),
    ...longRows.flatMap((shape) => filled(shape, [DECLARED, ...variants.filter(isOfMoments)])),
  ];
  return [...affordable, ...last].map(({ dimensions, generatorSet }, i) => ({
    ...extremeCheck(dimensions),
    isLarge: true,
    generatorSet,
    multiprocessors: otherGpu(request, extremes.length + i),
  }));
}
