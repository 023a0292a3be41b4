import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import { completeDimensions, isAllowed } from '../../../core/plan/dimensions.ts';
import { expandBuffers } from '../../../core/plan/expand-buffers.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import { belowInOrder, createStream, type Draw, inOrder, shuffle } from '../../../stats/random.ts';
import { outputsOf } from '../reference-runs.ts';
import { rowCount } from '../row-parts.ts';
import { largestBuffer } from './cost.ts';
import { ALIGNMENTS, FOLLOWING_RATIO, openNames } from './drawing.ts';
import type { LargeDraw } from './large.ts';
import { listedByLot } from './listed-by-lot.ts';

/**
 * Elements of the largest buffer. Of fp32, from 2³⁰ on an offset of 32 bits counts its bytes no more, and one with a sign counts those of fp16 no more; the number of an
 * element still fits an `int`, so that no kernel is asked for more than most are made for.
 */
const LARGEST = { least: 1.3 * 2 ** 30, most: 1.9 * 2 ** 30 } as const;

/** Sizes of the first of two dimensions that are large together, and of all others. */
const SIDE = { least: 2 ** 10, most: 2 ** 20 } as const;
const OTHERS = { least: 2, spread: 2 } as const;

/** Floating-point operations of a row of results, which the host computes for some. */
const MOST_FLOP_OF_A_ROW = 2 ** 22;

/** Shapes, each with another largest buffer. */
const MOST_SHAPES = 2;

/** Draws of the sizes of two dimensions, with whole tiles or without. */
const TRIES = 4;

/**
 * Shapes larger than a virtual GPU's memory: two dimensions are large together, at secret sizes, and the others small. Of each buffer that becomes the largest, one shape.
 * Only those are drawn of which the host computes a row of results quickly. `isFit` must not ask whether the device has room.
 */
export function drawBeyondMemory(draw: LargeDraw): Dimensions[] {
  const next = inOrder(createStream(draw.seed, 'shapes beyond memory'));
  const names = openNames(draw.problem);
  const pairs = names.flatMap((first) =>
    names.filter((name) => name !== first).map((second): [string, string] => [first, second]),
  );
  const found = new Map<string, Dimensions>();
  for (const large of shuffle(pairs, belowInOrder(createStream(draw.seed, 'large together')))) {
    if (found.size === MOST_SHAPES) break;
    for (const alignment of ALIGNMENTS.flatMap((one) => new Array<number>(TRIES).fill(one))) {
      const shape = drawOne(draw, large, alignment, next);
      const largest = shape && largestBuffer(draw.problem, shape);
      if (!largest || found.has(largest.name)) continue;
      found.set(largest.name, shape);
      break;
    }
  }
  return [...found.values()];
}

function drawOne(
  { problem, timed, isFit }: LargeDraw,
  [first, second]: readonly [string, string],
  alignment: number,
  next: Draw,
): Dimensions | undefined {
  const { dimensions } = problem;
  const aligned = (size: number): number => Math.ceil(size / alignment) * alignment;
  const listed = listedByLot({ problem, timed, takes: () => true, next });
  // Many kernels take only as many keys as queries, say.
  const follows = next() < FOLLOWING_RATIO;
  const others = Object.entries(dimensions)
    .filter(([, { values, default: follower }]) => values || !follows || follower === undefined)
    .map(([name, { values, minimum = 1 }]) => {
      const small = Math.max(minimum, OTHERS.least + Math.floor(OTHERS.spread * next()));
      return [name, values ? listed[name]! : aligned(small)];
    });
  const side = aligned(Math.round(SIDE.least * (SIDE.most / SIDE.least) ** next()));
  const wanted = LARGEST.least + (LARGEST.most - LARGEST.least) * next();
  // Some dimensions may not be large at all: bins of a histogram.
  const sized = (size: number): Dimensions | undefined => {
    const sizes: Dimensions = { ...Object.fromEntries(others), [first]: side, [second]: size };
    const areAllowed = Object.entries(sizes).every(([name, value]) => isAllowed(dimensions[name]!, value));
    return areAllowed ? completeDimensions(dimensions, sizes) : undefined;
  };
  const least = sized(aligned(SIDE.least));
  const elements = least && largestBuffer(problem, least)?.elements;
  if (elements === undefined) return undefined;
  const shape = sized(aligned(Math.max(1, Math.round((wanted / elements) * aligned(SIDE.least)))));
  return shape && isLargeEnough(problem, shape) && isFit(shape) ? shape : undefined;
}

function isLargeEnough(problem: ProblemFile, shape: Dimensions): boolean {
  const largest = largestBuffer(problem, shape);
  if (!largest || largest.elements < LARGEST.least || largest.elements > LARGEST.most) return false;
  const rows = Math.min(...outputsOf(expandBuffers(problem, shape)).map(rowCount));
  return evaluateExpression(problem.flop, shape) / rows <= MOST_FLOP_OF_A_ROW;
}
