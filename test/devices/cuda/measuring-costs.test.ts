import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inProcess } from '../../../src/core/call-reference.ts';
import { type DeviceTally, tallyBetween } from '../../../src/core/device-tally.ts';
import type { LaunchPlan } from '../../../src/core/launch-plan.ts';
import type { Tier } from '../../../src/core/measurement.ts';
import { expandBuffers } from '../../../src/core/plan/expand-buffers.ts';
import type { Problem } from '../../../src/core/problem.ts';
import type { CudaDevice } from '../../../src/devices/cuda/cuda-device.ts';
import { openCudaDevice } from '../../../src/devices/cuda/open-cuda-device.ts';
import { measureCandidate } from '../../../src/evaluation/measure/measure-candidate.ts';
import { loadCode, planLaunch, ptxCode } from '../../support/launch/launch-kernel.ts';
import {
  noStub,
  STUB_PTX,
  STUB_PTX_WITH_STATE,
  type StubCuda,
  useStubCuda,
} from '../../support/stub-cuda/stub-cuda.ts';
import { toyProblem } from '../../support/toy-problem.ts';

const N = 1024;
const dimensions = { N };
/** Y = X + 1: what the stub's driver can run. */
const problem: Problem = {
  ...toyProblem({
    name: 'plus-one',
    dimensions: { N: { description: '', minimum: 1 } },
    inputs: {
      X: { dtype: 'i32', shape: ['N'], access: 'in', generator: { kind: 'index-range', low: '0', high: '128' } },
    },
    outputs: { Y: { dtype: 'i32', shape: ['N'], access: 'out' } },
    comparison: { kind: 'exact' },
  }),
  reference: inProcess(({ X }) => ({ Y: X!.map((x) => x + 1) })),
};
const plan: LaunchPlan = {
  buffers: expandBuffers(problem.file, dimensions),
  steps: [
    planLaunch({
      functionName: 'add_one_in_25_us',
      grid: [1, 1, 1],
      block: [N, 1, 1],
      arguments: ['X', 'Y', { i32: N }],
    }),
  ],
};
const ENTRY = '.visible .entry add_one_in_25_us(.param .u64 in, .param .u64 out, .param .u32 n) { ret; }\n';
/** A replay of these takes 8 to 10 sequences of 25 µs. */
const MOST_SLOTS = 10;
/** A warm-up and a cut, and three samples of one replay. */
const REPLAYS = 5;

describe.skipIf(noStub)('what measuring asks of a real GPU', () => {
  let stub: StubCuda;
  let device: CudaDevice;

  beforeAll(async () => {
    stub = useStubCuda();
    device = await openCudaDevice(0);
    // What a worker does only once.
    await costs(STUB_PTX + ENTRY, 'screen');
  });
  afterAll(async () => {
    await device.close();
    stub.close();
  });

  /** Of one measurement of a candidate beside a baseline, with the blocks that it took. */
  const costs = async (text: string, tier: Tier, blocks?: number): Promise<{ spent: DeviceTally; blocks: number }> => {
    const [candidate, best] = [await loadCode(device, text), await loadCode(device, text)];
    const before = await device.tally();
    const measured = await measureCandidate({
      device,
      problem,
      workload: { name: 'main', dimensions, cache: 'hot' },
      candidate: { name: 'candidate', module: candidate, plan },
      against: [{ name: 'best', module: best, plan }],
      libraries: [],
      tier,
      ...(blocks !== undefined && { blocks }),
      seed: 1,
      timeoutMs: 5000,
    });
    if (!measured.ok) throw new Error(measured.reason);
    const spent = tallyBetween(before, await device.tally());
    expect(measured.measurement.conditions.slotCount).toBe(MOST_SLOTS);
    for (const module of [candidate, best]) await device.unload(module);
    return { spent, blocks: measured.measurement.blocks.length };
  };
  const total = (entries: DeviceTally['messages']) => Object.values(entries).reduce((sum, { count }) => sum + count, 0);

  it('a screen: one message for each replay, and two dozen more for each block', async () => {
    const { spent, blocks } = await costs(STUB_PTX + ENTRY, 'screen');
    const contenders = 2;
    expect(spent.messages.replayOnce!.count).toBe(contenders * (1 + REPLAYS * blocks));
    // Estimates aside. Before launches were run again by themselves, a block of four replays was 72 messages.
    const perBlock = (total(spent.messages) - 2 * 12) / blocks;
    expect(perBlock).toBeLessThanOrEqual(30);
    expect(spent.driver.cuModuleLoadDataEx).toBeUndefined();
  });

  it('an acceptance: nothing is loaded, and the driver waits and copies a few times for each replay', async () => {
    const { spent, blocks } = await costs(STUB_PTX + ENTRY, 'accept', 3);
    const replays = spent.messages.replayOnce!.count;
    const per = (name: string) => (spent.driver[name]?.count ?? 0) / replays;
    expect(blocks).toBe(3);
    expect(spent.driver.cuModuleLoadDataEx).toBeUndefined();
    // Two arenas for each block and each estimate, and what grows once.
    expect(spent.driver.cuMemAlloc_v2!.count).toBeLessThanOrEqual(2 * 2 * (3 + 3 + 1) + 2);
    expect(per('cuMemcpyHtoDAsync_v2')).toBeLessThanOrEqual(1.6);
    expect(per('cuMemcpyDtoHAsync_v2')).toBeLessThanOrEqual(1.6);
    expect(per('cuStreamSynchronize') + per('cuCtxSynchronize')).toBeLessThanOrEqual(7);
    expect(per('cuGraphInstantiateWithFlags')).toBeLessThanOrEqual(0.6);
    // Around a replay: two fills, three looks, two scrubs and the hold; of each rerun a fill, two scrubs, itself, a comparison.
    expect(per('cuLaunchKernelEx')).toBeLessThanOrEqual(8 + 5 * MOST_SLOTS + MOST_SLOTS);
  });

  it('a module with variables: they are put back by a copy, and it is not loaded again', async () => {
    const { spent } = await costs(STUB_PTX_WITH_STATE + ENTRY, 'screen');
    expect(spent.driver.cuModuleLoadDataEx).toBeUndefined();
    const { replayOnce } = spent.messages;
    expect(spent.driver.cuMemcpyDtoDAsync_v2!.count).toBeGreaterThan(replayOnce!.count);
  });

  it('code comes to the worker read: it is not read there again', async () => {
    expect(await device.load(ptxCode('.version 8.4 .extern .func malloc;'))).toMatchObject({ status: 'unsupported' });
  });
});
