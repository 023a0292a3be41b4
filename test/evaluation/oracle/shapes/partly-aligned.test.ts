import { expect, it } from 'vitest';
import { drawPartlyAligned, drawVectorMultiples } from '../../../../src/evaluation/oracle/shapes/partly-aligned.ts';
import { copying } from '../../../support/toy-problem.ts';

const draw = (seed: number, names: readonly string[], takes = (_: Record<string, number>): boolean => true) =>
  drawPartlyAligned({
    ...{ problem: copying(...names), takes, isQuick: () => true, most: 20, seed },
    timed: Object.fromEntries(names.map((name) => [name, 32])),
  });

it('shapes of whole tiles in some dimensions have every part of them whole, and odd sizes beside', () => {
  const shapes = draw(3, ['R', 'C', 'K']);
  const wholeOf = (shape: Record<string, number>): string =>
    Object.keys(shape)
      .filter((name) => shape[name]! % 16 === 0)
      .join();
  expect(new Set(shapes.map(wholeOf))).toEqual(new Set(['R', 'C', 'K', 'R,C', 'R,K', 'C,K']));
  for (const shape of shapes)
    for (const size of Object.values(shape)) expect(size % 16 === 0 || size % 2 === 1, String(size)).toBe(true);
});

it('of one size there are none, nor for a kernel that takes multiples only', () => {
  expect(draw(1, ['R'])).toEqual([]);
  expect(draw(1, ['R', 'C'], ({ R, C }) => R! % 16 === 0 && C! % 16 === 0)).toEqual([]);
});

it('shapes of whole vectors have no whole tile, one shape for each width', () => {
  const source = { problem: copying('R', 'C'), isQuick: () => true, timed: { R: 32, C: 32 }, seed: 3 };
  const shapes = drawVectorMultiples({ ...source, takes: () => true });
  expect(shapes).toHaveLength(3);
  for (const [i, { R, C }] of shapes.entries())
    for (const size of [R!, C!]) expect(size % 2 ** (i + 1) === 0 && size % 16 !== 0, String(size)).toBe(true);
  expect(drawVectorMultiples({ ...source, takes: ({ C }) => C! % 4 === 0 }).length).toBeGreaterThanOrEqual(2);
});
