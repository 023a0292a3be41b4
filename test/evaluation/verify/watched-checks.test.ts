import { expect, it } from 'vitest';
import { DECLARED, extremeCheck } from '../../../src/evaluation/oracle/check.ts';
import type { VerifyRequest } from '../../../src/evaluation/verify/verify-request.ts';
import { largerToWatch } from '../../../src/evaluation/verify/watched-checks.ts';

/** A scan of tiles of 2,048 elements by 256 threads, which reads what other CTAs have written. */
const request = {
  thorough: true,
  device: {},
  module: { code: { kind: 'ptx', text: 'ld.volatile.global.v2.u32 {%r1, %r2}, [%rd1];' } },
  problem: { file: { flop: 'N' } },
  candidate: { kernel: { file: { steps: [] } } },
  dimensions: { N: 1000 },
  planFor: ({ N }: { N: number }) => ({
    steps: [{ kind: 'launch', grid: [Math.ceil(N / 2048), 1, 1], block: [256, 1, 1] }],
    buffers: [],
  }),
} as unknown as VerifyRequest;

const watched = (...sizes: number[]): (number | undefined)[] =>
  largerToWatch(
    request,
    sizes.map((N) => ({ ...extremeCheck({ N }), generatorSet: DECLARED })),
    () => true,
  ).map(({ dimensions }) => dimensions.N);

it('watches the largest shape of dozens of CTAs', () => {
  expect(watched(1000, 90_000, 700_000)).toEqual([700_000]);
});

it('halves a shape until it is small enough, where all are too large', () => {
  expect(watched(2 ** 21 + 2)).toEqual([2 ** 19 + 1]);
  expect(watched(5_000_000)).toEqual([625_000]);
});

it('watches none where all are of a few CTAs', () => {
  expect(watched(1000, 20_000)).toEqual([]);
});
