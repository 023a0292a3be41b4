import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Generator } from '../../../../src/core/problem.ts';
import { generate } from '../../../../src/evaluation/oracle/generators/index.ts';
import { createStream } from '../../../../src/stats/random.ts';

const draw = (
  generator: Generator,
  shape: number[],
  options: { seed?: number; folder?: string; input?: string } = {},
) => {
  const { seed = 1, folder = '.', input = 'X' } = options;
  return generate(generator, {
    input,
    dtype: 'f32',
    shape,
    elementCount: shape.reduce((product, extent) => product * extent, 1),
    dimensions: { N: 50 },
    folder,
    stream: createStream(seed, input),
    sharedStream: (label) => createStream(seed, label),
  });
};

const mean = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const deviation = (values: Float64Array): number => {
  const centre = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - centre) ** 2)));
};

describe('random streams', () => {
  it('repeat for the same labels and differ for others', () => {
    const bits = (...labels: (string | number)[]) =>
      Array.from({ length: 8 }, (_, i) => createStream(...labels).bits(i));
    expect(bits(1, 'a')).toEqual(bits(1, 'a'));
    expect(bits(1, 'a')).not.toEqual(bits(2, 'a'));
    expect(bits('a', 'b')).not.toEqual(bits('ab'));
  });

  it('are pinned, so that a run can be repeated with a later version', () => {
    expect(Array.from({ length: 3 }, (_, i) => createStream(1, 'Q').bits(i))).toMatchInlineSnapshot(`
      [
        2972008477,
        133412379,
        3558477087,
      ]
    `);
  });

  it('are uniform: each of 256 bins of 2^18 values is within 6 standard deviations', () => {
    const bins = new Float64Array(256);
    const { uniform } = createStream(3, 'uniform');
    for (let i = 0; i < 2 ** 18; i++) bins[Math.floor(uniform(i) * 256)]!++;
    for (const count of bins) expect(Math.abs(count - 1024)).toBeLessThan(6 * 32);
  });

  it('of two inputs are not correlated', () => {
    const [a, b] = [createStream(1, 'Q'), createStream(1, 'K')];
    let sum = 0;
    for (let i = 0; i < 2 ** 16; i++) sum += a.normal(i) * b.normal(i);
    expect(Math.abs(sum)).toBeLessThan(6 * 256);
  });
});

describe('generators', () => {
  it('normal has the mean and deviation asked for', () => {
    const values = draw({ kind: 'normal', mean: 3, standardDeviation: 2 }, [2 ** 16]);
    expect(mean(values)).toBeCloseTo(3, 1);
    expect(deviation(values)).toBeCloseTo(2, 1);
    expect(values.some((value) => value > 10)).toBe(true); // tails, not a bounded look-alike
  });

  it('large has its magnitude as deviation', () => {
    expect(deviation(draw({ kind: 'large', magnitude: 1000 }, [2 ** 16])) / 1000).toBeCloseTo(1, 1);
  });

  it('uniform and positive stay within their bounds and reach near both', () => {
    for (const [values, low, high] of [
      [draw({ kind: 'uniform', low: -2, high: 6 }, [4096]), -2, 6],
      [draw({ kind: 'positive' }, [4096]), 0.0625, 1],
      [draw({ kind: 'positive', low: 1, high: 2 }, [4096]), 1, 2],
    ] as const) {
      expect(Math.min(...values)).toBeGreaterThanOrEqual(low);
      expect(Math.max(...values)).toBeLessThanOrEqual(high);
      expect((Math.max(...values) - Math.min(...values)) / (high - low)).toBeGreaterThan(0.99);
    }
  });

  it('one-hot has one element a row, in varying places', () => {
    const values = draw({ kind: 'one-hot', magnitude: 6 }, [100, 8]);
    const places = Array.from({ length: 100 }, (_, row) => values.subarray(row * 8, row * 8 + 8).indexOf(6));
    expect(values.filter((value) => value !== 0)).toHaveLength(100);
    expect(new Set(places).size).toBe(8);
  });

  it('constant is constant', () => {
    expect([...draw({ kind: 'constant', value: 0.5 }, [3])]).toEqual([0.5, 0.5, 0.5]);
  });

  it('index-range draws every integer from low to high, without high', () => {
    const values = draw({ kind: 'index-range', low: 10, high: 'N' }, [10_000]);
    expect(new Set(values)).toEqual(new Set(Array.from({ length: 40 }, (_, i) => i + 10)));
  });

  it('zipf draws k with a probability proportional to (k + 1)^-exponent', () => {
    const count = 100_000;
    const frequency = (exponent?: number): number[] => {
      const generator = { kind: 'zipf', count: 'N', ...(exponent === undefined ? {} : { exponent }) } as const;
      const bins = new Array<number>(50).fill(0);
      for (const value of draw(generator, [count])) bins[value]!++;
      return bins.map((bin) => bin / count);
    };
    for (const exponent of [1, 2]) {
      const total = Array.from({ length: 50 }, (_, k) => (k + 1) ** -exponent).reduce((a, b) => a + b, 0);
      for (const [k, share] of frequency(exponent).entries()) {
        const expected = (k + 1) ** -exponent / total;
        expect(Math.abs(share - expected), `${k}`).toBeLessThan(6 * Math.sqrt(expected / count));
      }
    }
    expect(frequency()).toEqual(frequency(1));
  });

  it('permutation permutes each row by itself', () => {
    const values = draw({ kind: 'permutation' }, [2, 100]);
    const rows = [values.subarray(0, 100), values.subarray(100)];
    for (const row of rows)
      expect([...row].toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect([...rows[0]!]).not.toEqual([...rows[1]!]);
  });

  it('csr gives offsets and columns of one valid matrix with skewed rows', () => {
    const csr = { kind: 'csr', rows: 'N', columns: 200, density: 0.1 } as const;
    const offsets = draw(csr, [51], { input: 'offsets' });
    const columns = draw(csr, [1000], { input: 'columns' });
    expect(offsets[0]).toBe(0);
    expect(offsets[50]).toBe(1000);
    const lengths: number[] = [];
    for (let row = 0; row < 50; row++) {
      const own = columns.subarray(offsets[row], offsets[row + 1]);
      lengths.push(own.length);
      own.forEach((column, i) => {
        expect(column).toBeGreaterThan(i === 0 ? -1 : own[i - 1]!);
        expect(column).toBeLessThan(200);
      });
    }
    expect(Math.max(...lengths)).toBeGreaterThan(2 * 20); // mean is 20
    expect(Math.min(...lengths)).toBeLessThan(5);
  });

  it('csr refuses a buffer that is neither', () => {
    const csr = { kind: 'csr', rows: 4, columns: 4, density: 0.5 } as const;
    expect(() => draw(csr, [7])).toThrow(/neither the row offsets nor the column indices/);
  });

  it('csr of a full matrix has every column', () => {
    const columns = draw({ kind: 'csr', rows: 2, columns: 3, density: 1 }, [6], { input: 'columns' });
    expect([...columns]).toEqual([0, 1, 2, 0, 1, 2]);
  });
});

describe('npy', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'warpsmith-npy-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const write = (name: string, header: string, data: Uint8Array): void => {
    const text = `${header.padEnd(117)}\n`;
    const bytes = new Uint8Array(10 + text.length + data.length);
    bytes.set([0x93, ...Buffer.from('NUMPY'), 1, 0, text.length & 255, text.length >> 8]);
    bytes.set(Buffer.from(text), 10);
    bytes.set(data, 10 + text.length);
    writeFileSync(path.join(folder, name), bytes);
  };
  const floats = new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer);
  const npy = (file: string) => draw({ kind: 'npy', file }, [2, 3], { folder });

  it('reads an array of the input’s shape', () => {
    write('ok.npy', "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", floats);
    expect([...npy('ok.npy')]).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it.each([
    ['shape', "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", /wrong shape/],
    ['order', "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", /Fortran order/],
    ['type', "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", /element type not supported/],
    ['length', "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", /too short/],
    ['header', '{}', /not a .npy file/],
  ])('refuses a wrong %s', (name, header, message) => {
    write(`${name}.npy`, header, floats);
    expect(() => npy(`${name}.npy`)).toThrow(message);
  });

  it('says so when the file is missing', () => {
    expect(() => npy('none.npy')).toThrow(/cannot be read/);
  });
});
