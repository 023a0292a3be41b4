import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WarpsmithError } from '../../../../src/core/errors.ts';
import { measureCopyPeak } from '../../../../src/devices/cuda/peaks/copy-peak.ts';
import { measureMatrixPeak } from '../../../../src/devices/cuda/peaks/matrix-peak.ts';
import { measurePeaks, type PeakFigures } from '../../../../src/devices/cuda/peaks/measure-peaks.ts';
import type { PeakMachine } from '../../../../src/devices/cuda/peaks/peak-machine.ts';
import { knownPeaks } from '../../../../src/devices/cuda/peaks/peaks-cache.ts';
import type { NativeLibrary } from '../../../../src/ffi/open-library.ts';
import { DEVICE_SPECS } from '../../../../src/hardware/device-specs.ts';

const VECTOR_BYTES = { copy4: 4, copy8: 8, copy16: 16 } as const;
const L2_BYTES = 60 * 2 ** 20;

/**
 * A GPU whose copies run at a rate that depends on the vector's width, 2 % slower every other time and ten times slower
 * once; it notes what happens.
 */
class FakeMachine implements PeakMachine {
  readonly l2Bytes = L2_BYTES;
  readonly stream = 0x5000n;
  readonly live = new Map<bigint, number>();
  readonly drawn = new Set<bigint>();
  readonly copied: { bytes: number; fromDrawn: boolean }[] = [];
  readonly rates: Record<keyof typeof VECTOR_BYTES, number>;
  synchronizeCount = 0;
  timing = false;
  #next = 0x1000n;
  #ns = 0;
  #samples = 0;

  constructor(rates = { copy4: 3.9e12, copy8: 4.1e12, copy16: 4.2e12 }) {
    this.rates = rates;
  }

  allocate(bytes: number): bigint {
    const address = this.#next;
    this.#next += BigInt(bytes) + 4096n;
    this.live.set(address, bytes);
    return address;
  }

  free(address: bigint): void {
    if (!this.live.delete(address)) throw new Error('freed twice');
  }

  apply(_name: 'draw' | 'fill', { bytes, jobCount }: { bytes: Uint8Array; jobCount: number }): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    for (let job = 0; job < jobCount; job++) this.drawn.add(view.getBigUint64((job * bytes.length) / jobCount, true));
  }

  enqueue(name: keyof typeof VECTOR_BYTES, _grid: number, [to, from, count]: readonly bigint[]): void {
    const bytes = Number(count) * VECTOR_BYTES[name];
    if (this.live.get(to!) !== bytes || this.live.get(from!) !== bytes) throw new Error('copies past a buffer');
    this.copied.push({ bytes, fromDrawn: this.drawn.has(from!) });
    this.#ns = ((2 * bytes) / this.rates[name]) * 1e9;
  }

  /** Time of whatever else is enqueued. */
  take(ns: number): void {
    this.#ns = ns;
  }

  synchronize(): void {
    this.synchronizeCount++;
  }

  timedNs(enqueue: () => void): number {
    this.timing = true;
    enqueue();
    this.timing = false;
    this.#samples++;
    return this.#ns * (this.#samples % 7 === 0 ? 10 : 1);
  }
}

describe('copy peak', () => {
  it('is the best median over sizes and vector widths, counting reads and writes, undisturbed by a slow sample', () => {
    const machine = new FakeMachine();
    const peak = measureCopyPeak(machine);
    expect(peak.bytesPerSecond / 4.2e12).toBeCloseTo(1, 9);
    expect(peak.method).toMatch(/^copy16, \d+ MB to \d+ MB, median of 11$/);
    expect(measureCopyPeak(new FakeMachine({ copy4: 5e12, copy8: 4e12, copy16: 4e12 })).method).toMatch(/^copy4,/);
  });

  it('copies random data, far larger than L2, and frees everything', () => {
    const machine = new FakeMachine();
    measureCopyPeak(machine);
    expect(machine.copied.length).toBeGreaterThan(60);
    for (const { bytes, fromDrawn } of machine.copied) {
      expect(bytes).toBeGreaterThanOrEqual(8 * L2_BYTES);
      expect(fromDrawn).toBe(true);
    }
    expect(machine.live.size).toBe(0);
  });
});

/** cuBLAS that takes `ns` per product; `status` as its functions return it. */
function cublas(machine: FakeMachine, ns: number, status: { create?: number; gemm?: number } = {}) {
  const calls: string[] = [];
  const functions: Record<string, (...values: unknown[]) => number> = {
    cublasCreate_v2: () => status.create ?? 0,
    cublasDestroy_v2: () => 0,
    cublasSetStream_v2: (_handle, stream) => (stream === machine.stream ? 0 : 7),
    cublasGemmEx: (_handle, ...values) => {
      const [ta, tb, m, n, k, , a, aType, lda, b, bType, ldb, , c, cType, ldc, compute, algorithm] = values;
      expect([ta, tb, m, n, k, aType, bType, cType, lda, ldb, ldc]).toEqual([
        0, 0, 8192, 8192, 8192, 2, 2, 2, 8192, 8192, 8192,
      ]);
      expect([compute, algorithm]).toEqual([68, -1]);
      for (const address of [a, b, c]) expect(machine.live.get(address as bigint)).toBe(2 * 8192 ** 2);
      expect([machine.drawn.has(a as bigint), machine.drawn.has(b as bigint)]).toEqual([true, true]);
      // The first call loads kernels, which a held stream would block.
      if (calls.filter((call) => call === 'cublasGemmEx').length === 1) expect(machine.timing).toBe(false);
      machine.take(ns);
      return status.gemm ?? 0;
    },
  };
  const library = {
    path: '/somewhere/libcublas.so.13',
    function:
      (name: string) =>
      (...values: unknown[]) => {
        calls.push(name);
        return functions[name]!(...values);
      },
  } as unknown as NativeLibrary;
  return { calls, open: () => library };
}

describe('matrix peak', () => {
  it('is 2·8192³ FLOP over the median time, by the library named', () => {
    const machine = new FakeMachine();
    const { open, calls } = cublas(machine, 1.5e6);
    const peak = measureMatrixPeak(machine, [], open);
    // 1.0995e12 FLOP ÷ 1.5 ms = 733 TFLOP/s.
    expect(peak.flopPerSecond! / 1e12).toBeCloseTo(733.01, 2);
    expect(peak.method).toBe('cuBLAS fp16 in fp32, 8192³, normal random data, median of 11 (libcublas.so.13)');
    expect(calls.at(-1)).toBe('cublasDestroy_v2');
    expect(machine.live.size).toBe(0);
    expect(machine.synchronizeCount).toBe(2);
  });

  it('is left out with the reason when cuBLAS is absent or fails', () => {
    const machine = new FakeMachine();
    const absent = () => {
      throw new WarpsmithError({ code: 'missing-library', message: 'Cannot load cuBLAS: no such file.' }, 3);
    };
    expect(measureMatrixPeak(machine, [], absent)).toEqual({
      method: 'not measured: Cannot load cuBLAS: no such file.',
    });
    const refused = measureMatrixPeak(machine, [], cublas(machine, 1, { create: 1 }).open);
    expect(refused).toEqual({ method: 'not measured: cublasCreate gave status 1' });
    const failing = cublas(machine, 1, { gemm: 15 });
    expect(measureMatrixPeak(machine, [], failing.open)).toEqual({
      method: 'not measured: cublasGemmEx gave status 15 (/somewhere/libcublas.so.13)',
    });
    expect(failing.calls.filter((call) => call === 'cublasGemmEx')).toHaveLength(1);
    expect(machine.live.size).toBe(0);
  });

  it('and the copy peak are measured together; either with what there is', () => {
    const machine = new FakeMachine();
    const both = measurePeaks(machine, [], cublas(machine, 1.5e6).open);
    expect(both.matrixFlopPerSecond! / 1e12).toBeCloseTo(733.01, 2);
    const one = measurePeaks(machine, [], cublas(machine, 1.5e6, { create: 3 }).open);
    expect(one.copyBytesPerSecond / 4.2e12).toBeCloseTo(1, 9);
    expect(one).toEqual({
      copyBytesPerSecond: one.copyBytesPerSecond,
      copyMethod: one.copyMethod,
      matrixMethod: expect.any(String),
    });
  });
});

describe('known peaks', () => {
  const spec = DEVICE_SPECS.get('h200')!;
  const subject = { uuid: 'GPU-1234', driver: '580.1', spec };
  const figures: PeakFigures = { copyBytesPerSecond: 4.2e12, copyMethod: 'copy16', matrixMethod: 'not measured: why' };
  let folder: string;
  let measured: number;
  const measure = async () => {
    measured++;
    return { ...figures, copyBytesPerSecond: 4e12 + measured };
  };

  beforeEach(async () => {
    measured = 0;
    folder = await mkdtemp(join(tmpdir(), 'warpsmith-peaks-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('are measured once, then read, with the datasheet beside', async () => {
    const first = await knownPeaks(subject, measure, join(folder, 'below'));
    expect(first).toMatchObject({ copyBytesPerSecond: 4e12 + 1, uuid: 'GPU-1234', driver: '580.1' });
    expect(first.datasheet.dramBytesPerSecond).toBe(4.8e12);
    expect(first.datasheet.matrixFlopPerSecond / 1e12).toBeCloseTo(1070.5, 1);
    expect(Date.parse(first.measuredAt)).toBeGreaterThan(0);
    expect(await knownPeaks(subject, measure, join(folder, 'below'))).toEqual(first);
    expect(measured).toBe(1);
    // Nothing half-written stays behind.
    expect(await readdir(join(folder, 'below'))).toHaveLength(1);
  });

  it('of another board or driver are measured anew', async () => {
    await knownPeaks(subject, measure, folder);
    await knownPeaks({ ...subject, uuid: 'GPU-5678' }, measure, folder);
    await knownPeaks({ ...subject, driver: '590.1' }, measure, folder);
    expect(measured).toBe(3);
    expect(await readdir(folder)).toHaveLength(3);
  });

  it.each([
    ['half a file', (text: string) => text.slice(0, 40)],
    ['no JSON', () => 'peaks'],
    ['a rate that is none', (text: string) => text.replace(/"copyBytesPerSecond": [^,]+/, '"copyBytesPerSecond": -1')],
    ['another board', (text: string) => text.replace('GPU-1234', 'GPU-9999')],
  ])('with %s in the file are measured anew and mended', async (_what, spoil) => {
    await knownPeaks(subject, measure, folder);
    const path = join(folder, (await readdir(folder))[0]!);
    await writeFile(path, spoil(await readFile(path, 'utf8')));
    expect((await knownPeaks(subject, measure, folder)).copyBytesPerSecond).toBe(4e12 + 2);
    expect((await knownPeaks(subject, measure, folder)).copyBytesPerSecond).toBe(4e12 + 2);
  });

  it('do without a folder that cannot be written', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    expect((await knownPeaks(subject, measure, join(file, 'below'))).copyBytesPerSecond).toBe(4e12 + 1);
  });

  it('are measured and not kept where nothing is to be kept', async () => {
    vi.stubEnv('WARPSMITH_CACHE', 'off');
    expect((await knownPeaks(subject, measure)).copyBytesPerSecond).toBe(4e12 + 1);
    expect((await knownPeaks(subject, measure)).copyBytesPerSecond).toBe(4e12 + 2);
    vi.unstubAllEnvs();
  });
});
