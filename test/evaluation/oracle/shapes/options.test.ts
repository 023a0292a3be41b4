import { describe, expect, it } from 'vitest';
import { isShapeOf } from '../../../../src/core/plan/dimensions.ts';
import type { Dimensions, ProblemFile } from '../../../../src/core/problem.ts';
import { drawShapes } from '../../../../src/evaluation/oracle/shapes/drawn.ts';
import { drawOptions } from '../../../../src/evaluation/oracle/shapes/options.ts';
import { longTests } from '../../../support/sampling/matrix.ts';
import { copying } from '../../../support/toy-problem.ts';

const long = longTests(import.meta.filename, { oneIn: 3 });

describe('shapes that bring listed values together', () => {
  const flags = ['a', 'b', 'c'];
  const file = copying('R', 'C');
  const problem: ProblemFile = {
    ...file,
    dimensions: {
      ...file.dimensions,
      W: { description: '', values: [32, 64, 96, 128, 256] },
      ...Object.fromEntries(flags.map((name) => [name, { description: '', values: [0, 1] }])),
    },
    limits: ['a || !b'],
  };
  const timed = { R: 32, C: 32, W: 64, a: 0, b: 0, c: 0 };
  const listed = [32, 64, 96, 128, 256].map((W) => ({ ...timed, R: 3, W }));
  const shapesOf = (isTaken: (shape: Dimensions) => boolean, seed: number): Dimensions[] => {
    const takes = (shape: Dimensions): boolean => isShapeOf(problem, shape) && isTaken(shape);
    const known = listed.filter(takes);
    const { shapes } = drawShapes({ problem, takes, timed, known, count: 3, seed });
    const others = [timed, ...known, ...shapes];
    return [...others, ...drawOptions({ problem, takes, known: others, together: 2, most: 8, seed })];
  };

  long('have each two of them in some shape for nearly every seed', () => {
    const pairs = listed.flatMap(({ W }) => flags.flatMap((flag) => [0, 1].map((value) => ({ W, flag, value }))));
    const seeds = Array.from({ length: 40 }, (_, seed) => seed);
    const complete = seeds.filter((seed) => {
      const shapes = shapesOf(() => true, seed);
      return pairs.every(({ W, flag, value }) => shapes.some((shape) => shape.W === W && shape[flag] === value));
    });
    expect(complete.length).toBeGreaterThan(36);
    expect(new Set(seeds.map((seed) => JSON.stringify(shapesOf(() => true, seed)))).size).toBe(40);
  });

  it('are of values that the kernel takes', () => {
    for (const shape of shapesOf(({ W, c }) => W! <= 64 && c === 0, 3)) expect([32, 64]).toContain(shape.W);
  });

  it('are none where a kernel takes one value of each', () => {
    const takes = ({ W, a, b, c }: Dimensions): boolean => W === 64 && !a && !b && !c;
    expect(drawOptions({ problem, takes, known: [timed], together: 2, most: 8, seed: 1 })).toEqual([]);
  });
});

describe('shapes that bring relations together', () => {
  const size = { description: '', minimum: 1 };
  const problem: ProblemFile = {
    ...copying('S', 'C'),
    dimensions: {
      H: size,
      S: size,
      C: size,
      groups: { ...size, default: 'H' },
      keys: { ...size, default: 'S' },
      ...Object.fromEntries(['masked', 'swapped'].map((name) => [name, { description: '', values: [0, 1] }])),
    },
    limits: ['H % groups == 0'],
  };
  const known = [0, 1].map((flag) => ({ H: 2, S: 20, C: 3, groups: 2, keys: 20, masked: flag, swapped: flag }));
  const takes = (shape: Dimensions): boolean => isShapeOf(problem, shape);
  const seeds = Array.from({ length: 12 }, (_, seed) => seed);
  const shapesOf = (seed: number): Dimensions[] => drawOptions({ problem, takes, known, together: 3, most: 32, seed });

  long('have fewer and more than what they follow from, and divisors, with each two flags', () => {
    const wanted: ((shape: Dimensions) => boolean)[] = [
      ({ keys, S, masked }) => keys! < S! && masked === 1,
      ({ keys, S, masked, swapped }) => keys! > S! && masked === 1 && swapped === 1,
      ({ groups, H, swapped }) => groups! > 1 && groups! < H! && swapped === 1,
      ({ groups, H, keys, S, masked }) => groups! > 1 && groups! < H! && keys! < S! && masked === 1,
    ];
    const complete = seeds.filter((seed) => wanted.every((holds) => shapesOf(seed).some(holds)));
    expect(complete.length).toBeGreaterThan(10);
  });

  long('are shapes of the problem, each once, and others for another seed', () => {
    for (const seed of seeds) {
      const shapes = shapesOf(seed);
      expect(shapes.every(takes)).toBe(true);
      expect(new Set(shapes.map((shape) => JSON.stringify(shape))).size).toBe(shapes.length);
    }
    expect(new Set(seeds.map((seed) => JSON.stringify(shapesOf(seed)))).size).toBe(seeds.length);
  });

  it('are multiples for a kernel that takes nothing else', () => {
    const shapes = drawOptions({
      problem,
      takes: (one) => takes(one) && one.S! % 16 === 0,
      known,
      together: 2,
      most: 8,
      seed: 1,
    });
    expect(shapes.length).toBeGreaterThan(0);
    for (const { S } of shapes) expect(S! % 16).toBe(0);
  });
});
