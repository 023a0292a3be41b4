import { describe, expect, it } from 'vitest';
import type { KernelFile } from '../../../src/core/kernel.ts';
import { irregularSizes, rareShapes } from '../../../src/evaluation/verify/irregular-sizes.ts';

const SCOPE = { N: 1000, M: 64, TILE: 32, 'device.smCount': 58 };

const sizesOf = (...grid: string[]): number[] => {
  const step = { function: 'f', grid, block: [256], arguments: [] };
  const found = irregularSizes({ steps: [step] } as unknown as Pick<KernelFile, 'steps'>, SCOPE, ['N', 'M']);
  return found.map(({ size }) => size);
};

describe('sizes at which launches are irregular', () => {
  it('begin where a bound of the grid leaves something over', () => {
    const [first, further] = sizesOf('min(ceilDiv(N, 4), 65535)') as [number, number];
    expect(first).toBe(4 * 65_535 + 1);
    expect(further).toBeGreaterThan(first);
    expect(sizesOf('min(ceilDiv(N, TILE), 2 * device.smCount)')[0]).toBe(32 * 116 + 1);
  });

  it('come from launches within repeated steps, too', () => {
    const launch = { function: 'f', grid: ['min(N, 65535)'], block: [256], arguments: [] };
    const steps = [{ repeat: 3, steps: [launch] }] as unknown as KernelFile['steps'];
    expect(irregularSizes({ steps }, SCOPE, ['N'])[0]).toEqual({ name: 'N', size: 65_536 });
  });

  it('are those at which an expression falls, though it hardly ever does', () => {
    expect(sizesOf('ceilDiv(N, 1024) - (N % 9973 == 1234)')).toEqual([1234, 11_207]);
  });

  it('are those at which slices that are rounded up get fewer', () => {
    const slices = 'min(11, max(1, floor(N / 512)))';
    const sizes = sizesOf(`ceilDiv(N, 64 * ceilDiv(ceilDiv(N, ${slices}), 64))`);
    expect(sizes).toEqual(expect.arrayContaining([5121, 5633]));
  });

  it('are those after which it grows by more than it usually does', () => {
    const tiles = 'ceilDiv(N, 16)';
    expect(sizesOf(`${tiles} - (${tiles} % 192 == 0 && ${tiles} / 192 % 2 == 1 ? 1 : 0)`)).toEqual([3072, 9216]);
  });

  it('are those from which an expression is no more the quotient that it is at small ones', () => {
    const [first, further] = sizesOf('ceil(N * 0.0156249)') as [number, number];
    expect(first % 64).toBe(1);
    expect([Math.ceil(first * 0.0156249) < Math.ceil(first / 64), further % 64]).toEqual([true, 1]);
    expect(Math.ceil((first - 64) * 0.0156249)).toBe(Math.ceil((first - 64) / 64));
  });

  it.each([
    'floor((N + 127) / 128)',
    '2 * ceilDiv(N, 96) + 1',
    'ceilDiv(N, 128)',
    'N',
    '7',
    'max(1, N / 1024)',
    'N % 4 == 0 ? 1 : 2',
    'ceilDiv(TILE, N)',
  ])('are none where launches grow with the size, or change all the time: %s', (expression) => {
    expect(sizesOf(expression)).toEqual([]);
  });

  it('come from every dimension, and none from names that are no sizes', () => {
    expect(sizesOf('min(N, 50000)', 'min(M, 60000)').filter((_, i) => i % 2 === 0)).toEqual([50_001, 60_001]);
    expect(sizesOf('min(TILE, 8)')).toEqual([]);
  });
});

describe('shapes in which an expression has a rare value', () => {
  const shapesOf = (argument: string) => {
    const step = { function: 'f', grid: [1], block: [256], arguments: [{ scalar: argument, dtype: 'i32' }] };
    return rareShapes({ steps: [step] } as unknown as Pick<KernelFile, 'steps'>, SCOPE, ['N', 'M']);
  };

  it('are found though the sizes of two dimensions decide', () => {
    const shapes = shapesOf('1 + floor((M * N + 3 * M) % 509 / 508)');
    expect(shapes.length).toBeGreaterThan(1);
    expect(shapes.every(({ M, N }) => (M! * N! + 3 * M!) % 509 === 508)).toBe(true);
  });

  it.each(['N % 2', 'min(N, 65535)', 'N', 'N <= 1 ? 4 : 8', 'softmaxScale'])('are none of %s', (argument) => {
    expect(shapesOf(argument)).toEqual([]);
  });
});
