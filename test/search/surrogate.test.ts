import { describe, expect, it } from 'vitest';
import { factorise, solveLower } from '../../src/search/cholesky.ts';
import { correlationOf } from '../../src/search/correlation.ts';
import { createFeasibility } from '../../src/search/feasibility.ts';
import { fitCorrelation, typicalSettings } from '../../src/search/fit-correlation.ts';
import { gaussianProcess } from '../../src/search/gaussian-process.ts';
import { latinHypercube } from '../../src/search/latin-hypercube.ts';
import { listSpace } from '../../src/search/list-space.ts';
import { drawPool } from '../../src/search/pool.ts';
import { standardise } from '../../src/search/surrogate.ts';
import { traitsOf } from '../../src/search/traits.ts';
import { unvisitedOf } from '../../src/search/unvisited.ts';
import { randomSource } from '../../src/stats/random.ts';
import { product } from './support/spaces.ts';

const random = () => randomSource(1);

describe('traitsOf', () => {
  const traits = (values: readonly (number | string | null)[]) =>
    traitsOf(listSpace(values.map((value) => ({ a: value }))));

  it('leaves out what has one value', () => expect(traits([7])).toEqual([]));
  it('knows words only as equal or not', () => expect(traits(['x', 'y'])[0]!.coordinates).toBeUndefined());
  it('puts doublings at equal distances', () => {
    const [size, ...rest] = traits([1, 2, 4, 8, 16]);
    expect(rest).toEqual([]);
    expect(size!.coordinates).toEqual([0, 0.25, 0.5, 0.75, 1]);
  });
  it('lets powers of two count in long lists of whole numbers', () => {
    const [, divisibility] = traits([16, 32, 48, 64, 80]);
    expect(divisibility!.coordinates).toEqual([0, 0.5, 0, 1, 0]);
  });
  it.each([[[1.5, 2.5, 3.5, 4.5, 5.5]], [[0, 1, 2, 3, 4]], [[1, 3, 5, 7, 9]], [[1, 2, 3]]])('but not in %j', (values) =>
    expect(traits(values)).toHaveLength(1),
  );
  it('gives null no place', () => expect(traits([null, 1, 2])[0]!.coordinates).toEqual([null, 0, 1]));
});

describe('correlationOf', () => {
  const space = listSpace(product({ a: [1, 2, 4], b: ['x', 'y'] }));
  const settings = [
    { weight: 0.5, reach: 1 },
    { weight: 1, reach: 2 },
  ];
  const correlation = correlationOf(traitsOf(space), settings);
  it('is 1 for equal configurations', () => expect(correlation([1, 1], [1, 1])).toBe(1));
  it('falls off with distance, by weight and reach', () => {
    expect(correlation([0, 0], [1, 0])).toBeCloseTo(0.5 + 0.5 * Math.exp(-0.5), 12);
    expect(correlation([0, 0], [2, 1])).toBeCloseTo((0.5 + 0.5 * Math.exp(-1)) * Math.exp(-0.5), 12);
  });
});

it('factorise and solveLower invert, and refuse what is not positive definite', () => {
  const factor = factorise(Float64Array.of(4, 0, 2, 5), 2)!;
  expect([...factor]).toEqual([2, 0, 1, 2]);
  expect([...solveLower(factor, 2, [2, 5])]).toEqual([1, 2]);
  expect(factorise(Float64Array.of(1, 0, 2, 1), 2)).toBeUndefined();
});

describe('gaussianProcess', () => {
  it('believes of awaited configurations what it predicts, and forgets them again', () => {
    const space = listSpace(product({ a: [1, 2, 4, 8, 16] }));
    const traits = traitsOf(space);
    const correlation = correlationOf(traits, typicalSettings(traits).traits);
    const pool = [0, 1, 2, 3, 4].map((index) => space.at(index));
    const process = gaussianProcess(pool, correlation, 0.01);
    for (const index of [0, 4]) process.add(space.at(index));
    const copy = (awaited?: Parameters<typeof process.predict>[1]) => {
      const { means, deviations } = process.predict([1, -1], awaited);
      return { means: [...means], deviations: [...deviations] };
    };
    const before = copy();
    const believing = copy([space.at(1)]);
    expect(believing.means).toEqual(before.means);
    // The awaited one itself, and what is like it.
    expect(believing.deviations[1]!).toBeLessThan(0.3 * before.deviations[1]!);
    expect(believing.deviations[2]!).toBeLessThan(0.9 * before.deviations[2]!);
    expect(copy()).toEqual(before);
    process.add(space.at(1));
    expect([...process.predict([1, -1, before.means[1]!]).means].map((mean) => mean.toFixed(6))).toEqual(
      before.means.map((mean) => mean.toFixed(6)),
    );
  });

  const correlation = (a: Readonly<ArrayLike<number>>, b: Readonly<ArrayLike<number>>) =>
    Math.exp(-Math.abs(a[0]! - b[0]!));
  it('agrees with the textbook on two points', () => {
    const process = gaussianProcess([[1]], correlation, 0.1);
    process.add([0]);
    process.add([3]);
    const { means, deviations } = process.predict([1, -1]);
    // k = (e⁻¹, e⁻²), K = ((1.1, e⁻³), (e⁻³, 1.1)); mean = k K⁻¹ y, variance = (yᵀK⁻¹y + 1) ÷ 3 · (1 − k K⁻¹ k).
    const [k1, k2, c] = [Math.exp(-1), Math.exp(-2), Math.exp(-3)];
    const determinant = 1.1 * 1.1 - c * c;
    expect(means[0]).toBeCloseTo(((1.1 + c) * (k1 - k2)) / determinant, 6);
    const explained = (1.1 * (k1 * k1 + k2 * k2) - 2 * c * k1 * k2) / determinant;
    const variance = ((2 * (1.1 + c)) / determinant + 1) / 3;
    expect(deviations[0]).toBeCloseTo(Math.sqrt(variance * (1 - explained)), 6);
  });
  it('goes through what it was told where there is no noise', () => {
    const process = gaussianProcess([[0], [2]], correlation, 1e-9);
    process.add([0]);
    process.add([2]);
    expect([...process.predict([1, -1]).means]).toEqual([expect.closeTo(1, 5), expect.closeTo(-1, 5)]);
  });
});

it('fitCorrelation finds which parameter matters', () => {
  const space = listSpace(product({ matters: [1, 2, 4, 8, 16, 32], idle: [1, 2, 4, 8, 16, 32] }));
  const places = Array.from({ length: space.size }, (_, index) => space.at(index));
  const times = places.map((place) => 10 + place[0]! ** 2);
  let settings = typicalSettings(traitsOf(space));
  const source = random();
  for (let round = 0; round < 3; round += 1) {
    settings = fitCorrelation(traitsOf(space), places, standardise(times), settings, source);
  }
  expect(settings.traits[0]!.weight).toBeGreaterThan(2 * settings.traits[1]!.weight);
});

it('createFeasibility learns what fails, and is hopeful where it knows nothing', () => {
  const space = listSpace(product({ shared: [8, 16, 32, 64], rest: [1, 2, 3, 4, 5, 6] }));
  const feasibility = createFeasibility(space);
  const source = random();
  expect(feasibility.estimate()(space.at(0))).toBe(1);
  for (let index = 0; index < space.size; index += 2) feasibility.add(index, space.at(index)[0]! < 3, source);
  const estimate = feasibility.estimate();
  expect(estimate(space.at(1))).toBeGreaterThan(0.8);
  expect(estimate(space.at(space.size - 1))).toBeLessThan(0.7 * estimate(space.at(1)));
});

describe('standardise', () => {
  it('has mean 0 and variance 1 and keeps the order', () => {
    const values = standardise([3, 1, 8, 2, 100]);
    expect(values.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 10);
    expect(values.reduce((sum, value) => sum + value ** 2, 0) / 5).toBeCloseTo(1, 10);
    expect(values.toSorted((a, b) => a - b)).toEqual([1, 3, 0, 2, 4].map((place) => values[place]));
  });
  it('spreads the fast ones and presses the slow ones together', () => {
    const [first, second, , , fifth, sixth] = standardise([100, 110, 130, 160, 1000, 1100]) as number[];
    expect(second! - first!).toBeGreaterThan(2 * (sixth! - fifth!));
  });
  it('takes equal times', () => expect(standardise([5, 5, 5])).toEqual([0, 0, 0]));
});

describe('latinHypercube', () => {
  const values = Array.from({ length: 20 }, (_, value) => value);
  const space = listSpace(product({ a: values, b: values, c: ['x', 'y', 'z', 'w', 'v'] }));
  it('has one point in every layer of every dimension', () => {
    const points = latinHypercube(space, 20, random());
    for (const dimension of [0, 1]) {
      expect(points.map((index) => space.at(index)[dimension]!).sort((a, b) => a - b)).toEqual(values);
    }
    const counts = [0, 1, 2, 3, 4].map((place) => points.filter((index) => space.at(index)[2] === place).length);
    expect(counts).toEqual([4, 4, 4, 4, 4]);
  });
  it('has all different points, fewer only where there are no more', () => {
    const sparse = listSpace(product({ a: values, b: values }, ({ a, b }) => a === b || a + b === 19));
    expect(new Set(latinHypercube(sparse, 20, random())).size).toBe(20);
    expect(latinHypercube(listSpace(product({ a: [1, 2, 3] })), 20, random()).toSorted()).toEqual([0, 1, 2]);
  });
});

describe('drawPool', () => {
  const values = [1, 2, 3, 4, 5, 6, 7, 8];
  const space = listSpace(product({ a: values, b: values, c: values }));
  it('is everything that is left of a small space', () => {
    const unvisited = unvisitedOf(space.size);
    unvisited.take(3);
    expect(new Set(drawPool(space, unvisited, [], 512, random()))).toEqual(
      new Set(Array.from({ length: 512 }, (_, index) => index).filter((index) => index !== 3)),
    );
  });
  it('has the neighbours of the elites, and others, of a large one', () => {
    const pool = drawPool(space, unvisitedOf(space.size), [0], 100, random());
    expect(new Set(pool).size).toBe(100);
    const near = Array.from({ length: space.size }, (_, index) => index).filter(
      (index) => space.at(index).length - Array.from(space.at(index)).filter((place) => place === 0).length === 1,
    );
    expect(near).toHaveLength(21);
    expect(near.every((index) => pool.includes(index))).toBe(true);
  });
});

it('unvisitedOf draws each configuration as often as any other', () => {
  const source = random();
  const counts = new Array<number>(5).fill(0);
  for (let round = 0; round < 2000; round += 1) {
    const unvisited = unvisitedOf(6);
    unvisited.take(2);
    const drawn = unvisited.draw(source)!;
    counts[drawn > 2 ? drawn - 1 : drawn]! += 1;
  }
  for (const count of counts) expect(Math.abs(count - 400)).toBeLessThan(80);
});
