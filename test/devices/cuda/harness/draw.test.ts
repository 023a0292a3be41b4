import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DTYPES, type DType, sizeOfDType } from '../../../../src/core/dtype.ts';
import type { DrawRule } from '../../../../src/core/measuring-device.ts';
import { decode, roundTo } from '../../../../src/core/rounding.ts';
import { changedElements, type DrawJob, packDrawJobs } from '../../../../src/devices/cuda/harness/harness.ts';
import { createStream, type RandomStream } from '../../../../src/stats/random.ts';
import { drawOnHost, mix } from '../../../support/harness/host-draw.ts';
import { type Target, VirtualHarness } from '../../../support/harness/virtual-harness.ts';
import { longTestOf } from '../../../support/sampling/long-tests.ts';
import { sampled } from '../../../support/sampling/matrix.ts';

let harness: VirtualHarness;
beforeAll(async () => {
  harness = await VirtualHarness.open();
});
afterAll(() => harness.close());

const KEY = [0x12345678, 0x9abcdef0] as const;
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const same = (left: Uint8Array, right: Uint8Array): boolean => Buffer.compare(left, right) === 0;

/** The bits of the stream with one label, its two keys by FNV-1a as createStream makes them. */
function bitsOfStream(label: string, count: number): number[] {
  const hash = (basis: number) => {
    let value = basis | 0;
    for (const character of label) value = Math.imul(value ^ character.charCodeAt(0), 0x01000193);
    return mix(Math.imul(value ^ 0x1f, 0x01000193));
  };
  const [k0, k1] = [hash(0x811c9dc5), hash(0x5bd1e995)];
  return Array.from({ length: count }, (_, index) => mix(mix(index + k0) ^ k1));
}
const streamBits = (stream: RandomStream, count: number): number[] =>
  Array.from({ length: count }, (_, index) => stream.bits(index));

describe('draw gives the bits of its description', () => {
  const CASES: [DType, number, DrawRule][] = [
    ['f16', 5000, { kind: 'normal', mean: 0, standardDeviation: 1 }],
    ['bf16', 5000, { kind: 'normal', mean: 0, standardDeviation: 1 }],
    ['f32', 5000, { kind: 'normal', mean: 0.25, standardDeviation: 3 }],
    ['f16', 3000, { kind: 'uniform', low: -2, high: 1 }],
    ['bf16', 3000, { kind: 'uniform', low: 0, high: 1 }],
    ['f32', 3000, { kind: 'uniform', low: 0, high: 1 }],
    // Down among the subnormal values.
    ['f16', 2000, { kind: 'uniform', low: -(2 ** -18), high: 2 ** -18 }],
    ['bf16', 2000, { kind: 'uniform', low: -(2 ** -128), high: 2 ** -128 }],
    ['f32', 2000, { kind: 'uniform', low: 0, high: 2 ** -140 }],
    ['f64', 1001, { kind: 'uniform', low: -0.1, high: 0.3 }],
    ['u8', 3001, { kind: 'integers', low: 3, high: 250 }],
    ['i8', 1000, { kind: 'integers', low: -128, high: 127 }],
    ['i16', 1003, { kind: 'integers', low: -30_000, high: 30_000 }],
    ['i32', 1001, { kind: 'integers', low: -7, high: 1_000_000 }],
    ['u32', 1001, { kind: 'integers', low: 0, high: 2 ** 32 - 1 }],
    ['i64', 1001, { kind: 'integers', low: -(2 ** 40), high: 2 ** 52 }],
    ['f16', 1001, { kind: 'integers', low: -2048, high: 2048 }],
    ['f64', 1001, { kind: 'integers', low: 0, high: 2 ** 50 }],
    ['i32', 1777, { kind: 'permutation' }],
    ['i64', 1024, { kind: 'permutation' }],
    ['f32', 1025, { kind: 'permutation' }],
    ['f16', 333, { kind: 'constant', value: 0.1 }],
    ['i64', 33, { kind: 'constant', value: -5 }],
  ];
  sampled('what a harness draws', CASES, { oneIn: 4, kindOf: ([, , { kind }]) => kind })(
    '%s, %i elements, %o',
    async (dtype, count, rule) => {
      const drawn = await harness.drawn(dtype, count, rule, KEY);
      expect(same(drawn, drawOnHost(dtype, count, rule, KEY))).toBe(true);
    },
  );

  it('../../../../src/stats/random.ts', async () => {
    const words = new Uint32Array(
      (await harness.drawn('u32', 500, { kind: 'integers', low: 0, high: 2 ** 32 - 1 }, KEY)).slice().buffer,
    );
    const bits = (index: number) => mix(mix(index + KEY[0]) ^ KEY[1]);
    expect([...words]).toEqual(Array.from({ length: 500 }, (_, index) => bits(index)));
    expect(bitsOfStream('harness', 500)).toEqual(streamBits(createStream('harness'), 500));
  });

  it('normal f64 by Box–Muller in f64, to the last bits', async () => {
    const values = decode(
      await harness.drawn('f64', 2000, { kind: 'normal', mean: 1, standardDeviation: 2 }, KEY),
      'f64',
    );
    const uniform = (index: number) => (mix(mix(index + KEY[0]) ^ KEY[1]) + 0.5) / 2 ** 32;
    values.forEach((value, index) => {
      const first = index - (index % 2);
      const radius = Math.sqrt(-2 * Math.log(uniform(first)));
      const angle = 2 * Math.PI * uniform(first + 1);
      const wanted = 1 + 2 * radius * (index === first ? Math.cos(angle) : Math.sin(angle));
      expect(Math.abs(value - wanted)).toBeLessThan(2e-14);
    });
  });

  it('another key gives other values, the same key the same', async () => {
    const rule: DrawRule = { kind: 'normal', mean: 0, standardDeviation: 1 };
    const [a, b, c] = [
      await harness.drawn('f16', 1000, rule, [1, 2]),
      await harness.drawn('f16', 1000, rule, [1, 3]),
      await harness.drawn('f16', 1000, rule, [1, 2]),
    ];
    expect(hex(a)).toBe(hex(c));
    const equal = decode(a, 'f16').filter((value, index) => value === decode(b, 'f16')[index]).length;
    expect(equal).toBeLessThan(20);
  });
});

/** Standard normal distribution function: Abramowitz & Stegun 7.1.26 is too coarse, so by Simpson's rule. */
function normalCdf(x: number): number {
  const steps = 200;
  const h = x / steps;
  const density = (t: number) => Math.exp(-0.5 * t * t) / Math.sqrt(2 * Math.PI);
  let sum = density(0) + density(x);
  for (let i = 1; i < steps; i++) sum += (i % 2 === 1 ? 4 : 2) * density(i * h);
  return 0.5 + (sum * h) / 3;
}

describe('distributions', () => {
  it('normal f32: mean, variance, tails, and Kolmogorov–Smirnov at the 0.1 % level', async () => {
    const count = 60_000;
    const values = decode(
      await harness.drawn('f32', count, { kind: 'normal', mean: 0, standardDeviation: 1 }, KEY),
      'f32',
    ).sort();
    const mean = values.reduce((sum, value) => sum + value, 0) / count;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / count;
    // Standard errors: 1/√n of the mean, √(2/n) of the variance; 4 of them.
    expect(Math.abs(mean)).toBeLessThan(4 / Math.sqrt(count));
    expect(Math.abs(variance - 1)).toBeLessThan(4 * Math.sqrt(2 / count));
    const beyond3 = values.filter((value) => Math.abs(value) > 3).length;
    expect(Math.abs(beyond3 - 0.0027 * count)).toBeLessThan(4 * Math.sqrt(0.0027 * count));
    let distance = 0;
    values.forEach((value, rank) => {
      const cdf = normalCdf(value);
      distance = Math.max(distance, cdf - rank / count, (rank + 1) / count - cdf);
    });
    // Critical value at α = 0.001: √(−ln(α/2)/2) ÷ √n = 1.949 ÷ √n.
    expect(distance).toBeLessThan(1.949 / Math.sqrt(count));
  });

  it('normal f16 and bf16 are the f32 values rounded once', async () => {
    const rule: DrawRule = { kind: 'normal', mean: 0, standardDeviation: 1 };
    const wide = decode(await harness.drawn('f32', 4000, rule, KEY), 'f32');
    const half = decode(await harness.drawn('f16', 4000, rule, KEY), 'f16');
    expect([...half]).toEqual([...wide].map(roundTo('f16')));
    const brain = decode(await harness.drawn('bf16', 4000, rule, KEY), 'bf16');
    expect([...brain]).toEqual([...wide].map(roundTo('bf16')));
  });

  it('neighbours are not correlated, nor are the two values of a pair', async () => {
    const count = 40_000;
    const values = decode(
      await harness.drawn('f32', count, { kind: 'normal', mean: 0, standardDeviation: 1 }, KEY),
      'f32',
    );
    for (const lag of [1, 2, 3, 64]) {
      let sum = 0;
      for (let i = lag; i < count; i++) sum += values[i]! * values[i - lag]!;
      expect(Math.abs(sum / count)).toBeLessThan(4 / Math.sqrt(count));
    }
  });

  it('uniform stays within [low, high) in every dtype, rounding included', async () => {
    for (const dtype of ['f16', 'bf16', 'f32', 'f64'] as const) {
      // 0.1 and 0.7 are values of none of them.
      const values = decode(await harness.drawn(dtype, 20_000, { kind: 'uniform', low: 0.1, high: 0.7 }, KEY), dtype);
      expect(Math.min(...values)).toBeGreaterThanOrEqual(0.1);
      expect(Math.max(...values)).toBeLessThan(0.7);
      expect(values.reduce((sum, value) => sum + value, 0) / values.length).toBeCloseTo(0.4, 1);
    }
  });

  it('integers take every value about equally often, both ends included', async () => {
    const values = decode(await harness.drawn('i32', 20_000, { kind: 'integers', low: -2, high: 7 }, KEY), 'i32');
    const counts = new Map<number, number>();
    for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    expect([...counts.keys()].sort((a, b) => a - b)).toEqual([-2, -1, 0, 1, 2, 3, 4, 5, 6, 7]);
    const chiSquared = [...counts.values()].reduce((sum, count) => sum + (count - 2000) ** 2 / 2000, 0);
    // 9 degrees of freedom, α = 0.001.
    expect(chiSquared).toBeLessThan(27.88);
  });

  it.each([1, 2, 3, 4, 5, 7, 8, 9, 15, 17, 31, 100, 255, 257, 1000, 4095, 4097, 12_345])(
    'a permutation of %i holds each number once',
    async (count) => {
      const values = decode(await harness.drawn('u32', count, { kind: 'permutation' }, KEY), 'u32');
      expect([...values].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, index) => index));
      if (count >= 100) {
        const fixed = values.filter((value, index) => value === index).length;
        // Fixed points of a random permutation are Poisson with mean 1.
        expect(fixed).toBeLessThan(9);
      }
    },
  );
});

describe('several jobs in one launch', () => {
  const rule: DrawRule = { kind: 'normal', mean: 0, standardDeviation: 1 };

  longTestOf(import.meta.filename)('are each drawn alone, whatever their sizes and the grid', async () => {
    const sizes = [1, 8192, 0, 8193, 7, 20_000, 16, 0];
    const dtypes: DType[] = ['f16', 'f32', 'f16', 'bf16', 'u8', 'f16', 'i64', 'f32'];
    const rules: DrawRule[] = sizes.map((_, i) =>
      dtypes[i] === 'u8' || dtypes[i] === 'i64' ? { kind: 'integers', low: 0, high: 99 } : rule,
    );
    const targets: Target[] = [];
    const jobs: DrawJob[] = [];
    for (const [i, elementCount] of sizes.entries()) {
      const target = await harness.allocate(Math.max(16, elementCount * sizeOfDType(dtypes[i]!)));
      targets.push(target);
      jobs.push({ address: target.address, elementCount, dtype: dtypes[i]!, rule: rules[i]!, key: [i, 77] });
    }
    const packed = packDrawJobs(jobs);
    expect(packed.chunkCount).toBe(1 + 1 + 0 + 2 + 1 + 3 + 1 + 0);
    for (const grid of [1, 3, 9]) {
      for (const target of targets) await harness.write(target, new Uint8Array(target.buffer.bytes));
      await harness.launch('draw', packed, grid);
      for (const [i, { elementCount, dtype, key }] of jobs.entries()) {
        const bytes = (await harness.read(targets[i]!)).subarray(0, elementCount * sizeOfDType(dtype));
        expect(same(bytes, drawOnHost(dtype, elementCount, rules[i]!, key)), `job ${i}, grid ${grid}`).toBe(true);
      }
      expect(changedElements(jobs, await harness.count('match', packed, grid))).toEqual(sizes.map(() => 0));
    }
    await harness.freeAll();
  });

  it('an address that is no multiple of 16 gets the same values, and nothing beside them', async () => {
    const target = await harness.allocate(2100);
    for (const offset of [2, 6, 14]) {
      await harness.write(target, new Uint8Array(2100).fill(0xee));
      const packed = packDrawJobs([
        { address: target.address + BigInt(offset), elementCount: 1001, dtype: 'f16', rule, key: KEY },
      ]);
      await harness.launch('draw', packed);
      const bytes = await harness.read(target);
      expect(same(bytes.subarray(offset, offset + 2002), drawOnHost('f16', 1001, rule, KEY))).toBe(true);
      expect(new Set([...bytes.subarray(0, offset), ...bytes.subarray(offset + 2002)])).toEqual(new Set([0xee]));
      expect(await harness.count('match', packed)).toEqual(BigUint64Array.of(1001n));
    }
    await harness.freeAll();
  });
});

describe('match', () => {
  it.each(DTYPES)('counts exactly the elements of %s that were changed', async (dtype) => {
    const elementCount = 9001;
    const size = sizeOfDType(dtype);
    const rule: DrawRule = { kind: 'integers', low: 0, high: 100 };
    const target = await harness.allocate(elementCount * size);
    const jobs: DrawJob[] = [{ address: target.address, elementCount, dtype, rule, key: KEY }];
    const packed = packDrawJobs(jobs);
    await harness.launch('draw', packed);
    const bytes = await harness.read(target);
    // Neighbours in one vector, the first, the last, one on either side of a chunk's end; one bit each.
    const changed = [0, 1, 5, 2000, 8191, 8192, 9000];
    for (const [i, index] of changed.entries()) bytes[index * size + (i % size)]! ^= 1 << (i % 8);
    await harness.write(target, bytes);
    expect(changedElements(jobs, await harness.count('match', packed))).toEqual([changed.length]);
    await harness.freeAll();
  });

  it.each(['f16', 'bf16', 'f32'] as const)('counts exactly the normal %s that were changed', async (dtype) => {
    const elementCount = 8197;
    const size = sizeOfDType(dtype);
    const rule: DrawRule = { kind: 'normal', mean: 0, standardDeviation: 1 };
    const target = await harness.allocate(elementCount * size);
    const jobs: DrawJob[] = [{ address: target.address, elementCount, dtype, rule, key: KEY }];
    const packed = packDrawJobs(jobs);
    await harness.launch('draw', packed);
    const bytes = await harness.read(target);
    const changed = [0, 7, 8, 9, 4000, 8191, 8192, 8196];
    for (const index of changed) bytes[index * size]! ^= 1;
    await harness.write(target, bytes);
    expect(changedElements(jobs, await harness.count('match', packed))).toEqual([changed.length]);
    const otherKey = packDrawJobs([{ ...jobs[0]!, key: [KEY[0], KEY[1] + 1] }]);
    expect(changedElements(jobs, await harness.count('match', otherKey))[0]).toBeGreaterThan(0.95 * elementCount);
    await harness.freeAll();
  });

  it('sees one changed bit of an f16, and a zero that changed its sign', async () => {
    const elementCount = 4096;
    const target = await harness.allocate(elementCount * 2);
    const rule: DrawRule = { kind: 'constant', value: 0 };
    const jobs: DrawJob[] = [{ address: target.address, elementCount, dtype: 'f16', rule, key: KEY }];
    const packed = packDrawJobs(jobs);
    await harness.launch('draw', packed);
    await harness.write(target, Uint8Array.of(0x00, 0x80), 100);
    expect(changedElements(jobs, await harness.count('match', packed))).toEqual([1]);
    await harness.freeAll();
  });

  it('a launch that did nothing looks like damage everywhere', () => {
    const jobs = [{ elementCount: 5 }, { elementCount: 7 }];
    expect(changedElements(jobs, new BigUint64Array(2))).toEqual([5, 7]);
  });
});

describe('what cannot be drawn is refused before anything runs', () => {
  const job = (dtype: DType, rule: DrawRule, elementCount = 10): DrawJob => ({
    address: 256n,
    elementCount,
    dtype,
    rule,
    key: KEY,
  });
  it.each([
    [job('u8', { kind: 'integers', low: 0, high: 256 })],
    [job('f16', { kind: 'integers', low: 0, high: 2049 })],
    [job('i32', { kind: 'integers', low: 0, high: 2 ** 31 })],
    [job('i32', { kind: 'integers', low: 5, high: 4 })],
    [job('i32', { kind: 'integers', low: 0.5, high: 4 })],
    [job('u8', { kind: 'permutation' }, 257)],
    [job('f16', { kind: 'uniform', low: 1, high: 1 })],
    [job('f16', { kind: 'uniform', low: 1.0001, high: 1.0002 })],
    [job('f16', { kind: 'permutation' }, -1)],
    [{ ...job('f32', { kind: 'constant', value: 1 }), address: 258n }],
  ])('%o', (bad) => {
    expect(() => packDrawJobs([bad])).toThrow(RangeError);
  });
});
