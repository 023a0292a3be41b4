import { parseExpression } from '../../core/expressions/parser.ts';
import { childrenOf, type ExpressionNode } from '../../core/expressions/syntax-tree.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { byLot, createStream } from '../../stats/random.ts';
import { shapesBeside } from '../oracle/shapes/around.ts';
import { type Cost, isWithin } from '../oracle/shapes/cost.ts';
import { ALIGNMENTS, drawingOf, openDimensions } from '../oracle/shapes/drawing.ts';

/** What all kinds of shapes here are sought from. */
interface Aim {
  readonly problem: ProblemFile;
  /** The main workload's. */
  readonly timed: Dimensions;
  readonly seed: number;
  /** Whether the kernel takes a shape, whatever it costs. */
  readonly takes: (dimensions: Dimensions) => boolean;
  /** What a shape may cost. */
  readonly most: Cost;
}

/** Blocks of most kernels are whole multiples of it. */
const BLOCK = 8;

/** Powers of two up to here are met by shapes of every kernel. */
const MOST_POWER = 2 ** 14;

/** A size is so many times a number, at most. */
const MOST_TIMES = 2;

/**
 * Shapes in which a size is one of the code's numbers, or twice that: what is left over is then nothing, though no condition says so, as in `K % 960` terms of a last block.
 * In the order in which they are to be tried: numbers that may be a block's come first.
 *
 * @param numbers whole numbers of the kernel's code.
 */
export function shapesOfMultiples(aim: Aim, numbers: readonly number[]): Dimensions[] {
  const { problem, seed, most } = aim;
  const drawing = drawingOf(aim, 'shapes of multiples');
  const times = createStream(seed, 'times a number of the code');
  const wanted = numbers.filter((number) => number >= BLOCK && (!isPower(number) || number > MOST_POWER));
  const inLot = blocksFirst(byLot(wanted, seed, 'numbers of the code'));
  return inLot.flatMap((number, i) => {
    const size = number * (1 + (times.bits(i) % MOST_TIMES));
    return openDimensions(problem).flatMap(([name, { minimum = 1, maximum = Number.MAX_SAFE_INTEGER }]) =>
      size < minimum || size > maximum ? [] : shapesBeside(drawing, { name, size, most }).slice(-1),
    );
  });
}

const blocksFirst = (numbers: readonly number[]): number[] =>
  numbers.toSorted((a, b) => Number(isBlock(b)) - Number(isBlock(a)));
const isBlock = (number: number): boolean => number % BLOCK === 0;
const isPower = (number: number): boolean => Number.isInteger(Math.log2(number));

/** Sizes of the smaller one of two sizes whose difference is sought. */
const MOST_BESIDE_DIFFERENCE = 5;

/**
 * Shapes in which a size is larger, by one of the code's numbers, than the one that it is where nothing else is asked for, as keys are than queries behind a cache: pages and blocks
 * between the two are then whole. Of each choice of two the last is made, as of a mask and its corner. In the order in which they are to be tried.
 */
export function shapesOfDifferences(
  { problem, timed, seed, takes, most }: Aim,
  numbers: readonly number[],
): Dimensions[] {
  const stream = createStream(seed, 'shapes of differences');
  const open = openDimensions(problem);
  const chosen = Object.entries(problem.dimensions).flatMap(([name, { values }]) =>
    values?.length === 2 ? [[name, values[1]!] as const] : [],
  );
  return open.flatMap(([name, { default: other, maximum = Number.MAX_SAFE_INTEGER }]) => {
    if (typeof other !== 'string' || !open.some(([one]) => one === other)) return [];
    return blocksFirst(byLot(numbers, seed, `differences of ${name}`)).flatMap((number, i) => {
      const smaller = 1 + Math.floor(stream.uniform(i) * MOST_BESIDE_DIFFERENCE);
      const sizes = open.map(
        ([one, { minimum = 1 }]) => [one, one === other ? Math.max(minimum, smaller) : minimum] as const,
      );
      const shape = { ...timed, ...Object.fromEntries([...chosen, ...sizes]) };
      shape[name] = shape[other]! + number;
      return number >= BLOCK && shape[name] <= maximum && takes(shape) && isWithin(most, problem, shape) ? [shape] : [];
    });
  });
}

/** Sizes of the dimensions beside one that is as large as the kernel takes it. */
const BESIDE_LIMIT = [33, 5, 1] as const;

/** Shapes with the largest size that the kernel's limits allow, one for each dimension that has such a limit within what a shape may cost: what is counted in few bits ends there. */
export function shapesAtLimits({ problem, timed, takes, most }: Aim): Dimensions[] {
  const open = openDimensions(problem);
  const listed = Object.fromEntries(Object.entries(timed).filter(([name]) => !open.some(([other]) => other === name)));
  return open.flatMap(([name, { maximum = Number.MAX_SAFE_INTEGER }]) => {
    for (const beside of BESIDE_LIMIT) {
      const others = Object.fromEntries(
        open.map(([other, { minimum = 1, maximum: bound = beside }]) => [
          other,
          Math.max(minimum, Math.min(beside, bound)),
        ]),
      );
      const of = (size: number): Dimensions => ({ ...listed, ...others, [name]: size });
      for (const alignment of ALIGNMENTS) {
        const isTaken = (count: number): boolean => count * alignment <= maximum && takes(of(count * alignment));
        const isCheap = (count: number): boolean => isWithin(most, problem, of(count * alignment));
        const last = lastOf((count) => isTaken(count) && isCheap(count));
        if (last === 0) continue;
        // What ends it is the cost, or the problem itself.
        if (!isCheap(last + 1) || (last + 1) * alignment > maximum) break;
        return [of(last * alignment)];
      }
    }
    return [];
  });
}

/** Quotients of two sizes, of which none is a power of two, and how many of them are met; how many things that are numbered in one there are at least. */
const QUOTIENTS = [3, 5, 6, 7, 11, 13, 15, 17] as const;
const MOST_QUOTIENTS = 2;
const NUMBERED = 2 ** 16;

/** Other sizes, those first that show more. */
const BESIDE_QUOTIENT = [5, 2, 1] as const;

/**
 * Shapes in which one size is a multiple of another one, as heads of queries are of heads of keys, and a third is so large that the products of both are many: numbers that are divided by the quotient, by a
 * rounded reciprocal, are wrong from some tens of thousands on.
 */
export function shapesOfQuotients({ problem, timed, seed, takes, most }: Aim): Dimensions[] {
  const stream = createStream(seed, 'shapes of quotients');
  const open = openDimensions(problem).map(([name]) => name);
  const pairs = (problem.limits ?? []).flatMap((limit) => remaindersIn(parseExpression(String(limit))));
  const listed = Object.entries(problem.dimensions).flatMap(([name, { values }], i) =>
    values ? [[name, values.length > 2 ? Math.min(...values) : values[stream.bits(i) % values.length]!] as const] : [],
  );
  const least = listed.filter(([name]) => problem.dimensions[name]!.values!.length > 2);
  const fitting = (sizes: Dimensions): Dimensions[] => {
    for (const beside of BESIDE_QUOTIENT)
      for (const flags of [listed, least]) {
        const others = open.map((name) => [name, beside] as const);
        const shape = { ...timed, ...Object.fromEntries([...flags, ...others]), ...sizes };
        if (takes(shape) && isWithin(most, problem, shape)) return [shape];
      }
    return [];
  };
  return pairs.flatMap(([large, small], pair) =>
    byLot(QUOTIENTS, seed, `quotients ${pair}`)
      .slice(0, MOST_QUOTIENTS)
      .flatMap((quotient) =>
        open
          .filter((name) => name !== large && name !== small)
          .flatMap((name) => fitting({ [small]: 1, [large]: quotient, [name]: Math.ceil(NUMBERED / quotient) + 1 })),
      ),
  );
}

/** Names of sizes of which one is to be a multiple of the other: `H % Hkv`. */
function remaindersIn(node: ExpressionNode): (readonly [string, string])[] {
  const own =
    node.kind === 'binary' && node.operator === '%' && node.left.kind === 'name' && node.right.kind === 'name'
      ? [[node.left.name, node.right.name] as const]
      : [];
  return [...own, ...childrenOf(node).flatMap(remaindersIn)];
}

/** The last count from 1 on for which it holds, where it holds for none after; 0 where it does not hold for 1. */
function lastOf(holds: (count: number) => boolean): number {
  let [last, ended] = [0, 1];
  while (holds(ended)) [last, ended] = [ended, 2 * ended];
  while (ended - last > 1) {
    const middle = Math.floor((last + ended) / 2);
    if (holds(middle)) last = middle;
    else ended = middle;
  }
  return last;
}
