import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  damagedBytes,
  type FillJob,
  HARNESS_BLOCK,
  harnessGrid,
  packDrawJobs,
  packFillJobs,
  packGuardJobs,
} from '../../../../src/devices/cuda/harness/harness.ts';
import { type Target, VirtualHarness } from '../../../support/harness/virtual-harness.ts';

let harness: VirtualHarness;
beforeAll(async () => {
  harness = await VirtualHarness.open();
});
afterAll(() => harness.close());

const PATTERNS = [[7], [1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 7, 8]].map((bytes) => Uint8Array.from(bytes));
const repeated = (pattern: Uint8Array, bytes: number): number[] =>
  Array.from({ length: bytes }, (_, i) => pattern[i % pattern.length]!);
const whole = (job: FillJob): bigint => BigInt(Math.floor(job.bytes / job.pattern.length));

describe('fill and count', () => {
  it('every pattern, at any address, of any length, with nothing beside it', async () => {
    const size = 512;
    for (const pattern of PATTERNS) {
      for (const offset of [0, 1, 3, 8, 15, 16]) {
        for (const bytes of [0, 1, 7, 16, 17, 33, 127, 400]) {
          const target = await harness.allocate(size);
          await harness.write(target, new Uint8Array(size).fill(0xee));
          const job = { address: target.address + BigInt(offset), bytes, pattern };
          const packed = packFillJobs([job]);
          await harness.launch('fill', packed);
          const wanted = new Array<number>(size).fill(0xee);
          wanted.splice(offset, bytes, ...repeated(pattern, bytes));
          expect([...(await harness.read(target))], `${pattern} at ${offset}, ${bytes} bytes`).toEqual(wanted);
          expect(await harness.count('count', packed)).toEqual(BigUint64Array.of(whole(job)));
          await harness.freeAll();
        }
      }
    }
  });

  it('many jobs in one launch, larger than a chunk and empty ones among them, on any grid', async () => {
    const sizes = [100_003, 0, 5, 65_536, 65_537, 0, 4096];
    const targets: Target[] = [];
    for (const bytes of sizes) targets.push(await harness.allocate(Math.max(1, bytes)));
    const jobs = sizes.map((bytes, i) => ({ address: targets[i]!.address, bytes, pattern: PATTERNS[i % 4]! }));
    const packed = packFillJobs(jobs);
    expect(packed.chunkCount).toBe(2 + 0 + 1 + 1 + 2 + 0 + 1);
    for (const grid of [1, 4, 30]) {
      for (const target of targets) await harness.write(target, new Uint8Array(target.buffer.bytes));
      await harness.launch('fill', packed, grid);
      for (const [i, { bytes, pattern }] of jobs.entries()) {
        const filled = (await harness.read(targets[i]!)).subarray(0, bytes);
        expect(Buffer.compare(filled, Uint8Array.from(repeated(pattern, bytes))), `job ${i}`).toBe(0);
      }
      expect([...(await harness.count('count', packed, grid))]).toEqual(jobs.map(whole));
    }
    await harness.freeAll();
  });

  it.each(PATTERNS)('counts the elements that still hold the pattern, and no others', async (...bytes) => {
    const pattern = Uint8Array.from(bytes);
    const length = 3000 * pattern.length;
    const target = await harness.allocate(length + 64);
    for (const offset of [0, 4, 5]) {
      const job = { address: target.address + BigInt(offset), bytes: length, pattern };
      const packed = packFillJobs([job]);
      await harness.launch('fill', packed);
      const changed = [0, 1, 2, 1500, 2998, 2999];
      for (const [i, element] of changed.entries()) {
        await harness.write(target, Uint8Array.of(0xee), offset + element * pattern.length + (i % pattern.length));
      }
      expect(await harness.count('count', packed)).toEqual(BigUint64Array.of(BigInt(3000 - changed.length)));
    }
    await harness.freeAll();
  });
});

describe('guard zones', () => {
  it('damaged bytes, zone by zone', async () => {
    const target = await harness.allocate(5000);
    await harness.write(target, new Uint8Array(5000).fill(0xa5));
    const regions = [
      { address: target.address, bytes: 256 },
      { address: target.address + 300n, bytes: 1 },
      { address: target.address + 1001n, bytes: 999 },
      { address: target.address + 4744n, bytes: 256 },
    ];
    const packed = packGuardJobs(regions, 0xa5);
    expect(damagedBytes(regions, await harness.count('count', packed))).toEqual([0, 0, 0, 0]);
    await harness.write(target, Uint8Array.of(0xa4, 0), 254);
    await harness.write(target, Uint8Array.of(1, 2, 3), 1999);
    await harness.write(target, Uint8Array.of(0), 301);
    expect(damagedBytes(regions, await harness.count('count', packed))).toEqual([2, 0, 1, 0]);
    expect(damagedBytes(regions, new BigUint64Array(4))).toEqual([256, 1, 999, 256]);
    await harness.freeAll();
  });
});

describe('copy', () => {
  it.each([
    ['copy4', 4],
    ['copy8', 8],
    ['copy16', 16],
  ] as const)('%s copies every vector and nothing else', async (name, vectorBytes) => {
    for (const vectorCount of [1, 255, 1024, 2500]) {
      const bytes = vectorCount * vectorBytes;
      const from = await harness.allocate(bytes);
      const to = await harness.allocate(bytes + 16);
      const contents = Uint8Array.from({ length: bytes }, (_, i) => (i * 31) ^ (i >> 8));
      await harness.write(from, contents);
      await harness.write(to, new Uint8Array(bytes + 16).fill(0xee));
      for (const grid of [1, 3]) {
        await harness.copy(name, to, from, vectorCount, grid);
        const copied = await harness.read(to);
        expect(Buffer.compare(copied.subarray(0, bytes), contents)).toBe(0);
        expect(new Set(copied.subarray(bytes))).toEqual(new Set([0xee]));
      }
      await harness.freeAll();
    }
  });
});

describe('packing', () => {
  it('refuses patterns of other lengths, lengths that are no whole numbers', () => {
    const pattern = Uint8Array.of(1, 2, 3);
    expect(() => packFillJobs([{ address: 0n, bytes: 3, pattern }])).toThrow(RangeError);
    expect(() => packFillJobs([{ address: 0n, bytes: 1.5, pattern: Uint8Array.of(1) }])).toThrow(RangeError);
  });

  it('takes one CTA for each chunk until the GPU is full', () => {
    expect(harnessGrid(packDrawJobs([]), 132)).toBe(1);
    expect(harnessGrid({ chunkCount: 100 }, 132)).toBe(100);
    expect(harnessGrid({ chunkCount: 1e9 }, 132)).toBe(132 * 32);
    expect(HARNESS_BLOCK).toBe(256);
  });
});
