import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device, PagedOutcome } from '../../../src/core/device.ts';
import { BUFFER_PAGE_BYTES, type LoadedModule, type PagedBuffer } from '../../../src/core/device-values.ts';
import { type KernelLaunch, planLaunch } from '../../support/launch/launch-kernel.ts';
import { openKernels } from '../../support/launch/open-kernels.ts';

const [ROWS, COLUMNS] = [33_000, 40_000];
const ELEMENTS = ROWS * COLUMNS;

let device: Device;
let module: LoadedModule;
let source: string;

beforeAll(async () => {
  ({ device, module, source } = await openKernels(join(import.meta.dirname, 'kernels.cu'), { threads: 1 }));
});

afterAll(() => device.close());

const PERIOD = Float32Array.from({ length: 1009 }, (_, i) => i + 0.5);
const bytesOf = (values: ArrayBufferView): Uint8Array => new Uint8Array(values.buffer as ArrayBuffer);
const input = (name: string, bytes: number): PagedBuffer => ({ name, bytes, period: bytesOf(PERIOD) });

const run = (
  launch: KernelLaunch,
  buffers: readonly PagedBuffer[],
  options: { sampleCtas?: number; timeoutMs?: number; mostBytes?: number } = {},
): Promise<PagedOutcome | undefined> =>
  device.runPaged!(module, planLaunch(launch), buffers, { sampleCtas: 64, timeoutMs: 20_000, ...options });

/** Calls `see` with each element of touched pages that is not poison. Returns how many there are. */
function written(pages: ReadonlyMap<number, Uint8Array>, see: (index: number, value: number) => void): number {
  let count = 0;
  for (const [page, bytes] of pages) {
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    const floats = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    words.forEach((word, i) => {
      if (word === 0xffffffff) return;
      count++;
      see((page * BUFFER_PAGE_BYTES) / 4 + i, floats[i]!);
    });
  }
  return count;
}

describe('a transpose of more than 2^30 floats', () => {
  const BUFFERS = [input('in', ELEMENTS * 4), { name: 'out', bytes: ELEMENTS * 4 }];

  async function transposed(functionName: string): Promise<{ right: number; wrong: number; largest: number }> {
    const outcome = await run(
      {
        functionName,
        grid: [Math.ceil(COLUMNS / 32), Math.ceil(ROWS / 32), 1],
        block: [32, 8, 1],
        arguments: ['in', 'out', { i32: ROWS }, { i32: COLUMNS }],
      },
      BUFFERS,
    );
    if (!outcome?.ok) throw new Error(JSON.stringify(outcome));
    let [right, wrong, largest] = [0, 0, 0];
    written(outcome.pages.get('out')!, (index, value) => {
      const [row, column] = [index % ROWS, Math.floor(index / ROWS)];
      if (value === PERIOD[(row * COLUMNS + column) % PERIOD.length]) right++;
      else wrong++;
      largest = Math.max(largest, index);
    });
    return { right, wrong, largest };
  }

  it('is right with indices of 64 bits, up to the last element', async () => {
    // 64 tiles, of which the last is cut off at row 33,000: 8 rows and 32 columns.
    expect(await transposed('transpose')).toEqual({ right: 63 * 1024 + 8 * 32, wrong: 0, largest: ELEMENTS - 1 });
  });

  it('is wrong with byte offsets of 32 bits', async () => {
    const { right, wrong } = await transposed('transpose_short');
    expect(right).toBeGreaterThan(0);
    expect(wrong).toBeGreaterThan(0);
  });
});
