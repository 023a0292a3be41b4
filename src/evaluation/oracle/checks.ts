import { isFloating } from '../../core/dtype.ts';
import type { Coverage } from '../../core/evaluation.ts';
import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { KernelFile, ParameterValues } from '../../core/kernel.ts';
import { type Dim3, GRID_LIMITS, type PlannedLaunch } from '../../core/launch-plan.ts';
import { launchesOf } from '../../core/plan/declared-steps.ts';
import { completeDimensions, isShapeOf } from '../../core/plan/dimensions.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import { generatorSetsOf, isDomainSet } from '../../core/plan/generator-sets.ts';
import { failedLimit } from '../../core/plan/limits.ts';
import { failedConstraint } from '../../core/plan/parameters.ts';
import type { Dimensions, Generator, ProblemFile } from '../../core/problem.ts';
import type { Suite } from '../../core/suites.ts';
import { assignments, valuesKey } from '../../core/values.ts';
import { createStream } from '../../stats/random.ts';
import { elementCountOf } from '../launches/layout.ts';
import {
  type Cost,
  costsLittle,
  drawShapes,
  hasSeveralTiles,
  isWithin,
  largestShapes,
  middleShapes,
  shapesAround,
  shapesAtPowers,
  wideShapes,
} from './drawn-shapes.ts';
import { followsLongSums, largeShapes, summedOver } from './large-shapes.ts';
import { drawOptions } from './option-shapes.ts';
import { drawPartlyAligned } from './partly-aligned-shapes.ts';
import { comparisonOf, outputsOf } from './reference-runs.ts';
import { isPlacement, type SecretKind, secretSetOf, secretSetsOf, variantSetsOf } from './secret-sets.ts';
import { needsSquare, variantsForLongRows, variantsForLongSums } from './secret-variants.ts';

/** Name of the generator set in which every input uses its own declared generator. */
export const DECLARED = 'declared';

/** One binding of the dimensions with one way to fill the inputs. */
export interface Check {
  readonly dimensions: Dimensions;
  readonly generatorSet: string;
  /** The workload that is also counted and timed. */
  readonly isMain: boolean;
  /** Run once, and compared in some rows if the whole reference takes long. Otherwise run twice and compared whole. */
  readonly isOnce: boolean;
  /** Of a shape that the seed chose. */
  readonly isDrawn: boolean;
  /** With one dimension much larger than in all others, or all as small as can be; looks at sizes, not at inputs. */
  readonly isExtreme?: boolean;
  /** As large as users' own: a kernel may take longer for it than a simulator has. */
  readonly isLarge?: boolean;
  /** Virtual devices: planned for a GPU with so many multiprocessors, because grids depend on their number. */
  readonly multiprocessors?: number | undefined;
  /** Launches are repeated over earlier results, those of a kernel with a memory with inputs that resemble one another. */
  readonly isForMemory?: boolean;
}

/** All generator sets a problem names; the declared generators when it names none. */
export function generatorSetNames(problem: ProblemFile): string[] {
  const names = Object.keys(generatorSetsOf(problem));
  return names.length > 0 ? names : [DECLARED];
}

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

const NORMAL: Generator = { kind: 'normal' };

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

/** In how many dimensions, at most, a shape is drawn that is much larger than all others. */
const EXTREME_SHAPES = { usual: 2, thorough: 8 } as const;

/**
 * What such a shape may cost: on a virtual GPU some tenths of a second, a second in a thorough verification; on a GPU the
 * host's share is the same, and drawing and comparing elements is cheap.
 */
const EXTREME_COST = {
  emulated: { usual: { flop: 2e7, elements: 3e5 }, thorough: { flop: 4e8, elements: 2 ** 23 } },
  measured: { usual: { flop: 2e8, elements: 2 ** 22 }, thorough: { flop: 1e9, elements: 2 ** 24 } },
} as const;
/** Elements of a shape of a problem with one size, where there are few such shapes: one beyond 2²⁰, of two tensors. */
const LEAST_ELEMENTS_OF_ONE_SIZE = 2.2 * 2 ** 20;

function extremeCost(problem: ProblemFile, isEmulated: boolean, extent: 'usual' | 'thorough'): Cost {
  const { flop, elements } = EXTREME_COST[isEmulated ? 'emulated' : 'measured'][extent];
  return { flop, elements: hasOneSize(problem) ? Math.max(elements, LEAST_ELEMENTS_OF_ONE_SIZE) : elements };
}

const hasOneSize = ({ dimensions }: ProblemFile): boolean =>
  Object.values(dimensions).filter(({ values }) => !values).length <= 1;

/**
 * Most threads of a launch sequence for a shape beyond all others. Beyond 65,535 a CPU runs for up to a second where each
 * thread does little; where only 8 bits overflow, a tenth of that shows as much. More where a grid ends at what the hardware
 * allows, so that the kernel has to do the rest some other way.
 */
const MOST_EMULATED_THREADS = {
  usual: { beyond16Bits: 2 ** 21, otherwise: 2 ** 17 },
  // Of one size, and where the kernel's own conditions ask for it: a warp for each of 65,536 rows, two threads for each of 2²⁰ elements.
  ample: { beyond16Bits: 2 ** 21 + 2 ** 18, otherwise: 2 ** 19 },
  endedGrid: 2 ** 25,
  // Of a thorough verification, once.
  large: 2 ** 25,
} as const;

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

/** What checks are chosen for. */
export interface ChecksRequest {
  readonly problem: ProblemFile;
  readonly kernel: KernelFile;
  readonly parameters: ParameterValues;
  /** The main workload's. */
  readonly dimensions: Dimensions;
  readonly seed: number;
  readonly thorough?: boolean;
  /** Whether shapes as large as users' own are among them. */
  readonly large?: boolean;
  readonly suites?: readonly Suite[] | undefined;
  /** Whether a CPU runs the kernels. Then fewer generator sets fit for a large timed workload. */
  readonly isEmulated?: boolean;
  /** Multiprocessors of the device. */
  readonly smCount?: number;
  /**
   * Whether the device has room for the launches at these dimensions. Otherwise the shape is skipped, as if a limit
   * excluded it.
   */
  readonly fits?: (dimensions: Dimensions) => boolean;
  /** The launches at these dimensions; none if the plan has a mistake, which is reported elsewhere. */
  readonly launches?: (dimensions: Dimensions) => readonly Pick<PlannedLaunch, 'grid' | 'block'>[];
}

type KernelTaking = Pick<ChecksRequest, 'problem' | 'kernel' | 'parameters' | 'fits'>;

/** Whether dimensions are a shape of the problem, and the kernel takes them. */
const takesShape =
  ({ problem, kernel, parameters, fits = () => true }: KernelTaking) =>
  (shape: Dimensions): boolean =>
    isShapeOf(problem, shape) &&
    failedLimit(kernel, shape) === undefined &&
    failedConstraint(kernel, parameters, shape) === undefined &&
    fits(shape);

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
    ...extremeChecks(problem, shapes, { ...sets, thorough }).map((check, i) => ({
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

/** Of a drawn shape, run once. */
export const onceAt = (dimensions: Dimensions, generatorSet: string): Check => ({
  ...{ dimensions, generatorSet, ...USUAL, isOnce: true, isDrawn: true },
});

/** The shapes of these checks, each once. */
const shapesIn = (checks: readonly Check[]): Dimensions[] => [
  ...new Map(checks.map(({ dimensions }) => [valuesKey(dimensions), dimensions])).values(),
];

/** Threads of launches, or elements, of all checks of shapes as large as users' own together, where a CPU runs them: some 20 s. */
const MOST_LARGE_WORK = 2 ** 26;

/**
 * Checks of shapes as large as users' own: each drawn shape with the declared inputs, then by lot the workloads, and further inputs of
 * those shapes, as many as fit.
 */
function largeChecks(
  request: ChecksRequest,
  { large, workloads, extremes, variants, ordinary, special }: ChosenShapes & ChosenSets,
): Check[] {
  const { problem, seed, isEmulated, launches = () => [] } = request;
  const further = [...ordinary.slice(0, LARGE_SETS), ...special.slice(0, SPECIAL_SETS)];
  const filled = (dimensions: Dimensions, sets: readonly string[]) =>
    sets.map((generatorSet) => ({ dimensions, generatorSet }));
  const others = [
    ...workloads.flatMap((shape) => filled(shape, [DECLARED])),
    ...large.slice(0, 1).flatMap((shape) => filled(shape, variantsForLongSums(variants))),
    ...large.flatMap((shape, i) =>
      filled(
        shape,
        further.filter((_, place) => place % large.length === i),
      ),
    ),
  ];
  const declared = large.flatMap((shape) => filled(shape, [DECLARED]));
  let left = isEmulated ? MOST_LARGE_WORK : Number.POSITIVE_INFINITY;
  return [...declared, ...byLot(others, seed, 'checks of large shapes')].flatMap((check, i) => {
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

/** Most sizes of the kernel's own numbers that shapes are drawn beside. */
const MOST_SIZES = 12;

/** Shapes for conditions of the kernel's own code that went one way in all others. */
export interface ShapesForConditions {
  /**
   * In a secret order; `ample` ones have several tiles of every dimension; `dear` ones take some seconds, ragged and cheap ones
   * first.
   */
  readonly cheap: () => readonly Dimensions[];
  readonly ample: () => readonly Dimensions[];
  readonly dear: () => readonly Dimensions[];
  /** Ample ones, then other cheap ones, with listed values in every combination. */
  readonly varied: () => readonly Dimensions[];
  /** Whether the kernel takes a shape, and a CPU runs and judges it in little time. Not asked for all, because it plans launches. */
  readonly isFit: (dimensions: Dimensions) => boolean;
  readonly checksAt: (dimensions: Dimensions) => Check[];
  /** Whether the kernel takes a shape that takes a host milliseconds. */
  readonly isCheap: (dimensions: Dimensions) => boolean;
  /** Sizes beside those of the code. */
  readonly sizes: readonly number[];
  /** Cheap shapes with a dimension of one of these sizes, large ones first; `whole`: as dear as a thorough verification allows. */
  readonly poolAround: (sizes: readonly number[], extent?: 'cheap' | 'whole') => readonly Dimensions[];
  /** @param isUntimed it takes another path than the timed shape; `untimed` such shapes come before it. */
  readonly checksAtThreshold: (dimensions: Dimensions, isUntimed: boolean, untimed: number) => Check[];
}

const MOST_VARIED = 150;

/** How many shapes whose path the timed shape does not take run with every generator set. */
const WHOLE_UNTIMED = 3;

/** A shape drawn for a condition with so few elements, of which one draw shows little, runs with every generator set of the problem. */
const FEW_ELEMENTS = 1000;

/** @param constants whole numbers of the kernel's code. */
export function shapesForConditions(request: ChecksRequest, constants: readonly number[]): ShapesForConditions {
  const { problem, dimensions: timed, seed } = request;
  const above = createStream(seed, 'sizes above those of the code');
  const sizes = byLot(constants, seed, 'sizes of the code')
    .slice(0, MOST_SIZES)
    .flatMap((size, i) => [
      size - 1,
      size,
      size + 1,
      size + 2 + (above.bits(i) % Math.ceil(size / 8)),
      2 * size - 1,
      2 * size + 1,
    ]);
  const [usual, dear] = [extremeCost(problem, true, 'usual'), extremeCost(problem, true, 'thorough')];
  const takes = takesShape({ ...request, fits: undefined });
  const takesWhole = takesShape(request);
  const known = shapesOf(problem).filter(takes);
  let drawn: Dimensions[] | undefined;
  const all = (): Dimensions[] => (drawn ??= shapesAround({ problem, timed, seed, takes, most: dear }, sizes));
  const isCheap = (shape: Dimensions): boolean => isWithin(usual, problem, shape, 1);
  const lot = createStream(seed, 'listed values of shapes for steps');
  const vary = (shape: Dimensions, index: number): Dimensions => {
    const listed = Object.entries(problem.dimensions).flatMap(([name, { values }], i) =>
      values ? [[name, values[lot.bits(16 * index + i) % values.length]!] as const] : [],
    );
    return { ...shape, ...Object.fromEntries(listed) };
  };
  const secrets = secretSetsInTurn(problem, seed);
  const placements = secrets.filter(isPlacement);
  const allSets = [...furtherGeneratorSets(problem, seed), ...secrets];
  return {
    isCheap: (shape) => takes(shape) && costsLittle(problem, shape),
    sizes,
    cheap: () => all().filter((shape) => isCheap(shape) && !hasSeveralTiles(problem, shape)),
    ample: () => all().filter((shape) => isCheap(shape) && hasSeveralTiles(problem, shape)),
    varied: () => {
      const few = all().filter(isCheap);
      const [several, others] = [true, false].map((isAmple) =>
        few.filter((shape) => hasSeveralTiles(problem, shape) === isAmple).slice(0, MOST_VARIED),
      ) as [Dimensions[], Dimensions[]];
      return [...several, ...others].map(vary).filter((shape) => isCheap(shape) && takes(shape));
    },
    dear: () =>
      all()
        .filter((shape) => !isCheap(shape))
        .sort(
          (a, b) =>
            wholeTilesIn(problem, a) - wholeTilesIn(problem, b) || elementsIn(problem, a) - elementsIn(problem, b),
        ),
    isFit: (shape) =>
      takesWhole(shape) && isQuickToRun(request, shape, 'ample') && canJudgeSums(problem, shape, [timed, ...known]),
    checksAt: (dimensions) => {
      if (!costsLittle(problem, dimensions)) return [extremeCheck(dimensions)];
      const further = elementsIn(problem, dimensions) <= FEW_ELEMENTS ? furtherGeneratorSets(problem, seed) : [];
      return [DECLARED, ...placements.slice(0, 1), ...further].map((generatorSet) => onceAt(dimensions, generatorSet));
    },
    poolAround: (around, extent = 'cheap') =>
      shapesAround({ problem, timed, seed, takes, most: extent === 'whole' ? dear : usual }, around, 0).sort(
        (a, b) => elementsIn(problem, b) - elementsIn(problem, a),
      ),
    checksAtThreshold: (dimensions, isUntimed, untimed) => {
      if (!costsLittle(problem, dimensions)) return [extremeCheck(dimensions)];
      const check = { dimensions, ...USUAL, isDrawn: true };
      const further = isUntimed && untimed < WHOLE_UNTIMED ? allSets : placements.slice(0, 1);
      return [
        { ...check, generatorSet: DECLARED },
        ...further.map((generatorSet) => ({ ...check, generatorSet, isOnce: true })),
      ];
    },
  };
}

/** Dimensions that are a number of whole tiles. */
const wholeTilesIn = ({ dimensions }: ProblemFile, shape: Dimensions): number =>
  Object.keys(dimensions).filter((name) => shape[name]! >= USUAL_TILE && shape[name]! % USUAL_TILE === 0).length;

const USUAL_TILE = 16;

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
  return smaller ? [largest, smaller] : [largest];
}

/** So many times fewer elements. */
const SMALLER = 4;

/** Sides of square matrices: a kernel takes one of them, or none. */
const SIDES = [96, 64, 128, 48, 32, 16] as const;

/** Like this shape, but the last two axes of an input are of one size. */
function squareShape(request: ChecksRequest, like: Dimensions): Dimensions | undefined {
  const { problem } = request;
  const takes = takesShape(request);
  const free = (name: string | number | undefined): name is string =>
    typeof name === 'string' && problem.dimensions[name] !== undefined && !problem.dimensions[name].values;
  const candidates = Object.values(problem.inputs).flatMap(({ shape }) => {
    const [rows, columns] = shape.slice(-2);
    const sides = free(columns) ? SIDES : typeof columns === 'string' && columns in like ? [like[columns]!] : [];
    if (shape.length < 2 || !free(rows)) return [];
    return sides.map((side) => ({ ...like, [rows]: side, ...(free(columns) && { [columns]: side }) }));
  });
  return candidates.find((shape) => costsLittle(problem, shape) && takes(shape));
}

const mostEmulatedThreads = (shape: Dimensions, extent: 'usual' | 'ample'): number =>
  MOST_EMULATED_THREADS[extent][Object.values(shape).some((size) => size >= 2 ** 16) ? 'beyond16Bits' : 'otherwise'];

/** The problem's check shapes, each once. */
function shapesOf(problem: ProblemFile): Dimensions[] {
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

const extremeCheck = (dimensions: Dimensions): Check => ({ ...onceAt(dimensions, DECLARED), isExtreme: true });

/**
 * Rows of the greatest length show what only long rows do: a chunk that is left out because its values are small. So the shape with
 * the longest rows gets arranged ones in place of the declared inputs; a thorough verification has both, in every such shape, and further
 * sets in the longest rows.
 */
function extremeChecks(
  problem: ProblemFile,
  { extremes, middle }: Pick<ChosenShapes, 'extremes' | 'middle'>,
  { placements, special, variants, thorough }: ChosenSets & { readonly thorough: boolean },
): Check[] {
  const further = [...special, ...variantsForLongRows(problem, variants)];
  const arranged = placements.filter((kind) => kind === 'secret:rows');
  const shapes = [...middle, ...extremes];
  const large = shapes.filter((shape) => elementsIn(problem, shape) >= LEAST_ARRANGED);
  // Of shapes as long, the one with most to compute: a causal mask leaves a lone query one key.
  const longest = large.toSorted(
    (a, b) =>
      longestRow(problem, b) - longestRow(problem, a) ||
      evaluateExpression(problem.flop, b) - evaluateExpression(problem.flop, a),
  )[0];
  return shapes.flatMap((shape) => {
    const check = extremeCheck(shape);
    const filled = (sets: readonly string[]): Check[] => sets.map((generatorSet) => ({ ...check, generatorSet }));
    if (shape === longest && thorough) return [check, ...filled([...arranged, ...further])];
    if (shape === longest && arranged.length > 0) return filled(arranged);
    return thorough && large.includes(shape) && extremes.includes(shape) ? [check, ...filled(arranged)] : [check];
  });
}

/** Multiprocessors of GPUs: a part of one, up to more than any has. */
const MULTIPROCESSORS = { least: 1, most: 192 } as const;

/**
 * A kernel whose launches depend on the number of multiprocessors is to be right on other GPUs, too: a number by lot. All CTAs of a
 * cooperative launch must be resident on the device, so it is at most the device's own.
 */
function otherGpu({ kernel, isEmulated, smCount, seed }: ChecksRequest, index: number): number | undefined {
  if (!isEmulated || !JSON.stringify(kernel.steps).includes('device.smCount')) return undefined;
  const { least } = MULTIPROCESSORS;
  const isCooperative = launchesOf(kernel.steps).some(({ cooperative }) => cooperative);
  const most = isCooperative ? Math.min(smCount ?? least, MULTIPROCESSORS.most) : MULTIPROCESSORS.most;
  return least + (createStream(seed, 'multiprocessors').bits(index) % (most - least + 1));
}

/** Of a shape whose values are arranged, fewest elements: others are arranged in drawn shapes. */
const LEAST_ARRANGED = 10_000;

/** How long the axis is that is summed over, as far as the problem says; otherwise the longest row of an input. */
function longestRow(problem: ProblemFile, dimensions: Dimensions): number {
  const summed = summedOver(problem).map((name) => dimensions[name]!);
  const rows = expandBuffers(problem, dimensions)
    .filter(({ role }) => role !== 'out')
    .map(({ shape }) => shape.at(-1) ?? 1);
  return Math.max(...(summed.length > 0 ? summed : rows));
}

/** Whether a CPU runs the launches in little time; always on a GPU. */
function isQuickToRun(
  { isEmulated, launches = () => [] }: ChecksRequest,
  shape: Dimensions,
  extent: 'usual' | 'ample' = 'usual',
): boolean {
  if (!isEmulated) return true;
  const all = launches(shape);
  const isEnded = all.some(({ grid }) => grid.includes(GRID_LIMITS[1]));
  return threadsOf(all) <= (isEnded ? MOST_EMULATED_THREADS.endedGrid : mostEmulatedThreads(shape, extent));
}

/** Threads of all of these launches. */
export const threadsOf = (launches: readonly Pick<PlannedLaunch, 'grid' | 'block'>[]): number =>
  launches.reduce((sum, { grid, block }) => sum + volumeOf(grid) * volumeOf(block), 0);

const volumeOf = ([x, y, z]: Dim3): number => x * y * z;

/** Sums of so many terms are judged although they are longer than all others, and no longer ones of an unknown length. */
const LONG_SUM = 2 ** 17;

/**
 * Whether a tolerance holds for honest kernels where sums get longer than in the other shapes. Beside a large dimension the
 * others are as small as 1, so that a sum over indices may have equal terms, whose rounding errors add up beyond any
 * tolerance. Where a comparison does not name the terms, the tolerance does not grow with them; and where it grows with their root only, tensor
 * cores, which cut off what does not fit, were beyond it at a million terms.
 */
function canJudgeSums(problem: ProblemFile, shape: Dimensions, others: readonly Dimensions[]): boolean {
  const longest = Math.max(...others.map((other) => longestSum(problem, other)));
  if (longestSum(problem, shape) > longest && !isContinuous(problem)) return false;
  if (followsLongSums(problem)) return true;
  return (namesItsTerms(problem) ? longestSum(problem, shape) : longestReduced(problem, shape)) <= LONG_SUM;
}

/** The largest dimension that is summed over, as far as the problem says; otherwise the largest of all. */
function longestReduced(problem: ProblemFile, shape: Dimensions): number {
  const summed = summedOver(problem);
  return Math.max(...(summed.length > 0 ? summed.map((name) => shape[name]!) : Object.values(shape)));
}

/** Whether every input holds numbers of a distribution that rarely repeats one. */
const isContinuous = ({ inputs }: ProblemFile): boolean =>
  Object.values(inputs).every(({ dtype, generator = NORMAL }) => isFloating(dtype) && CONTINUOUS.has(generator.kind));

const CONTINUOUS: ReadonlySet<string> = new Set(['normal', 'uniform', 'positive']);

const comparisonsOf = (problem: ProblemFile) =>
  Object.keys({ ...problem.inputs, ...problem.outputs }).map((name) => comparisonOf(problem, name));

/** Whether every comparison is exact or names the terms of its sums. */
const namesItsTerms = (problem: ProblemFile): boolean =>
  comparisonsOf(problem).every(
    (comparison) => comparison.kind === 'exact' || ('terms' in comparison && comparison.terms !== undefined),
  );

/** The most terms that a comparison names at these dimensions. */
const longestSum = (problem: ProblemFile, dimensions: Dimensions): number =>
  Math.max(
    ...comparisonsOf(problem)
      .map((comparison) => ('terms' in comparison && comparison.terms !== undefined ? comparison.terms : 0))
      .map((terms) => evaluateExpression(terms, dimensions)),
  );

/** Generator sets that change some declared input, in a secret order that follows from the seed. */
export const furtherGeneratorSets = (problem: ProblemFile, seed: number): string[] =>
  byLot(otherGeneratorSets(problem), seed, 'generator sets of the main workload');

const secretSetsInTurn = (problem: ProblemFile, seed: number): SecretKind[] =>
  byLot(secretSetsOf(problem), seed, 'secret sets');

/** In a secret order that follows from the seed. */
function byLot<T>(all: readonly T[], seed: number, what: string): T[] {
  const stream = createStream(seed, what);
  return all
    .map((one, i) => ({ one, place: stream.bits(i) }))
    .sort((a, b) => a.place - b.place)
    .map(({ one }) => one);
}

/** Elements of all inputs. */
const elementsIn = (problem: ProblemFile, dimensions: Dimensions): number =>
  expandBuffers(problem, dimensions)
    .filter(({ role }) => role !== 'out')
    .reduce((sum, buffer) => sum + elementCountOf(buffer), 0);

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

/** Fewest output elements for repeated launches, so that several warps have work. */
const LEAST_REPEATED_ELEMENTS = 1000;

/**
 * The check whose launches are cheapest to repeat: the one with the fewest operations among those with enough outputs for
 * several warps, otherwise the one with the most outputs. Not one with a domain's special values, if there is another: NaNs in
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
  const [best] =
    large.length > 0 ? large.sort((a, b) => a.flop - b.flop) : costs.sort((a, b) => b.elements - a.elements);
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

/** e.g. `B=1, S=113, D=64, causal=1 · large`. */
export const describeCheck = ({
  dimensions,
  generatorSet,
  multiprocessors,
}: Pick<Check, 'dimensions' | 'generatorSet' | 'multiprocessors'>): string =>
  [
    assignments(dimensions).join(', '),
    `${generatorSet} inputs`,
    ...(multiprocessors === undefined ? [] : [`${multiprocessors} multiprocessors`]),
  ].join(' · ');
