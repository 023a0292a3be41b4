import { describe, expect, it } from 'vitest';
import type { BufferDeclaration, ProblemFile } from '../../../../src/core/problem.ts';
import { disguise } from '../../../../src/evaluation/oracle/secret/disguise.ts';
import { areValuesPlaced, secretSetOf } from '../../../../src/evaluation/oracle/secret/secret-set.ts';
import { variantSetsOf } from '../../../../src/evaluation/oracle/secret/sets-of-problem.ts';
import {
  shapesNeeded,
  variantsForLongRows,
  variantsForLongSums,
} from '../../../../src/evaluation/oracle/secret/variants/index.ts';
import { createStream } from '../../../../src/stats/random.ts';
import { toyProblem } from '../../../support/toy-problem.ts';

const input = (shape: (string | number)[], more: Partial<BufferDeclaration> = {}): BufferDeclaration => ({
  ...{ description: '', dtype: 'f32', access: 'in', generator: { kind: 'normal' } },
  shape,
  ...more,
});

const problemOf = (inputs: ProblemFile['inputs'], comparison: ProblemFile['comparison']): ProblemFile => ({
  ...toyProblem().file,
  inputs,
  outputs: { Y: { ...input(['R', 'N']), access: 'out' } },
  comparison,
});

const CONDITIONED = { kind: 'conditioned', constant: 2, unit: 'f32', terms: 'N' } as const;
const norm = problemOf({ X: input(['R', 'N']), factor: input(['N']), shift: input(['N']) }, CONDITIONED);

/** What a set makes of an input of 8 rows of 16 columns, or of 16 elements. */
function drawn(problem: ProblemFile, name: string, set: string): number[] {
  const { shape: axes, dtype } = problem.inputs[name]!;
  const shape = axes.length === 2 ? [8, 16] : [16];
  const size = shape.reduce((product, extent) => product * extent, 1);
  const values = Float64Array.from({ length: size }, (_, i) => Math.sin(i + 1));
  const buffer = { name, dtype, shape, generator: problem.inputs[name]!.generator } as never;
  const streams = { stream: createStream(1, name), shared: createStream(1, 'shared') };
  return [...disguise(values, secretSetOf(set)!, { problem, buffer, ...streams })];
}

const of = (problem: ProblemFile, kind: string): string[] =>
  variantSetsOf(problem).filter((set) => set.startsWith(kind));
const only = (values: number[]): number | undefined => (new Set(values).size === 1 ? values[0] : undefined);

describe('rows whose mean and variance are easily worked out wrong', () => {
  const rowwise = { ...norm, reducedAxis: { input: 'X', axis: 1 } };

  it('are those of a problem that answers each of their values', () => {
    expect(of(rowwise, 'secret:moments')).toHaveLength(2);
    expect(of(norm, 'secret:moments')).toEqual([]);
    const summed = { ...rowwise, outputs: { Y: { ...input(['R']), access: 'out' as const } } };
    expect(of(summed, 'secret:moments')).toEqual([]);
  });

  it('have a first value that stands out, or halves apart', () => {
    const [first, halves] = of(rowwise, 'secret:moments') as [string, string];
    const before = Array.from({ length: 16 }, (_, i) => Math.sin(i + 1));
    const [outlier, ...others] = drawn(rowwise, 'X', first);
    expect(others.slice(0, 15)).toEqual(before.slice(1));
    expect(outlier).toBeGreaterThan(4 * 0.69);
    expect(outlier).toBeLessThan(1 + 8 * 0.75);
    const parted = drawn(rowwise, 'X', halves);
    expect(parted.slice(0, 8)).toEqual(before.slice(0, 8));
    for (let i = 8; i < 16; i++) expect(parted[i]! - before[i]!).toBeCloseTo(parted[8]! - before[8]!, 12);
    expect(parted[8]! - before[8]!).toBeGreaterThan(2);
  });

  it('show a variance about the first value, and no other that is added up in fp32', () => {
    const columns = 2 ** 16;
    const values = Float64Array.from({ length: columns }, (_, i) => createStream(7).normal(i));
    const buffer = { name: 'X', dtype: 'f32', shape: [1, columns], generator: { kind: 'normal' } } as never;
    const [first] = of(rowwise, 'secret:moments') as [string];
    const streams = { stream: createStream(1, 'X'), shared: createStream(1, 'shared') };
    const row = [...disguise(values, secretSetOf(first)!, { problem: rowwise, buffer, ...streams })].map(Math.fround);
    const meanOf = (terms: readonly number[]): number => {
      // 256 threads, as a kernel has them, and their sums in order.
      const sums = new Float32Array(256);
      terms.forEach((term, i) => {
        sums[i % 256]! += term;
      });
      return sums.reduce((sum, one) => Math.fround(sum + one), 0) / columns;
    };
    const mean = row.reduce((sum, one) => sum + one, 0) / columns;
    const variance = row.reduce((sum, one) => sum + (one - mean) ** 2, 0) / columns;
    const errorOf = (found: number): number => Math.abs(found / variance - 1);
    const about = (pivot: number): number =>
      meanOf(row.map((one) => Math.fround((one - pivot) ** 2))) -
      meanOf(row.map((one) => Math.fround(one - pivot))) ** 2;
    expect(errorOf(about(Math.fround(mean)))).toBeLessThan(1e-5);
    expect(errorOf(about(0))).toBeLessThan(1e-5);
    expect(errorOf(about(row[0]!))).toBeGreaterThan(1e-3);
  });
});

/** The largest product of this row and one of those. */
const largest = (query: Float64Array, some: readonly Float64Array[]): number =>
  Math.max(...some.map((key) => key.reduce((sum, value, i) => sum + value * query[i]!, 0)));

describe('inputs in variants', () => {
  it('make one of two factors very large, and the other one as much smaller', () => {
    const product = problemOf({ A: input(['R', 'N']), B: input(['R', 'N']) }, CONDITIONED);
    const [first] = of(product, 'secret:lopsided') as [string];
    expect([drawn(product, 'A', first)[0], drawn(product, 'B', first)[0]]).toEqual([
      Math.sin(1) * 2 ** 40,
      Math.sin(1) * 2 ** -40,
    ]);
    const scaled = { ...product, inputs: { ...product.inputs, A: input(['R', 'N'], { scaling: false }) } };
    expect(of(scaled, 'secret:lopsided')).toEqual([]);
  });

  it('make one of two factors very large from some place on along what is summed, and the other one as much smaller', () => {
    const inputs = { A: input(['R', 'N']), B: input(['N', 'C']) };
    const outputs = { Y: { ...input(['R', 'C']), access: 'out' as const } };
    const product: ProblemFile = { ...problemOf(inputs, CONDITIONED), outputs };
    const [, , third, fourth, fifth] = of(product, 'secret:lopsided') as [string, string, string, string, string];
    const exponents = (name: string, set: string): number[] =>
      drawn(product, name, set).map((value, i) => Math.log2(value / Math.sin(i + 1)));
    // 8 by 16, of which N is the second extent, then the first.
    const ofA = exponents('A', third).slice(0, 16);
    const ofB = exponents('B', third);
    expect(new Set(ofA)).toEqual(new Set([0, 40]));
    expect(ofA).toEqual(ofA.toSorted((a, b) => a - b));
    expect(exponents('A', fourth).slice(0, 16)).toEqual(ofA.map((exponent) => 0 - exponent));
    expect([...new Set(ofB)]).toEqual([0, -40]);
    // Half before the place, half behind.
    expect(exponents('A', fifth).slice(0, 16)).toEqual(ofA.map((exponent) => exponent - 20));
    expect([...new Set(exponents('B', fifth))]).toEqual([20, -20]);
    expect(of(problemOf({ A: input(['R', 'N']), B: input(['R', 'N']) }, CONDITIONED), 'secret:lopsided')).toHaveLength(
      2,
    );
  });

  it('make one of several inputs as large as callers do, of one sign and nowhere small, and the others as small', () => {
    const scaling = { least: 2 ** -6, most: 2 ** 6, offset: 0 };
    const product = problemOf({ A: input(['R', 'N'], { scaling }), B: input(['R', 'N'], { scaling }) }, CONDITIONED);
    const [, second] = of(product, 'secret:scales') as [string, string];
    const usual = Array.from({ length: 128 }, (_, i) => Math.sin(i + 1));
    expect(drawn(product, 'A', second)).toEqual(usual.map((value) => value * 2 ** -6));
    expect(drawn(product, 'B', second)).toEqual(usual.map((value) => Math.max(1, Math.abs(value)) * 2 ** 6));
    const alone = problemOf({ A: input(['R', 'N'], { scaling }) }, CONDITIONED);
    expect(of(alone, 'secret:scales')).toEqual([]);
  });

  it('are differences of small numbers, whose sums stay small', () => {
    const generator = { kind: 'index-range', low: -(2 ** 31), high: 2 ** 31 } as const;
    const scanned = problemOf({ x: input(['N'], { dtype: 'i32', generator }) }, { kind: 'exact' });
    let sum = 0;
    const sums = drawn(scanned, 'x', of(scanned, 'secret:integers').at(-2)!).map((value) => (sum += value));
    expect(new Set(sums)).toContain(-1);
    expect(sums.every((value) => value >= -1 && value <= 1)).toBe(true);
  });

  it('are bytes and 16-bit numbers of one sign, whose sums leave their range', () => {
    const x = input(['N'], { dtype: 'i32', generator: { kind: 'index-range', low: -100, high: 2 ** 30 } });
    const sums = problemOf({ x }, { kind: 'exact' });
    const values = drawn(sums, 'x', of(sums, 'secret:integers').at(-3)!);
    const least = Math.min(...values.map(Math.abs));
    expect(new Set(values.map(Math.sign)).size).toBe(1);
    expect(least).toBeGreaterThanOrEqual(65);
  });

  it('of floating-point numbers of a wide range, some are as large as 32-bit sums of a few dozen can hold', () => {
    const wide = { least: 2 ** -20, most: 2 ** 40, offset: 0 };
    const values = (scaling: typeof wide): number[] => {
      const x = input(['N'], { scaling, dtype: 'f32' });
      const sums = problemOf({ x }, CONDITIONED);
      return drawn(sums, 'x', of(sums, 'secret:integers').at(-3)!);
    };
    expect(values(wide).every((value) => Number.isInteger(value) && value >= 2 ** 15 && value < 2 ** 25)).toBe(true);
    expect(values({ ...wide, most: 2 ** 10 }).every(Number.isInteger)).toBe(false);
  });

  it('are one large power of two and zeros, so that sums end in many zero bits', () => {
    const generator = { kind: 'index-range', low: -100, high: 2 ** 30 } as const;
    const sums = problemOf({ x: input(['N'], { dtype: 'i32', generator }) }, { kind: 'exact' });
    const [first, ...others] = drawn(sums, 'x', of(sums, 'secret:integers').at(-1)!);
    expect(first).toBe(2 ** 29);
    expect(new Set(others)).toEqual(new Set([0]));
  });

  it('make one input alone a power of two whose words add up to 0', () => {
    const product = problemOf({ A: input(['R', 'N']), B: input(['R', 'N']) }, CONDITIONED);
    const constants = of(product, 'secret:neutral').map((set) => only(drawn(product, 'A', set)));
    expect(constants).toContain(2);
    const word = new Uint32Array(Float32Array.of(2).buffer)[0]!;
    expect((128 * word) % 2 ** 32).toBe(0);
  });

  it('make parameters neutral, in every combination, and leave the others', () => {
    const variants = of(norm, 'secret:neutral').map((set) =>
      ['X', 'factor', 'shift'].map((name) => only(drawn(norm, name, set))),
    );
    for (const factor of [1, 0])
      for (const shift of [1, 0]) expect(variants).toContainEqual([undefined, factor, shift]);
    expect(variants.every((constants) => constants.includes(undefined))).toBe(true);
  });

  it('make one input rise row by row, or its first row stand out, while the others are positive', () => {
    const product = problemOf({ A: input(['R', 'N']), B: input(['R', 'N']) }, CONDITIONED);
    const [steep, sink] = of(product, 'secret:trends') as [string, string];
    const rows = (values: number[]): number[] =>
      Array.from({ length: 8 }, (_, row) => values.slice(row * 16, row * 16 + 16).reduce((sum, value) => sum + value));
    const risen = rows(drawn(product, 'A', steep));
    expect(risen).toEqual(risen.toSorted((a, b) => a - b));
    expect(Math.min(...drawn(product, 'B', steep))).toBeGreaterThan(0);
    const [first, ...others] = rows(drawn(product, 'A', sink));
    // Beside it, the exponentials of all eight together weigh between a fiftieth and a 3,000th.
    expect(first! / 4 - Math.log(8)).toBeGreaterThanOrEqual(4);
    expect(first! / 4 - Math.log(8)).toBeLessThan(8);
    expect(Math.max(...drawn(product, 'B', sink).slice(0, 16))).toBeLessThan(0.05);
    // Unlike one another: what is added one by one to the first one's weight must not be rounded alike.
    const spread = Math.hypot(...others) / 4 / Math.sqrt(others.length);
    expect(spread).toBeGreaterThan(0.1);
    expect(spread).toBeLessThan(1);
  });

  it('stand out in long rows only of the input whose rows are summed over', () => {
    const product = problemOf({ A: input(['R', 'N']), B: input(['N', 'R']) }, CONDITIONED);
    const summed: ProblemFile = { ...product, reducedAxis: { input: 'A', axis: 1 } };
    const sinks = variantsForLongRows(summed, of(summed, 'secret:trends'));
    const gentle = of(summed, 'secret:trends').at(-1)!;
    expect(sinks).toEqual([of(summed, 'secret:trends')[7], gentle]);
    expect(variantsForLongSums(summed, of(summed, 'secret:trends'), 'always')).toEqual([gentle]);
    expect(variantsForLongSums(summed, of(summed, 'secret:trends'), 'by lot')).toContain(sinks[0]);
  });

  it('let later sums of products exceed earlier ones by a number of powers of two for each row, often very nearly 16', () => {
    const both = problemOf({ A: input(['R', 'N']), B: input(['M', 'N']) }, CONDITIONED);
    const product: ProblemFile = { ...both, reducedAxis: { input: 'A', axis: 0 } };
    // Of the input whose rows are summed over only.
    const [rising, gentle, ...others] = of(product, 'secret:trends').slice(12) as [string, string];
    expect(others).toEqual([]);
    const columns = 64;
    const make = (name: string, rows: number, set = rising, seed = 1): Float64Array[] => {
      const shape = [rows, columns];
      const buffer = { name, dtype: 'f32', shape, generator: { kind: 'normal' } } as never;
      const streams = { stream: createStream(seed, name), shared: createStream(seed, 'shared') };
      const values = new Float64Array(rows * columns).fill(1);
      disguise(values, secretSetOf(set)!, { problem: product, buffer, ...streams });
      return Array.from({ length: rows }, (_, row) => values.subarray(row * columns, (row + 1) * columns));
    };
    // Gently: by some more powers of two than half precision has, or fp32, and by few in a tile of 64 rows.
    const rises = Array.from({ length: 8 }, (_, seed) => {
      const [long, [query]] = [make('A', 4096, gentle, seed), make('B', 1, gentle, seed) as [Float64Array]];
      const maxima = Array.from({ length: 64 }, (_, tile) => largest(query, long.slice(64 * tile, 64 * tile + 64)));
      const steps = maxima.slice(1).map((one, i) => (one - maxima[i]!) / Math.sqrt(columns) / Math.LN2);
      expect(Math.max(...steps)).toBeLessThan(4);
      return steps.reduce((sum, step) => sum + step, 0);
    });
    expect(Math.min(...rises)).toBeGreaterThan(15.5);
    expect(Math.min(...rises)).toBeLessThan(45);
    expect(Math.max(...rises)).toBeGreaterThan(120);
    const [keys, queries] = [make('A', 40), make('B', 400)];
    const octaves = queries.map(
      (query) => (largest(query, keys) - largest(query, keys.slice(0, 20))) / Math.sqrt(columns) / Math.LN2,
    );
    const near = octaves.filter((amount) => Math.abs(amount - 16) < 0.02);
    expect(near.length).toBeGreaterThan(150);
    expect(near.filter((amount) => Math.abs(amount - 16) < 2 ** -10).length).toBeGreaterThan(10);
    expect(near.some((amount) => amount > 16) && near.some((amount) => amount < 16)).toBe(true);
    expect(new Set(octaves.map(Math.round)).size).toBeGreaterThan(12);
  });

  it('make one row of the second half much larger, or all from there on, while all else is as drawn', () => {
    const product = problemOf({ A: input(['R', 'N']), B: input(['R', 'N']) }, CONDITIONED);
    const [late, louder] = of(product, 'secret:trends').slice(4, 6) as [string, string];
    const sizes = (values: number[]): number[] =>
      Array.from({ length: 8 }, (_, row) => Math.hypot(...values.slice(row * 16, row * 16 + 16)) / 4);
    const ofLate = sizes(drawn(product, 'A', late));
    expect(ofLate.filter((size) => size > 4)).toHaveLength(1);
    expect(Math.max(...ofLate.slice(0, 4), ...sizes(drawn(product, 'B', late)))).toBeLessThan(2);
    const ofLouder = sizes(drawn(product, 'A', louder));
    const place = ofLouder.findIndex((size) => size > 2);
    expect(place).toBeGreaterThanOrEqual(4);
    expect(Math.min(...ofLouder.slice(place))).toBeGreaterThan(2);
  });

  it('make every so many elements small whole numbers, in stretches', () => {
    const strided = of(norm, 'secret:samples')[2]!;
    const values = drawn(norm, 'X', strided);
    const stride = values.findIndex((value, i) => i > 0 && Number.isInteger(value));
    expect([2, 4, 8, 16, 32]).toContain(stride);
    values.forEach((value, i) => void expect(Number.isInteger(value)).toBe(i % stride === 0));
  });

  it('make every so many rows, or columns, of a block zeros, and leave the others', () => {
    const values = drawn(norm, 'X', of(norm, 'secret:sparse')[0]!);
    const isZero = (row: number, column: number): boolean => values[row * 16 + column] === 0;
    const [rows, columns] = [8, 16].map((count) => Array.from({ length: count }, (_, i) => i)) as [number[], number[]];
    const zeroRows = rows.filter((row) => columns.every((column) => isZero(row, column)));
    const zeroColumns = columns.filter((column) => rows.every((row) => isZero(row, column)));
    expect(Math.min(zeroRows.length, zeroColumns.length)).toBe(0);
    const lines = zeroRows.length > 0 ? zeroRows : zeroColumns;
    expect(lines.length).toBeGreaterThan(0);
    const zeros = values.filter((value) => value === 0).length;
    expect(zeros).toBe(zeroRows.length * 16 + zeroColumns.length * 8);
    if (lines.length > 1) expect([2, 4, 8, 16, 32]).toContain(lines[1]! - lines[0]!);
  });

  it('make lines in turns positive and negative, all alike in size, of fractions only', () => {
    const whole = problemOf(
      { x: input(['N'], { dtype: 'i32', generator: { kind: 'index-range', low: -100, high: 100 } }) },
      { kind: 'exact' },
    );
    expect([of(norm, 'secret:samples').length, of(whole, 'secret:samples').length]).toEqual([6, 4]);
    const values = drawn(norm, 'X', of(norm, 'secret:samples')[4]!);
    const sizes = values.map((value) => Math.abs(value));
    expect(Math.max(...sizes) / Math.min(...sizes)).toBeLessThanOrEqual(2);
    const first = values.findIndex((value) => Math.sign(value) !== Math.sign(values[0]!));
    const length = first === -1 ? values.length : first;
    values.forEach((value, i) => {
      const isLikeFirst = Math.floor(i / length) % 2 === 0;
      expect(Math.sign(value) === Math.sign(values[0]!)).toBe(isLikeFirst);
    });
  });

  it('are ones but for one element of a row that is far larger, where inputs of a product or a sum have as many axes', () => {
    const given = problemOf({ x: input(['R', 'N'], { scaling: { least: 0.1, most: 64, offset: 0 } }) }, CONDITIONED);
    const sums: ProblemFile = { ...given, reducedAxis: { input: 'x', axis: 1 } };
    const rows = drawn(sums, 'x', of(sums, 'secret:samples')[5]!);
    for (let row = 0; row < 8; row++) {
      const others = rows.slice(row * 16, row * 16 + 16).filter((value) => value !== 1);
      expect(others).toEqual([8]);
    }
  });

  it('are whole numbers up to one beyond a byte, which is often among them', () => {
    const values = drawn(norm, 'X', of(norm, 'secret:integers')[4]!);
    const most = Math.max(...values);
    expect([128, 256]).toContain(most);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(most === 128 ? -128 : 0);
    expect(values.every(Number.isInteger)).toBe(true);
    expect(values.filter((value) => value === most).length).toBeGreaterThan(2);
  });

  it('have one value in a row, behind its first quarter, as far above the others as exponentials of fp32 or fp16 reach', () => {
    const logits = problemOf(
      { X: input(['R', 'N'], { scaling: { least: 0.1, most: 64, offset: 0 } }) },
      { kind: 'ulp', maximumUlps: 8 },
    );
    const summed: ProblemFile = { ...logits, reducedAxis: { input: 'X', axis: 1 } };
    const ranges = { 3: [125.5, 132], 4: [14.5, 16.5] };
    for (const [index, [least, most]] of Object.entries(ranges)) {
      const values = drawn(summed, 'X', of(summed, 'secret:depths')[Number(index)]!);
      for (let row = 0; row < 8; row++) {
        const own = values.slice(row * 16, row * 16 + 16);
        const place = own.indexOf(Math.max(...own));
        expect(place).toBeGreaterThanOrEqual(4);
        expect(own[place]! / Math.LN2).toBeGreaterThanOrEqual(least!);
        expect(own[place]! / Math.LN2).toBeLessThanOrEqual(most!);
        expect(own.filter((value) => value > 0)).toHaveLength(1);
      }
    }
  });

  it('give whole numbers, most of them within a byte, some beyond', () => {
    const values = drawn(norm, 'X', of(norm, 'secret:integers')[0]!);
    expect(values.every((value) => Number.isInteger(value) && value !== 0)).toBe(true);
    expect(values.filter((value) => Math.abs(value) <= 100).length).toBeGreaterThan(100);
    const wide = problemOf(
      { x: input(['N'], { dtype: 'i32', generator: { kind: 'index-range', low: -100, high: 2 ** 31 } }) },
      { kind: 'exact' },
    );
    const large = drawn(wide, 'x', of(wide, 'secret:integers')[0]!);
    expect(Math.min(...large)).toBeGreaterThan(2 ** 30);
    expect(variantsForLongSums(wide, of(wide, 'secret:'), 'always')).toEqual([of(wide, 'secret:integers')[0]]);
    expect(variantsForLongSums(norm, of(norm, 'secret:'), 'by lot')).toContain(of(norm, 'secret:integers')[0]);
    expect(Math.max(...large)).toBeLessThan(2 ** 31);
  });

  it('give progressions of whole numbers, each with a step of its own', () => {
    const wide = problemOf(
      { x: input(['N'], { dtype: 'i32', generator: { kind: 'index-range', low: -100, high: 2 ** 31 } }) },
      { kind: 'exact' },
    );
    const values = drawn(wide, 'x', of(wide, 'secret:integers')[1]!);
    const steps = values.slice(1).map((value, i) => value - values[i]!);
    expect(values.every(Number.isInteger)).toBe(true);
    expect(new Set(steps).size).toBe(1);
  });

  it('let a few values stand out among positive ones, where tolerances grow with the largest term', () => {
    const sum = problemOf({ X: input(['R', 'N']) }, CONDITIONED);
    const values = drawn(sum, 'X', of(sum, 'secret:outliers')[0]!);
    const outliers = values.filter((value) => value > 2 ** 16);
    expect(Math.min(...values)).toBeGreaterThan(0);
    expect(outliers.length).toBeGreaterThan(7);
    expect(outliers.length).toBeLessThan(17);
    // Two that fall on one place are one.
    expect(Math.max(...values)).toBeLessThan(1.5 * 2 ** 22);
    expect(of({ ...sum, comparison: { kind: 'ulp', maximumUlps: 8 } }, 'secret:outliers')).toEqual([]);
  });

  it('let two stand out in a sum alone, as far as fp32 bears it, and hold it to the errors of random terms', () => {
    const windows = problemOf({ X: input(['R', 'N']) }, CONDITIONED);
    const outputs = { Y: { ...input(['R']), access: 'out' as const } };
    const sum = { ...windows, reducedAxis: { input: 'X', axis: 1 }, outputs };
    const values = drawn(sum, 'X', of(sum, 'secret:outliers')[2]!);
    const outliers = values.filter((value) => value > 2);
    expect(Math.max(...outliers)).toBeLessThanOrEqual(2 ** 23);
    expect(Math.min(...outliers)).toBeGreaterThan(0.75 * 2 ** 23);
    expect(outliers.length).toBeGreaterThan(7);
    expect(outliers.length).toBeLessThan(17);
    expect(of(sum, 'secret:outliers').map(areValuesPlaced)).toEqual([true, true, false]);
    // A running sum goes on without what it has added, and of products several factors meet in one sum: both leave nothing of the others.
    expect(of(windows, 'secret:outliers')).toHaveLength(2);
    expect(of({ ...windows, reducedAxis: { input: 'X', axis: 1 } }, 'secret:outliers')).toHaveLength(2);
    const product = { ...sum, inputs: { X: input(['R', 'N']), B: input(['R', 'N']) } };
    expect(of(product, 'secret:outliers')).toHaveLength(2);
  });

  it('let none of them stand out: all lie just below a power of two', () => {
    const sum = problemOf({ X: input(['R', 'N']) }, CONDITIONED);
    const values = drawn(sum, 'X', of(sum, 'secret:outliers')[1]!);
    expect(Math.min(...values)).toBeGreaterThan(0.98);
    expect(Math.max(...values)).toBeLessThan(1);
    expect(new Set(values).size).toBeGreaterThan(100);
  });

  it('hold minus infinity in a stretch of every row, the first one at its beginning', () => {
    const masked = problemOf({ X: input(['R', 'N'], { domain: ['-infinity'] }) }, { kind: 'ulp', maximumUlps: 8 });
    const values = drawn(masked, 'X', of(masked, 'secret:masks')[1]!);
    const rows = Array.from({ length: 8 }, (_, row) => values.slice(row * 16, row * 16 + 16));
    const masks = rows.map((row) => row.map((value) => value === Number.NEGATIVE_INFINITY));
    expect(masks[0]!.slice(0, 14).every(Boolean)).toBe(true);
    for (const row of masks) {
      expect(row.filter(Boolean).length).toBeGreaterThan(3);
      expect(row.filter(Boolean).length).toBeLessThan(15);
      expect(row.lastIndexOf(true) - row.indexOf(true) + 1).toBe(row.filter(Boolean).length);
    }
  });

  it('mask rows, some of them whole, by numbers that people take for minus infinity', () => {
    const masked = problemOf({ X: input(['R', 'N'], { domain: ['-infinity'] }) }, { kind: 'ulp', maximumUlps: 8 });
    const values = drawn(masked, 'X', of(masked, 'secret:masks')[0]!);
    const rows = Array.from({ length: 8 }, (_, row) => values.slice(row * 16, row * 16 + 16));
    const isMask = (value: number): boolean => value <= -1e4;
    expect(rows.some((row) => row.every(isMask))).toBe(true);
    expect(rows.some((row) => row.some(isMask) && !row.every(isMask))).toBe(true);
    expect(of(norm, 'secret:masks')).toEqual([]);
  });

  it('mask rows, some of them whole, by a number that is added to them', () => {
    const masked = problemOf({ X: input(['R', 'N'], { domain: ['-infinity'] }) }, { kind: 'ulp', maximumUlps: 8 });
    const values = drawn(masked, 'X', of(masked, 'secret:masks')[2]!);
    const rows = Array.from({ length: 8 }, (_, row) => values.slice(row * 16, row * 16 + 16));
    const isMasked = (value: number): boolean => Math.abs(value + 1e4) <= 1;
    expect(values.every((value) => isMasked(value) || Math.abs(value) <= 1)).toBe(true);
    expect(rows.some((row) => row.every(isMasked) && new Set(row).size > 8)).toBe(true);
    expect(rows.some((row) => row.some(isMasked) && !row.every(isMasked))).toBe(true);
  });

  it('hold minus infinity in runs of level and of sorted rows, of which the first value stays', () => {
    const masked = problemOf({ X: input(['R', 'N'], { domain: ['-infinity'] }) }, { kind: 'ulp', maximumUlps: 8 });
    const values = drawn(masked, 'X', of(masked, 'secret:masks')[3]!);
    const rows = Array.from({ length: 9 }, (_, row) => values.slice(row * 16, row * 16 + 16));
    for (const [i, row] of rows.entries()) {
      const left = row.filter((value) => value !== Number.NEGATIVE_INFINITY);
      expect(row[0]).toBe(left[0]);
      expect(left.length).toBeLessThan(16);
      const inOrder = left.toSorted((a, b) => (i % 3 === 1 ? b - a : a - b));
      expect(left).toEqual(i % 3 === 0 ? left.map(() => left[0]) : inOrder);
    }
  });

  it('mask by the lowest number there is, where nothing is computed with it', () => {
    const copy = problemOf({ X: input(['R', 'N'], { domain: ['-infinity'] }) }, { kind: 'exact' });
    expect(Math.min(...drawn(copy, 'X', of(copy, 'secret:masks')[0]!))).toBe(-(2 ** 128) * (1 - 2 ** -24));
  });

  it('give few whole numbers, of any sign where the input has it, in rows that may repeat one', () => {
    const few = of(norm, 'secret:integers')[2]!;
    const rows = Array.from({ length: 8 }, (_, row) => drawn(norm, 'X', few).slice(row * 16, row * 16 + 16));
    for (const row of rows) expect(new Set(row).size).toBeLessThanOrEqual(5);
    expect(rows.flat().every(Number.isInteger)).toBe(true);
    const calibrated = problemOf({ X: input(['R', 'N']) }, { kind: 'calibrated' } as ProblemFile['comparison']);
    expect(drawn(calibrated, 'X', few).some((value) => !Number.isInteger(value))).toBe(true);
  });

  it('give equal neighbours, periods, pairs beside one value, and rows that rise by most of their values', () => {
    const copy = problemOf({ X: input(['R', 'N']) }, { kind: 'exact' });
    const values = (set: string): number[] => {
      const buffer = { name: 'X', dtype: 'f32', shape: [1, 1024], generator: { kind: 'normal' } } as never;
      const streams = { stream: createStream(1, 'X'), shared: createStream(1, 'shared') };
      const filled = Float64Array.from({ length: 1024 }, (_, i) => Math.fround(Math.sin(i + 1)));
      return [...disguise(filled, secretSetOf(set)!, { problem: copy, buffer, ...streams })];
    };
    const [neighbours, period, pairs, rising] = of(copy, 'secret:groups').map(values) as number[][];
    expect(neighbours!.every((value, i) => i % 2 === 0 || value === neighbours![i - 1])).toBe(true);
    expect(new Set(period).size).toBeLessThanOrEqual(256);
    const middle = pairs![0]!;
    const others = pairs!.filter((value) => value !== middle);
    expect(others).toHaveLength(4);
    expect(others.reduce((sum, value) => sum + value - middle, 0)).toBeCloseTo(0, 6);
    const falls = rising!.filter((value, i) => value < rising![i - 1]!).length;
    expect(falls).toBeGreaterThan(5);
    expect(falls).toBeLessThan(40);
  });

  it('make what kernels sample unlike the rest: neutral, whole or zero', () => {
    const whole = of(norm, 'secret:samples').map((set) => drawn(norm, 'factor', set));
    expect(Number.isInteger(whole[0]![0]) && Number.isInteger(whole[0]![15]) && !Number.isInteger(whole[0]![5])).toBe(
      true,
    );
    expect([whole[1]![0], whole[1]![15]]).toEqual([0, 0]);
    const neutral = of(norm, 'secret:neutral').map((set) => drawn(norm, 'factor', set));
    expect(neutral.some((values) => values[0] === 1 && values[15] === 1 && values[9] !== 1)).toBe(true);
  });

  it('put rows below zero, where values may be large', () => {
    const logits = problemOf(
      { X: input(['R', 'N'], { scaling: { least: 1, most: 1024, offset: 0 } }) },
      { kind: 'ulp', maximumUlps: 8 },
    );
    const values = drawn(logits, 'X', of(logits, 'secret:depths')[0]!);
    expect(Math.max(...values)).toBeLessThan(0);
    const parts = drawn(logits, 'X', of(logits, 'secret:depths')[1]!).slice(0, 16);
    expect(parts.slice(0, 8).every((value) => value < -6) && parts.slice(8).every((value) => value > -2)).toBe(true);
    const ranged = problemOf({ X: input(['R', 'N'], { scaling: false }) }, { kind: 'ulp', maximumUlps: 8 });
    expect(of(ranged, 'secret:depths')).toEqual([]);
    expect(of(logits, 'secret:depths')).toHaveLength(2);
  });

  it('put one value of each summed row so far above the others that these together weigh a twentieth to a 3,000th', () => {
    const logits = problemOf(
      { X: input(['R', 'N'], { scaling: { least: 1, most: 1024, offset: 0 } }) },
      { kind: 'ulp', maximumUlps: 8 },
    );
    const summed: ProblemFile = { ...logits, reducedAxis: { input: 'X', axis: 1 } };
    const sink = of(summed, 'secret:depths')[2]!;
    const values = drawn(summed, 'X', sink);
    const places = new Set<number>();
    for (let start = 0; start < values.length; start += 16) {
      const row = values.slice(start, start + 16);
      const height = Math.max(...row);
      places.add(row.indexOf(height));
      const others = row.filter((value) => value !== height);
      expect(others).toHaveLength(15);
      expect(Math.max(...others.map(Math.abs))).toBeLessThanOrEqual(0.5);
      expect(height - Math.log(16)).toBeGreaterThanOrEqual(3);
      expect(height - Math.log(16)).toBeLessThan(8);
    }
    expect([...places].every((place) => place === 0 || place === 15)).toBe(true);
    expect(variantsForLongRows(summed, of(summed, 'secret:depths'))).toContain(sink);
    // A tolerance that grows with the largest term would hide the others.
    expect(of({ ...summed, comparison: CONDITIONED }, 'secret:depths')).toHaveLength(2);
  });

  it('give copies that differ at a few places: slices, rows of a tile, parts of a vector', () => {
    const product = problemOf({ X: input(['R', 'N']), v: input(['N']) }, { kind: 'exact' });
    const [slices, rows, parts] = of(product, 'secret:copies') as [string, string, string];
    const own = (values: number[], source: (i: number) => number): number =>
      values.filter((value, i) => value !== values[source(i)]).length;
    const slicesOwn = own(drawn(product, 'X', slices), (i) => i % 16);
    expect(slicesOwn).toBeGreaterThan(0);
    expect(slicesOwn).toBeLessThan(16);
    const rowsOwn = own(drawn(product, 'X', rows), (i) => i % 16);
    expect(rowsOwn % 16).toBe(0);
    expect(rowsOwn).toBeLessThan(7 * 16);
    expect(new Set(drawn(product, 'v', parts)).size).toBeLessThan(8);
    // Equal terms of one sum round alike.
    const calibrated = problemOf({ X: input(['R', 'N']) }, { kind: 'calibrated' } as ProblemFile['comparison']);
    expect(drawn(calibrated, 'X', rows)).toEqual(Array.from({ length: 128 }, (_, i) => Math.sin(i + 1)));
  });

  it('give decimals of one or two digits', () => {
    const values = drawn(norm, 'X', of(norm, 'secret:integers')[3]!);
    expect(values.every((value) => Math.abs(100 * value - Math.round(100 * value)) < 1e-9 && value !== 0)).toBe(true);
    expect(values.some((value) => value < 0) && values.some((value) => value > 0)).toBe(true);
  });

  it('make matrices zero but for some diagonals, nearly symmetric, or of pairs that cancel', () => {
    const copy = problemOf({ X: input(['N', 'N']) }, { kind: 'exact' });
    const side = 64;
    const matrix = (set: string): number[] => {
      const values = Float64Array.from({ length: side * side }, (_, i) => Math.sin(i + 1));
      const buffer = { name: 'X', dtype: 'f32', shape: [side, side], generator: { kind: 'normal' } } as never;
      const streams = { stream: createStream(1, 'X'), shared: createStream(1, 'shared') };
      return [...disguise(values, secretSetOf(set)!, { problem: copy, buffer, ...streams })];
    };
    const made = of(copy, 'secret:bands').map(matrix);
    const [upper, both, symmetric, balanced, border] = made as [number[], number[], number[], number[], number[]];
    const isZero = (values: number[], row: number, column: number): boolean => values[row * side + column] === 0;
    expect(isZero(upper, 5, 4) && !isZero(upper, 4, 5) && isZero(upper, 4, 20)).toBe(true);
    expect(isZero(both, 5, 4) || isZero(both, 20, 4)).toBe(true);
    expect(!isZero(both, 5, 4) && isZero(both, 20, 4)).toBe(true);
    const unlike = symmetric.filter((value, i) => value !== symmetric[(i % side) * side + Math.floor(i / side)]);
    expect(unlike.length).toBeGreaterThan(10);
    expect(unlike.length).toBeLessThan(200);
    expect(isZero(border, 0, 9) && isZero(border, 9, 0) && !isZero(border, 9, 9)).toBe(true);
    const rows = Array.from({ length: side }, (_, row) => balanced.slice(row * side, (row + 1) * side));
    expect(rows.every((row) => row.reduce((sum, value) => sum + value) === 0 && row[0] !== 0)).toBe(true);
  });

  it('begin with small whole numbers and go on with others, or the other way round', () => {
    const wide = problemOf(
      { x: input(['N'], { dtype: 'i32', generator: { kind: 'index-range', low: -(2 ** 31), high: 2 ** 31 } }) },
      { kind: 'exact' },
    );
    const sizes = of(wide, 'secret:beginnings').map((set) => {
      const values = Float64Array.from({ length: 4096 }, (_, i) => (i % 2 === 0 ? i : -i));
      const buffer = { name: 'x', dtype: 'i32', shape: [4096], generator: wide.inputs.x!.generator } as never;
      const streams = { stream: createStream(1, 'x'), shared: createStream(1, 'shared') };
      return [...disguise(values, secretSetOf(set)!, { problem: wide, buffer, ...streams })].map(Math.abs);
    });
    expect(sizes).toHaveLength(4);
    const isSmall = (value: number): boolean => value <= 100;
    for (const [i, values] of sizes.entries()) {
      const end = values.findIndex((value) => isSmall(value) !== isSmall(values[0]!));
      expect(Math.log2(end) % 1).toBe(0);
      expect(isSmall(values[0]!)).toBe(i < 2);
      const others = values.slice(end).filter((value) => isSmall(value) === i < 2);
      expect(others.length).toBeLessThan(5);
    }
    const whole = drawn(norm, 'X', of(norm, 'secret:beginnings')[0]!).map(Number.isInteger);
    expect([whole[0], whole.at(-1)]).toEqual([true, false]);
  });

  it('leave a few values among zeros, most of which have an opposite, in one input of which sums are formed', () => {
    const sum: ProblemFile = {
      ...problemOf({ X: input(['R', 'N']) }, CONDITIONED),
      reducedAxis: { input: 'X', axis: 1 },
    };
    const [set, ...others] = of(sum, 'secret:specks') as [string];
    expect(others).toEqual([]);
    const values = Float64Array.from({ length: 2 * 8192 }, (_, i) => Math.sin(i + 1));
    const buffer = { name: 'X', dtype: 'f32', shape: [2, 8192], generator: { kind: 'normal' } } as never;
    const streams = { stream: createStream(1, 'X'), shared: createStream(1, 'shared') };
    disguise(values, secretSetOf(set)!, { problem: sum, buffer, ...streams });
    for (const row of [values.subarray(0, 8192), values.subarray(8192)]) {
      const specks = row.filter((value) => value !== 0);
      expect(specks.length).toBeGreaterThan(220);
      expect(specks.length).toBeLessThanOrEqual(256);
      expect(specks.filter((value) => value < 0).length).toBeGreaterThan(100);
      expect(specks.every((value) => Math.abs(value) >= 0.5 && Math.abs(value) <= 1)).toBe(true);
      expect(row.at(-1)).not.toBe(0);
    }
    expect(areValuesPlaced(set)).toBe(false);
    expect(of(norm, 'secret:specks')).toEqual([]);
  });

  it('are specks in one factor of a product, some or hardly any, while the other is as drawn', () => {
    const product = problemOf({ A: input(['R', 'N']), B: input(['N', 'R']) }, CONDITIONED);
    const summed = { ...product, reducedAxis: { input: 'A', axis: 1 } } as ProblemFile;
    const sets = of(summed, 'secret:specks');
    expect(sets).toHaveLength(4);
    const counts = sets.map((set) => ['A', 'B'].map((name) => drawn(summed, name, set).filter((x) => x !== 0).length));
    const drawnCount = Math.max(...counts.flat());
    expect(counts.map(([a, b]) => [a! < drawnCount / 4, b! < drawnCount / 4])).toEqual([
      [true, false],
      [true, false],
      [false, true],
      [false, true],
    ]);
    expect(counts[1]![0]).toBeLessThan(counts[0]![0]!);
  });

  it('are none where errors are absolute, and none of rows in which sizes may not differ', () => {
    expect(variantSetsOf({ ...norm, comparison: { kind: 'allclose', atol: 1e-3, rtol: 1e-3 } })).toEqual([]);
    expect(of({ ...norm, comparison: { kind: 'ulp', maximumUlps: 8 } }, 'secret:trends')).toEqual([]);
  });

  it('repeat a block of few values along rows, each copy like the first one or its opposite', () => {
    const bins = problemOf(
      { x: input(['N'], { dtype: 'u8', generator: { kind: 'index-range', low: 0, high: 'N' } }) },
      { kind: 'exact' },
    );
    const [along, ...others] = of(bins, 'secret:periods') as [string];
    // Of a vector, rows can't be alike.
    expect(others).toEqual([]);
    const [length, stretch] = [2 ** 17, 512];
    const values = Float64Array.from({ length }, (_, i) => (i * 97) % 251);
    const buffer = { name: 'x', dtype: 'u8', shape: [length], generator: bins.inputs.x!.generator } as never;
    const streams = { stream: createStream(1, 'x'), shared: createStream(1, 'shared') };
    disguise(values, secretSetOf(along)!, { problem: bins, buffer, ...streams });
    const stretches = Array.from({ length: length / stretch }, (_, at) =>
      values.subarray(at * stretch, (at + 1) * stretch),
    );
    for (const one of stretches) expect(new Set(one).size).toBeLessThanOrEqual(4);
    const periods = stretches.map((one) =>
      [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64].find((size) => one.every((value, i) => value === one[i % size])),
    );
    expect(new Set(periods).size).toBeGreaterThan(8);
    // Some stretches do not only repeat: every so many copies are another one.
    expect(periods.filter((period) => period === undefined).length).toBeGreaterThan(10);
    const word = (one: Float64Array, at: number): string => one.subarray(4 * at, 4 * at + 4).join();
    const isLikeRun = (one: Float64Array): boolean =>
      new Set(one.subarray(0, 4)).size === 1 && word(one, 0) === word(one, 3) && word(one, 1) === word(one, 2);
    expect(stretches.some((one, at) => isLikeRun(one) && new Set(one).size > 1 && periods[at] === 16)).toBe(true);
    expect(variantsForLongRows(bins, of(bins, 'secret:periods'))).toEqual([along]);
  });

  it('repeat a block of rows, and its negative, so that rows any power of two apart add up to nothing', () => {
    const product = problemOf({ A: input(['R', 'N']), B: input(['N', 'R']) }, {
      kind: 'calibrated',
    } as ProblemFile['comparison']);
    const summed: ProblemFile = { ...product, reducedAxis: { input: 'B', axis: 0 } };
    const [rows, ...none] = of(summed, 'secret:periods') as [string];
    // No row of these may hold few values.
    expect(none).toEqual([]);
    expect(shapesNeeded(summed, rows)).toBe('square');
    const side = 128;
    const values = Float64Array.from({ length: side * side }, (_, i) => Math.sin(i + 1));
    const make = (name: string): Float64Array => {
      const buffer = { name, dtype: 'f32', shape: [side, side], generator: { kind: 'normal' } } as never;
      const streams = { stream: createStream(1, name), shared: createStream(1, 'shared') };
      return disguise(values.slice(), secretSetOf(rows)!, { problem: summed, buffer, ...streams });
    };
    const made = make('A');
    const columns = Array.from({ length: side }, (_, column) => column);
    const cancels = (column: number, apart: number): boolean =>
      columns.every((row) => {
        const pair = row ^ apart;
        return made[row * side + column]! + made[pair * side + column]! === 0;
      });
    for (const apart of [8, 32, 64]) expect(columns.some((column) => cancels(column, apart))).toBe(true);
    expect(columns.every((column) => cancels(column, 32))).toBe(false);
    // Rows that are summed over stay as drawn where equal terms would round alike.
    expect(make('B')).toEqual(values);
  });
});
