import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { loadProblem } from '../../../../src/app/loading/load-problem.ts';
import type { Dimensions } from '../../../../src/core/problem.ts';
import { shapesOfEachListed } from '../../../../src/evaluation/oracle/shapes/each-listed.ts';
import { middleShapes } from '../../../../src/evaluation/oracle/shapes/middle.ts';
import { drawRandomSmall } from '../../../../src/evaluation/oracle/shapes/random-small.ts';

const folder = fileURLToPath(new URL('../../../../problems/attention', import.meta.url));
const { file: problem } = await loadProblem(folder, { dtype: 'f16' });
const timed = { B: 1, H: 8, S: 512, D: 64, causal: 0, Hkv: 8, Skv: 512, bottomRight: 0, bshd: 0, lse: 0 };
const takes = ({ H, Hkv, causal, bottomRight }: Dimensions): boolean =>
  H! % Hkv! === 0 && (causal === 1 || bottomRight === 0);
const source = (seed: number) => ({
  ...{ problem, takes, timed, seed },
  ...{ most: { flop: 1.6e9, elements: 2 ** 23 }, isFit: () => true },
});

it('each head dimension has a long sequence, also one that is not timed', () => {
  for (const seed of [1, 2, 3]) {
    const shapes = shapesOfEachListed(source(seed));
    expect(shapes.map(({ D }) => D)).toEqual([32, 64, 96, 128, 256]);
    for (const { S, Skv, H } of shapes) {
      expect(S).toBeGreaterThanOrEqual(1024);
      expect([Skv, H]).toEqual([S, 1]);
    }
  }
});

it('where that is too dear they are shorter, and a kernel of one value has one', () => {
  const cheap = { ...source(1), most: { flop: 2e8, elements: 2 ** 23 } };
  const [, , , , largest] = shapesOfEachListed(cheap);
  expect(largest!.S).toBeLessThan(700);
  const one = shapesOfEachListed({ ...source(1), takes: (shape) => takes(shape) && shape.D === 96 });
  expect(one.map(({ D }) => D)).toEqual([96]);
});

it('sizes between usual and largest ones have other flags and head dimensions than the timed shape in half of the shapes', () => {
  const shapes = [1, 2, 3, 4, 5].flatMap((seed) => middleShapes(source(seed), 4));
  const others = shapes.filter(({ D, causal, bshd }) => D !== 64 || causal === 1 || bshd === 1);
  expect(others.length).toBeGreaterThan(shapes.length / 4);
  expect(others.length).toBeLessThan((3 * shapes.length) / 4);
  for (const shape of shapes) expect(takes(shape)).toBe(true);
});

it('random small shapes have bands: few queries of more than 1,000 keys, and few keys of as many queries', () => {
  const shapes = drawRandomSmall({ problem, takes, isQuick: () => true, count: 1000, seed: 1, timed });
  expect(shapes.filter(({ S, Skv }) => S! > 1000 && Skv! >= 33 && Skv! <= 80).length).toBeGreaterThan(3);
  expect(shapes.filter(({ S, Skv }) => Skv! > 1000 && S! >= 33 && S! <= 80).length).toBeGreaterThan(3);
});
