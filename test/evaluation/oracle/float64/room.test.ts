import { describe, expect, it } from 'vitest';
import type { Float64Matrix } from '../../../../src/core/problem.ts';
import { float64Room } from '../../../../src/evaluation/oracle/float64/room.ts';

/** Numbers of either sign and of many sizes, so that another order or a product that is not rounded shows. */
function fill(values: Float64Array, seed: number): void {
  let state = seed;
  for (let i = 0; i < values.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values[i] = (state / 2 ** 31 - 1) * 2 ** ((state & 15) - 8);
  }
}

/** With a row of `gap` elements more than it has columns, and one element ahead of it. */
function matrix(array: (length: number) => Float64Array, rows: number, columns: number, gap: number): Float64Matrix {
  const values = array(rows * (columns + gap) + 1).subarray(1);
  fill(values, rows * 31 + columns);
  return { values, rows, columns, stride: columns + gap };
}

const at = ({ values, stride }: Float64Matrix, row: number, column: number): number =>
  values[row * stride! + column] as number;

/** What loops give that have each sum's terms in order, and what lies between rows as it was. */
function inOrder(c: Float64Matrix, a: Float64Matrix, elementOfB: (term: number, column: number) => number) {
  const expected = c.values.slice();
  for (let row = 0; row < c.rows; row++)
    for (let column = 0; column < c.columns; column++) {
      let sum = 0;
      for (let term = 0; term < a.columns; term++) sum += at(a, row, term) * elementOfB(term, column);
      expected[row * c.stride! + column] = sum;
    }
  return expected;
}

/** Rows, columns, terms: around fours, and more terms than are packed, or columns than go into a cache, at once. */
const SIZES = [
  ...[
    [1, 1, 1],
    [4, 4, 4],
    [5, 7, 3],
    [3, 2, 5],
    [16, 33, 64],
    [33, 6, 9],
    [2, 3, 0],
    [1, 2, 4097],
    [9, 5, 8200],
  ],
  ...[
    [2, 300, 64],
    [6, 2500, 2],
    [70, 9, 130],
  ],
] as [rows: number, columns: number, terms: number][];

const ROOM = 2 ** 20;

describe('products in a room', () => {
  it.each(SIZES)('of %i rows, %i columns and %i terms have the bits of loops', (rows, columns, terms) => {
    for (const gap of [0, 3]) {
      const room = float64Room(ROOM);
      const array = (length: number): Float64Array => room.array(length);
      const [c, a] = [matrix(array, rows, columns, gap), matrix(array, rows, terms, gap)];
      const [b, transposed] = [matrix(array, terms, columns, gap), matrix(array, columns, terms, gap)];
      const expected = inOrder(c, a, (term, column) => at(b, term, column));
      room.multiply(c, a, b);
      expect(c.values).toEqual(expected);
      const expectedOfTransposed = inOrder(c, a, (term, column) => at(transposed, column, term));
      room.multiplyByTransposed(c, a, transposed);
      expect(c.values).toEqual(expectedOfTransposed);
    }
  });

  it('keep NaN and infinities where a term of weight 0 has them', () => {
    const room = float64Room(ROOM);
    const [c, a, b] = [room.array(2), room.array(2), room.array(4)];
    a.set([0, 1]);
    b.set([Number.NaN, 1, 2, Number.POSITIVE_INFINITY]);
    const [rows, columns] = [1, 2];
    room.multiply({ values: c, rows, columns }, { values: a, rows, columns: 2 }, { values: b, rows: 2, columns });
    expect([...c]).toEqual([Number.NaN, Number.POSITIVE_INFINITY]);
  });

  it('refuse matrices that do not fit, are too short, or lie elsewhere', () => {
    const room = float64Room(64);
    const square = (rows: number, columns: number, values = room.array(4)): Float64Matrix => ({
      values,
      rows,
      columns,
    });
    const [two, one] = [square(2, 2), square(1, 2)];
    expect(() => room.multiply(two, two, one)).toThrow('matrices do not fit: c 2×2, a 2×2, b 1×2');
    expect(() => room.multiplyByTransposed(two, one, two)).toThrow('matrices do not fit');
    expect(() => room.multiply(two, two, square(2, 2, new Float64Array(4)))).toThrow('b is no array of this room');
    expect(() => room.multiply(two, two, square(2, 2, room.array(3)))).toThrow('b has 3 values, too few for 2×2');
    expect(() => room.multiply(two, two, { ...two, stride: 1 })).toThrow('b is no matrix: 2×2, from row to row 1');
    expect(() => room.exponentials(new Float64Array(1), 0)).toThrow('x is no array of this room');
    expect(() => room.array(2 ** 20)).toThrow('no room for 1048576 more elements');
    expect(() => float64Room(2 ** 30)).toThrow('larger than 4 GiB');
  });
});

/** Functions of a number from 0 to 1: usual differences to a greatest number, and where an exponential is worked out in another way. */
const EXPONENTS: [string, (u: number) => number][] = [
  ['small', (u) => -10 * u],
  ['of every size', (u) => 1500 * (u - 0.5)],
  ['about half of ln 2', (u) => (u < 0.5 ? -1 : 1) * 0.5 * Math.LN2 + 1e-9 * (u - 0.5)],
  ['about one and a half of ln 2', (u) => -1.5 * Math.LN2 + 1e-6 * (u - 0.5)],
  ['near 0', (u) => (u < 0.5 ? -1 : 1) * 2 ** (-60 * u)],
  ['where results are no normal numbers', (u) => -708 - 40 * u],
  ['where results end to be 0', (u) => -745.13 - 0.01 * u],
  ['where results begin to be infinite', (u) => 709.78 + 0.01 * u],
  [
    'that are special',
    (u) => [0, -0, 1, -1, Number.NaN, -1 / 0, 1 / 0, 2 ** -1074, -1e300, 1e300][Math.floor(u * 10)]!,
  ],
];

describe('exponentials in a room', () => {
  it.each(EXPONENTS)('of numbers %s have the bits of Math.exp', (_, of) => {
    for (const subtracted of [0, 0.3]) {
      // An odd number of them, at a place that is no vector's.
      const x = float64Room(ROOM).array(5002).subarray(1);
      fill(x, 7);
      x.forEach((value, i) => {
        x[i] = of(Math.abs((value * 1e3) % 1));
      });
      const expected = x.map((value) => Math.exp(value - subtracted));
      const sum = float64Room(ROOM).exponentials(x, subtracted);
      expect(x).toEqual(expected);
      expect(sum).toBe(expected.reduce((total, value) => total + value, 0));
    }
  });

  it('of nothing are nothing', () => {
    const room = float64Room(ROOM);
    expect(room.exponentials(room.array(0), 1)).toBe(0);
  });
});
