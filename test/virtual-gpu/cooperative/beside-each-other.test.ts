import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../../support/launch/compile-cuda.ts';
import { type KernelLaunch, loadCode, planLaunch, trySteps } from '../../support/launch/launch-kernel.ts';

const SOURCE = readFileSync(new URL('waiting.cu', import.meta.url), 'utf8');

let device: Device;
let module: LoadedModule;
let hopper: Device;
beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 2 });
  hopper = await openDevice('virtual:h200', { threads: 2 });
  module = await loadCode(device, await compileCuda(await createClangToolchain(), SOURCE, functionsIn(SOURCE)));
});
afterAll(async () => {
  await device.close();
  await hopper.close();
});

const THREADS = 64;

/** Runs a kernel as an ordinary launch. */
async function launch(functionName: string, grid: number, { options, ...changes }: Partial<KernelLaunch> = {}) {
  const asked: KernelLaunch = {
    ...{ functionName, grid, block: THREADS },
    arguments: ['words', 'out'],
    buffers: { words: 4 * (grid + 1) * THREADS, out: 4 * grid * THREADS },
    ...changes,
    options: { timeoutMs: 20_000, ...options },
  };
  return trySteps(device, module, asked, [planLaunch(asked)]);
}

async function wordsOf(...asked: Parameters<typeof launch>): Promise<number[]> {
  const outcome = await launch(...asked);
  if (!outcome.ok) throw new Error(`${outcome.status}: ${outcome.message}`);
  return [...new Uint32Array(outcome.contents.out!.buffer)];
}

const WAYS: readonly [string, KernelLaunch['options']][] = [
  ['in natural order', {}],
  ['in another order', { orderSeed: 12_345 }],
  ['counted', { count: true }],
  ['watched for races', { findRaces: true }],
  ['watched for races in another order', { findRaces: true, orderSeed: 77 }],
];

describe.each(WAYS)('CTAs of an ordinary launch that wait for later ones, %s', (_how, options) => {
  it('exchange words that say that they have come', async () => {
    const grid = 12;
    const wanted = Array.from({ length: grid * THREADS }, (_, thread) => {
      const group = Math.floor(thread / THREADS / 4) * 4;
      const of = (cta: number): number => 1000 * cta + (thread % THREADS) + 1;
      return of(group) + of(group + 1) + of(group + 2) + of(group + 3);
    });
    expect(await wordsOf('exchange', grid, { options })).toEqual(wanted);
  });

  it('meet at a barrier of their own', async () => {
    const sum = (7 * 8) / 2;
    expect(await wordsOf('by_hand', 7, { options })).toEqual(new Array(7 * THREADS).fill(sum));
  });

  it('wait for the next one, from the last to the first', async () => {
    const grid = 20;
    const wanted = Array.from({ length: grid * THREADS }, (_, thread) => grid - Math.floor(thread / THREADS));
    expect(await wordsOf('from_the_last', grid, { options })).toEqual(wanted);
  });

  it('keep registers and shared memory while others run', async () => {
    const wanted = Array.from({ length: 5 * THREADS }, (_, thread) => {
      const [cta, own] = [Math.floor(thread / THREADS), thread % THREADS];
      return 1000 * cta + (63 - own) + 7 * own;
    });
    expect(await wordsOf('keeps', 5, { options })).toEqual(wanted);
  });

  const handedOver = Array.from({ length: 4 * 32 }, (_, at) => 1000 * Math.floor(at / 32) + 31 - (at % 32));
  const buffers = { words: 4 * 4, out: 4 * 4 * 32 };

  it('have mbarriers of their own', async () => {
    expect(await wordsOf('hands_over', 4, { options, buffers })).toEqual(handedOver);
  });

  it('may be clusters of one each', async () => {
    const compiled = await compileCuda(await createClangToolchain(), SOURCE, ['hands_over'], 'waiting.cu', 'sm_90a');
    const asked: KernelLaunch = {
      ...{ functionName: 'hands_over', grid: 4, cluster: 1, block: THREADS },
      ...{ arguments: ['words', 'out'], buffers, options: { timeoutMs: 20_000, ...options } },
    };
    const outcome = await trySteps(hopper, await loadCode(hopper, compiled), asked, [planLaunch(asked)]);
    expect(outcome).toMatchObject({ ok: true });
    expect([...new Uint32Array(outcome.ok ? outcome.contents.out!.buffer : [])]).toEqual(handedOver);
  });
});

it('as many as the device holds run beside each other, and those after them when some have ended', async () => {
  // 1024 threads: one CTA on each of 58 SMs.
  const grid = 200;
  const outcome = await launch('exchange', grid, {
    block: 1024,
    buffers: { words: 4 * (grid + 1) * 1024, out: 4 * grid * 1024 },
  });
  if (!outcome.ok) throw new Error(outcome.message);
  const out = new Uint32Array(outcome.contents.out!.buffer);
  expect(out[199 * 1024 + 5]).toBe(4 * 6 + 1000 * (196 + 197 + 198 + 199));
});

it('a race between CTAs that wait for later ones is found', async () => {
  const outcome = await launch('unfenced', 4, { options: { findRaces: true } });
  expect(outcome).toMatchObject({ ok: false, status: 'unsafe' });
  expect(!outcome.ok && outcome.message).toContain('race');
});
