import { describe, expect, it } from 'vitest';
import { expandBuffers } from '../../../../src/core/plan/expand-buffers.ts';
import type { ProblemFile, Scaling } from '../../../../src/core/problem.ts';
import { disguise } from '../../../../src/evaluation/oracle/secret/disguise.ts';
import { setsAbout, setsOfSteps, setsOfWholesUpTo } from '../../../../src/evaluation/oracle/secret/kinds/constants.ts';
import { setsOfWords } from '../../../../src/evaluation/oracle/secret/kinds/words.ts';
import { levelsOf, secretSetOf } from '../../../../src/evaluation/oracle/secret/secret-set.ts';
import { createStream } from '../../../../src/stats/random.ts';
import { toyProblem } from '../../../support/toy-problem.ts';

const problemWith = (scaling: Scaling | false): ProblemFile => {
  const { file } = toyProblem();
  const { X, W } = file.inputs;
  return { ...file, inputs: { X: { ...X!, scaling }, W: { ...W!, scaling: false } } };
};

const WIDE: Scaling = { least: 2 ** -6, most: 2 ** 10, offset: 0 };

/** Root mean square of X, made from values between -√3 and √3, over several seeds. */
function sizesOf(generatorSet: string, problem = problemWith(WIDE)): number[] {
  const [buffer] = expandBuffers(problem, { R: 8, C: 32 });
  return [1, 2, 3, 4, 5].map((seed) => {
    const drawn = createStream(seed, 'values');
    const values = Float64Array.from({ length: 256 }, (_, i) => Math.sqrt(3) * (2 * drawn.uniform(i) - 1));
    const [stream, shared] = [createStream(seed, 'own'), createStream(seed, 'shared')];
    disguise(values, secretSetOf(generatorSet)!, { problem, buffer: buffer!, stream, shared });
    return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
  });
}

describe('whole numbers up to one of the code', () => {
  it('are for whole parts of numbers with which floating-point values are compared, as far as inputs reach', () => {
    const sets = (constants: number[], scaling: Scaling | false = WIDE) =>
      setsOfWholesUpTo(problemWith(scaling), constants);
    expect(sets([16, -16, 100.5, 1, 5000])).toEqual(['secret:wholes about 16', 'secret:wholes about 100']);
    expect(sets([2000])).toEqual([]);
    expect(sets([16], false)).toEqual([]);
  });

  it('are all whole and none larger; those of the first half are near it, of one sign', () => {
    const problem = problemWith(WIDE);
    const [buffer] = expandBuffers(problem, { R: 8, C: 32 });
    const values = Float64Array.from({ length: 256 }, (_, i) => ((i * 37) % 101) / 50 - 1);
    const [stream, shared] = [createStream(3, 'own'), createStream(3, 'shared')];
    disguise(values, secretSetOf('secret:wholes about 16')!, { problem, buffer: buffer!, stream, shared });
    expect([...values].every((value) => Number.isInteger(value) && Math.abs(value) <= 16)).toBe(true);
    const first = values.subarray(0, 128);
    expect([...first].every((value) => Math.abs(value) >= 14)).toBe(true);
    expect(new Set([...first].map((value) => Math.sign(value))).size).toBe(1);
  });
});

describe('rows that rise by a little less than a number that the code adds', () => {
  it('are for numbers that inputs reach', () => {
    expect(setsOfSteps(problemWith(WIDE), [16, 80])).toEqual(['secret:steps about 16', 'secret:steps about 80']);
    expect(setsOfSteps(problemWith({ ...WIDE, most: 64 }), [16, 80])).toEqual(['secret:steps about 16']);
    expect(setsOfSteps(problemWith(false), [16])).toEqual([]);
  });

  it('begin with a power of two of low values; the others are near one another and below zero', () => {
    const problem = problemWith(WIDE);
    const [buffer] = expandBuffers(problem, { R: 8, C: 256 });
    const values = new Float64Array(8 * 256);
    const [stream, shared] = [createStream(3, 'own'), createStream(3, 'shared')];
    disguise(values, secretSetOf('secret:steps about 80')!, { problem, buffer: buffer!, stream, shared });
    const lows = Array.from({ length: 8 }, (_, row) => {
      const own = values.subarray(row * 256, (row + 1) * 256);
      const low = own.findIndex((value) => value > -1);
      expect(own.subarray(0, low).every((value) => value < -79.9 && value > -80)).toBe(true);
      expect(own.subarray(low).every((value) => value <= 0 && value > -0.25)).toBe(true);
      return low;
    });
    expect(lows.every((low) => Number.isInteger(Math.log2(low)) && low <= 128)).toBe(true);
    expect(new Set(lows).size).toBeGreaterThan(1);
  });
});

describe('inputs about as large as a number of the code', () => {
  it('are for the number, twice that, what the largest of many reach it with, its roots and its square, as far as inputs reach', () => {
    const sets = (constant: number, scaling: Scaling | false = WIDE) =>
      setsAbout(problemWith(scaling), constant).map((name) => name.replace('secret:constants about ', ''));
    expect(sets(-600)).toEqual(['1200', '600', '150', '49', '24.5']);
    expect(sets(30)).toEqual(['60', '30', '7.5', '11', '5.48', '900']);
    expect(sets(1e8)).toEqual([]);
    expect(sets(1e6)).toEqual(['2000', '1000']);
    expect(sets(600, false)).toEqual([]);
  });

  it('are called so, milder ones too', () => {
    const names = levelsOf({ kind: 'secret:constants', about: 24.5 });
    expect(names[1]).toBe('secret:constants about 24.5, milder (1)');
    expect(names.map((name) => secretSetOf(name))).toEqual(
      [0, 1, 2].map((level) => ({ kind: 'secret:constants', about: 24.5, level })),
    );
  });

  it('are of that size, within a factor of two, and never beyond what the problem declares', () => {
    for (const size of sizesOf('secret:constants about 600')) {
      expect(size).toBeGreaterThan(300);
      expect(size).toBeLessThan(1200);
    }
    for (const size of sizesOf('secret:constants about 600', problemWith({ ...WIDE, most: 16 })))
      expect(size).toBeLessThan(20);
    expect(sizesOf('secret:constants about 600', problemWith(false)).every((size) => size < 1.2)).toBe(true);
  });
});

describe('inputs that hold whole numbers with which the code asks whether values are the same', () => {
  const withBytes = (dtype: 'u8' | 'i32', high = 256): ProblemFile => ({
    ...toyProblem().file,
    inputs: { X: { dtype, shape: ['R', 'C'], access: 'in', generator: { kind: 'index-range', low: 0, high } } },
  });

  /** X, whose elements are drawn from 0 to `most`, in one of the sets. */
  function valuesOf(problem: ProblemFile, most: number, set: string): Float64Array {
    const [buffer] = expandBuffers(problem, { R: 8, C: 128 });
    const [stream, shared] = [createStream(1, 'own'), createStream(1, 'shared')];
    const drawn = Float64Array.from({ length: 1024 }, (_, i) => i % (most + 1));
    return disguise(drawn, secretSetOf(set)!, { problem, buffer: buffer!, stream, shared });
  }

  /** Words of X, whose elements are drawn from 0 to `most`, which is the largest that it has in any set. */
  function wordsOf(dtype: 'u8' | 'i32', most: number, number: number): Set<number> {
    const problem = withBytes(dtype, most + 1);
    const values = valuesOf(problem, most, setsOfWords(problem, [number])[0]!);
    if (dtype === 'i32') return new Set(values);
    return new Set(new Uint32Array(Uint8Array.from(values).buffer));
  }

  it('hold them in four neighbouring bytes, or in one element', () => {
    expect(wordsOf('u8', 255, 0x474e5089)).toContain(0x474e5089);
    expect(wordsOf('i32', 255, 200)).toContain(200);
  });

  it('hold none beyond what the problem draws', () => {
    expect(wordsOf('u8', 100, 0x474e5089)).not.toContain(0x474e5089);
    expect(wordsOf('i32', 100, 200)).not.toContain(200);
  });

  it('hold what some set of the problem has, although the declared one draws smaller values', () => {
    const wide = withBytes('i32', 2 ** 31);
    expect(new Set(valuesOf(wide, 100, setsOfWords(wide, [200])[0]!))).toContain(200);
  });

  it('let sums stand at a number, also at one that wraps around', () => {
    const wide = withBytes('i32', 2 ** 31);
    const [, standing] = setsOfWords(wide, [-2139062144, 77]) as [string, string];
    const values = valuesOf(wide, 100, standing);
    const sums = new Set<number>();
    let sum = 0;
    for (const value of values) {
      sum = (sum + value) | 0;
      sums.add(sum);
    }
    expect([...sums].sort()).toEqual([-2139062144, 77]);
    expect(setsOfWords(withBytes('u8'), [200])).toHaveLength(1);
  });

  it('are none for small numbers, and none where all inputs are fractions', () => {
    expect(setsOfWords(withBytes('u8'), [0, 1, 15])).toEqual([]);
    expect(setsOfWords(toyProblem().file, [200])).toEqual([]);
  });
});
