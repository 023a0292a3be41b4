import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../../support/launch/compile-cuda.ts';
import { loadCode, tryLaunch, words } from '../../support/launch/launch-kernel.ts';

const SOURCE = readFileSync(path.join(import.meta.dirname, 'masks.cu'), 'utf8');
const FUNCTIONS = functionsIn(SOURCE);

let device: Device;
let module: LoadedModule;

beforeAll(async () => {
  device = await openDevice('virtual:h100', { threads: 1 });
  module = await loadCode(device, await compileCuda(await createClangToolchain(), SOURCE, FUNCTIONS, 'masks.cu'));
});

afterAll(async () => await device?.close());

const launch = (functionName: string, findRaces: boolean) =>
  tryLaunch(device, module, {
    functionName,
    block: 64,
    arguments: ['y'],
    buffers: { y: 256 },
    options: { findRaces },
  });

const lanes = (valueAt: (lane: number) => number): number[] =>
  Array.from({ length: 64 }, (_, thread) => valueAt(thread % 32));

const peersOf = (lane: number): number[] =>
  Array.from({ length: 32 }, (_, i) => i).filter((other) => Math.floor(other / 5) === Math.floor(lane / 5));

const count = (values: number[], holds: (value: number) => boolean): number => values.filter(holds).length;

const RIGHT: Readonly<Record<string, number[]>> = {
  by_branch: lanes((lane) => lane ^ 1),
  by_ballot: lanes((lane) => (lane % 3 === 0 ? 3 + 11 : 0)),
  by_match: lanes((lane) => {
    const peers = peersOf(lane);
    const [all, any] = [peers.every((one) => one < 30), peers.some((one) => one > 26)];
    return count(peers, (one) => one % 2 === 1) + 10 * +all + 100 * +any + 1000 * peers.reduce((a, b) => a + b);
  }),
  after_an_exit: lanes((lane) => (lane < 19 ? lane + 1 : 0)),
};

describe.each(Object.entries(RIGHT))('%s', (name, wanted) => {
  it.each([true, false])('gives what a GPU gives, watched: %s', async (findRaces) => {
    const outcome = await launch(name, findRaces);
    expect('status' in outcome ? outcome.message : [...words(outcome.contents.y!)]).toEqual(wanted);
  });
});

it('lets halves of a warp meet at two places of the code', async () => {
  expect(await launch('two_places', false)).not.toHaveProperty('status');
});

const lineOf = (marker: string): number =>
  SOURCE.split('\n').findIndex((line) => line.endsWith(`// line: ${marker}`)) + 1;

const WRONG: Readonly<Record<string, [marker: string, message: RegExp]>> = {
  bad_own_lane: [
    'own lane',
    /executes shfl\.sync\.bfly\.b32 with the mask 0x0000ffff, which does not name the thread itself, lane 16 of its warp: a mask must name each thread that comes, in CTA \(0, 0, 0\) thread \(16, 0, 0\) at masks\.cu:/,
  ],
  bad_own_lane_of_many: [
    'own lane of many',
    /with the mask 0x000000df, which does not name the thread itself, lane 5 of its warp: .* thread \(37, 0, 0\) at/,
  ],
  bad_branch: [
    'branch',
    /executes shfl\.sync\.down\.b32 with the mask 0xffffffff, which names thread \(10, 0, 0\) and 21 more of its warp that do not come: they are at masks\.cu:\d+\. All threads .* thread \(0, 0, 0\) at/,
  ],
  bad_loop: ['loop', /mask 0xffffffff, which names thread \(8, 0, 0\) and 23 more of its warp that do not come/],
  bad_two_shuffles: [
    'two shuffles',
    /mask 0xffffffff, which names thread \(16, 0, 0\) and 15 more of its warp that do not come: they are at masks\.cu:/,
  ],
};

describe.each(Object.entries(WRONG))('%s', (name, [marker, message]) => {
  it('is unsafe, with lanes, mask and line', async () => {
    expect(await launch(name, true)).toMatchObject({
      status: 'unsafe',
      message: expect.stringMatching(message),
      fault: { source: { line: lineOf(marker) } },
    });
  });

  it('goes unnoticed where nobody looks', async () => {
    expect(await launch(name, false)).not.toHaveProperty('status');
  });
});

it('covers every kernel', () => {
  expect([...Object.keys(RIGHT), 'two_places', ...Object.keys(WRONG)].sort()).toEqual([...FUNCTIONS].sort());
});
