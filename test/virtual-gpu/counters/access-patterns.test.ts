import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LaunchCounters } from '../../../src/core/counters.ts';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { atomicTurns } from '../../../src/virtual-gpu/runtime/access-costs.ts';
import { type KernelLaunch, launchKernel } from '../../support/launch/launch-kernel.ts';
import { openKernels } from '../../support/launch/open-kernels.ts';

let device: Device;
let module: LoadedModule;
let source: string;

beforeAll(async () => {
  ({ device, module, source } = await openKernels(join(import.meta.dirname, 'kernels.cu')));
});

afterAll(() => device.close());

/** Counters of one launch; buffers start 256-byte aligned. */
async function count(functionName: string, launch: KernelLaunch): Promise<LaunchCounters> {
  const { counters } = await launchKernel(device, module, { ...launch, functionName, options: { count: true } });
  return counters;
}

const IN_OUT = { arguments: ['in', 'out'], buffers: { in: 8192, out: 8192 } } as const;

const globalLoads = (c: LaunchCounters) => [c.globalLoadRequests, c.globalLoadSectors, c.globalLoadBytes];
const globalStores = (c: LaunchCounters) => [c.globalStoreRequests, c.globalStoreSectors, c.globalStoreBytes];
/** Requests, wavefronts, conflicts. */
const sharedLoads = (c: LaunchCounters) => [c.sharedLoadRequests, c.sharedLoadWavefronts, c.sharedLoadBankConflicts];
const sharedStores = (c: LaunchCounters) => [
  c.sharedStoreRequests,
  c.sharedStoreWavefronts,
  c.sharedStoreBankConflicts,
];

describe('device memory: requests, 32-byte sectors, bytes asked for', () => {
  it('coalesced f32: 32 lanes × 4 B = 128 B = 4 sectors, over several warps and CTAs', async () => {
    const c = await count('coalesced', { ...IN_OUT, grid: 3, block: 64 });
    // 3 CTAs × 2 warps = 6 warps, one request each: 6 × 4 sectors, 6 × 128 B.
    expect(globalLoads(c)).toEqual([6, 24, 768]);
    expect(globalStores(c)).toEqual([6, 24, 768]);
    // The grid reads 192 floats = 768 B = 24 distinct sectors, and writes as many.
    expect([c.distinctSectorsRead, c.distinctSectorsWritten]).toEqual([24, 24]);
  });

  it('misaligned by one element: bytes 4 … 131 lie in sectors 0 … 4', async () => {
    const c = await count('misaligned', IN_OUT);
    expect(globalLoads(c)).toEqual([1, 5, 128]);
    expect(globalStores(c)).toEqual([1, 4, 128]);
    expect(c.distinctSectorsRead).toBe(5);
  });

  // In a small buffer every line is in the cache's sample, of a large one an eighth.
  it.each([
    ['sampled', 1024],
    ['mostly not sampled', 2 ** 20],
  ])('loads side by side, of lines that are %s', async (_, bytes) => {
    const loads = async (first: number) => {
      const launch = { functionName: 'side_by_side', arguments: ['in', 'out', { i32: first }] };
      const options = { buffers: { in: bytes, out: 128 }, options: { count: true } };
      const { counters, readBytes } = await launchKernel(device, module, { ...launch, ...options });
      return [...globalLoads(counters), counters.distinctSectorsRead, readBytes!.get('in')];
    };
    // Bytes 0 … 127, 144 … 271, 256 … 383 and 512 … 639: sectors 0 … 11 and 16 … 19.
    expect(await loads(0)).toEqual([4, 4 + 5 + 4 + 4, 512, 16, 128 + 240 + 128]);
    // 4 B further: sectors 0 … 12 and 16 … 20; neighbours lie in two sectors.
    expect(await loads(1)).toEqual([4, 5 + 5 + 5 + 5, 512, 18, 128 + 240 + 128]);
  });

  it('stride 2: lanes 8 B apart span 31 · 8 + 4 = 252 B = 8 sectors', async () => {
    expect(globalLoads(await count('stride2', IN_OUT))).toEqual([1, 8, 128]);
  });

  it('stride 32: lanes 128 B apart, a sector each', async () => {
    const c = await count('stride32', IN_OUT);
    expect(globalLoads(c)).toEqual([1, 32, 128]);
    // Each lane's sector is another one: 32 distinct sectors, although the span is 4 KiB = 128 sectors.
    expect(c.distinctSectorsRead).toBe(32);
  });

  it('float4: 32 lanes × 16 B = 512 B = 16 sectors in one request', async () => {
    const c = await count('vector4', IN_OUT);
    expect(globalLoads(c)).toEqual([1, 16, 512]);
    expect(globalStores(c)).toEqual([1, 16, 512]);
  });

  it('uniform address: one sector per warp, whatever the number of lanes', async () => {
    const c = await count('broadcast', { ...IN_OUT, grid: 2, block: 64 });
    // 4 warps: 4 requests of 1 sector; every lane asks for 4 B: 4 × 32 × 4 = 512 B. Both words lie in one sector.
    expect(globalLoads(c)).toEqual([4, 4, 512]);
    expect(c.distinctSectorsRead).toBe(1);
  });

  it.each([
    ['coalesced', 1],
    // 5 sectors.
    ['misaligned', 2],
    ['stride2', 2],
    ['stride32', 32],
    ['vector4', 4],
    ['broadcast', 1],
  ])('lines of 128 B: %s loads touch %i', async (name, lines) => {
    expect((await count(name, IN_OUT)).globalLoadLines).toBe(lines);
  });

  it('copies that take turns to lie in two ways, from other places in a line each time', async () => {
    const [launch, COUNT] = [{ functionName: 'async_copies', block: 32 }, 16];
    const { counters, readBytes } = await launchKernel(device, module, {
      ...{ ...launch, arguments: ['in', 'out', { i32: COUNT }], buffers: { in: 8192, out: 8192 } },
      options: { count: true },
    });
    // Side by side, i = 0, 2, … 14: 512 B from byte 32 · (i ÷ 2) on are 16 sectors. Apart, i = 1, 3, … 15: 32 sectors, from byte 16 · i on, half of each.
    expect(globalLoads(counters)).toEqual([16, 8 * 16 + 8 * 32, 16 * 512]);
    // Lines: 4 from i = 0 and i = 8 on, 5 otherwise. Apart, 31 · 32 + 16 B = 1008 B from byte 16 · i on: 8 lines for i = 1 and i = 9, 9 for the others.
    expect(counters.globalLoadLines).toBe(2 * 4 + 6 * 5 + 2 * 8 + 6 * 9);
    // Side by side 4 wavefronts; apart, the lanes of each quarter meet two by two in four of eight banks.
    expect(sharedStores(counters)).toEqual([16, 8 * 4 + 8 * 8, 8 * 4]);
    // From sector 0 to that of byte 16 · 15 + 31 · 32 = 1232, which is sector 38.
    expect(counters.distinctSectorsRead).toBe(39);
    // All bytes below 224 + 512 = 736 = 23 · 32. Behind these, second halves of sectors alone: 23 to 38.
    expect(readBytes!.get('in')).toBe(736 + 16 * 16);
  });

  it('half: 32 lanes × 2 B = 64 B = 2 sectors', async () => {
    const c = await count('halves', IN_OUT);
    expect(globalLoads(c)).toEqual([1, 2, 64]);
    expect(globalStores(c)).toEqual([1, 2, 64]);
  });

  it('gather by a permutation of 32 consecutive elements: the order of lanes does not matter', async () => {
    const index = Int32Array.from({ length: 32 }, (_, lane) => (lane * 13 + 5) % 32);
    const c = await count('gather', { arguments: ['in', 'index', 'out'], buffers: { in: 128, index, out: 128 } });
    // One coalesced load of the indices (4 sectors), one of the same four sectors of `in` in another order.
    expect(globalLoads(c)).toEqual([2, 8, 256]);
  });

  it('gather with every lane in its own sector but two that share one', async () => {
    // Element 16 · lane is byte 64 · lane: 32 sectors; lane 31 reads element 1, in lane 0's sector: 31 distinct.
    const index = Int32Array.from({ length: 32 }, (_, lane) => (lane === 31 ? 1 : 16 * lane));
    const c = await count('gather', { arguments: ['in', 'index', 'out'], buffers: { in: 4096, index, out: 128 } });
    expect(globalLoads(c)).toEqual([2, 4 + 31, 256]);
  });

  it('a block of 48: the second warp has 16 lanes = 64 B = 2 sectors', async () => {
    const c = await count('coalesced', { ...IN_OUT, block: 48 });
    expect(globalLoads(c)).toEqual([2, 6, 192]);
    expect(globalStores(c)).toEqual([2, 6, 192]);
    // Every instruction ran once with 32 and once with 16 lanes.
    const histogram = c.activeLaneHistogram;
    expect(histogram[32]).toBe(c.instructions / 2);
    expect(histogram[16]).toBe(c.instructions / 2);
    expect(c.threadInstructions).toBe((c.instructions / 2) * 48);
  });

  it('a tail cut off by a branch: 8 of 32 lanes load 32 B = 1 sector', async () => {
    const c = await count('guarded', {
      grid: 2,
      arguments: ['in', 'out', { i32: 40 }],
      buffers: { in: 160, out: 160 },
    });
    // CTA 0 whole: 4 sectors, 128 B. CTA 1: elements 32 … 39.
    expect(globalLoads(c)).toEqual([2, 5, 160]);
    expect(globalStores(c)).toEqual([2, 5, 160]);
    // One conditional branch per warp; only CTA 1's lanes part.
    expect([c.branches, c.divergentBranches]).toEqual([2, 1]);
  });

  it('a CTA entirely past the end makes no request', async () => {
    const c = await count('guarded', {
      grid: 3,
      arguments: ['in', 'out', { i32: 64 }],
      buffers: { in: 256, out: 256 },
    });
    expect(globalLoads(c)).toEqual([2, 8, 256]);
    expect(c.divergentBranches).toBe(0);
  });
});

describe('shared memory: requests, wavefronts, bank conflicts (32 banks of 4 bytes)', () => {
  const strided = (functionName: string, stride: number) =>
    count(functionName, {
      arguments: ['in', 'out', { i32: stride }],
      buffers: { in: 256, out: 256 },
      dynamicSharedBytes: Math.max(32, 31 * stride + 1) * 4,
    });

  it('stride 1: every lane another bank', async () => {
    const c = await strided('shared_stride', 1);
    expect(sharedStores(c)).toEqual([1, 1, 0]);
    expect(sharedLoads(c)).toEqual([1, 1, 0]);
  });

  it('stride 2: lanes t and t + 16 hit bank 2t mod 32, two words per bank', async () => {
    // 32 distinct words would fit one wavefront: the second is a conflict.
    expect(sharedLoads(await strided('shared_stride', 2))).toEqual([1, 2, 1]);
    expect(sharedStores(await strided('shared_store_stride', 2))).toEqual([1, 2, 1]);
  });

  it('stride 32: all 32 words in bank 0', async () => {
    expect(sharedLoads(await strided('shared_stride', 32))).toEqual([1, 32, 31]);
    expect(sharedStores(await strided('shared_store_stride', 32))).toEqual([1, 32, 31]);
  });

  it('stride 33: bank 33t mod 32 = t, no conflict', async () => {
    expect(sharedLoads(await strided('shared_stride', 33))).toEqual([1, 1, 0]);
    expect(sharedStores(await strided('shared_store_stride', 33))).toEqual([1, 1, 0]);
  });

  it('stride 12: gcd(12, 32) = 4, so 8 banks with 4 words each', async () => {
    expect(sharedLoads(await strided('shared_stride', 12))).toEqual([1, 4, 3]);
  });

  it('stride 0: one word for all lanes is a broadcast', async () => {
    expect(sharedLoads(await strided('shared_stride', 0))).toEqual([1, 1, 0]);
  });

  it('float4: 128 words are 4 wavefronts of 32 banks, which is the least, so no conflict', async () => {
    const c = await count('shared_vector4', IN_OUT);
    // Quarter-warps of 8 lanes × 4 words = 32 consecutive words; also when lanes run backwards.
    expect(sharedStores(c)).toEqual([1, 4, 0]);
    expect(sharedLoads(c)).toEqual([1, 4, 0]);
  });

  const doubles = (stride: number) =>
    count('shared_vector2', {
      arguments: ['in', 'out', { i32: stride }],
      buffers: { in: 256, out: 256 },
      dynamicSharedBytes: Math.max(32, 31 * stride + 1) * 8,
    });

  it('8 bytes, stride 1: 64 words are 2 wavefronts', async () => {
    const c = await doubles(1);
    expect(sharedStores(c)).toEqual([1, 2, 0]);
    expect(sharedLoads(c)).toEqual([1, 2, 0]);
  });

  it('8 bytes, stride 2: each half-warp needs 2 words from each bank it uses', async () => {
    // Lane t reads words 4t and 4t + 1. Of lanes 0 … 15, t and t + 8 share banks: 2 wavefronts; so for lanes 16 … 31.
    // Without conflicts each half would take one.
    expect(sharedLoads(await doubles(2))).toEqual([1, 4, 2]);
  });

  it('8 bytes, stride 0: two words for all lanes, one wavefront', async () => {
    expect(sharedLoads(await doubles(0))).toEqual([1, 1, 0]);
  });

  it('halves: 32 lanes read 16 words, two lanes a word', async () => {
    const c = await count('shared_halves', IN_OUT);
    expect(sharedStores(c)).toEqual([1, 1, 0]);
    expect(sharedLoads(c)).toEqual([1, 1, 0]);
  });

  it('one float4 for all lanes: half-warps are served apart, whether the compiler sees that the address is common or not', async () => {
    for (const kernel of ['shared_vector4_first', 'shared_vector4_index']) {
      const c = await count(kernel, { arguments: ['in', 'out', 'index'], buffers: { in: 512, out: 512, index: 128 } });
      // A part's quarter-warps agree lane by lane, so two of them make one part: 2 wavefronts, neither a conflict.
      expect(sharedLoads(c)).toEqual([1, 2, 0]);
    }
  });

  it('a transposed 32 × 32 tile: 32-way conflicts on columns, none with a row of 33 words', async () => {
    const block = [32, 32, 1] as const;
    const plain = await count('transpose_plain', { ...IN_OUT, block });
    // 32 warps. A warp stores one row: 32 banks. It loads a column: words 32x + y, all in bank y: 32 wavefronts.
    expect(sharedStores(plain)).toEqual([32, 32, 0]);
    expect(sharedLoads(plain)).toEqual([32, 1024, 992]);
    const padded = await count('transpose_padded', { ...IN_OUT, block });
    // Words 33x + y: bank (x + y) mod 32.
    expect(sharedStores(padded)).toEqual([32, 32, 0]);
    expect(sharedLoads(padded)).toEqual([32, 32, 0]);
    expect(padded.sharedLoadMerging).toEqual({ requestRatio: 1, wavefrontRatio: 1 });
  });

  it('four neighbours a lane: four loads with 4-way conflicts, of which ptxas makes one of 16 bytes without', async () => {
    const c = await count('sums_of_four', IN_OUT);
    expect(sharedLoads(c)).toEqual([4, 16, 12]);
    expect(c.sharedLoadMerging).toEqual({ requestRatio: 0.25, wavefrontRatio: 0.25 });
  });
});

describe('atomics and barriers', () => {
  it('turns of an atomic: the most lanes on one address, summed over sectors', () => {
    const lanes = Array.from({ length: 32 }, (_, lane) => lane);
    expect(atomicTurns(lanes.map((lane) => lane * 4))).toBe(4);
    expect(atomicTurns(lanes.map((lane) => lane * 32))).toBe(32);
    // Half of the lanes on two addresses of one sector, 12 and 4; half on one of another.
    expect(atomicTurns(lanes.map((lane) => (lane < 12 ? 0 : lane < 16 ? 8 : 64)))).toBe(12 + 16);
  });

  it('atomics: one request per warp, by space', async () => {
    const launch = { arguments: ['total', 'perCta'], buffers: { total: 4, perCta: 12 }, grid: 3, block: 64 };
    const c = await count('count_up', launch);
    // 3 CTAs × 2 warps.
    // All lanes of a warp add to one address.
    expect([c.sharedAtomicRequests, c.globalAtomicRequests, c.globalAtomicTurns]).toEqual([6, 6, 6 * 32]);
    expect(c.globalAtomicSectors).toBe(6);
    // The counter's line; what else is written lies elsewhere.
    expect(c.globalAtomicLines).toBe(1);
    // What thread 0 does alone is short: a guard, not a branch.
    expect(c.warpTime!.narrow).toEqual({ issued: 0, waits: {} });
    // Two barriers of six warps, each with a little to do before it opens.
    expect(c.warpTime!.wide.waits.barrier).toBeGreaterThan(6);
    expect(c.warpTime!.wide.waits.barrier).toBeLessThanOrEqual(12);
    // Two __syncthreads per warp.
    expect(c.barriers).toBe(12);
    // Thread 0's: a divergent branch twice in warp 0 of every CTA; warp 1 skips together.
    expect(c.divergentBranches).toBe(6);
    const { contents } = await launchKernel(device, module, { ...launch, functionName: 'count_up' });
    expect([...new Int32Array(contents.total!.buffer)]).toEqual([192]);
    expect([...new Int32Array(contents.perCta!.buffer)]).toEqual([64, 64, 64]);
  });

  it('barriers in a loop: 2 × rounds per warp', async () => {
    const c = await count('barriers', { arguments: ['out', { i32: 5 }], buffers: { out: 384 }, block: 96 });
    expect(c.barriers).toBe(2 * 5 * 3);
    // The loop's word: one lane stores, all lanes load it in each round.
    expect(sharedStores(c)).toEqual([5, 5, 0]);
    expect(sharedLoads(c)).toEqual([15, 15, 0]);
  });
});

describe('attribution to source lines', () => {
  it('puts each access, barrier and conflict on its line', async () => {
    const c = await count('by_line', { arguments: ['in', 'out'], buffers: { in: 2048, out: 256 }, block: 64 });
    const lineOf = (marker: string) => source.split('\n').findIndex((text) => text.includes(`// line: ${marker}`)) + 1;
    const at = (marker: string) => {
      const found = c.lines.find((line) => line.location.line === lineOf(marker));
      if (!found) throw new Error(`no counters for ${marker}`);
      expect(found.location.file).toBe('kernels.cu');
      return found;
    };
    // Two warps. 32 · 4 B coalesced: 4 sectors each; 32 B apart: a sector per lane.
    expect(at('coalesced load')).toMatchObject({ globalLoadRequests: 2, globalLoadSectors: 8 });
    expect(at('strided load')).toMatchObject({ globalLoadRequests: 2, globalLoadSectors: 64 });
    expect(at('shared store')).toMatchObject({ sharedStoreRequests: 2, sharedStoreWavefronts: 2, bankConflicts: 0 });
    expect(at('barrier')).toMatchObject({ barriers: 2, instructions: 2, threadInstructions: 64 });
    expect(at('result')).toMatchObject({
      sharedLoadRequests: 2,
      sharedLoadWavefronts: 2,
      globalStoreRequests: 2,
      globalStoreSectors: 8,
    });
    // Lines add up to the totals.
    const sum = (key: 'instructions' | 'globalLoadSectors' | 'sharedLoadWavefronts') =>
      c.lines.reduce((total, line) => total + line[key], 0);
    expect(sum('instructions')).toBe(c.instructions);
    expect(sum('globalLoadSectors')).toBe(c.globalLoadSectors);
    expect(sum('sharedLoadWavefronts')).toBe(c.sharedLoadWavefronts);
  });
});

describe('loops that wait for other CTAs', () => {
  it('read the words of those before, once where these are done', async () => {
    const buffers = { next: 4, published: 8 * 64 };
    const { polls } = await count('look_back', { arguments: ['next', 'published'], buffers, grid: 64, block: 32 });
    // CTA 0 has none before it; CTA t < 32 reads t words.
    expect(polls).toMatchObject({ requests: 63, words: (31 * 32) / 2 + 32 * 32 });
    expect(polls!.round.waits['global-load']).toBe(1);
  });

  it('read one word, however many lanes do', async () => {
    const { polls } = await count('wait_for_one', { arguments: ['flag'], buffers: { flag: 4 }, grid: 4, block: 32 });
    expect(polls).toMatchObject({ requests: 4, words: 4 });
  });

  it('are not among the counters of other code', async () => {
    expect((await count('coalesced', { ...IN_OUT, grid: 3, block: 64 })).polls).toBeUndefined();
  });
});
