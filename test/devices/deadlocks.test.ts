import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/core/device.ts';
import type { LoadedModule } from '../../src/core/device-values.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../support/launch/compile-cuda.ts';
import { type KernelLaunch, launchKernel, loadCode, tryLaunch } from '../support/launch/launch-kernel.ts';

const FILE = 'deadlocks.cu';
const SOURCE = readFileSync(path.join(import.meta.dirname, FILE), 'utf8');

let device: Device;
let module: LoadedModule;
beforeAll(async () => {
  device = await openDevice('virtual:h200', { threads: 2 });
  module = await loadCode(
    device,
    await compileCuda(await createClangToolchain(), SOURCE, functionsIn(SOURCE), FILE, 'sm_90a'),
  );
  // Threads start with the first launch, which may take longer than the limits below.
  await endsAtOnce();
});
afterAll(async () => await device?.close());

const at = (marker: string): string =>
  `at ${FILE}:${SOURCE.split('\n').findIndex((line) => line.endsWith(`// line: ${marker}`)) + 1}`;

// Threads spin until then. On a busy core all have come to where they wait within 40 ms.
const TIME: KernelLaunch['options'] = { timeoutMs: 250 };
const BUDGET: KernelLaunch['options'] = { instructionsPerCta: 300_000 };

async function refusal(functionName: string, launch: KernelLaunch): Promise<{ status: string; message: string }> {
  const outcome = await tryLaunch(device, module, {
    block: 64,
    ...launch,
    functionName,
    arguments: ['flag', 'out'],
    buffers: { flag: 16, out: 4096 },
  });
  if (outcome.ok) throw new Error(`${functionName} came to its end`);
  return outcome;
}

const endsAtOnce = () =>
  launchKernel(device, module, {
    functionName: 'waits_for_a_flag',
    arguments: ['flag', 'out'],
    buffers: { flag: Int32Array.of(0, 0, 42, 0), out: 128 },
  });

describe.each([
  ['a time limit', TIME],
  ['a limit of instructions', BUDGET],
  ['a time limit, watched', { ...TIME, findRaces: true }],
])('at %s, whoever waits is named:', (_, options) => {
  it('for a flag in device memory, with its buffer, element and value', async () => {
    const { status, message } = await refusal('waits_for_a_flag', { options });
    expect(status).toBe('timed-out');
    expect(message).toContain(
      `thread (0, 0, 0) of CTA (0, 0, 0) polls flag[2] ${at('flag')} (ld.volatile.global.b32), which holds 41, and so do 63 more threads`,
    );
  });

  it('for a place in shared memory, and for a barrier with a count', async () => {
    const { message } = await refusal('waits_for_shared', { options });
    expect(message).toContain(
      `thread (0, 0, 0) of CTA (0, 0, 0) polls shared memory at byte 4 ${at('shared')} (ld.volatile.shared.b32), which holds 5, and so do 31 more threads`,
    );
    expect(message).toContain(
      `thread (32, 0, 0) of CTA (0, 0, 0) waits ${at('named')} for barrier 3, which 32 of 64 threads have reached, and so do 31 more threads`,
    );
  });

  it('in a loop that waits for nobody', async () => {
    const { message } = await refusal('computes_for_ever', { options });
    expect(message).toContain(`thread (0, 0, 0) of CTA (0, 0, 0) runs ${at('endless')}, and so do 63 more threads`);
  });

  it('for a CTA of a cluster that does not come to its barrier', async () => {
    const { message } = await refusal('leaves_its_cluster_waiting', { grid: 2, cluster: 2, options });
    expect(message).toContain(
      `thread (0, 0, 0) of CTA (1, 0, 0) polls flag[1] ${at('the CTA that is late')} (ld.volatile.global.b32), which holds 0`,
    );
    expect(message).toMatch(
      /thread \(0, 0, 0\) of CTA \(0, 0, 0\) waits at \S+:\d+ for the barrier of its cluster, and so do 63 more threads/,
    );
  });
});

describe.each([
  ['', {}],
  [', watched', { findRaces: true }],
])('CTAs that wait for each other are named, at once%s:', (_, options) => {
  it('where those that they wait for find no room', async () => {
    const { status, message } = await refusal('waits_for_later_ctas', { grid: 300, block: 1024, options });
    expect(status).toBe('timed-out');
    expect(message).toContain(
      `no thread can go on: thread (0, 0, 0) of CTA (0, 0, 0) polls flag[0] ${at('later CTAs')}`,
    );
    expect(message).toContain('which holds 264');
    expect(message).toMatch(/which 992 of 1024 threads have reached/);
    expect(message).toContain(at('behind it'));
    expect(message).toContain('36 of 300 CTAs have not begun, and the device holds 264 at once');
  });

  it('where each waits for what another one would do next', async () => {
    const { status, message } = await refusal('wait_in_a_ring', { grid: 3, options });
    expect(status).toBe('timed-out');
    for (const cta of [0, 1, 2]) expect(message).toContain(`thread (0, 0, 0) of CTA (${cta}, 0, 0) polls flag[${cta}]`);
    expect(message).not.toContain('have not begun');
  });

  it('where one has left the grid', async () => {
    const { status, message } = await refusal('leaves_its_grid', { grid: 4, cooperative: true, options });
    expect(status).toBe('timed-out');
    expect(message).toMatch(
      /no thread can go on: thread \(0, 0, 0\) of CTA \(\d, 0, 0\) polls barrier of the grid\[1\] at \S+:\d+/,
    );
    expect(message).toContain('CTA (2, 0, 0) has ended');
  });

  it('but not those that count how often they have looked', async () => {
    const outcome = await tryLaunch(device, module, {
      ...{ functionName: 'gives_up', grid: 3, block: 64, options },
      ...{ arguments: ['flag', 'out'], buffers: { flag: 16, out: 4096 } },
    });
    if (!outcome.ok) throw new Error(outcome.message);
    expect([...new Int32Array(outcome.contents.out!.buffer, 0, 3)]).toEqual([100_000, 100_000, 100_000]);
  });
});

it('names those who wait at different barriers, at once', async () => {
  const { status, message } = await refusal('two_barriers', {});
  expect(status).toBe('unsafe');
  expect(message).toContain(
    `thread (0, 0, 0) of CTA (0, 0, 0) waits ${at('first')} for barrier 1, which 32 of 96 threads`,
  );
  expect(message).toContain(
    `thread (32, 0, 0) of CTA (0, 0, 0) waits ${at('second')} for barrier 2, which 32 of 64 threads`,
  );
});

it('leaves the device in order', async () => {
  await refusal('waits_for_a_flag', { options: TIME });
  expect(new Int32Array((await endsAtOnce()).contents.out!.buffer)[31]).toBe(1);
});
