import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import { completeDimensions } from '../../core/plan/dimensions.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { valuesKey } from '../../core/values.ts';
import { createStream, shuffle } from '../../stats/random.ts';
import { ALIGNMENTS, type Cost, elementsOf, isWithin } from './drawn-shapes.ts';

/** What shapes are drawn from that are as large as users' own. */
export interface FarDraw {
  readonly problem: ProblemFile;
  /** The main workload's. */
  readonly timed: Dimensions;
  /** Whether the kernel takes a shape, its sums can be judged, and it is run in some seconds. */
  readonly isFit: (dimensions: Dimensions) => boolean;
  readonly seed: number;
}

/**
 * Largest shape, and all of them together: some ten seconds of a CPU that runs the kernel, too. Above 2²⁴ elements counters in fp32 and
 * grids of 1,024 × 1,024 threads end, and persistent CTAs have several rounds.
 */
const MOST: Cost = { flop: 1e9, elements: 2 ** 25.5 };
const MOST_TOGETHER: Cost = { flop: 2e9, elements: 2 ** 26.5 };

/** Just above 2²⁴ places, in shapes of two dimensions: one is up to 4,096, the other one what remains. */
const FAR = { least: 2 ** 24, spread: 1 / 8, mostBeside: 4096, shapes: 2, tries: 8 } as const;

/**
 * Shapes as large as users' own that are still verified: two far beyond all others, and the problem's other workloads, as many as fit, by
 * lot.
 */
export function farShapes(draw: FarDraw): Dimensions[] {
  const { problem, timed, isFit, seed } = draw;
  const stream = createStream(seed, 'order of workloads');
  let place = 0;
  const workloads = problem.workloads.map(({ dimensions }) => completeDimensions(problem.dimensions, dimensions));
  const others = [...new Map(workloads.map((shape) => [valuesKey(shape), shape])).values()].filter(
    (shape) => valuesKey(shape) !== valuesKey(timed),
  );
  const inLot = shuffle(others, (bound) => stream.bits(place++) % bound);
  let left = MOST_TOGETHER;
  const chosen: Dimensions[] = [];
  for (const shape of [...beyondAll(draw), ...inLot]) {
    if (!isWithin(MOST, problem, shape, 1) || !isWithin(left, problem, shape, 1) || !isFit(shape)) continue;
    chosen.push(shape);
    left = {
      flop: left.flop - evaluateExpression(problem.flop, shape),
      elements: left.elements - elementsOf(problem, shape),
    };
  }
  return chosen;
}

/** One with most of its elements along one dimension for each of two dimensions, by lot; none where that is too dear. */
function beyondAll({ problem, timed, isFit, seed }: FarDraw): Dimensions[] {
  const stream = createStream(seed, 'shapes beyond all others');
  let index = 0;
  const next = (): number => stream.uniform(index++);
  const sizes = Object.keys(problem.dimensions).filter((name) => !problem.dimensions[name]!.values);
  const inTurn = shuffle(sizes, (bound) => Math.floor(next() * bound));
  const draw = (first: string, alignment: number): Dimensions => {
    const aligned = (size: number): number => Math.ceil(size / alignment) * alignment;
    const others = inTurn.filter((name) => name !== first);
    const second = others[Math.floor(next() * others.length)];
    const whole = FAR.least * (1 + FAR.spread * next());
    const beside = second === undefined ? 1 : aligned(Math.floor(FAR.mostBeside ** next()));
    const least = Object.entries(problem.dimensions).map(([name, { values, minimum = 1 }]) => [
      name,
      values ? timed[name]! : aligned(Math.max(1, minimum)),
    ]);
    const large = { [first]: aligned(Math.floor(whole / beside) + 1), ...(second && { [second]: beside }) };
    return { ...Object.fromEntries(least), ...large };
  };
  return inTurn.slice(0, FAR.shapes).flatMap((first) => {
    for (const alignment of ALIGNMENTS) {
      for (let attempt = 0; attempt < FAR.tries; attempt++) {
        const shape = draw(first, alignment);
        if (isWithin(MOST, problem, shape, 1) && isFit(shape)) return [shape];
      }
    }
    return [];
  });
}
