import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../../support/launch/compile-cuda.ts';
import { loadCode, tryLaunch, words } from '../../support/launch/launch-kernel.ts';

const SOURCE = readFileSync(path.join(import.meta.dirname, 'older-values.cu'), 'utf8');

let device: Device;
let module: LoadedModule;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
  module = await loadCode(device, await compileCuda(await createClangToolchain(), SOURCE, functionsIn(SOURCE)));
});

afterAll(async () => await device?.close());

const launch = (functionName: string, findRaces: boolean) =>
  tryLaunch(device, module, {
    ...{ functionName, grid: 2, arguments: ['value', 'flag', 'y'] },
    block: functionName === 'in_shared_memory' ? 64 : 1,
    buffers: { value: 8, flag: 4, y: 4 },
    options: { findRaces },
  });

/** What y holds afterwards, or why the launch was stopped. */
async function resultOf(functionName: string, findRaces: boolean): Promise<number | string> {
  const outcome = await launch(functionName, findRaces);
  return outcome.ok ? words(outcome.contents.y!)[0]! : outcome.message;
}

describe('a watched launch', () => {
  it.each([
    ['announces_unfenced', 0, 'the flag comes before the value'],
    ['gives_up', 7, 'a wait takes longer than it polls'],
    ['gives_up_reading', 7, 'the same by reads'],
    ['gives_up_counting_in_shared_memory', 7, 'with the count in shared memory'],
    ['gives_up_counting_in_device_memory', 7, 'with the count in device memory'],
    ['gives_up_by_the_clock', 7, 'the same after a time'],
    ['gives_up_late', 7, 'a wait takes longer than it polls, though it polls for long'],
    ['in_shared_memory', 40, 'warps do not see each other’s better value'],
  ])('shows a mistake of %s', async (name, wrong) => {
    expect(await resultOf(name, false)).not.toBe(wrong);
    expect(await resultOf(name, true)).toBe(wrong);
  });

  it.each(['announces', 'complete_words', 'counts'])('gives the right result of %s', async (name) => {
    expect(await resultOf(name, true)).toBe(42);
    expect(await resultOf(name, false)).toBe(42);
  });

  it('shows many CTAs that have come halfway, not only the first ones', async () => {
    const ctas = 40;
    const outcome = await tryLaunch(device, module, {
      ...{ functionName: 'looks_back', grid: ctas, block: 1, arguments: ['value', 'flag', 'y'] },
      buffers: { value: 4, flag: 4 * ctas, y: 4 * ctas },
      options: { findRaces: true },
    });
    if (!outcome.ok) throw new Error(outcome.message);
    expect(words(outcome.contents.y!)[ctas - 1]).toBe(ctas - 1);
  });

  it('stops a non-coherent read of what the launch wrote', async () => {
    expect(await resultOf('reads_non_coherently', true)).toMatch(
      /race: a read of 4 bytes through the non-coherent path .* may miss the write of thread \(0, 0, 0\) at kernels\.cu/,
    );
    expect(await resultOf('reads_non_coherently', false)).toBe(42);
  });
});
