import { describe, expect, it } from 'vitest';
import type { PlannedBuffer } from '../../../src/core/launch-plan.ts';
import type { ProblemFile } from '../../../src/core/problem.ts';
import { decode, encode } from '../../../src/core/rounding.ts';
import {
  inputsWithRows,
  OTHERS,
  type Resemblance,
  resembling,
  scaled,
  withNeighboursExchanged,
  withOneOther,
  withRowsExchanged,
} from '../../../src/evaluation/verify/resembling-inputs.ts';
import { createStream } from '../../../src/stats/random.ts';

const [ROWS, COLUMNS] = [16, 33];

const buffer = {
  ...{ name: 'x', dtype: 'f32', role: 'in', shape: [ROWS, COLUMNS], strides: [COLUMNS, 1] },
  bytes: 4 * ROWS * COLUMNS,
} as unknown as PlannedBuffer;

const problemWith = (x: object): ProblemFile =>
  ({
    inputs: { x: { dtype: 'f32', access: 'in', ...x } },
    outputs: { y: { dtype: 'f32', access: 'out' } },
    comparison: { kind: 'exact' },
  }) as unknown as ProblemFile;

const WIDE = { scaling: { least: 1, most: 1024, offset: 0 } };
const drawn = Float64Array.from({ length: ROWS * COLUMNS }, (_, i) => Math.fround(createStream(1).normal(i)));

function changed(how: Resemblance, input: object, values = drawn, planned = buffer): Float64Array {
  const problem = problemWith(input);
  const contents = new Map([['x', encode(values, planned.dtype)]]);
  const streamOf = (name: string) => createStream(2, how, name);
  return decode(resembling(contents, how, { buffers: [planned], problem, streamOf }).get('x')!, planned.dtype);
}

const rows = (values: Float64Array): Float64Array[] =>
  Array.from({ length: ROWS }, (_, row) => values.subarray(row * COLUMNS, (row + 1) * COLUMNS));

describe('inputs that resemble the last ones', () => {
  it('have one value far above the others in every row, if the values may grow', () => {
    for (const [i, row] of rows(changed('differ in the greatest values only', WIDE)).entries()) {
      expect(row.filter((value, column) => value !== rows(drawn)[i]![column])).toHaveLength(1);
      expect(Math.max(...row)).toBeGreaterThan(50);
    }
  });

  it('have lost the greatest value of nearly every row, if they may not', () => {
    const after = rows(changed('differ in the greatest values only', { scaling: false }));
    const lost = rows(drawn).filter((row, i) => Math.max(...row) > Math.max(...after[i]!));
    expect(lost.length).toBeGreaterThan(ROWS / 2);
    expect(after.flatMap((row) => [...row]).every((value) => drawn.includes(value))).toBe(true);
  });

  it('are the same values in another order', () => {
    const after = changed('are the same values in another order', WIDE);
    expect([...after].sort()).toEqual([...drawn].sort());
    expect(after.filter((value, i) => value === drawn[i]).length).toBeLessThan(20);
  });

  it('have the same sums, and other values', () => {
    const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);
    const after = changed('have the same sums', WIDE);
    expect(sum(after)).toBeCloseTo(sum(drawn), 3);
    expect([...after].sort()).not.toEqual([...drawn].sort());
    const whole = drawn.map((_, i) => (7 * i) % 23);
    const bins = { ...buffer, dtype: 'i32', generator: { kind: 'index-range' } } as unknown as PlannedBuffer;
    const others = changed('have the same sums', {}, whole, bins);
    expect(sum(others)).toBe(sum(whole));
    expect(others.every((value) => Number.isInteger(value) && value >= 0 && value < 23)).toBe(true);
    expect([...others].sort()).not.toEqual([...whole].sort());
  });

  it('have the same exclusive or, and other values', () => {
    const parity = (values: ArrayLike<number>): number =>
      [...new Uint32Array(Float32Array.from(values).buffer)].reduce((all, word) => all ^ word, 0);
    const after = changed('have the same exclusive or', WIDE);
    expect(parity(after)).toBe(parity(drawn));
    for (const lane of [0, 1, 2, 3]) {
      const own = (_: number, i: number): boolean => i % 4 === lane;
      expect(parity([...after].filter(own))).toBe(parity([...drawn].filter(own)));
    }
    expect(after.filter((value, i) => value !== drawn[i]).length).toBeGreaterThan(ROWS);
    expect(after.every((value, i) => Math.abs(value) >= Math.abs(drawn[i]!))).toBe(true);
    expect(after.every((value, i) => Math.abs(value - drawn[i]!) <= Math.abs(drawn[i]!) / 2)).toBe(true);
    const whole = drawn.map((_, i) => (7 * i) % 23);
    const bins = { ...buffer, dtype: 'i32', generator: { kind: 'index-range' } } as unknown as PlannedBuffer;
    const others = changed('have the same exclusive or', {}, whole, bins);
    expect(others.reduce((all, value) => all ^ value, 0)).toBe(whole.reduce((all, value) => all ^ value, 0));
    expect(others.every((value) => value >= 0 && value < 23)).toBe(true);
    expect([...others].sort()).not.toEqual([...whole].sort());
  });

  it('have whole rows and columns of zeros, and others without', () => {
    const after = changed('have some rows and columns of zeros', WIDE);
    const isZero = (row: Float64Array): boolean => row.every((value) => value === 0);
    expect(rows(after).filter(isZero).length).toBeGreaterThan(0);
    expect(rows(after).filter(isZero).length).toBeLessThan(ROWS);
    const columns = Array.from({ length: COLUMNS }, (_, c) => Float64Array.from(rows(after), (row) => row[c]!));
    expect(columns.filter(isZero).length).toBeGreaterThan(0);
  });

  it('have no zeros among positive values', () => {
    const positive = drawn.map((value) => Math.fround(Math.abs(value) + 1));
    expect([...changed('have some rows and columns of zeros', WIDE, positive)]).toEqual([...positive]);
  });

  it('stay as they are where elements depend on one another', () => {
    const offsets = { ...buffer, dtype: 'i32', generator: { kind: 'csr' } } as unknown as PlannedBuffer;
    const values = drawn.map((_, i) => i);
    expect([...changed('are the same values in another order', {}, values, offsets)]).toEqual([...values]);
  });
});

it('inputs with neighbours exchanged have the same sums of 64, and one pair of them the other way round', () => {
  const contents = new Map([['x', encode(drawn, 'f32')]]);
  const changedBytes = withNeighboursExchanged(contents, {
    buffers: [buffer],
    streamOf: (name) => createStream(5, name),
  });
  const after = decode(changedBytes.get('x')!, 'f32');
  for (let from = 0; from + 64 <= drawn.length; from += 64) {
    const block = (values: Float64Array): number[] => [...values.subarray(from, from + 64)];
    expect(block(after).toSorted()).toEqual(block(drawn).toSorted());
    expect(block(after).filter((value, i) => value !== block(drawn)[i])).toHaveLength(2);
  }
});

describe('inputs with one other element', () => {
  const others = (input: object, how: (typeof OTHERS)[number]): (number[] | undefined)[] =>
    Array.from({ length: 40 }, (_, seed) => {
      const request = { problem: problemWith(input), how, streamOf: (name: string) => createStream(seed, name) };
      const contents = withOneOther(new Map([['x', encode(drawn, 'f32')]]), buffer, request);
      const after = contents && decode(contents.get('x')!, 'f32');
      return after && [...after].flatMap((value, i) => (value === drawn[i] ? [] : [i, value]));
    });

  it('have one, at a secret place, which is one of the values or far larger', () => {
    for (const how of OTHERS) {
      const changes = others(WIDE, how);
      expect(changes.every((change) => change?.length === 2)).toBe(true);
      expect(new Set(changes.map((change) => change![0])).size).toBeGreaterThan(30);
      expect(changes.every((change) => drawn.includes(change![1]!))).toBe(how === 'as large');
    }
  });

  it('have none far larger if values may not grow', () => {
    expect(others({ scaling: false }, 'far larger').every((change) => change === undefined)).toBe(true);
    expect(others({ scaling: false }, 'as large').every((change) => change?.length === 2)).toBe(true);
  });
});

describe('inputs as large and as small as may be', () => {
  const contents = new Map([['x', encode(drawn, 'f32')]]);
  const scaledBy = (scale: 'most' | 'least', input: object) =>
    scaled(contents, scale, { buffers: [buffer], problem: problemWith(input) });

  it('are all multiplied by one power of two', () => {
    const scaling = { least: 2 ** -8, most: 2 ** 10, offset: 0 };
    expect(decode(scaledBy('most', { scaling })!.get('x')!, 'f32')).toEqual(drawn.map((value) => value * 2 ** 10));
    expect(decode(scaledBy('least', { scaling })!.get('x')!, 'f32')).toEqual(drawn.map((value) => value * 2 ** -8));
  });

  it('are none where values may not be scaled', () => {
    expect(scaledBy('most', { scaling: false })).toBeUndefined();
    expect(scaledBy('least', WIDE)).toBeUndefined();
  });
});

describe('inputs with rows exchanged', () => {
  const planned = (name: string, shape: number[], strides: number[]): PlannedBuffer =>
    ({ name, dtype: 'f32', role: 'in', shape, strides, bytes: 4 * shape.reduce((a, b) => a * b, 1) }) as never;
  const buffers = [
    planned('keys', [2, 5, 3], [15, 3, 1]),
    planned('values', [2, 5, 4], [20, 4, 1]),
    planned('factor', [7], [1]),
  ];
  const contents = new Map(
    buffers.map(({ name, bytes }) => [
      name,
      encode(
        Float64Array.from({ length: bytes / 4 }, (_, i) => i),
        'f32',
      ),
    ]),
  );
  const rowsOf = (all: ReadonlyMap<string, Uint8Array>, name: string, columns: number): number[] =>
    [...decode(all.get(name)!, 'f32')].filter((_, i) => i % columns === 0).map((value) => value / columns);

  it('are those that have rows', () => {
    expect(inputsWithRows(contents, buffers)).toEqual(['keys', 'values']);
  });

  it('have two of each matrix exchanged, the same ones in all', () => {
    const exchanged = withRowsExchanged(contents, ['keys', 'values'], { buffers, stream: createStream(3) });
    const order = rowsOf(exchanged, 'keys', 3);
    expect(order.toSorted((a, b) => a - b)).toEqual(rowsOf(contents, 'keys', 3));
    for (const matrix of [order.slice(0, 5), order.slice(5)])
      expect(matrix.filter((row, i) => row % 5 !== i)).toHaveLength(2);
    expect(rowsOf(exchanged, 'values', 4)).toEqual(order);
    expect(exchanged.get('factor')).toBe(contents.get('factor'));
  });
});
