import type { DimensionDeclaration, Dimensions } from '../../../core/problem.ts';
import { below, createStream } from '../../../stats/random.ts';
import { isWithin, SMALL_COST, SMALL_EMULATED_COST } from './cost.ts';
import {
  ALIGNMENTS,
  type Drawing,
  drawingOf,
  FOLLOWING_RATIO,
  followingSize,
  PINNED_RATIO,
  type ShapeSource,
} from './drawing.ts';
import { drawExtremes, type ExtremeDraw } from './extremes.ts';
import { ABOUT, besideATile, multipleFrom, sizeFrom, smallOrAny } from './sizes.ts';

/** What shapes are drawn from, and how many. */
export interface ShapeDraw extends ShapeSource {
  /** Other shapes that are verified anyway. */
  readonly known: readonly Dimensions[];
  readonly count: number;
  /** Threads of a shape's launches, where a CPU runs them. */
  readonly emulatedThreads?: (dimensions: Dimensions) => number;
  /** Shapes beyond all others in size; none if absent. */
  readonly extremes?: ExtremeDraw;
  readonly seed: number;
}

export interface DrawnShapes {
  readonly shapes: Dimensions[];
  /**
   * Each with one dimension much larger than in all others, where that is cheap; then one with two large dimensions; and the
   * one with every dimension as small as the kernel takes it. Nothing about the last is drawn.
   */
  readonly extremes: Dimensions[];
  /** Dimensions for which all known and drawn shapes have the timed value. */
  readonly fixed: string[];
}

/** Number of shapes that must differ from the timed one in a dimension before it counts as verified there. */
const LEAST_DIFFERING = 3;

/** Factors by which shapes may cost more if the kernel takes no cheaper ones, up to the cost of the timed shape. */
const COST_STEP = 16;

const TRIES = 25;

/**
 * Shapes that nobody can know beforehand. They are drawn from the problem's dimensions within the kernel's limits, are
 * cheap, and are ragged unless the limits require multiples. In every dimension that the kernel leaves free, at least three
 * of the known and drawn shapes differ from the timed one.
 */
export function drawShapes(draw: ShapeDraw): DrawnShapes {
  const { problem, timed, known, count, seed } = draw;
  const open = Object.entries(problem.dimensions)
    .filter(([name, declared]) => hasChoice(declared, timed[name]!))
    .map(([name]) => name);
  // One stream for both, in this order.
  const drawing = drawingOf(draw, 'drawn shapes');
  const shapes: Dimensions[] = [];
  const drawInto = (about: string | undefined, varying?: string): boolean => {
    const shape = drawShape(draw, drawing, { drawn: shapes, about, varying });
    if (shape) shapes.push(shape);
    return shape !== undefined;
  };
  const sizes = open.filter((name) => !problem.dimensions[name]!.values);
  const turn = createStream(seed, 'drawn shapes', 'turn').bits(0);
  for (let i = 0; i < count; i++) if (!drawInto(sizes[(turn + i) % sizes.length])) break;
  const differing = (name: string): number =>
    [...known, ...shapes].filter((shape) => shape[name] !== timed[name]).length;
  for (const name of open) while (differing(name) < LEAST_DIFFERING && drawInto(name, name));
  const others = [...known, ...shapes];
  const extremes = draw.extremes ? drawExtremes(drawing, draw.extremes, { sizes, others, seed }) : [];
  return { shapes, extremes, fixed: open.filter((name) => differing(name) === 0) };
}

const hasChoice = ({ values, minimum = 1, maximum }: DimensionDeclaration, timed: number): boolean =>
  values ? values.some((value) => value !== timed) : maximum === undefined || maximum > minimum;

/** What one shape is about: a dimension of several tiles, and one that differs from the timed shape. */
interface About {
  readonly about: string | undefined;
  readonly varying: string | undefined;
}

/** A new shape, as cheap as possible; `undefined` if none was found. */
function drawShape(
  { problem, timed, known, takes, emulatedThreads }: ShapeDraw,
  drawing: Drawing,
  { drawn, ...about }: About & { readonly drawn: readonly Dimensions[] },
): Dimensions | undefined {
  const { varying } = about;
  const names = Object.keys(problem.dimensions);
  const keyOf = (shape: Dimensions): string => names.map((name) => shape[name]).join();
  const taken = new Set([timed, ...known, ...drawn].map(keyOf));
  const isSmall = (shape: Dimensions, factor: number): boolean =>
    isWithin(emulatedThreads ? SMALL_EMULATED_COST : SMALL_COST, problem, shape, factor);
  // Needs the launches' plan, and so is asked last.
  const hasFewThreads = (shape: Dimensions, factor: number): boolean =>
    (emulatedThreads?.(shape) ?? 0) <= SMALL_EMULATED_COST.threads * factor;
  for (let factor = 1; ; factor *= COST_STEP) {
    for (const alignment of ALIGNMENTS) {
      for (let attempt = 0; attempt < TRIES; attempt++) {
        const shape = sampleShape(drawing, about, alignment);
        if (varying !== undefined && shape[varying] === timed[varying]) continue;
        if (taken.has(keyOf(shape)) || !isSmall(shape, factor) || !takes(shape)) continue;
        if (hasFewThreads(shape, factor)) return shape;
      }
    }
    if (isSmall(timed, factor) && hasFewThreads(timed, factor)) return undefined;
  }
}

function sampleShape({ problem, timed, next }: Drawing, { about, varying }: About, alignment: number): Dimensions {
  const drawValue = (declared: DimensionDeclaration, isAbout: boolean): number => {
    const { values, minimum = 1, maximum = Number.MAX_SAFE_INTEGER } = declared;
    if (values) return values[below(next, values.length)]!;
    const size = isAbout ? sizeFrom(Math.max(minimum, ABOUT.least), next) : smallOrAny(minimum, next);
    const chosen = next() < 0.5 ? besideATile(size, next) : multipleFrom(size, alignment, next);
    return Math.max(minimum, Math.min(maximum, chosen));
  };
  const shape: Record<string, number> = {};
  for (const [name, declared] of Object.entries(problem.dimensions)) {
    const isPinned = name !== varying && alignment > 1 && next() < PINNED_RATIO;
    const value = isPinned ? timed[name]! : drawValue(declared, name === about);
    const follows = typeof declared.default === 'string' && name !== varying && next() < FOLLOWING_RATIO;
    shape[name] = (follows ? followingSize(name, declared, shape) : undefined) ?? value;
  }
  return shape;
}
