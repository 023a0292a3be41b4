import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../../support/launch/compile-cuda.ts';
import { loadCode, tryLaunch } from '../../support/launch/launch-kernel.ts';
import { sampled } from '../../support/sampling/matrix.ts';

const SOURCE = readFileSync(path.join(import.meta.dirname, 'kernels.cu'), 'utf8');
const FUNCTIONS = functionsIn(SOURCE);
const ELEMENTS = 512;

/** Buffers that a kernel takes after x and y, before n; all others take (x, y, n). */
const FURTHER: Readonly<Record<string, readonly string[]>> = {
  last_block: ['partial', 'count'],
  last_warp: ['partial', 'count'],
  last_warp_by_release: ['partial', 'count'],
  split_k: ['partial', 'count'],
  turns: ['semaphore', 'n'],
  turns_by_release: ['semaphore', 'n'],
  look_back: ['state', 'ticket'],
  common_flag: ['flag', 'n'],
  spin_lock: ['lock', 'n'],
  in_place: ['n'],
  row_in_place: ['n'],
  lanes_by_flags: ['partial', 'count'],
  lanes_by_lock: ['lock', 'n'],
  racy_no_fence: ['partial', 'count'],
  racy_block_fence: ['partial', 'count'],
  racy_block_release: ['partial', 'count'],
  racy_no_meeting: ['partial', 'count'],
};
const IN_PLACE = ['in_place', 'row_in_place'];

let devices: Device[];
let modules: LoadedModule[];

beforeAll(async () => {
  devices = await Promise.all([1, 3].map((threads) => openDevice('virtual:l4', { threads })));
  const code = await compileCuda(await createClangToolchain(), SOURCE, FUNCTIONS);
  modules = await Promise.all(devices.map((device) => loadCode(device, code)));
});

afterAll(async () => {
  for (const device of devices ?? []) await device.close();
});

const x = Int32Array.from({ length: ELEMENTS }, (_, i) => (i * 7919) % 1009);

const launch = (functionName: string, device: number, options: object) => {
  const further = FURTHER[functionName] ?? ['n'];
  const names = [...(IN_PLACE.includes(functionName) ? [] : ['x']), 'y', ...further.filter((name) => name !== 'n')];
  return tryLaunch(devices[device]!, modules[device]!, {
    functionName,
    grid: 4,
    block: 128,
    arguments: [...names, ...(further.includes('n') ? [{ i32: ELEMENTS }] : [])],
    buffers: Object.fromEntries(names.map((name) => [name, name === 'x' ? x : ELEMENTS * 8])),
    options: { findRaces: true, ...options },
  });
};

// The order of CTAs is natural where they take turns by index.
const orders = FUNCTIONS.filter((name) => !name.startsWith('racy_')).flatMap((name) =>
  (name.startsWith('turns') ? [0] : [0, 5]).map((seed) => [name, seed] as const),
);
sampled('orders of CTAs', orders, { oneIn: 4, kindOf: ([name]) => name })(
  '%s raises no alarm, order seed %i',
  async (name, orderSeed) => {
    for (const device of [0, 1]) {
      const outcome = await launch(name, device, { orderSeed });
      expect('status' in outcome ? outcome : 'passed').toBe('passed');
    }
  },
);

const SHARED =
  /race: a shared (read|write) of \d+ bytes and a (read|write) of thread \(\d+, 0, 0\) at kernels\.cu:\d+ have no barrier between them: at address 0x[0-9a-f]+ in CTA \(\d, 0, 0\) thread \(\d+, 0, 0\) at kernels\.cu:\d+/;
const LANES =
  /race: a shared (read|write) of 4 bytes and a (read|write) of thread \(\d+, 0, 0\) at kernels\.cu:\d+ have no __syncwarp between them: at address 0x[0-9a-f]+ in CTA \(\d, 0, 0\) thread \(\d+, 0, 0\) at kernels\.cu:\d+/;
const ACROSS =
  /race: a global (read|write) of 4 bytes and a (read|write) of thread \(\d+, 0, 0\) of CTA \(\d, 0, 0\) at kernels\.cu:\d+ have no fence and flag between them: at address 0x7f2e\w+ \(offset \d+ of buffer (y|partial), which has 4096 bytes\) in CTA \(\d, 0, 0\) thread \(\d+, 0, 0\) at kernels\.cu:\d+/;
const WITHIN =
  /race: a global (read|write) of 4 bytes and a write of thread \(\d+, 0, 0\) at kernels\.cu:\d+ have no barrier between them/;

const LANES_IN_DEVICE_MEMORY =
  /race: a global (read|write) of 4 bytes and a (read|write) of thread \(\d+, 0, 0\) at kernels\.cu:\d+ have no __syncwarp between them: at address 0x7f2e\w+ \(offset \d+ of buffer y, which has 4096 bytes\) in CTA \(\d, 0, 0\) thread \(\d+, 0, 0\) at kernels\.cu:\d+/;

const RACES: Readonly<Record<string, RegExp>> = {
  racy_no_barrier: SHARED,
  racy_overwrite: SHARED,
  racy_wrong_barrier: SHARED,
  racy_arrive: SHARED,
  racy_copy: SHARED,
  racy_copy_too_early: SHARED,
  racy_bytes: SHARED,
  racy_sum: ACROSS,
  racy_last_writer: ACROSS,
  racy_neighbour: ACROSS,
  racy_no_fence: ACROSS,
  racy_block_fence: ACROSS,
  racy_block_release: ACROSS,
  racy_no_meeting: ACROSS,
  racy_clearing: ACROSS,
  racy_device_memory: WITHIN,
  racy_lanes: LANES,
  racy_lanes_overwrite: LANES,
  racy_half_warps: LANES,
  racy_lanes_tree: LANES,
  racy_lanes_round: LANES,
  racy_lanes_broadcast: LANES,
  racy_lanes_broadcast_device: LANES_IN_DEVICE_MEMORY,
  racy_lanes_device: LANES_IN_DEVICE_MEMORY,
  racy_lanes_in_place: LANES_IN_DEVICE_MEMORY,
  racy_lanes_clear: LANES_IN_DEVICE_MEMORY,
  racy_lanes_write: LANES_IN_DEVICE_MEMORY,
  racy_lanes_read: LANES_IN_DEVICE_MEMORY,
  racy_lanes_fence: LANES_IN_DEVICE_MEMORY,
};

describe.each(Object.entries(RACES))('%s', (name, message) => {
  it.each([0, 5])('is unsafe, with both accesses named alike on 1 and 3 threads, order seed %i', async (orderSeed) => {
    const [one, three] = [await launch(name, 0, { orderSeed }), await launch(name, 1, { orderSeed })];
    expect(one).toMatchObject({ ok: false, status: 'unsafe', message: expect.stringMatching(message) });
    expect(three).toEqual(one);
  });

  it('goes unnoticed where nobody looks', async () => {
    expect(await launch(name, 0, { findRaces: false })).not.toHaveProperty('status');
  });
});

it('covers every kernel that races', () => {
  expect(Object.keys(RACES).sort()).toEqual(FUNCTIONS.filter((name) => name.startsWith('racy_')).sort());
});

describe('an input', () => {
  const inPlace = (inputs: string[], findRaces: boolean) =>
    tryLaunch(devices[0]!, modules[0]!, {
      functionName: 'in_place',
      ...{ grid: 4, block: 128, arguments: ['y', { i32: ELEMENTS }], buffers: { y: ELEMENTS * 8 }, inputs },
      options: { findRaces },
    });

  it('may not be written to, whatever it holds afterwards', async () => {
    expect(await inPlace(['y'], true)).toMatchObject({
      status: 'unsafe',
      message: expect.stringMatching(/writes to input 'y', which others may be reading: at address .* of buffer y/),
    });
    expect(await inPlace(['y'], false)).toMatchObject({ ok: true });
    expect(await inPlace([], true)).toMatchObject({ ok: true });
  });
});
