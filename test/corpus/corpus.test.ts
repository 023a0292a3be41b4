import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/core/device.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import { compileCuda } from '../support/launch/compile-cuda.ts';
import { launchKernel, loadCode } from '../support/launch/launch-kernel.ts';
import { sampled } from '../support/sampling/matrix.ts';
import { compileFails } from '../toolchains/support.ts';
import { ENTRIES, REFUSED } from './entries.ts';
import type { Entry, Values } from './entry.ts';

/** Kernels as people write them, in whole files with host code. They run unchanged, in two orders, watched for races. */
const FOLDER = join(import.meta.dirname, 'kernels');
const textOf = (file: string): string => readFileSync(join(FOLDER, file), 'utf8');
const nameOf = ({ kernel }: { kernel: string }): string => kernel.replace(/<.*/, '');

let toolchain: Toolchain;
let device: Device;
beforeAll(async () => {
  toolchain = await createClangToolchain();
  device = await openDevice('virtual:l4', { threads: 1 });
});
afterAll(() => device.close());

const RUNS = [{ orderSeed: 0, findRaces: true }, { orderSeed: 9 }];

async function run(entry: Entry): Promise<void> {
  const code = await compileCuda(toolchain, textOf(entry.file), [entry.kernel], entry.file);
  const module = await loadCode(device, code);
  try {
    const { grid, block, args, buffers, inputs, sharedBytes = 0, cooperative } = entry;
    const before: Values = Object.fromEntries(Object.entries(buffers).map(([name, data]) => [name, numbers(data)]));
    const wanted = entry.wanted(before);
    for (const options of RUNS) {
      const { contents } = await launchKernel(device, module, {
        functionName: entry.kernel,
        grid,
        block,
        dynamicSharedBytes: sharedBytes,
        cooperative,
        arguments: args,
        buffers,
        inputs,
        options,
      });
      for (const [name, want] of Object.entries(wanted))
        compare(entry, name, readAs(buffers[name]!, contents[name]!), want);
    }
  } finally {
    await device.unload(module);
  }
}

const numbers = (data: Entry['buffers'][string]): number[] => Array.from(data as ArrayLike<number | bigint>, Number);

function readAs(like: Entry['buffers'][string], bytes: Uint8Array<ArrayBuffer>): number[] {
  const make = like.constructor as new (buffer: ArrayBuffer) => Entry['buffers'][string];
  return numbers(new make(bytes.buffer));
}

function compare(entry: Entry, name: string, got: readonly number[], want: readonly number[]): void {
  const order = (values: readonly number[]) => (entry.anyOrder ? values.toSorted((a, b) => a - b) : [...values]);
  const [shown, right] = [order(got), order(want)];
  expect(shown).toHaveLength(right.length);
  if (entry.error === undefined) expect(shown, name).toEqual(right);
  else
    shown.forEach((value, i) => {
      const off = Math.abs(value - right[i]!) / Math.max(1, Math.abs(right[i]!));
      if (!(off <= entry.error!)) expect.fail(`${name}[${i}] is ${value}, not ${right[i]} (off by ${off})`);
    });
}

describe('kernels as people write them', () => {
  it('each is in the table, right or refused', () => {
    const known = [...ENTRIES, ...REFUSED];
    expect(ENTRIES.length).toBeGreaterThanOrEqual(60);
    for (const file of readdirSync(FOLDER)) {
      const names = [...textOf(file).matchAll(/__global__ void (\w+)/g)].map((match) => match[1]!);
      expect(known.filter((entry) => entry.file === file).map(nameOf), file).toEqual(names);
    }
  });

  sampled(
    'kernels as people write them',
    ENTRIES.map((entry) => [entry.kernel, entry] as const),
    { oneIn: 12 },
  )('%s is right', (_name, entry) => run(entry));

  sampled('kernels that are not supported', REFUSED, { oneIn: 4 })(
    '$kernel is unsupported by name',
    async ({ file, kernel, reason }) => {
      const failure = await compileFails(toolchain, { source: { [file]: textOf(file) }, functions: [kernel] });
      expect(failure.status).toBe('unsupported');
      expect(failure.message).toContain(reason);
    },
  );
});
