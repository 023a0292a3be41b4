import { expect, it } from 'vitest';
import { prepareCheck } from '../../../src/evaluation/oracle/expectation-cache.ts';
import { mutationOf, readableSet, solutionOf } from '../../../src/evaluation/oracle/mutated-inputs.ts';
import { areValuesPlaced } from '../../../src/evaluation/oracle/secret/secret-set.ts';
import { toyProblem } from '../../support/toy-problem.ts';

const problem = toyProblem({
  inputs: {
    X: { dtype: 'f32', shape: ['R', 16], access: 'in', generator: { kind: 'positive', high: 2 } },
    order: { dtype: 'i32', shape: ['R'], access: 'in', generator: { kind: 'permutation' } },
  },
});
const CHANGES = Array.from({ length: 40 }, (_, i) => i);
const PLACES = Array.from({ length: 64 }, (_, i) => i);

const drawn = (generatorSet: string): { X: number[]; order: number[] } => {
  const { X, order } = prepareCheck({ problem, dimensions: { R: 64, C: 1 }, seed: 1, generatorSet }).inputs.tensors;
  return { X: [...X!], order: [...order!] };
};

const changed = (one: readonly number[], other: readonly number[]): number =>
  one.filter((value, i) => value !== other[i]).length;

it('changes of inputs follow from the name of their set', () => {
  const once = mutationOf('secret:rows', 5);
  expect(mutationOf(once, 7)).toBe('secret:mutated 5.7 of secret:rows');
  expect(drawn(mutationOf(once, 7))).toEqual(drawn(mutationOf(once, 7)));
  expect(areValuesPlaced(once)).toBe(true);
});

it('changes few values or many, each time others', () => {
  const usual = drawn('declared').X;
  const counts = CHANGES.map((change) => changed(usual, drawn(mutationOf('declared', change)).X));
  expect(counts.filter((count) => count > 0 && count <= 8).length).toBeGreaterThan(5);
  expect(counts.filter((count) => count > 100).length).toBeGreaterThan(5);
  expect(new Set(CHANGES.map((change) => drawn(mutationOf('declared', change)).X.join())).size).toBeGreaterThan(30);
});

it('leaves the domain of an input, and inputs whose values depend on one another', () => {
  for (const change of CHANGES) {
    const { X, order } = drawn(mutationOf('declared', change));
    expect(X.every((value) => value > 0 && value <= 2)).toBe(true);
    expect(order.toSorted((a, b) => a - b)).toEqual(PLACES);
  }
});

it('gives elements the values that a set names, rounded, but none to an input whose values depend on one another', () => {
  const values = [
    { input: 0, element: 17, value: 0.3 },
    { input: 0, element: 1000, value: 1.5 },
    { input: 1, element: 3, value: 99 },
  ];
  const name = mutationOf('declared', solutionOf(values));
  const [usual, { X, order }] = [drawn('declared'), drawn(name)];
  expect(changed(usual.X, X)).toBe(2);
  expect([X[17], X[1000]]).toEqual([Math.fround(0.3), 1.5]);
  expect(order).toEqual(usual.order);
  expect(drawn(mutationOf(name, 7))).not.toEqual(drawn(name));
  expect(readableSet(mutationOf(name, 7))).toBe('secret:mutated 3 solved.7 of declared');
  expect(readableSet('sigma=very_large')).toBe('sigma=very_large');
});

it('mixes no long row of zeros with other values where equal terms round in one direction', () => {
  const softmax = toyProblem({
    inputs: { X: { dtype: 'f32', shape: ['R', 64], access: 'in', generator: { kind: 'normal' } } },
    generatorSets: { zeros: { X: { kind: 'constant', value: 0 } } },
    comparison: { kind: 'ulp', maximumUlps: 32 },
  });
  const rowsOf = (change: number): number[][] => {
    const generatorSet = mutationOf('zeros', change);
    const values = prepareCheck({ problem: softmax, dimensions: { R: 4, C: 1 }, seed: 1, generatorSet }).inputs.tensors
      .X!;
    return Array.from({ length: 4 }, (_, row) => [...values.slice(64 * row, 64 * row + 64)]);
  };
  const rows = CHANGES.flatMap(rowsOf);
  const zeros = (row: number[]): number => row.filter((value) => value === 0).length;
  expect(rows.every((row) => zeros(row) === 64 || zeros(row) <= 32)).toBe(true);
  expect(rows.some((row) => zeros(row) < 64)).toBe(true);
});
