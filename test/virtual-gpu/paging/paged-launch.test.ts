import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Device, PagedOutcome, PagedRunOptions } from '../../../src/core/device.ts';
import type { DeviceFailure, LoadedModule } from '../../../src/core/device-values.ts';
import { BUFFER_PAGE_BYTES, NAN_BYTE, type PagedBuffer } from '../../../src/core/paged-buffer.ts';
import { decode, encode } from '../../../src/core/rounding.ts';
import { type KernelLaunch, launchKernel, loadCode, planLaunch } from '../../support/launch/launch-kernel.ts';
import { openKernels } from '../../support/launch/open-kernels.ts';
import { entry, moduleText } from '../../support/launch/ptx-text.ts';

let device: Device;
let module: LoadedModule;
let source: string;

beforeAll(async () => {
  ({ device, module, source } = await openKernels(join(import.meta.dirname, 'kernels.cu'), { threads: 1 }));
});

afterAll(() => device.close());

/** Beyond 4 GiB, and no multiple of a page. */
const BYTES = 6_000_000_048;
/** Of a prime length, so that an offset that is wrong by a power of two finds another one. */
const FLOATS = Float32Array.from({ length: 1009 }, (_, i) => i + 0.5);
const floatAt = (index: number): number => FLOATS[index % FLOATS.length]!;

const bytesOf = (values: ArrayBufferView): Uint8Array =>
  new Uint8Array(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength);
const i64 = (value: number) => ({ kind: 'scalar', dtype: 'i64', value }) as const;

type Options = Partial<PagedRunOptions> & { code?: LoadedModule };

const tryPaged = (
  launch: KernelLaunch,
  buffers: readonly PagedBuffer[],
  { code = module, ...options }: Options = {},
): Promise<PagedOutcome | undefined> =>
  device.runPaged!(code, planLaunch(launch), buffers, { sampleCtas: 4, timeoutMs: 20_000, ...options });

/** `not run` in place of undefined. */
async function ending(...request: Parameters<typeof tryPaged>): Promise<string> {
  const outcome = await tryPaged(...request);
  return outcome?.ok ? 'run' : (outcome?.status ?? 'not run');
}

/** The touched pages of each buffer, by its name. @throws Error with the device's message when it does not run so. */
async function pagesOf(...request: Parameters<typeof tryPaged>): Promise<(PagedOutcome & { ok: true })['pages']> {
  const outcome = await tryPaged(...request);
  if (!outcome?.ok) throw new Error(outcome?.message ?? 'can not be run so');
  return outcome.pages;
}

async function failureOf(...request: Parameters<typeof tryPaged>): Promise<DeviceFailure> {
  const outcome = await tryPaged(...request);
  if (!outcome || outcome.ok) throw new Error('the launch did not fail');
  return outcome;
}

const IN_AND_OUT = (bytes = BYTES, period = bytesOf(FLOATS)): PagedBuffer[] => [
  { name: 'in', bytes, period },
  { name: 'out', bytes },
];

/** Bytes that are not poison, by their offset. */
const writtenBytes = (pages: ReadonlyMap<number, Uint8Array>): [offset: number, byte: number][] =>
  [...pages].flatMap(([page, bytes]) =>
    [...bytes].flatMap((byte, i): [number, number][] =>
      byte === NAN_BYTE ? [] : [[page * BUFFER_PAGE_BYTES + i, byte]],
    ),
  );

/** Floats that are not poison, by their index. */
const writtenFloats = (pages: ReadonlyMap<number, Uint8Array>): Map<number, number> =>
  new Map(
    [...pages].flatMap(([page, bytes]) =>
      [...new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)].flatMap((value, i): [number, number][] =>
        Number.isNaN(value) ? [] : [[(page * BUFFER_PAGE_BYTES) / 4 + i, value]],
      ),
    ),
  );

describe('a transpose of more than 2^30 floats', () => {
  const [ROWS, COLUMNS] = [33_000, 40_000];
  const TILES: KernelLaunch = {
    grid: [Math.ceil(COLUMNS / 32), Math.ceil(ROWS / 32), 1],
    block: [32, 8, 1],
    arguments: ['in', 'out', { i32: ROWS }, { i32: COLUMNS }],
  };
  const transposed = (functionName: string) =>
    pagesOf({ ...TILES, functionName }, IN_AND_OUT(ROWS * COLUMNS * 4), { sampleCtas: 64 });
  const expected = (index: number): number => floatAt((index % ROWS) * COLUMNS + Math.floor(index / ROWS));

  it('is right with indices of 64 bits, up to the last element', async () => {
    const floats = writtenFloats((await transposed('transpose')).get('out')!);
    expect([...floats].filter(([index, value]) => value !== expected(index))).toEqual([]);
    // Of the last of 64 tiles, 8 rows lie in the matrix.
    expect(floats.size).toBe(63 * 32 * 32 + 8 * 32);
    expect(Math.max(...floats.keys())).toBe(ROWS * COLUMNS - 1);
  });

  it('is wrong with byte offsets of 32 bits', async () => {
    const floats = writtenFloats((await transposed('transpose_short')).get('out')!);
    expect(Math.max(...floats.keys())).toBeLessThan(2 ** 30);
    expect([...floats].filter(([index, value]) => value !== expected(index)).length).toBeGreaterThan(1000);
  });

  it('touches little memory', async () => {
    const pages = await transposed('transpose');
    const touched = [...pages.values()].reduce((sum, own) => sum + own.size, 0);
    // A page for each row on both sides of a tile, and another where a row crosses from one page to the next.
    expect(touched).toBeGreaterThan(63 * 2 * 32);
    expect(touched).toBeLessThan(64 * 2 * 64);
  });
});

/** Of this process, without what this thread has dropped: copies of pages that came back. */
async function residentBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  // V8 gives memory of arrays back a little later, on a busy machine much later.
  await setTimeout(200);
  return process.memoryUsage.rss();
}

it('leaves no memory behind, and takes none of the device', async () => {
  const pagesOfLaunch = 160 * 256;
  const touchMany = async (): Promise<number> =>
    (
      await pagesOf({ functionName: 'touches', grid: 160, block: 256, arguments: ['in', 'out'] }, IN_AND_OUT(), {
        sampleCtas: 160,
      })
    ).get('in')!.size;
  expect(await touchMany()).toBe(pagesOfLaunch);
  const before = await residentBytes();
  for (let i = 0; i < 4; i++) await touchMany();
  const isGivenBack = async (): Promise<void> =>
    expect((await residentBytes()) - before).toBeLessThan(pagesOfLaunch * BUFFER_PAGE_BYTES);
  await vi.waitFor(isGivenBack, { timeout: 20_000 });
  const rest = await device.allocate({ name: 'rest', bytes: 2 ** 32 - 2 ** 20, alignmentBytes: 256 });
  await device.free(rest);
});

describe('accesses', () => {
  const GRID = 300;
  const THREADS = 64;
  /** No byte of it is poison. */
  const MARKS = Uint8Array.from({ length: 997 * 16 }, (_, i) => (i * 31 + Math.floor(i / 16)) % 251);

  it.each([
    ['copy_bytes', 1],
    ['copy_halves', 2],
    ['copy_words', 4],
    ['copy_doubles', 8],
    ['copy_pairs', 8],
    ['copy_fours', 16],
  ])('%s: of %i bytes, at the end of a buffer', async (functionName, elementBytes) => {
    const first = BYTES / elementBytes - GRID * THREADS;
    const pages = await pagesOf(
      { functionName, grid: GRID, block: THREADS, arguments: ['in', 'out', i64(first)] },
      IN_AND_OUT(BYTES, MARKS),
    );
    const bytes = writtenBytes(pages.get('out')!);
    expect(bytes.filter(([offset, byte]) => byte !== MARKS[offset % MARKS.length])).toEqual([]);
    expect(bytes.length).toBe(4 * THREADS * elementBytes);
    expect(bytes.at(-1)![0]).toBe(BYTES - 1);
    // A buffer's last page ends with it.
    expect(pages.get('out')!.get(Math.floor(BYTES / BUFFER_PAGE_BYTES))!.length).toBe(BYTES % BUFFER_PAGE_BYTES);
  });

  it('of pairs of halves', async () => {
    const halves = Array.from({ length: 1006 }, (_, i) => i);
    const first = BYTES / 4 - GRID * THREADS;
    const pages = await pagesOf(
      { functionName: 'add_halves', grid: GRID, block: THREADS, arguments: ['in', 'out', i64(first)] },
      IN_AND_OUT(BYTES, encode(halves, 'f16')),
    );
    const sums = [...pages.get('out')!].flatMap(([page, bytes]) =>
      Array.from(decode(bytes, 'f16'), (value, i) => [(page * BUFFER_PAGE_BYTES) / 2 + i, value] as const),
    );
    const written = sums.filter(([, value]) => !Number.isNaN(value));
    expect(written.filter(([index, value]) => value !== halves[index % halves.length]! + 1)).toEqual([]);
    expect(written.length).toBe(4 * THREADS * 2);
  });

  /** The floats of `out` after a sample of a kernel that takes `in`, `out` and where its elements begin. */
  const floatsOf = async (functionName: string, first: number, block: number): Promise<Map<number, number>> =>
    writtenFloats(
      (await pagesOf({ functionName, grid: GRID, block, arguments: ['in', 'out', i64(first)] }, IN_AND_OUT())).get(
        'out',
      )!,
    );

  /** What each thread leaves, by its element; undefined: nothing. */
  async function expectFloats(
    functionName: string,
    first: number,
    block: number,
    expected: (index: number, thread: number) => number | undefined,
  ): Promise<void> {
    const floats = await floatsOf(functionName, first, block);
    const last = first + GRID * block;
    const ctas = new Set([...floats.keys()].map((index) => Math.floor((index - first) / block)));
    expect(ctas.size).toBe(4);
    const wanted = new Map<number, number>();
    for (const cta of ctas)
      for (let thread = 0; thread < block; thread++) {
        const index = first + cta * block + thread;
        const value = expected(index, thread);
        if (value !== undefined) wanted.set(index, value);
      }
    expect(floats).toEqual(wanted);
    expect(Math.max(...floats.keys())).toBeLessThan(last);
  }

  it.each([64, 40])('of lanes that go apart, in CTAs of %i threads', async (block) => {
    await expectFloats('diverging', 1_400_000_001, block, (index, thread) => {
      let sum = 0;
      for (let turn = 0; turn <= thread % 5; turn++) {
        if ((thread + turn) % 3 === 0) sum += floatAt(index - 3_000_000 * turn);
        else if (turn % 2) sum += 2 * floatAt(index + turn);
      }
      return thread % 7 === 2 ? undefined : sum;
    });
  });

  it('of one element by all lanes', async () => {
    const first = 1_400_000_000;
    const floats = await floatsOf('same_for_all', first, 64);
    expect(floats.size).toBe(4);
    for (const [index, value] of floats) expect(value).toBe(floatAt(index) + floatAt(index + 1));
    expect(floats.has(first + GRID - 1)).toBe(true);
  });

  it('by generic addresses, some of shared memory', async () => {
    await expectFloats('generic', 1_400_000_003, 64, (index, thread) => (thread % 2 ? 1000 + thread : floatAt(index)));
  });

  it('by cp.async, of which some lanes copy nothing', async () => {
    await expectFloats('copied', 300_000_000, 32, (index, thread) => {
      const other = index - thread + 31 - thread;
      const count = [4, 3, 2, 0][(31 - thread) % 4]!;
      let four = 0;
      for (let i = 0; i < count; i++) four += floatAt(4 * other + i);
      return Math.fround(floatAt(other) + 1000 * four);
    });
  });

  it('beside a variable that nobody has written', async () => {
    await expectFloats('by_table', 1_400_000_000, 64, (index) => floatAt(index) * 10 ** (index % 4));
  });

  it('with guards: loads, stores, vectors and prefetches of lanes that have no address otherwise', async () => {
    const code = await loadCode(
      device,
      moduleText(
        entry({
          parameters: ['u64 in', 'u64 out', 'u64 first'],
          body: `
            mov.u32 %r0, %tid.x;
            mov.u32 %r1, %ctaid.x;
            mad.lo.u32 %r2, %r1, 64, %r0;
            cvt.u64.u32 %d0, %r2;
            add.u64 %d0, %d0, %first;
            shl.b64 %d1, %d0, 4;
            setp.lt.u32 %p1, %r0, 50;
            selp.b64 %d2, %d1, 0x123456789, %p1;
            add.u64 %d3, %in, %d2;
            add.u64 %d4, %out, %d2;
            @%p1 prefetch.global.L2 [%d3+8];
            @%p1 ld.global.v2.f32 {%f0, %f1}, [%d3+8];
            @%p1 ld.global.nc.f32 %f2, [%d3];
            setp.ge.u32 %p2, %r0, 50;
            @!%p2 st.global.v4.f32 [%d4], {%f1, %f0, %f2, %f2};
            @!%p1 bra DONE;
            setp.lt.u32 %p3, %r0, 7;
            @%p3 st.global.f32 [%d4+12], %f0;
            DONE:`,
        }),
      ),
    );
    const first = 350_000_000;
    const pages = await pagesOf({ grid: GRID, block: 64, arguments: ['in', 'out', i64(first)] }, IN_AND_OUT(), {
      code,
    });
    await device.unload(code);
    const floats = writtenFloats(pages.get('out')!);
    expect(floats.size).toBe(4 * 50 * 4);
    for (const [index, value] of floats) {
      const [four, place] = [index - (index % 4), index % 4];
      const thread = (four / 4 - first) % 64;
      const from = place === 3 && thread < 7 ? 2 : [3, 2, 0, 0][place]!;
      expect(thread).toBeLessThan(50);
      expect(value).toBe(floatAt(four + from));
    }
  });

  it('run in all CTAs where there are no more than were asked for', async () => {
    const pages = await pagesOf(
      { functionName: 'copy_words', grid: 5, block: 32, arguments: ['in', 'out', i64(7)] },
      IN_AND_OUT(4096),
      { sampleCtas: 64 },
    );
    const floats = writtenFloats(pages.get('out')!);
    expect(floats).toEqual(new Map(Array.from({ length: 160 }, (_, i) => [7 + i, floatAt(7 + i)])));
  });
});

describe('faults', () => {
  const lineOf = (marker: string): number =>
    source.split('\n').findIndex((line) => line.includes(`// line: ${marker}`)) + 1;

  it('a write one element past the end of 64-bit bounds, with buffer and line', async () => {
    const elements = BYTES / 4;
    const grid = Math.ceil(elements / 256);
    const { status, message, fault } = await failureOf(
      { functionName: 'past_end', grid, block: 256, arguments: ['in', 'out', i64(elements)] },
      IN_AND_OUT(),
    );
    expect(status).toBe('unsafe');
    expect(fault).toMatchObject({
      functionName: 'past_end',
      cta: [grid - 1, 0, 0],
      thread: [(elements - 1) % 256, 0, 0],
      accessBytes: 4,
      buffer: { name: 'out', offsetBytes: BYTES, sizeBytes: BYTES },
      source: { file: 'kernels.cu', line: lineOf('past the end') },
    });
    expect(fault!.instruction).toMatch(/^st\.global/);
    expect(message).toContain('past_end: out-of-bounds global write at address 0x7');
  });

  it('a read before the start, where no other buffer lies', async () => {
    const { status, fault } = await failureOf(
      { functionName: 'before_start', arguments: ['in', 'out', { i32: 0 }] },
      IN_AND_OUT(),
    );
    expect(status).toBe('unsafe');
    expect(fault).toMatchObject({ thread: [0, 0, 0], buffer: { name: 'in', offsetBytes: -4, sizeBytes: BYTES } });
  });

  it('a misaligned read', async () => {
    const { status, message, fault } = await failureOf(
      { functionName: 'misaligned', arguments: ['in', 'out', i64(5_000_000_000)] },
      IN_AND_OUT(),
    );
    expect(status).toBe('unsafe');
    expect(message).toContain('misaligned 4-byte global read');
    expect(fault).toMatchObject({ thread: [1, 0, 0], buffer: { name: 'in', offsetBytes: 5_000_000_001 } });
  });

  it('a null pointer, for which no buffer is meant', async () => {
    const { status, fault } = await failureOf(
      { functionName: 'copy_words', arguments: [{ kind: 'null' }, 'out', i64(0)] },
      IN_AND_OUT(),
    );
    expect([status, fault!.buffer]).toEqual(['unsafe', undefined]);
  });

  it('a launch that takes too long', async () => {
    const { status, message } = await failureOf(
      { functionName: 'spins', arguments: ['in', 'out', { i32: 2 ** 31 - 1 }] },
      IN_AND_OUT(),
      { timeoutMs: 400 },
    );
    expect(status).toBe('timed-out');
    // On a busy machine the thread may not have begun.
    expect(message).toMatch(/^spins did not finish within 400 ms: [01] of 1 CTAs had begun/);
  });
});

describe('what can not be run so', () => {
  const simple: KernelLaunch = { functionName: 'copy_words', arguments: ['in', 'out', i64(0)] };

  it.each([
    ['counts', 'atomics'],
    ['flags', 'volatile accesses'],
  ])('%s: %s', async (functionName) => {
    expect(await ending({ functionName, arguments: ['in', 'out'] }, IN_AND_OUT())).toBe('not run');
  });

  it.each<[string, Partial<KernelLaunch>]>([
    ['a cooperative launch', { cooperative: true }],
    ['clusters', { cluster: 1 }],
    [
      'arrays of pointers',
      { arguments: [{ kind: 'pointers', targets: [{ buffer: 'in', offsetBytes: 0 }] }, 'out', i64(0)] },
    ],
  ])('%s', async (_, launch) => {
    expect(await ending({ ...simple, ...launch }, IN_AND_OUT())).toBe('not run');
    expect(await ending(simple, IN_AND_OUT())).toBe('run');
  });

  it.each([
    'cp.async.bulk.prefetch.L2.global [%in], 16;',
    'discard.global.L2 [%in], 128;',
    'isspacep.global %p0, %in;',
    'red.global.add.u32 [%in], 1;',
    'multimem.red.relaxed.sys.global.add.u32 [%in], %r0;',
    'wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%in], 16;',
  ])('%s', async (body) => {
    const code = await loadCode(device, moduleText(entry({ parameters: ['u64 in'], body })));
    expect(await ending({ arguments: ['in'] }, IN_AND_OUT(), { code })).toBe('not run');
    await device.unload(code);
  });

  it('a buffer beyond every address', async () => {
    expect(await ending(simple, IN_AND_OUT(2 ** 36 + 16))).toBe('not run');
  });

  it('a sample that touches more than it may', async () => {
    const launch: KernelLaunch = { ...simple, grid: 40, block: 1024 };
    // Each CTA touches one or two pages of each buffer.
    const options = { sampleCtas: 40 };
    expect(await ending(launch, IN_AND_OUT(), { ...options, mostBytes: 79 * BUFFER_PAGE_BYTES })).toBe('not run');
    expect(await ending(launch, IN_AND_OUT(), { ...options, mostBytes: 80 * BUFFER_PAGE_BYTES })).toBe('run');
  });

  it('variables that are written, here or by an earlier launch', async () => {
    const out: PagedBuffer[] = [{ name: 'out', bytes: BYTES }];
    const reads: KernelLaunch = { functionName: 'reads_state', arguments: ['out'] };
    expect(await ending({ functionName: 'sets_state', arguments: ['out'] }, out)).toBe('not run');
    expect(await ending(reads, out)).toBe('run');
    await launchKernel(device, module, { functionName: 'sets_state', arguments: ['out'], buffers: { out: 128 } });
    expect(await ending(reads, out)).toBe('not run');
  });
});

it('refuses arguments that do not fit, as any launch', async () => {
  const { status } = await failureOf({ functionName: 'copy_words', arguments: ['in'] }, IN_AND_OUT());
  expect(status).toBe('invalid');
});
