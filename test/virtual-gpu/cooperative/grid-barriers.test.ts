import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CompiledCode } from '../../../src/core/compiled-code.ts';
import type { Device } from '../../../src/core/device.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../../support/launch/compile-cuda.ts';
import { type KernelLaunch, loadCode, planLaunch, trySteps } from '../../support/launch/launch-kernel.ts';

const SOURCE = readFileSync(new URL('kernels.cu', import.meta.url), 'utf8');

let device: Device;
let code: CompiledCode;
beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 2 });
  code = await compileCuda(await createClangToolchain(), SOURCE, functionsIn(SOURCE));
});
afterAll(() => device.close());

const CTAS = 7;
const THREADS = 64;
const WORDS = CTAS * THREADS;

/** Runs a kernel as a cooperative launch. */
async function launch(functionName: string, rounds = 1, { options, ...changes }: Partial<KernelLaunch> = {}) {
  const byHand = ['by_hand', 'unfenced'].includes(functionName);
  const asked: KernelLaunch = {
    functionName,
    grid: CTAS,
    block: THREADS,
    cooperative: true,
    arguments: ['values', 'out', { u32: rounds }, ...(byHand ? ['counter'] : [])],
    buffers: { values: 4 * WORDS, out: 4 * WORDS, counter: 4 },
    ...changes,
    options: { timeoutMs: 10_000, ...options },
  };
  const module = await loadCode(device, code);
  try {
    return await trySteps(device, module, asked, [planLaunch(asked)]);
  } finally {
    await device.unload(module);
  }
}

const wordsOf = (outcome: Awaited<ReturnType<typeof launch>>): number[] => {
  if (!outcome.ok) throw new Error(`${outcome.status}: ${outcome.message}`);
  return [...new Uint32Array(outcome.contents.out!.buffer)];
};

/** What `rounds` leaves. */
function expected(rounds: number): number[] {
  let own = Array.from({ length: WORDS }, (_, thread) => thread + 1);
  for (let round = 0; round < rounds; round++) {
    const sum = own.reduce((all, one) => (all + one) >>> 0, 0);
    own = own.map((_, thread) => (sum + thread) >>> 0);
  }
  return own;
}

const WAYS: readonly [string, KernelLaunch['options']][] = [
  ['in natural order', {}],
  ['in another order', { orderSeed: 12_345 }],
  ['counted', { count: true }],
  ['watched for races', { findRaces: true }],
  ['watched for races in another order', { findRaces: true, orderSeed: 77 }],
];

describe.each(WAYS)('a cooperative launch, %s', (_how, options) => {
  it.each(['rounds', 'by_hand'])('%s: all CTAs meet, as often as they like', async (name) => {
    expect(wordsOf(await launch(name, 3, { options }))).toEqual(expected(3));
  });

  it('keeps registers and shared memory of each CTA', async () => {
    const wanted = Array.from({ length: WORDS }, (_, thread) => {
      const [cta, own] = [Math.floor(thread / THREADS), thread % THREADS];
      return 1000 * cta + 63 - own + 7 + 100_000 * WORDS;
    });
    expect(wordsOf(await launch('in_parts', 1, { options }))).toEqual(wanted);
  });
});

describe('races in a cooperative launch', () => {
  const reasonOf = async (name: string, rounds = 2): Promise<string> => {
    const outcome = await launch(name, rounds, { options: { findRaces: true } });
    if (outcome.ok) throw new Error(`${name} is not refused`);
    expect(outcome.status).toBe('unsafe');
    return outcome.message;
  };
  const lineOf = (text: string, from: string): number =>
    SOURCE.slice(0, SOURCE.indexOf(text, SOURCE.indexOf(from))).split('\n').length;

  it('a missing barrier behind the reads', async () => {
    const reason = await reasonOf('too_early');
    expect(reason).toContain('race');
    const kernel = 'too_early(';
    expect(reason).toContain(`kernels.cu:${lineOf('values[thread] = own', kernel)}`);
    expect(reason).toContain(`kernels.cu:${lineOf('sum += values[i]', kernel)}`);
  });

  it.each(['never', 'unfenced'])('%s', async (name) => {
    expect(await reasonOf(name)).toContain('race');
  });
});

describe('what a cooperative launch is refused for', () => {
  it('more CTAs than the device holds, with the arithmetic', async () => {
    const outcome = await launch('rounds', 1, { grid: 10_000 });
    expect(outcome).toMatchObject({ ok: false, status: 'launch-failed' });
    const perSm = 1536 / THREADS;
    expect(!outcome.ok && outcome.message).toContain(
      `rounds is a cooperative launch of 10000 CTAs; NVIDIA L4 holds ${perSm * 58} at once (${perSm} on each of 58 SMs`,
    );
  });

  it('a barrier that one CTA never reaches', async () => {
    const outcome = await launch('one_leaves', 1);
    expect(outcome).toMatchObject({ ok: false, status: 'timed-out' });
    expect(!outcome.ok && outcome.message).toContain('no thread can go on');
    expect(!outcome.ok && outcome.message).toContain('CTA (1, 0, 0) has ended');
  });

  it('grid.sync() in an ordinary launch', async () => {
    const outcome = await launch('rounds', 1, { cooperative: false });
    expect(outcome).toMatchObject({ ok: false, status: 'crashed' });
    expect(!outcome.ok && outcome.message).toContain('grid.sync() needs a cooperative launch');
  });

  it('clusters', async () => {
    const hopper = await openDevice('virtual:h200', { threads: 1 });
    const own = await compileCuda(await createClangToolchain(), SOURCE, functionsIn(SOURCE), 'kernels.cu', 'sm_90a');
    const module = await loadCode(hopper, own);
    const asked: KernelLaunch = {
      ...{ functionName: 'rounds', grid: 4, cluster: 2, block: 32, cooperative: true },
      arguments: ['values', 'out', { u32: 1 }],
      buffers: { values: 4 * WORDS, out: 4 * WORDS },
    };
    const outcome = await trySteps(hopper, module, asked, [planLaunch(asked)]);
    await hopper.close();
    expect(outcome).toMatchObject({ ok: false, status: 'unsupported' });
  });
});
