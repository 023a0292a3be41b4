import { isDomainSet } from '../../../core/plan/generator-sets.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import { byLot, createStream } from '../../../stats/random.ts';
import { type Check, DECLARED, extremeCheck, onceAt, USUAL } from '../check.ts';
import { canJudgeSums } from '../judgeable-sums.ts';
import { isPlacement } from '../secret/secret-set.ts';
import { shapesAround } from '../shapes/around.ts';
import { type Cost, costsLittle, elementsIn, isWithin, SMALL_COST } from '../shapes/cost.ts';
import { hasSeveralTiles } from '../shapes/drawing.ts';
import { shapesOf } from './listed.ts';
import { type ChecksRequest, extremeCost, isQuickToRun, takesShape } from './request.ts';
import { furtherGeneratorSets, secretSetsInTurn } from './sets.ts';

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
  /** The same with so many threads as a few shapes may have. */
  readonly isFitWithMoreThreads: (dimensions: Dimensions) => boolean;
  readonly checksAt: (dimensions: Dimensions) => Check[];
  /** Whether the kernel takes a shape that takes a host milliseconds; some tens of them in a thorough verification. */
  readonly isCheap: (dimensions: Dimensions) => boolean;
  /** Sizes beside those of the code. */
  readonly sizes: readonly number[];
  /** Cheap shapes with a dimension of one of these sizes, large ones first; `whole`: as dear as a thorough verification allows. */
  readonly poolAround: (sizes: readonly number[], extent?: 'cheap' | 'whole') => readonly Dimensions[];
  /** @param isUntimed it takes another path than the timed shape; `untimed` such shapes come before it. */
  readonly checksAtThreshold: (dimensions: Dimensions, isUntimed: boolean, untimed: number) => Check[];
}

const MOST_VARIED = 150;

/** Sets with special values of a domain that dear shapes of another path get. */
const SPECIAL_SETS = 2;

/** How many shapes whose path the timed shape does not take run with every generator set. */
const WHOLE_UNTIMED = 3;

/** Of a shape of a thorough verification in which conditions come together: some ten milliseconds. */
export const SOME_COST: Cost = { flop: 5e7, elements: 2 ** 20 };

/** A shape drawn for a condition with so few elements, of which one draw shows little, runs with every generator set of the problem. */
const FEW_ELEMENTS = { usual: 1000, thorough: 8192 } as const;

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
  const isCheap = (shape: Dimensions): boolean => isWithin(usual, problem, shape);
  const isFitWithin = (extent: 'ample' | 'wide', shape: Dimensions): boolean =>
    takesWhole(shape) && isQuickToRun(request, shape, extent) && canJudgeSums(problem, shape, [timed, ...known]);
  const lot = createStream(seed, 'listed values of shapes for steps');
  const vary = (shape: Dimensions, index: number): Dimensions => {
    const listed = Object.entries(problem.dimensions).flatMap(([name, { values }], i) =>
      values ? [[name, values[lot.bits(16 * index + i) % values.length]!] as const] : [],
    );
    return { ...shape, ...Object.fromEntries(listed) };
  };
  const secrets = secretSetsInTurn(problem, seed);
  const placements = secrets.filter(isPlacement);
  // What is left out beyond a threshold is often a few elements of a row, which weigh little among those of the declared inputs.
  const arranged = request.thorough ? secrets.filter((kind) => kind === 'secret:rows') : [];
  // Another way to add up may make NaN of an infinity.
  const special = request.thorough
    ? furtherGeneratorSets(problem, seed)
        .filter((set) => isDomainSet(problem, set))
        .slice(0, SPECIAL_SETS)
    : [];
  const allSets = [...furtherGeneratorSets(problem, seed), ...secrets];
  return {
    isCheap: (shape) => takes(shape) && isWithin(request.thorough ? SOME_COST : SMALL_COST, problem, shape),
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
    isFit: (shape) => isFitWithin('ample', shape),
    isFitWithMoreThreads: (shape) => isFitWithin('wide', shape),
    checksAt: (dimensions) => {
      if (!costsLittle(problem, dimensions)) return [extremeCheck(dimensions)];
      const further =
        elementsIn(problem, dimensions) <= FEW_ELEMENTS[request.thorough ? 'thorough' : 'usual']
          ? furtherGeneratorSets(problem, seed)
          : [];
      return [DECLARED, ...placements.slice(0, 1), ...further].map((generatorSet) => onceAt(dimensions, generatorSet));
    },
    poolAround: (around, extent = 'cheap') =>
      shapesAround({ problem, timed, seed, takes, most: extent === 'whole' ? dear : usual }, around, 0).sort(
        (a, b) => elementsIn(problem, b) - elementsIn(problem, a),
      ),
    checksAtThreshold: (dimensions, isUntimed, untimed) => {
      if (!costsLittle(problem, dimensions))
        return [DECLARED, ...arranged, ...(isUntimed ? special : [])].map((generatorSet) => ({
          ...extremeCheck(dimensions),
          generatorSet,
        }));
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
