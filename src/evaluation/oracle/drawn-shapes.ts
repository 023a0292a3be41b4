import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import type { DimensionDeclaration, Dimensions, ProblemFile } from '../../core/problem.ts';
import { createStream } from '../../stats/random.ts';
import { elementCountOf } from '../launches/layout.ts';

/** What shapes are drawn from, and how many. */
export interface ShapeDraw {
  readonly problem: ProblemFile;
  /** Whether they are a shape of the problem that the kernel takes. */
  readonly takes: (dimensions: Dimensions) => boolean;
  /** The main workload's. */
  readonly timed: Dimensions;
  /** Other shapes that are verified anyway. */
  readonly known: readonly Dimensions[];
  readonly count: number;
  readonly seed: number;
}

export interface DrawnShapes {
  readonly shapes: Dimensions[];
  /** Dimensions of which neither a known nor a drawn shape has another value than the timed one. */
  readonly fixed: string[];
}

/** Shapes that differ from the timed one in a dimension before it counts as verified there. */
const LEAST_DIFFERING = 3;

/** Floating-point operations, or elements of all buffers, up to which a shape takes a host milliseconds. */
const SMALL_COST = { flop: 2e7, elements: 3e5 };

/** By how much shapes may cost more where the kernel takes none as small, up to what the timed one costs. */
const COST_STEP = 16;

/** Usual tiles and vector widths: shapes are no better aligned than the kernel's limits ask for. */
const ALIGNMENTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const TRIES = 25;

/** Sizes of the dimension that a shape is about: several tiles, now and then very many; others are small half the time. */
const ABOUT = { least: 17, most: 300, longest: 40_000, longRatio: 0.2 } as const;
const SMALL = { ratio: 0.5, count: 4 } as const;

/** Chance that a dimension keeps the timed value where ragged shapes were not taken. */
const PINNED_RATIO = 0.4;

/**
 * Shapes that nobody can know beforehand: drawn from the problem's dimensions, within what the kernel takes, small enough
 * to cost little, and ragged unless the kernel's limits ask for multiples. In every dimension in which the kernel takes
 * other values than the timed one, at least three of the known and drawn shapes have one.
 */
export const drawShapes = (draw: ShapeDraw): DrawnShapes => {
  const { problem, timed, known, count, seed } = draw;
  const open = Object.entries(problem.dimensions)
    .filter(([name, declared]) => hasChoice(declared, timed[name]!))
    .map(([name]) => name);
  const sampler = new ShapeSampler(draw);
  const shapes: Dimensions[] = [];
  const drawInto = (about: string | undefined, varying?: string): boolean => {
    const shape = sampler.draw(shapes, about, varying);
    if (shape) shapes.push(shape);
    return shape !== undefined;
  };
  const sizes = open.filter((name) => !problem.dimensions[name]!.values);
  const turn = createStream(seed, 'drawn shapes', 'turn').bits(0);
  for (let i = 0; i < count; i++) if (!drawInto(sizes[(turn + i) % sizes.length])) break;
  const differing = (name: string): number =>
    [...known, ...shapes].filter((shape) => shape[name] !== timed[name]).length;
  for (const name of open) while (differing(name) < LEAST_DIFFERING && drawInto(name, name));
  return { shapes, fixed: open.filter((name) => differing(name) === 0) };
};

const hasChoice = ({ values, minimum = 1, maximum }: DimensionDeclaration, timed: number): boolean =>
  values ? values.some((value) => value !== timed) : maximum === undefined || maximum > minimum;

class ShapeSampler {
  readonly #draw: ShapeDraw;
  readonly #next: () => number;

  constructor(draw: ShapeDraw) {
    this.#draw = draw;
    const stream = createStream(draw.seed, 'drawn shapes');
    let index = 0;
    this.#next = () => stream.uniform(index++);
  }

  /** A shape that is none of the known ones; `undefined` when none was found, in the cheapest way it can be had. */
  draw(drawn: readonly Dimensions[], about: string | undefined, varying?: string): Dimensions | undefined {
    const { problem, timed, known, takes } = this.#draw;
    const taken = new Set([timed, ...known, ...drawn].map(keyOf));
    for (let factor = 1; ; factor *= COST_STEP) {
      for (const alignment of ALIGNMENTS) {
        for (let attempt = 0; attempt < TRIES; attempt++) {
          const shape = this.#sample(alignment, about, varying);
          if (varying !== undefined && shape[varying] === timed[varying]) continue;
          if (!taken.has(keyOf(shape)) && takes(shape) && costsLittle(problem, shape, factor)) return shape;
        }
      }
      if (costsLittle(problem, timed, factor)) return undefined;
    }
  }

  #sample(alignment: number, about: string | undefined, varying: string | undefined): Dimensions {
    const { problem, timed } = this.#draw;
    return Object.fromEntries(
      Object.entries(problem.dimensions).map(([name, declared]) => {
        const isPinned = name !== varying && alignment > 1 && this.#next() < PINNED_RATIO;
        return [name, isPinned ? timed[name]! : this.#value(declared, name === about, alignment)];
      }),
    );
  }

  #value(declared: DimensionDeclaration, isAbout: boolean, alignment: number): number {
    const { values, minimum = 1, maximum = Number.MAX_SAFE_INTEGER } = declared;
    if (values) return values[Math.floor(this.#next() * values.length)]!;
    const size = isAbout ? this.#size(Math.max(minimum, ABOUT.least)) : this.#smallOrAny(minimum);
    const aligned = this.#next() < 0.5 ? size : Math.ceil(size / alignment) * alignment;
    return Math.max(minimum, Math.min(maximum, aligned));
  }

  #size(least: number): number {
    if (this.#next() < ABOUT.longRatio) return this.#logUniform(least, Math.max(2 * least, ABOUT.longest));
    return least + Math.floor(this.#next() * Math.max(least, ABOUT.most));
  }

  #smallOrAny(minimum: number): number {
    if (this.#next() < SMALL.ratio) return minimum + Math.floor(this.#next() * SMALL.count);
    return this.#logUniform(minimum, Math.max(minimum + SMALL.count, ABOUT.most));
  }

  /** Integers of every order of magnitude alike. */
  #logUniform(low: number, high: number): number {
    return Math.floor(Math.exp(Math.log(low + 1) + this.#next() * Math.log((high + 1) / (low + 1)))) - 1 || low;
  }
}

/** Whether a host takes milliseconds for a shape, or `factor` times as long. */
export const costsLittle = (problem: ProblemFile, dimensions: Dimensions, factor = 1): boolean => {
  try {
    const elements = expandBuffers(problem, dimensions).reduce((sum, buffer) => sum + elementCountOf(buffer), 0);
    const flop = evaluateExpression(problem.flop, dimensions);
    return flop <= SMALL_COST.flop * factor && elements <= SMALL_COST.elements * factor;
  } catch {
    // Not a shape of this problem: an extent that is no integer, or none.
    return false;
  }
};

const keyOf = (dimensions: Dimensions): string => JSON.stringify(Object.entries(dimensions).sort());
