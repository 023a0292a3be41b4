import { evaluateExpression, namesInExpression } from '../../core/expressions/evaluate.ts';
import { parseExpression } from '../../core/expressions/parser.ts';
import { childrenOf, type ExpressionNode } from '../../core/expressions/syntax-tree.ts';
import type { KernelFile } from '../../core/kernel.ts';
import { placedSteps } from '../../core/plan/declared-steps.ts';
import { defaultOf } from '../../core/plan/dimensions.ts';
import type { Scope } from '../../core/plan/scope.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { createStream, inOrder } from '../../stats/random.ts';
import { type Aim, firstFitting, functionsIn, MOST_FORESEEN } from './aimed-shapes.ts';

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
 * drawn shapes with the same steps. `M * N % 4096 == 0` holds at M = 96, N = 128, where tiles of 64 are not whole. Only for kernels that
 * ask for a remainder of more than one dimension.
 */
export function raggedShapesForSteps(aim: RaggedAim): Dimensions[] {
  const conditions = placedSteps(aim.kernel.steps).flatMap(({ step: { when } }) =>
    typeof when === 'string' && asksForJointRemainder(aim.problem, when) ? [when] : [],
  );
  if (conditions.length === 0) return [];
  const waysAt = (shape: Dimensions): string => {
    const scope = aim.scopeOf(shape);
    return conditions.map((when) => (evaluateExpression(when, scope) ? 1 : 0)).join('');
  };
  const sizes = sizesOf(aim.problem);
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

const sizesOf = ({ dimensions }: ProblemFile): string[] =>
  Object.keys(dimensions).filter((name) => !dimensions[name]!.values);

/** `M * N % 4096`: a remainder of several sizes at once. */
function asksForJointRemainder(problem: ProblemFile, when: string): boolean {
  const sizes = new Set(sizesOf(problem));
  const isJoint = (node: ExpressionNode): boolean =>
    (node.kind === 'binary' && node.operator === '%' && sizesIn(node, sizes).size > 1) ||
    childrenOf(node).some(isJoint);
  return namesInExpression(when).length > 1 && isJoint(parseExpression(when));
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
