import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { parsePtx } from '../../../src/ptx/parse.ts';
import { launchKernel, loadCode, words } from '../../support/launch/launch-kernel.ts';
import { entry, moduleText } from '../../support/launch/ptx-text.ts';
import { sampled } from '../../support/sampling/matrix.ts';
import { randomProgram } from './random-programs.ts';
import { runThread } from './scalar-thread.ts';

/** Two whole warps and one of 8 lanes. */
const THREADS = 72;
const PROGRAMS = 60;

let device: Device;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
});

afterAll(() => device.close());

describe('random control flow: each lane ends as if its thread had run alone', () => {
  const seeds = Array.from({ length: PROGRAMS }, (_, i) => i + 1);
  const entries = seeds.map((seed) =>
    entry({ name: `program${seed}`, parameters: ['u64 out'], body: randomProgram(seed) }),
  );

  sampled('random programs', [1, 2, 3], { oneIn: 3 })('part %i of the programs', async (part) => {
    const text = moduleText(...entries);
    const parsed = parsePtx(text);
    const module = await loadCode(device, text);
    for (const seed of seeds.filter((s) => s % 3 === part - 1)) {
      const fn = parsed.functions.find((f) => f.name === `program${seed}`)!;
      const wanted = Array.from({ length: THREADS }, (_, thread) => runThread(fn, { out: 0n }, { '%tid.x': thread }));
      const { contents, counters } = await launchKernel(device, module, {
        functionName: `program${seed}`,
        block: THREADS,
        arguments: ['out'],
        buffers: { out: THREADS * 4 },
        options: { count: true },
      });
      const got = [...words(contents.out!)];
      expect(got, `program ${seed}`).toEqual(wanted.map(({ stored }, t) => Number(stored.get(BigInt(4 * t)))));
      // Whatever lanes run together, each executes its own instructions once.
      const instructions = wanted.reduce((sum, run) => sum + run.instructions, 0);
      expect(counters.threadInstructions, `program ${seed}`).toBe(instructions);
    }
    await device.unload(module);
  });
});
