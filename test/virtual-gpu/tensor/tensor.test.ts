import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { launchKernel, tryLaunch } from '../../support/launch/launch-kernel.ts';
import { openKernels } from '../../support/launch/open-kernels.ts';

let device: Device;
let module: LoadedModule;

beforeAll(async () => {
  ({ device, module } = await openKernels(join(import.meta.dirname, 'kernels.cu')));
});

afterAll(() => device.close());

/** A [16, 16], B [16, 8] in f16 and C [16, 8]; returns D and the counters. */
async function multiply(a: Float16Array, b: Float16Array, c: Float32Array) {
  const { contents, counters } = await launchKernel(device, module, {
    functionName: 'mma_f16_k16',
    arguments: ['A', 'B', 'C', 'D'],
    buffers: { A: a, B: b, C: c, D: 512 },
    options: { count: true },
  });
  return { d: new Float32Array(contents.D!.buffer), counters };
}

describe('mma.sync m16n8k16 f16 → f32', () => {
  it('gives the exact product of small integers', async () => {
    const a = Float16Array.from({ length: 256 }, (_, i) => ((i * 7) % 11) - 5);
    const b = Float16Array.from({ length: 128 }, (_, i) => ((i * 5) % 13) - 6);
    const c = Float32Array.from({ length: 128 }, (_, i) => i);
    const { d, counters } = await multiply(a, b, c);
    for (let row = 0; row < 16; row++)
      for (let column = 0; column < 8; column++) {
        let sum = c[row * 8 + column]!;
        for (let k = 0; k < 16; k++) sum += a[row * 16 + k]! * b[k * 8 + column]!;
        expect(d[row * 8 + column]).toBe(sum);
      }
    // One mma: 2 · 16 · 8 · 16 FLOP.
    expect(counters.instructionsByClass.tensor).toBe(1);
    expect(counters.flop.tensor).toBe(4096);
  });

  it('cuts products off at 24 bits below the largest: 1 + 8·2⁻²⁵ loses the small ones, exact addition would not', async () => {
    const a = new Float16Array(256);
    const b = new Float16Array(128);
    a.fill(2 ** -12, 0, 8);
    for (let k = 0; k < 8; k++) b[k * 8] = 2 ** -13;
    const c = new Float32Array(128);
    c[0] = 1;
    const { d } = await multiply(a, b, c);
    // Each product is 2⁻²⁵ against a largest exponent of 0: below the 24 bits kept. Their exact sum would be 2⁻²².
    expect(d[0]).toBe(1);
  });

  it('keeps small products when nothing large is beside them', async () => {
    const a = new Float16Array(256).fill(2 ** -12, 0, 8);
    const b = new Float16Array(128);
    for (let k = 0; k < 8; k++) b[k * 8] = 2 ** -13;
    const { d } = await multiply(a, b, new Float32Array(128));
    expect(d[0]).toBe(2 ** -22);
  });

  it('carries NaN and infinity', async () => {
    const a = new Float16Array(256);
    a[0] = Number.POSITIVE_INFINITY;
    const b = new Float16Array(128).fill(1);
    b[1] = 0;
    const { d } = await multiply(a, b, new Float32Array(128));
    expect(d[0]).toBe(Number.POSITIVE_INFINITY);
    expect(d[1]).toBeNaN();
  });
});

/** Copies of 16 bytes for each lane, of which `sizes` are taken. */
const partly = (offset: number, sizes: Uint32Array) => ({
  functionName: 'copy_part',
  arguments: ['in', 'sizes', 'out', { i32: offset }],
  buffers: { in: Uint8Array.from({ length: 512 }, (_, i) => i % 251), sizes, out: 512 },
});

describe('ldmatrix.x4', () => {
  const rows = Uint16Array.from({ length: 256 }, (_, i) => i);
  const run = async (functionName: string, count = true) => {
    const { contents, counters } = await launchKernel(device, module, {
      functionName,
      arguments: ['rows', 'out'],
      buffers: { rows, out: 512 },
      options: { count },
    });
    return { out: new Uint32Array(contents.out!.buffer), counters };
  };

  it.each([true, false])(
    'gives lane l elements 2·(l mod 4), +1 of row ⌊l/4⌋ of each matrix; counted: %s',
    async (count) => {
      const { out } = await run('ldmatrix_x4', count);
      for (let lane = 0; lane < 32; lane++)
        for (let matrix = 0; matrix < 4; matrix++) {
          const first = matrix * 64 + (lane >> 2) * 8 + (lane & 3) * 2;
          expect(out[lane * 4 + matrix]).toBe(first | ((first + 1) << 16));
        }
    },
  );

  it.each([true, false])('transposes; counted: %s', async (count) => {
    const { out } = await run('ldmatrix_x4_trans', count);
    for (let lane = 0; lane < 32; lane++)
      for (let matrix = 0; matrix < 4; matrix++) {
        const [row, column] = [(lane & 3) * 2, lane >> 2];
        const at = (r: number) => matrix * 64 + r * 8 + column;
        expect(out[lane * 4 + matrix]).toBe(at(row) | (at(row + 1) << 16));
      }
  });

  it('takes one wavefront for each matrix whose rows lie side by side: 8 rows × 16 B = all 32 banks', async () => {
    const { counters } = await run('ldmatrix_x4');
    expect([counters.sharedLoadRequests, counters.sharedLoadWavefronts]).toEqual([4, 4]);
  });
});

describe('ldmatrix.x1 and .x2', () => {
  it.each([true, false])(
    'read the rows of their own lanes alone, and count each matrix for itself; counted: %s',
    async (count) => {
      const { contents, counters } = await launchKernel(device, module, {
        functionName: 'ldmatrix_few',
        arguments: ['out'],
        buffers: { out: 128 },
        options: { count },
      });
      const wordOf = (lane: number, start: number, rowBytes: number) =>
        start / 4 + (lane >> 2) * (rowBytes / 4) + (lane & 3);
      const expected = Array.from({ length: 32 }, (_, lane) =>
        [0, 16].reduce((sum, at) => sum + 4 * wordOf(lane, at, 128) + 5 * wordOf(lane, 1024 + at, 16), 0),
      );
      expect([...new Uint32Array(contents.out!.buffer)]).toEqual(expected);
      if (!count) return;
      // Eight rows that are 128 bytes apart need the same four banks.
      const { sharedLoadRequests, sharedLoadWavefronts, sharedLoadBankConflicts } = counters;
      expect([sharedLoadRequests, sharedLoadWavefronts, sharedLoadBankConflicts]).toEqual([
        6,
        2 * (8 + 8 + 1),
        2 * (7 + 7),
      ]);
    },
  );
});

describe('a row of ldmatrix', () => {
  const loadAt = (offset: number) =>
    tryLaunch(device, module, {
      functionName: 'ldmatrix_at',
      arguments: ['out', { i32: offset }],
      buffers: { out: 512 },
    });

  it.each([
    ['out-of-bounds shared read', 16],
    ['misaligned 16-byte shared read', -8],
    ['a read at an address that', -1024],
  ])('that is none stops the launch: %s', async (what, offset) => {
    const outcome = await loadAt(offset);
    expect(outcome).toMatchObject({ ok: false, status: 'unsafe' });
    expect(outcome.ok || outcome.message).toMatch(new RegExp(`${what} .* thread \\(31, 0, 0\\)`));
  });

  it('may be the one before', async () => {
    expect(await loadAt(-16)).toMatchObject({ ok: true });
  });
});

describe('cp.async', () => {
  it.each(['copy_part', 'copy_all'])(
    'copies all of a lane’s bytes, or none and zeros, in every lane of %s',
    async (functionName) => {
      const sizes = Uint32Array.from({ length: 32 }, (_, lane) => (lane % 3 === 0 ? 0 : lane % 7 === 0 ? 99 : 16));
      const launch = { ...partly(0, sizes), functionName };
      const plain = await launchKernel(device, module, launch);
      const counted = await launchKernel(device, module, { ...launch, options: { count: true } });
      const step = functionName === 'copy_part' ? 2 : 1;
      const expected = Uint8Array.from({ length: 512 }, (_, i) => {
        const lane = Math.floor(i / 16);
        return lane % step > 0 ? 0x77 : i % 16 < sizes[lane]! ? i % 251 : 0;
      });
      expect(plain.contents.out).toEqual(expected);
      expect(counted.contents.out).toEqual(expected);
    },
  );

  it.each([
    ['behind the buffer', 32, 'out-of-bounds', 30],
    ['before the buffer', -16, 'out-of-bounds', 0],
    ['misaligned', 4, 'misaligned', 0],
  ])('stops all lanes of a warp at a source that is %s', async (_, offset, kind, lane) => {
    const launch = { ...partly(offset, new Uint32Array(32).fill(16)), functionName: 'copy_all' };
    const outcome = await tryLaunch(device, module, launch);
    expect(outcome).toMatchObject({ ok: false, status: 'unsafe' });
    expect(outcome.ok || outcome.message).toMatch(new RegExp(`${kind} .*global read .* thread \\(${lane}, 0, 0\\)`));
  });

  it('lands when waited for, not before', async () => {
    const input = Uint32Array.from({ length: 128 }, (_, i) => i + 100);
    const { contents, counters } = await launchKernel(device, module, {
      functionName: 'copy_and_wait',
      arguments: ['in', 'before', 'after'],
      buffers: { in: input, before: 128, after: 512 },
      options: { count: true },
    });
    expect([...new Uint32Array(contents.before!.buffer)]).toEqual(new Array(32).fill(7));
    expect([...new Uint32Array(contents.after!.buffer)]).toEqual([...input]);
    // 32 lanes × 16 B = 512 B = 16 sectors.
    expect([counters.globalLoadRequests, counters.globalLoadSectors]).toEqual([1, 16]);
  });

  it('takes as many bytes as asked for, and zeros for the rest, in lanes that take part', async () => {
    const sizes = Uint32Array.from({ length: 32 }, (_, lane) => (lane * 3) % 17);
    const { contents } = await launchKernel(device, module, partly(0, sizes));
    const expected = Uint8Array.from({ length: 512 }, (_, i) => {
      const lane = Math.floor(i / 16);
      if (lane % 2 === 1) return 0x77;
      return i % 16 < sizes[lane]! ? i % 251 : 0;
    });
    expect(contents.out).toEqual(expected);
  });

  it.each([
    ['behind the buffer', 32, 'out-of-bounds', 30],
    ['before the buffer', -16, 'out-of-bounds', 0],
    ['misaligned', 4, 'misaligned', 0],
  ])('stops at a source that is %s', async (_, offset, kind, lane) => {
    const outcome = await tryLaunch(device, module, partly(offset, new Uint32Array(32).fill(16)));
    expect(outcome).toMatchObject({ ok: false, status: 'unsafe' });
    expect(outcome.ok || outcome.message).toMatch(new RegExp(`${kind} .*global read .* thread \\(${lane}, 0, 0\\)`));
  });

  it('may name any source of which it takes nothing', async () => {
    const outcome = await tryLaunch(device, module, partly(1 << 20, new Uint32Array(32)));
    expect(outcome).toMatchObject({ ok: true });
  });
});
