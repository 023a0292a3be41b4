import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LaunchCounters } from '../../../src/core/counters.ts';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../../support/launch/compile-cuda.ts';
import { type KernelLaunch, loadCode, planLaunch, trySteps } from '../../support/launch/launch-kernel.ts';

const SOURCE = readFileSync(new URL('drawn.cu', import.meta.url), 'utf8');

let device: Device;
let module: LoadedModule;
beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 2 });
  module = await loadCode(device, await compileCuda(await createClangToolchain(), SOURCE, functionsIn(SOURCE)));
});
afterAll(() => device.close());

interface Work {
  readonly grid: number;
  readonly block: number;
  readonly tiles: number;
  readonly work: number;
}

async function launch(functionName: string, { grid, block, tiles, work }: Work, count = true) {
  const asked: KernelLaunch = {
    ...{ functionName, grid, block, arguments: ['queue', 'out', { u32: tiles }, { u32: work }] },
    buffers: { queue: 4, out: 4 * Math.max(tiles * block, grid * block) },
    options: { count, timeoutMs: 20_000 },
  };
  const outcome = await trySteps(device, module, asked, [planLaunch(asked)]);
  if (!outcome.ok) throw new Error(`${outcome.status}: ${outcome.message}`);
  return { out: [...new Uint32Array(outcome.contents.out!.buffer)], counters: outcome.counters };
}

async function countersOf(functionName: string, work: Work): Promise<LaunchCounters> {
  return (await launch(functionName, work)).counters;
}

/** Instructions of the longest CTA ÷ those of the mean one. */
const longestRatio = ({ longestCtaInstructions, instructions, ctaCount }: LaunchCounters): number =>
  longestCtaInstructions / (instructions / ctaCount);

describe('CTAs that draw their work, counted', () => {
  it.each([
    ['ctas_draw', 64],
    ['warps_draw', 32],
  ])('%s: each gets as much as it does on a GPU, where all draw at once', async (name, block) => {
    // Of 8 tiles, the longest first, four CTAs get 8 + 1, 7 + 2, 6 + 3 and 5 + 4: who ends first draws next.
    const counters = await countersOf(name, { grid: 4, block, tiles: 8, work: 500 });
    expect(longestRatio(counters)).toBeLessThan(1.02);
  });

  it('who draws ahead of its work gets what is next when it draws, not when it has worked', async () => {
    // All draw their second tile while they work on the first: who has tile 0 gets tile 4, 8 + 4 = 12 of 9 in the mean.
    const counters = await countersOf('drawn_ahead', { grid: 4, block: 96, tiles: 8, work: 500 });
    expect(longestRatio(counters)).toBeCloseTo(12 / 9, 1);
  });

  it('write what they write when nobody counts', async () => {
    const work = { grid: 5, block: 64, tiles: 17, work: 30 };
    expect((await launch('ctas_draw', work)).out).toEqual((await launch('ctas_draw', work, false)).out);
  });

  it('more CTAs than the device holds begin when others have ended', async () => {
    // An L4 holds 24 CTAs of 64 threads per SM, 58 × 24 = 1,392 in all.
    const { out, counters } = await launch('ctas_draw', { grid: 1500, block: 64, tiles: 1500, work: 0 });
    expect(counters.ctaCount).toBe(1500);
    expect(out.filter((_, i) => i % 64 === 0)).toEqual(Array.from({ length: 1500 }, (_, tile) => tile));
  });

  it('places that decide nothing are no queue: CTAs run one after the other', async () => {
    const { out } = await launch('places', { grid: 4, block: 1, tiles: 12, work: 0 });
    expect(out.slice(0, 12)).toEqual([0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
  });
});

describe('the critical path of a CTA whose warps do different things', () => {
  const ROUNDS = 20 * 1000;
  const WORK = { grid: 1, block: 128, tiles: 20, work: 1000 };
  /** Instructions of a round: one multiply-add, and the loop. */
  const pathInRounds = async (name: string): Promise<number> =>
    (await countersOf(name, WORK)).criticalPathInstructions / ROUNDS;

  it('is that of both pairs of warps where one waits for the other, and of one where they work side by side', async () => {
    const apart = await pathInRounds('pairs_apart');
    for (const name of ['pair_after_pair', 'pair_after_arrival'])
      expect((await pathInRounds(name)) / apart, name).toBeCloseTo(2, 1);
  });

  it('says how much of it few lanes execute, and leaves out what they do while another warp works longer', async () => {
    const narrowShare = async (name: string): Promise<number> => {
      const { criticalPathNarrowInstructions, criticalPathInstructions } = await countersOf(name, WORK);
      return criticalPathNarrowInstructions! / criticalPathInstructions;
    };
    expect(await narrowShare('one_thread')).toBeGreaterThan(0.99);
    expect(await narrowShare('one_thread_beside')).toBeLessThan(0.01);
  });

  it('is that of the longest warp, whatever order a simulator runs warps in', async () => {
    const { criticalPathInstructions, instructions } = await countersOf('pairs_apart', WORK);
    expect(criticalPathInstructions / (instructions / 4)).toBeLessThan(1.01);
  });
});
