import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../../support/launch/compile-cuda.ts';
import { loadCode, tryLaunch, words } from '../../support/launch/launch-kernel.ts';

const FILE = 'cluster-lanes.cu';
const SOURCE = readFileSync(path.join(import.meta.dirname, FILE), 'utf8');

let device: Device;
let module: LoadedModule;
beforeAll(async () => {
  device = await openDevice('virtual:h200', { threads: 1 });
  const code = await compileCuda(await createClangToolchain(), SOURCE, functionsIn(SOURCE), FILE, 'sm_90a');
  module = await loadCode(device, code);
});
afterAll(async () => await device?.close());

const launch = (functionName: string, orderSeed: number) =>
  tryLaunch(device, module, {
    ...{ functionName, grid: 2, cluster: 2, arguments: ['y'], buffers: { y: 256 } },
    options: { findRaces: true, orderSeed },
  });

it.each([0, 3])('lanes that meet raise no alarm, order seed %i', async (orderSeed) => {
  const outcome = await launch('meeting', orderSeed);
  const wanted = Array.from({ length: 64 }, (_, thread) => ((thread % 32) ^ 1) + 1);
  expect('status' in outcome ? outcome.message : [...words(outcome.contents.y!)]).toEqual(wanted);
});

it.each([0, 3])('lanes that do not are unsafe, with both accesses named, order seed %i', async (orderSeed) => {
  expect(await launch('racy_lanes', orderSeed)).toMatchObject({
    status: 'unsafe',
    message: expect.stringMatching(
      /race: a shared read of 4 bytes and a write of thread \(1, 0, 0\) at cluster-lanes\.cu:11 have no __syncwarp between them: .* thread \(0, 0, 0\) at cluster-lanes\.cu:13/,
    ),
  });
});
