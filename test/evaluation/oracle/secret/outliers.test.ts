import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { ProblemFile } from '../../../../src/core/problem.ts';
import { disguise } from '../../../../src/evaluation/oracle/secret/disguise.ts';
import { areValuesPlaced, secretSetOf } from '../../../../src/evaluation/oracle/secret/secret-set.ts';
import { createStream } from '../../../../src/stats/random.ts';

const problem: ProblemFile = JSON.parse(
  readFileSync(new URL('../../../../problems/reduction/problem.json', import.meta.url), 'utf8'),
);
const UNIT = 2 ** -24;

/** A vector of values of which some stand out, as fp32 has them. */
function drawn(length: number, seed: number): number[] {
  const values = Float64Array.from({ length }, (_, i) => createStream(seed).normal(i));
  const buffer = { name: 'x', dtype: 'f32', shape: [length], generator: { kind: 'normal' } } as never;
  const streams = { stream: createStream(seed, 'x'), shared: createStream(seed, 'shared') };
  return [...disguise(values, secretSetOf('secret:outliers (0)')!, { problem, buffer, ...streams })].map(Math.fround);
}

const sumOf = (terms: readonly number[]): number => terms.reduce((sum, term) => sum + term, 0);

/** What `conditioned` allows n additions in fp32 that err independently. */
const allowed = (terms: readonly number[]): number =>
  UNIT * Math.sqrt(terms.length) * (Math.abs(sumOf(terms)) + 3 * Math.sqrt(sumOf(terms.map((term) => term ** 2))));

/** One after the other in fp32, which errs most. */
const serially = (terms: readonly number[]): number => terms.reduce((sum, term) => Math.fround(sum + term), 0);

/** Tiles of 2,048 as integers of 19 bits, relative to the largest of a tile. */
function inFixedPoint(terms: readonly number[]): number {
  let sum = 0;
  for (let first = 0; first < terms.length; first += 2048) {
    const tile = terms.slice(first, first + 2048);
    const scale = 2 ** (18 - Math.floor(Math.log2(Math.max(...tile.map(Math.abs)))));
    sum += sumOf(tile.map((term) => Math.round(term * scale))) / scale;
  }
  return sum;
}

it('sums beside values that stand out err as those of drawn values do, and lose nothing of the others', () => {
  expect(areValuesPlaced('secret:outliers (0)')).toBe(false);
  expect(areValuesPlaced('secret:outliers (1)')).toBe(true);
  for (const length of [2452, 32_769])
    for (let seed = 1; seed <= 20; seed++) {
      const terms = drawn(length, seed);
      expect(Math.abs(serially(terms) - sumOf(terms))).toBeLessThan(allowed(terms) / 2);
      expect(Math.abs(inFixedPoint(terms) - sumOf(terms))).toBeGreaterThan(2 * allowed(terms));
    }
});
