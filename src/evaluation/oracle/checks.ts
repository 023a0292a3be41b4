import type { Coverage } from '../../core/evaluation.ts';
import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import { launchesOf } from '../../core/plan/declared-steps.ts';
import { completeDimensions } from '../../core/plan/dimensions.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import { generatorSetsOf, isDomainSet } from '../../core/plan/generator-sets.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import type { Suite } from '../../core/suites.ts';
import { valuesKey } from '../../core/values.ts';
import { createStream } from '../../stats/random.ts';
import { elementCountOf } from '../launches/layout.ts';
import { type Check, DECLARED, describeCheck, extremeCheck, onceAt, USUAL } from './check.ts';
import {
  type ChecksRequest,
  elementsIn,
  extremeCost,
  hasOneSize,
  isQuickToRun,
  type KernelTaking,
  MOST_EMULATED_THREADS,
  takesShape,
  threadsOf,
} from './checks-request.ts';
import {
  costsLittle,
  drawShapes,
  hasSeveralTiles,
  largestShapes,
  middleShapes,
  shapesAtPowers,
  thinShapes,
  wideShapes,
} from './drawn-shapes.ts';
import { canJudgeSums, followsLongSums, NORMAL, summedOver } from './judgeable-sums.ts';
import { drawShapesToSample, largeShapes } from './large-shapes.ts';
import { drawOptions } from './option-shapes.ts';
import { drawPartlyAligned } from './partly-aligned-shapes.ts';
import { outputsOf } from './reference-runs.ts';
import { isPlacement, type SecretKind, secretSetOf, secretSetsOf, variantSetsOf } from './secret-sets.ts';
import { needsEvenSizes, needsSquare, variantsForLongRows, variantsForLongSums } from './secret-variants.ts';

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

/** Generator sets that fill some input otherwise than it declares. */
function otherGeneratorSets(problem: ProblemFile): string[] {
  const inputs = { ...problem.outputs, ...problem.inputs };
  return Object.entries(generatorSetsOf(problem))
    .filter(([, set]) =>
      Object.entries(set).some(
        ([input, generator]) => JSON.stringify(generator) !== JSON.stringify(inputs[input]?.generator ?? NORMAL),
      ),
    )
    .map(([name]) => name);
}

/** Number of drawn shapes of every verification, and of a thorough one. */
const DRAWN_SHAPES = { usual: 3, thorough: 5 } as const;

/** How many options of a problem come together in small shapes, and in how many shapes at most. */
const OPTIONS = { usual: { together: 2, most: 8 }, thorough: { together: 3, most: 32 } } as const;

/** Generator sets, by lot, that large shapes share, beside some with special values: in a long sum some inputs show what others hide. */
const LARGE_SETS = 3;

const SPECIAL_SETS = 2;

/** In how many shapes some sizes are whole tiles and the others are not. */
const PARTLY_ALIGNED_SHAPES = { usual: 3, thorough: 14 } as const;

/** Of a thorough verification: shapes with a dimension at a power of two or beside one. */
const POWERS_OF_TWO = 40;

/** Of a thorough verification: shapes of middle sizes, for each dimension. */
const MIDDLE_SHAPES = 2;

/** The same beside several tiles of every other dimension. */
const WIDE_SHAPES = 2;

/** Shapes with one dimension very long beside few of each other one; one for each dimension where there are many. */
const THIN_SHAPES = 3;

/** In how many dimensions, at most, a shape is drawn that is much larger than all others. */
const EXTREME_SHAPES = { usual: 2, thorough: 8 } as const;

/**
 * Up to this many input elements, the timed workload runs with every generator set. Above, drawing each further set takes a
 * host seconds, so only as many sets run as fit, at least one; a thorough verification runs all.
 */
const MOST_DRAWN_ELEMENTS = 2 ** 25;

/** On a virtual GPU, most FLOP of all runs of further generator sets: 10 s of tensor-core instructions. */
const MOST_EMULATED_FLOP = 2 ** 29;

/** Checks in their order, and what they cover. */
export interface ChosenChecks {
  readonly checks: readonly Check[];
  readonly coverage: Coverage;
}

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
  const differs = (shape: Dimensions): boolean => valuesKey(shape) !== valuesKey(dimensions);
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
    ...extremeChecks(problem, shapes, { ...sets, thorough, takes }).map((check, i) => ({
      ...check,
      multiprocessors: otherGpu(request, i),
    })),
    ...sets.variants.flatMap((set) => shapesForVariant(request, shapes.drawn, set).map((shape) => onceAt(shape, set))),
    ...largeRuns,
    ...onMain.map((generatorSet) => ({ dimensions, generatorSet, ...USUAL, isOnce: !timedShapeOnly })),
    ...(suites ?? []).flatMap((suite) => suiteChecks(suite, takes)),
  ];
  const { drawn, options, partlyAligned, powers, middle, extremes } = shapes;
  return {
    checks,
    coverage: {
      checkShapes: known.length,
      excludedShapes: [
        ...excludedShapes,
        ...(suites ?? []).flatMap((suite) => suite.shapes.filter((one) => !takes(one))),
      ],
      drawnShapes: [...drawn, ...options, ...partlyAligned, ...powers, ...middle, ...extremes, ...shapesIn(largeRuns)],
      generatorSets: onMain,
      leftOut: sets.others
        .filter((name) => !onMain.includes(name))
        .map((name) => ({
          check: describeCheck({ dimensions, generatorSet: name }),
          reason: 'the timed workload is large: its generator sets are drawn by lot, and a confirmation runs them all',
        })),
      fixedDimensions: shapes.fixed,
      ...(problem.originalKernel !== undefined && { reference: 'original' as const }),
      suites: suites?.map((suite) => ({ name: suite.name, shapes: suite.shapes.filter(takes).length })),
      timedShapeOnly,
    },
  };
}

/** Shapes so large that only a sample of their CTAs can be run. */
export function shapesToSample(request: ChecksRequest): Dimensions[] {
  const { problem, dimensions: timed, seed } = request;
  const { known } = listedChecks(request);
  const takes = takesShape(request);
  const isFit = (shape: Dimensions): boolean => takes(shape) && canJudgeSums(problem, shape, [timed, ...known]);
  return drawShapesToSample({ problem, timed, seed, isFit });
}

/** Shapes beside the listed ones, by why they are there. */
interface ChosenShapes {
  readonly drawn: readonly Dimensions[];
  readonly extremes: readonly Dimensions[];
  /** Dimensions that the kernel leaves no choice. */
  readonly fixed: string[];
  /** Options that come together. */
  readonly options: readonly Dimensions[];
  /** Whole tiles in some dimensions. */
  readonly partlyAligned: readonly Dimensions[];
  /** Sizes at powers of two. */
  readonly powers: readonly Dimensions[];
  /** Sizes between the usual and the largest ones. */
  readonly middle: readonly Dimensions[];
  /** As large as users' own: drawn ones, and the problem's workloads. */
  readonly large: readonly Dimensions[];
  readonly workloads: readonly Dimensions[];
}

function chooseShapes(request: ChecksRequest, known: readonly Dimensions[]): ChosenShapes {
  const { problem, dimensions: timed, seed, thorough = false, large = false } = request;
  const { isEmulated = false, launches = () => [] } = request;
  const extent = thorough ? 'thorough' : 'usual';
  const takes = takesShape(request);
  const emulatedThreads = isEmulated ? (shape: Dimensions) => threadsOf(launches(shape)) : undefined;
  const isJudged = (shape: Dimensions): boolean => canJudgeSums(problem, shape, [timed, ...known]);
  const isQuick = (shape: Dimensions): boolean => isQuickToRun(request, shape);
  const ample = thorough || hasOneSize(problem) ? 'ample' : 'usual';
  const isFit = (shape: Dimensions): boolean => isQuickToRun(request, shape, ample) && isJudged(shape);
  const most = extremeCost(problem, isEmulated, extent);
  const { shapes, extremes, fixed } = drawShapes({
    ...{ problem, takes, timed, known, seed, emulatedThreads, count: DRAWN_SHAPES[extent] },
    extremes: { count: EXTREME_SHAPES[extent], most, isFit },
  });
  const largest = (): ReturnType<typeof largeShapes> =>
    largeShapes({
      ...{ problem, timed, seed },
      isFit: (shape) =>
        takes(shape) && (emulatedThreads?.(shape) ?? 0) <= MOST_EMULATED_THREADS.large && isJudged(shape),
    });
  const { drawn, workloads } = thorough && large ? largest() : { drawn: [], workloads: [] };
  return {
    ...{ drawn: shapes, extremes, fixed, large: drawn, workloads },
    options: drawOptions({
      ...{ problem, takes, seed, emulatedThreads, ...OPTIONS[extent] },
      known: [timed, ...known, ...shapes],
    }),
    partlyAligned: drawPartlyAligned({ problem, takes, timed, seed, isQuick, most: PARTLY_ALIGNED_SHAPES[extent] }),
    powers: thorough ? shapesAtPowers({ problem, takes, timed, seed }, POWERS_OF_TWO).filter(isQuick) : [],
    middle: thorough
      ? [
          ...middleShapes({ problem, takes, timed, seed, most, isFit }, MIDDLE_SHAPES),
          ...wideShapes({ problem, takes, timed, seed, most, isFit }, WIDE_SHAPES),
          ...thinShapes({ problem, takes, timed, seed, most, isFit }, THIN_SHAPES),
        ]
      : [],
  };
}

/** Generator sets beside the declared inputs, each group in a secret order. */
interface ChosenSets {
  /** The problem's own: all, those with special values of a domain, and the rest. */
  readonly others: readonly string[];
  readonly special: readonly string[];
  readonly ordinary: readonly string[];
  /** Secret ones, that place values, and that are of another size. */
  readonly placements: readonly SecretKind[];
  readonly sizes: readonly SecretKind[];
  /** Secret ones that come in variants. */
  readonly variants: readonly string[];
}

function chooseSets({ problem, seed, thorough = false }: ChecksRequest): ChosenSets {
  const others = furtherGeneratorSets(problem, seed);
  const secrets = secretSetsInTurn(problem, seed);
  return {
    others,
    special: others.filter((set) => isDomainSet(problem, set)),
    ordinary: others.filter((set) => !isDomainSet(problem, set)),
    placements: secrets.filter(isPlacement),
    sizes: secrets.filter((kind) => !isPlacement(kind)),
    variants: thorough ? variantSetsOf(problem) : [],
  };
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

/** The shapes of these checks, each once. */
const shapesIn = (checks: readonly Check[]): Dimensions[] => [
  ...new Map(checks.map(({ dimensions }) => [valuesKey(dimensions), dimensions])).values(),
];

/** Threads of launches, or elements, of all checks of shapes as large as users' own together, where a CPU runs them: some 20 s. */
const MOST_LARGE_WORK = 2 ** 26;

/**
 * Checks of shapes as large as users' own: each drawn shape with the declared inputs, then one with inputs for long sums, then by lot the workloads, and
 * further inputs of those shapes, as many as fit.
 */
function largeChecks(
  request: ChecksRequest,
  { large, workloads, extremes, variants, ordinary, special }: ChosenShapes & ChosenSets,
): Check[] {
  const { problem, seed, isEmulated, launches = () => [] } = request;
  const further = [...ordinary.slice(0, LARGE_SETS), ...special.slice(0, SPECIAL_SETS)];
  const filled = (dimensions: Dimensions, sets: readonly string[]) =>
    sets.map((generatorSet) => ({ dimensions, generatorSet }));
  const [longest, ...otherLongSums] = byLot(
    large.slice(0, 1).flatMap((shape) => filled(shape, variantsForLongSums(variants))),
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
  const declared = large.flatMap((shape) => filled(shape, [DECLARED]));
  let left = isEmulated ? MOST_LARGE_WORK : Number.POSITIVE_INFINITY;
  const first = longest ? [...declared, longest] : declared;
  return [...first, ...byLot(others, seed, 'checks of large shapes')].flatMap((check, i) => {
    const work = Math.max(
      elementsIn(problem, check.dimensions),
      isEmulated ? threadsOf(launches(check.dimensions)) : 0,
    );
    if (work > left) return [];
    left -= work;
    return [
      {
        ...extremeCheck(check.dimensions),
        isLarge: true,
        generatorSet: check.generatorSet,
        multiprocessors: otherGpu(request, extremes.length + i),
      },
    ];
  });
}

/** The largest shapes that a thorough verification may draw on a GPU, on any device: a plan that fails there fails at once, and not by lot. */
export const shapesToPlan = (request: ChecksRequest): Dimensions[] =>
  largestShapes(
    { problem: request.problem, takes: takesShape(request), timed: request.dimensions },
    extremeCost(request.problem, false, 'thorough'),
  );

/** Each shape of a suite that the kernel takes, once with each of the suite's generator sets. */
const suiteChecks = ({ shapes, generators = [DECLARED] }: Suite, takes: (shape: Dimensions) => boolean): Check[] =>
  shapes
    .filter(takes)
    .flatMap((dimensions) => generators.map((generatorSet) => ({ dimensions, generatorSet, ...USUAL, isOnce: true })));

/** The largest shape that costs little, of those that are verified with special values anyway. */
export function shapeForValues(request: ChecksRequest, drawn: readonly Dimensions[]): Dimensions {
  const { problem, dimensions } = request;
  const usual = drawn.filter((shape) => hasSeveralTiles(problem, shape));
  const cheap = [...listedChecks(request).known, ...usual].filter((shape) => costsLittle(problem, shape));
  const sizes = cheap.map((shape) => elementsIn(problem, shape));
  return cheap[sizes.indexOf(Math.max(...sizes))] ?? dimensions;
}

/**
 * The largest cheap shape and a smaller one, where sums have fewer terms and tolerances are tighter; for structured matrices one in which
 * they are square.
 */
function shapesForVariant(request: ChecksRequest, drawn: readonly Dimensions[], generatorSet: string): Dimensions[] {
  const largest = shapeForValues(request, drawn);
  if (needsSquare(generatorSet)) return [squareShape(request, largest) ?? largest];
  const { problem } = request;
  const most = elementsIn(problem, largest) / SMALLER;
  const smaller = drawn
    .filter((shape) => costsLittle(problem, shape) && elementsIn(problem, shape) <= most)
    .toSorted((a, b) => elementsIn(problem, b) - elementsIn(problem, a))[0];
  const shapes = smaller ? [largest, smaller] : [largest];
  return needsEvenSizes(generatorSet) ? shapes.map((shape) => evenShape(request, shape) ?? shape) : shapes;
}

/** So many times fewer elements. */
const SMALLER = 4;

/** Sizes from here on become multiples of this. */
const EVEN = 64;

/** Like this shape, but with large sizes that parts divide; `undefined` if the kernel does not take it. */
function evenShape(request: ChecksRequest, like: Dimensions): Dimensions | undefined {
  const { dimensions } = request.problem;
  const shape = Object.fromEntries(
    Object.entries(like).map(([name, size]) => [
      name,
      size < EVEN || dimensions[name]?.values ? size : size - (size % EVEN),
    ]),
  );
  return takesShape(request)(shape) ? shape : undefined;
}

/** Sides of square matrices: a kernel takes one of them, or none. */
const SIDES = [96, 64, 128, 48, 32, 16] as const;

/** Like this shape, but the last two axes of all inputs, or of one at least, are of one size. */
function squareShape(request: ChecksRequest, like: Dimensions): Dimensions | undefined {
  const { problem } = request;
  const takes = takesShape(request);
  const free = (name: string | number | undefined): name is string =>
    typeof name === 'string' && problem.dimensions[name] !== undefined && !problem.dimensions[name].values;
  const matrices = Object.values(problem.inputs)
    .map(({ shape }) => shape)
    .filter((shape) => shape.length > 1);
  const ofOne = matrices.flatMap((shape) => {
    const [rows, columns] = shape.slice(-2);
    const sides = free(columns) ? SIDES : typeof columns === 'string' && columns in like ? [like[columns]!] : [];
    if (!free(rows)) return [];
    return sides.map((side) => ({ ...like, [rows]: side, ...(free(columns) && { [columns]: side }) }));
  });
  const axes = matrices.flatMap((shape) => shape.slice(-2));
  const ofAll = axes.every(free)
    ? SIDES.map((side) => ({ ...like, ...Object.fromEntries(axes.map((axis) => [axis, side])) }))
    : [];
  const candidates = [...ofAll, ...ofOne];
  return candidates.find((shape) => costsLittle(problem, shape) && takes(shape));
}

/** The problem's check shapes, each once. */
export function shapesOf(problem: ProblemFile): Dimensions[] {
  const shapes = problem.checkShapes.map((shape) => completeDimensions(problem.dimensions, shape.dimensions));
  return [...new Map(shapes.map((shape) => [valuesKey(shape), shape])).values()];
}

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
  const sizes = shapes.map((shape) => elementsIn(problem, shape));
  const largest = shapes[sizes.indexOf(Math.max(...sizes))];
  if (!largest) return [];
  return placements.map((generatorSet) => ({ dimensions: largest, generatorSet, ...USUAL, isOnce: true }));
}

/** By lot; of several that fit, up to half are values in secret places. */
function setsOfMain(
  others: readonly string[],
  { placements, most, seed }: { placements: readonly string[]; most: number; seed: number },
): string[] {
  const inLot = (sets: readonly string[]): string[] => byLot(sets, seed, 'sets of the main workload');
  if (most === 1) return inLot([...others, ...placements]).slice(0, 1);
  const placed = placements.slice(0, Math.floor(most / 2));
  return [...placed, ...inLot(others)].slice(0, most);
}

/**
 * Rows of the greatest length show what only long rows do: a chunk that is left out because its values are small. So the shape with
 * the longest rows gets arranged ones in place of the declared inputs; where tolerances do not bear that, a copy of it with shorter rows gets them, beside its
 * declared inputs. A thorough verification has both in every shape whose rows tolerances bear, and further sets in the longest rows.
 */
function extremeChecks(
  problem: ProblemFile,
  { extremes, middle }: Pick<ChosenShapes, 'extremes' | 'middle'>,
  {
    placements,
    special,
    variants,
    thorough,
    takes,
  }: ChosenSets & { readonly thorough: boolean; readonly takes: (shape: Dimensions) => boolean },
): Check[] {
  const ofLongRows = [...special, ...variantsForLongRows(problem, variants)];
  const arranged = placements.filter((kind) => kind === 'secret:rows');
  const shapes = [...middle, ...extremes];
  const large = shapes.filter((shape) => elementsIn(problem, shape) >= LEAST_ARRANGED);
  const longest = longestOf(problem, large);
  const shorter = longest && shorterToArrange(problem, longest);
  const arrangeable = large.filter((shape) => shorterToArrange(problem, shape) === shape);
  const ofShorter = shorter && shorter !== longest && takes(shorter) ? arranged : [];
  const longestArranged = ofShorter.length > 0 ? undefined : longestOf(problem, arrangeable);
  const ofShapes = shapes.flatMap((shape) => {
    const check = extremeCheck(shape);
    const filled = (sets: readonly string[]): Check[] => sets.map((generatorSet) => ({ ...check, generatorSet }));
    const isArranged = shape === longestArranged && arranged.length > 0;
    if (!thorough) return isArranged ? filled(arranged) : [check];
    const isLarge = isArranged || (arrangeable.includes(shape) && extremes.includes(shape));
    return [check, ...filled([...(isLarge ? arranged : []), ...(shape === longest ? ofLongRows : [])])];
  });
  return [...ofShapes, ...ofShorter.map((generatorSet) => ({ ...extremeCheck(shorter!), generatorSet }))];
}

/** Multiprocessors of GPUs: a part of one, up to more than any has; more than an H200 has in every second shape. */
const MULTIPROCESSORS = { least: 1, many: 133, most: 192 } as const;

/**
 * A kernel whose launches depend on the number of multiprocessors is to be right on other GPUs, too: a number by lot, few as often as many, because a
 * CTA of few has so much to do that its counters end. All CTAs of a cooperative launch must be resident on the device, so it is at most the device's own.
 */
function otherGpu({ kernel, isEmulated, smCount, seed }: ChecksRequest, index: number): number | undefined {
  if (!isEmulated || !JSON.stringify(kernel.steps).includes('device.smCount')) return undefined;
  const { least, many, most } = MULTIPROCESSORS;
  const stream = createStream(seed, 'multiprocessors');
  const isCooperative = launchesOf(kernel.steps).some(({ cooperative }) => cooperative);
  if (isCooperative) return least + (stream.bits(index) % Math.min(smCount ?? 1, most));
  if (index % 2 === 0) return many + (stream.bits(index) % (most - many + 1));
  return Math.floor(least * (many / least) ** stream.uniform(index));
}

/** The shape with the longest rows; of shapes as long, the one with most to compute: a causal mask leaves a lone query one key. */
const longestOf = (problem: ProblemFile, shapes: readonly Dimensions[]): Dimensions | undefined =>
  shapes.toSorted(
    (a, b) =>
      longestRow(problem, b) - longestRow(problem, a) ||
      evaluateExpression(problem.flop, b) - evaluateExpression(problem.flop, a),
  )[0];

/** The shape, or the same with a reduced axis halved until rows are no longer than tolerances bear arranged values. */
function shorterToArrange(problem: ProblemFile, shape: Dimensions): Dimensions {
  if (followsLongSums(problem) || longestRow(problem, shape) <= LONGEST_ARRANGED) return shape;
  const halved = Object.fromEntries(summedOver(problem).map((name) => [name, Math.ceil(shape[name]! / 2)]));
  return Object.keys(halved).length === 0 ? shape : shorterToArrange(problem, { ...shape, ...halved });
}

/** Of a shape whose values are arranged, fewest elements: others are arranged in drawn shapes. */
const LEAST_ARRANGED = 10_000;

/** Longest rows that are arranged where tolerances do not follow long sums: of 14 sorted rows of a million values, serial sums of two were beyond it. */
const LONGEST_ARRANGED = 2 ** 17;

/** How long the axis is that is summed over, as far as the problem says; otherwise the longest row of an input. */
function longestRow(problem: ProblemFile, dimensions: Dimensions): number {
  const summed = summedOver(problem).map((name) => dimensions[name]!);
  const rows = expandBuffers(problem, dimensions)
    .filter(({ role }) => role !== 'out')
    .map(({ shape }) => shape.at(-1) ?? 1);
  return Math.max(...(summed.length > 0 ? summed : rows));
}

/** Generator sets that change some declared input, in a secret order that follows from the seed. */
export const furtherGeneratorSets = (problem: ProblemFile, seed: number): string[] =>
  byLot(otherGeneratorSets(problem), seed, 'generator sets of the main workload');

export const secretSetsInTurn = (problem: ProblemFile, seed: number): SecretKind[] =>
  byLot(secretSetsOf(problem), seed, 'secret sets');

/** In a secret order that follows from the seed. */
export function byLot<T>(all: readonly T[], seed: number, what: string): T[] {
  const stream = createStream(seed, what);
  return all
    .map((one, i) => ({ one, place: stream.bits(i) }))
    .sort((a, b) => a.place - b.place)
    .map(({ one }) => one);
}

function setsThatFit(problem: ProblemFile, dimensions: Dimensions, isEmulated: boolean): number {
  const elements = elementsIn(problem, dimensions);
  const flop = isEmulated ? evaluateExpression(problem.flop, dimensions) : 0;
  return Math.max(
    1,
    Math.floor(
      Math.min(MOST_DRAWN_ELEMENTS / elements, flop > 0 ? MOST_EMULATED_FLOP / flop : Number.POSITIVE_INFINITY),
    ),
  );
}

/** Fewest output elements for repeated launches, so that several warps have work; if no check has as many, fewest elements of the inputs. */
const LEAST_REPEATED_ELEMENTS = 1000;

/**
 * The check whose launches are cheapest to repeat: the one with the fewest operations among those with enough outputs for
 * several warps, or enough inputs, otherwise the one with the most outputs. Not one with a domain's special values, if there is another: NaNs in
 * whole rows look the same whatever else the inputs hold.
 */
export function cheapestToRepeat(problem: ProblemFile, checks: readonly Check[]): Check {
  const whole = checks.filter(({ isOnce, isDrawn }) => !isOnce && !isDrawn);
  const telling = whole.filter(({ generatorSet }) => !isDomainSet(problem, generatorSet));
  const costs = (telling.length > 0 ? telling : whole).map((check) => ({
    check,
    flop: evaluateExpression(problem.flop, check.dimensions),
    elements: outputsOf(expandBuffers(problem, check.dimensions)).reduce(
      (sum, buffer) => sum + elementCountOf(buffer),
      0,
    ),
  }));
  const large = costs.filter(({ elements }) => elements >= LEAST_REPEATED_ELEMENTS);
  const wide = costs.filter(({ check }) => elementsIn(problem, check.dimensions) >= LEAST_REPEATED_ELEMENTS);
  const enough = large.length > 0 ? large : wide;
  const [best] =
    enough.length > 0 ? enough.sort((a, b) => a.flop - b.flop) : costs.sort((a, b) => b.elements - a.elements);
  return best!.check;
}

/**
 * Larger checks for a kernel that may remember earlier launches, or look at its output: it may do so for large inputs only. At the largest listed shape, and at the
 * timed one or, if that takes long, the largest drawn one.
 */
export function checksOfMemory(request: ChecksRequest, drawn: readonly Dimensions[]): Check[] {
  const { problem, dimensions: timed } = request;
  const largestOf = (shapes: readonly Dimensions[]): Dimensions | undefined =>
    shapes
      .filter((shape) => costsLittle(problem, shape))
      .toSorted((a, b) => elementsIn(problem, b) - elementsIn(problem, a))[0];
  const shapes = [largestOf(listedChecks(request).known), costsLittle(problem, timed) ? timed : largestOf(drawn)];
  return shapes
    .filter((shape) => shape !== undefined)
    .map((dimensions) => ({ dimensions, generatorSet: DECLARED, ...USUAL, isDrawn: true, isForMemory: true }));
}

/**
 * Other inputs for a check whose launches are repeated: those of another check of its shape, so that they are drawn only once,
 * or of another seed. Here, too, no special values, and no secret sets, which may first have to be made milder.
 */
export function otherInputs(
  problem: ProblemFile,
  { dimensions, generatorSet }: Check,
  { checks, seed }: { readonly checks: readonly Check[]; readonly seed: number },
): { generatorSet: string; seed: number } {
  const other = checks.find(
    (one) =>
      one.dimensions === dimensions &&
      one.generatorSet !== generatorSet &&
      !isDomainSet(problem, one.generatorSet) &&
      secretSetOf(one.generatorSet) === undefined,
  );
  return other ? { generatorSet: other.generatorSet, seed } : { generatorSet, seed: seed + 1 };
}
