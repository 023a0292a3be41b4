import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { loadProblem } from '../../../../src/app/loading/load-problem.ts';
import { elementsOf } from '../../../../src/evaluation/oracle/shapes/cost.ts';
import { drawRandomSmall } from '../../../../src/evaluation/oracle/shapes/random-small.ts';
import { relatedParts, relatedSize } from '../../../../src/evaluation/oracle/shapes/relations.ts';
import { copying } from '../../../support/toy-problem.ts';

const problem = copying('R', 'C');
const draw = (seed: number, takes = (_: Record<string, number>): boolean => true) =>
  drawRandomSmall({ problem, takes, isQuick: () => true, count: 300, seed, timed: { R: 32, C: 32 } });

it('random small shapes are cheap, all different, follow from the seed, and have sizes of every remainder', () => {
  const shapes = draw(1);
  expect(shapes.length).toBeGreaterThan(250);
  expect(new Set(shapes.map(({ R, C }) => `${R}x${C}`)).size).toBe(shapes.length);
  for (const shape of shapes) expect(elementsOf(problem, shape)).toBeLessThanOrEqual(4e5);
  expect(draw(1)).toEqual(shapes);
  expect(draw(2)).not.toEqual(shapes);
  const remainders = new Set(shapes.filter(({ C }) => C! > 32).map(({ C }) => C! % 32));
  expect(remainders.size).toBeGreaterThan(28);
});

it('of a thousand, several have rows of 41 tiles of 32, or of another number whose rounded reciprocal is too small, and a second row of tiles', () => {
  const isTooSmall = (tiles: number): boolean => Math.fround(tiles * Math.fround(1 / tiles)) < 1;
  expect(isTooSmall(41) && !isTooSmall(40)).toBe(true);
  const found = [1, 2, 3].map((seed) =>
    drawRandomSmall({
      problem,
      takes: () => true,
      isQuick: () => true,
      count: 1000,
      seed,
      timed: { R: 32, C: 32 },
    }).filter(({ R, C }) => R! > 32 && isTooSmall(Math.ceil(C! / 32))),
  );
  for (const shapes of found) expect(shapes.length).toBeGreaterThan(1);
});

it('of a product, a long row or column of tiles is beside two or three of 64', async () => {
  const folder = fileURLToPath(new URL('../../../../problems/gemm', import.meta.url));
  const { file: gemm } = await loadProblem(folder, { dtype: 'f16' });
  const timed = { M: 512, N: 512, K: 512 };
  const shapes = drawRandomSmall({
    problem: gemm,
    takes: () => true,
    isQuick: () => true,
    count: 1000,
    seed: 1,
    timed,
  });
  for (const [long, short] of [
    ['N', 'M'],
    ['M', 'N'],
  ] as const) {
    const isBand = (shape: Record<string, number>) => shape[long]! >= 1000 && shape[short]! > 64;
    expect(shapes.filter(isBand).length, `${long} beside ${short}`).toBeGreaterThan(5);
  }
});

it('they are multiples for a kernel that takes nothing else', () => {
  const shapes = draw(1, ({ R, C }) => R! % 8 === 0 && C! % 8 === 0);
  expect(shapes.length).toBeGreaterThan(20);
});

it('a size that follows from another is often whole tiles apart, and one more or less', () => {
  const apart = new Set(Array.from({ length: 60 }, (_, i) => relatedSize(200, [0.6, i / 60], 8) - 200));
  for (const tile of [16, 64, 128]) for (const rest of [-1, 0, 1]) expect(apart).toContain(tile + rest);
  expect(relatedSize(3, [0.6, 0], 8)).toBe(1);
});

it('parts that follow from others are as many or a divisor', () => {
  const found = new Set(Array.from({ length: 100 }, (_, i) => relatedParts(12, [i / 100, ((7 * i) % 100) / 100])));
  expect([...found].toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 6, 12]);
});

it('with almost every seed, options come together with several tiles: of attention, a mask, interleaved heads and groups of four', async () => {
  const folder = fileURLToPath(new URL('../../../../problems/attention', import.meta.url));
  const { file: attention } = await loadProblem(folder, { dtype: 'f16' });
  const timed = { B: 1, H: 8, S: 512, D: 64, causal: 0, Hkv: 8, Skv: 512, bottomRight: 0, bshd: 0, lse: 0 };
  const takes = ({ H, Hkv, causal, bottomRight }: Record<string, number>): boolean =>
    H! % Hkv! === 0 && (causal === 1 || bottomRight === 0);
  const meeting = Array.from({ length: 10 }, (_, seed) =>
    drawRandomSmall({ problem: attention, takes, isQuick: () => true, count: 1000, seed, timed }).some(
      ({ H, Hkv, S, causal, bshd }) => S! >= 128 && causal === 1 && bshd === 1 && H! / Hkv! >= 4,
    ),
  );
  expect(meeting.filter(Boolean).length).toBeGreaterThanOrEqual(8);
});
