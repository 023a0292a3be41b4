import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../../support/launch/compile-cuda.ts';
import { launchKernel, loadCode } from '../../support/launch/launch-kernel.ts';

const FILE = 'landings.cu';
const SOURCE = readFileSync(path.join(import.meta.dirname, FILE), 'utf8');
const FUNCTIONS = functionsIn(SOURCE);
const WORDS = 256;
const SEEDS = [0, 1, 2, 3, 4, 5];

let devices: Device[];
let modules: LoadedModule[];

beforeAll(async () => {
  devices = await Promise.all([1, 3].map((threads) => openDevice('virtual:h200', { threads })));
  const code = await compileCuda(await createClangToolchain(), SOURCE, FUNCTIONS, FILE, 'sm_90a');
  modules = await Promise.all(devices.map((device) => loadCode(device, code)));
});

afterAll(async () => {
  for (const device of devices ?? []) await device.close();
});

const x = Int32Array.from({ length: WORDS }, (_, i) => 100 + i);

async function resultOf(functionName: string, orderSeed: number, device: number): Promise<number[]> {
  const { contents } = await launchKernel(devices[device]!, modules[device]!, {
    functionName,
    grid: 4,
    block: 64,
    arguments: ['x', 'y'],
    buffers: { x, y: WORDS * 4 },
    options: { orderSeed },
  });
  return [...new Int32Array(contents.y!.buffer)];
}

/** The results by seed: on one thread, and the same on three. */
async function resultsOf(functionName: string): Promise<number[][]> {
  const results: number[][] = [];
  for (const seed of SEEDS) {
    results.push(await resultOf(functionName, seed, 0));
    expect(await resultOf(functionName, seed, 1)).toEqual(results.at(-1));
  }
  return results;
}

const sums = (step: number): number[] =>
  Array.from(x, (_, i) => [0, 1, 2, 3].reduce((sum, round) => sum + x[(i + round * step) % WORDS]!, 0));

describe.each([
  ['waits', sums(1)],
  ['bulk_waits', sums(64)],
  ['bulk_out_waits', [...x]],
])('%s', (name, wanted) => {
  it('gives the same whenever its copies land', async () => {
    for (const result of await resultsOf(name)) expect(result).toEqual(wanted);
  });
});

describe.each([
  ['early_read', new Array(WORDS).fill(-4)],
  ['early_bulk_read', new Array(WORDS).fill(-4)],
  ['early_overwrite', new Array(WORDS).fill(7)],
])('%s', (name, late) => {
  it('comes out as if all copies were late in the natural order, and otherwise in another', async () => {
    const [natural, ...seeded] = await resultsOf(name);
    expect(natural).toEqual(late);
    expect(seeded.filter((result) => result.join() !== natural!.join()).length).toBeGreaterThanOrEqual(4);
  });
});

it('covers every kernel', () => {
  const named = ['waits', 'bulk_waits', 'bulk_out_waits', 'early_read', 'early_bulk_read', 'early_overwrite'];
  expect([...FUNCTIONS].sort()).toEqual(named.sort());
});
