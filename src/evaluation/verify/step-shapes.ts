import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import { parseExpression } from '../../core/expressions/parser.ts';
import { childrenOf, type ExpressionNode } from '../../core/expressions/syntax-tree.ts';
import type { KernelFile } from '../../core/kernel.ts';
import { placedSteps } from '../../core/plan/declared-steps.ts';
import { defaultOf } from '../../core/plan/dimensions.ts';
import type { Scope } from '../../core/plan/scope.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { distinctValues, roundUp } from '../../core/values.ts';
import { createStream, inOrder } from '../../stats/random.ts';
import { ALIGNMENTS, openNames } from '../oracle/shapes/drawing.ts';
import { type Aim, firstFitting, functionsIn, MOST_FORESEEN } from './aimed-shapes.ts';
import { leastWhere } from './irregular-sizes.ts';
import { leastShapeWith } from './least-shape.ts';

export interface StepAim extends Pick<Aim, 'planFor' | 'pool' | 'isFit' | 'drawn' | 'most'> {
  readonly functions: readonly string[];
  /** In how many of the shapes that count every function should be launched: one may be a lucky one. */
  readonly ofEach: number;
  /** Whether a drawn shape counts. */
  readonly counts: (dimensions: Dimensions) => boolean;
}

/** Shapes in which steps run that run in few drawn shapes, because of their `when`. */
export function shapesForSteps(aim: StepAim): Dimensions[] {
  const ran = new Map(aim.functions.map((name) => [name, 0]));
  const launched = (shape: Dimensions): string[] => functionsIn(() => aim.planFor(shape));
  const count = (names: readonly string[]): void => {
    for (const name of names) ran.set(name, (ran.get(name) ?? 0) + 1);
  };
  for (const shape of aim.drawn.filter(aim.counts)) count(launched(shape));
  const missing = new Set(aim.functions.filter((name) => ran.get(name)! < aim.ofEach));
  const chosen: Dimensions[] = [];
  for (const shape of missing.size > 0 ? aim.pool().slice(0, MOST_FORESEEN) : []) {
    if (chosen.length === aim.most) break;
    const names = launched(shape);
    if (!names.some((name) => missing.has(name) && ran.get(name)! < aim.ofEach) || !aim.isFit(shape)) continue;
    chosen.push(shape);
    count(names);
  }
  return chosen;
}

/** What shapes at turns are sought from. */
export interface TurnAim extends Pick<Aim, 'planFor'> {
  readonly problem: ProblemFile;
  readonly timed: Dimensions;
  /** Whether the kernel takes a shape, whatever it costs. */
  readonly takes: (dimensions: Dimensions) => boolean;
}

/** Sizes between which turns are sought, a step from one to the next, how many turns of a dimension are taken, and how many tiles show whether a kernel takes whole ones. */
const TURNS = { most: 2 ** 24, step: 1.25, ofEach: 4, shown: 5 } as const;

/**
 * The last size before other functions are launched, and the first at which they are, whatever the expressions of `when` are: one function ends at 227 KiB less 256 bytes and the next
 * begins beyond 228 KiB, or a third level of a scan is launched one tile late. Launches are only planned. All other sizes are as small as can be.
 */
export function shapesAtTurns({ problem, planFor, timed, takes }: TurnAim): Dimensions[] {
  const shapes = openNames(problem).flatMap((name) => {
    const of = (size: number): Dimensions | undefined => {
      const shape = leastShapeWith(problem, { [name]: size }, timed);
      return shape && takes(shape) ? shape : undefined;
    };
    const { minimum = 1, maximum = TURNS.most } = problem.dimensions[name]!;
    const alignment = ALIGNMENTS.find((one) => of(roundUp(Math.max(minimum, TURNS.shown * one), one)));
    if (alignment === undefined) return [];
    const launchedAt = (tiles: number): string | undefined => {
      const shape = of(tiles * alignment);
      return shape && functionsIn(() => planFor(shape)).join();
    };
    const [least, most] = [Math.ceil(Math.max(1, minimum) / alignment), Math.min(maximum, TURNS.most) / alignment];
    const turns = turnsOf(launchedAt, least, Math.floor(most));
    const beside = turns.flatMap((tiles) => [of(tiles * alignment), of((tiles - 1) * alignment)]);
    return beside.filter((shape) => shape !== undefined).slice(0, 2 * TURNS.ofEach);
  });
  return distinctValues(shapes);
}

/** Numbers that launch something else than the number before; `undefined` is what the kernel does not take. */
function turnsOf(launchedAt: (tiles: number) => string | undefined, least: number, most: number): number[] {
  const turns: number[] = [];
  for (let from = least; from < most; ) {
    const to = Math.min(most, Math.max(from + 1, Math.ceil(from * TURNS.step)));
    const after = launchedAt(to);
    for (let before = launchedAt(from); before !== after; before = launchedAt(from)) {
      from = leastWhere((tiles) => launchedAt(tiles) !== before, from, to);
      turns.push(from);
    }
    from = to;
  }
  return turns;
}

/** What shapes with odd factors are chosen from. */
export interface RaggedAim extends Pick<Aim, 'isFit' | 'drawn' | 'most'> {
  readonly problem: ProblemFile;
  readonly kernel: Pick<KernelFile, 'steps'>;
  readonly timed: Dimensions;
  readonly seed: number;
  /** Names and values of a launch. */
  readonly scopeOf: (dimensions: Dimensions) => Scope;
  /** Whether the kernel takes a shape that costs little. */
  readonly isCheap: (dimensions: Dimensions) => boolean;
}

/** Sizes that are tried: an odd number times a power of two, with several tiles. */
const RAGGED = { tries: 3000, odd: 7, powers: 10, least: 17, most: 1200, ofEach: 2 } as const;

/** How often a dimension is what follows from those before it. */
const FOLLOWING_RATIO = 0.75;

/**
 * Shapes in which the steps are those of whole tiles, because their `when` asks a product or a remainder, and a size is less even than in all
 * drawn shapes with the same steps. `M * N % 4096 == 0` holds at M = 96, N = 128, where tiles of 64 are not whole, and `N == 64 && M % 8 == 0` at M = 72. Only for
 * kernels that ask for a remainder, and for more than one dimension.
 */
export function raggedShapesForSteps(aim: RaggedAim): Dimensions[] {
  const conditions = placedSteps(aim.kernel.steps).flatMap(({ step: { when } }) =>
    typeof when === 'string' && asksForRemainder(aim.problem, when) ? [when] : [],
  );
  if (conditions.length === 0) return [];
  const waysAt = (shape: Dimensions): string => {
    const scope = aim.scopeOf(shape);
    return conditions.map((when) => (evaluateExpression(when, scope) ? 1 : 0)).join('');
  };
  const sizes = openNames(aim.problem);
  const evenness = (shape: Dimensions): number => Math.min(...sizes.map((name) => factorsOfTwo(shape[name]!)));
  const least = new Map<string, number>();
  for (const shape of aim.drawn) {
    const ways = waysAt(shape);
    least.set(ways, Math.min(least.get(ways) ?? Number.POSITIVE_INFINITY, evenness(shape)));
  }
  const found = new Map<string, Dimensions[]>();
  for (const shape of raggedPool(aim, sizes)) {
    const ways = waysAt(shape);
    if (evenness(shape) >= (least.get(ways) ?? Number.POSITIVE_INFINITY)) continue;
    found.set(ways, [...(found.get(ways) ?? []), shape]);
  }
  const isRun = (shape: Dimensions): boolean => aim.isCheap(shape) && aim.isFit(shape);
  return [...found.values()]
    .flatMap((shapes) =>
      firstFitting(
        shapes.sort((a, b) => evenness(a) - evenness(b)),
        isRun,
        RAGGED.ofEach,
      ),
    )
    .slice(0, aim.most);
}

/** `M * N % 4096`, or `N == 64 && M % 8 == 0`: a remainder, and several sizes. */
function asksForRemainder(problem: ProblemFile, when: string): boolean {
  const sizes = new Set(openNames(problem));
  const isOfSize = (node: ExpressionNode): boolean =>
    (node.kind === 'binary' && node.operator === '%' && sizesIn(node, sizes).size > 0) ||
    childrenOf(node).some(isOfSize);
  const condition = parseExpression(when);
  return sizesIn(condition, sizes).size > 1 && isOfSize(condition);
}

const sizesIn = (node: ExpressionNode, sizes: ReadonlySet<string>): Set<string> =>
  new Set([
    ...(node.kind === 'name' && sizes.has(node.name) ? [node.name] : []),
    ...childrenOf(node).flatMap((child) => [...sizesIn(child, sizes)]),
  ]);

const factorsOfTwo = (size: number): number => Math.min(RAGGED.powers, 31 - Math.clz32(size & -size));

/** By lot, sizes even in every degree alike. */
function raggedPool({ problem, timed, seed }: RaggedAim, sizes: readonly string[]): Dimensions[] {
  const next = inOrder(createStream(seed, 'shapes with odd factors'));
  const draw = (): number => (1 + 2 * Math.floor(RAGGED.odd * next())) * 2 ** Math.floor(RAGGED.powers * next());
  return Array.from({ length: RAGGED.tries }, () => {
    const shape: Record<string, number> = {};
    for (const [name, declared] of Object.entries(problem.dimensions)) {
      const follows = typeof declared.default === 'string' && next() < FOLLOWING_RATIO;
      shape[name] = (follows && defaultOf(name, declared, shape)) || (declared.values ? timed[name]! : draw());
    }
    return shape;
  }).filter((shape) => sizes.every((name) => shape[name]! >= RAGGED.least && shape[name]! <= RAGGED.most));
}
