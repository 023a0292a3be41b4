import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tallyBetween } from '../../../src/core/device-tally.ts';
import type { LaunchPlan, PlannedBuffer } from '../../../src/core/launch-plan.ts';
import type { CudaDevice } from '../../../src/devices/cuda/cuda-device.ts';
import { openCudaDevice } from '../../../src/devices/cuda/open-cuda-device.ts';
import { NAN_POISON } from '../../../src/evaluation/launches/poison.ts';
import { allocateCheckMemory, runOnce } from '../../../src/evaluation/launches/run-once.ts';
import { loadCode, planLaunch } from '../../support/launch/launch-kernel.ts';
import { noStub, STUB_PTX, type StubCuda, useStubCuda } from '../../support/stub-cuda/stub-cuda.ts';

const BYTES = 4096;
const bufferOf = (name: string, role: 'in' | 'out'): PlannedBuffer => ({
  ...{ name, role, bytes: BYTES, alignmentBytes: 16, dtype: 'i32', shape: [BYTES / 4], strides: [1] },
});
const INPUTS = ['Q', 'K', 'V'];
const planOf = (from: string, to: string): LaunchPlan => ({
  buffers: [...INPUTS.map((name) => bufferOf(name, 'in')), bufferOf('O', 'out')],
  steps: [
    planLaunch({ functionName: 'add_one', grid: [1, 1, 1], block: [1, 1, 1], arguments: [from, to, { i32: 1 }] }),
  ],
});
const contents = new Map(INPUTS.map((name) => [name, new Uint8Array(BYTES).fill(7)]));
const conditions = { name: '', orderSeed: 0, poison: NAN_POISON, count: false, timeoutMs: 5000 };
const request = (name: string, bytes = BYTES) => ({ name, bytes, alignmentBytes: 16, minimumAlignment: false });

describe.skipIf(noStub)('commands that are asked for at once', () => {
  let stub: StubCuda;
  let device: CudaDevice;

  beforeAll(async () => {
    stub = useStubCuda();
    device = await openCudaDevice(0);
  });
  afterAll(async () => {
    await device.close();
    stub.close();
  });

  it('go to the GPU’s process in one message: a run of a check takes seven, and its inputs stay there', async () => {
    const module = await loadCode(device, STUB_PTX);
    const plan = planOf('Q', 'O');
    const before = await device.tally();
    const memory = await allocateCheckMemory(device, plan, contents);
    expect(await runOnce(memory, module, conditions)).toMatchObject({ ok: true });
    await memory.close();
    const { messages, together } = tallyBetween(before, await device.tally());
    expect(Object.values(messages).reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(7);
    expect(together!.isUnchanged!.count).toBe(INPUTS.length);
    // Only the output is sent back.
    expect((messages.read?.count ?? 0) + (together!.read?.count ?? 0)).toBe(1);
  });

  it('an input that a kernel changed is sent, and told element by element', async () => {
    const module = await loadCode(device, STUB_PTX);
    const memory = await allocateCheckMemory(device, planOf('Q', 'K'), contents);
    expect(await runOnce(memory, module, conditions)).toMatchObject({
      status: 'unsafe',
      message: `modified input 'K': 1 of ${BYTES / 4} elements changed, first [0]`,
    });
    await memory.close();
  });

  it('what was written is known until something else is written', async () => {
    const buffer = await device.allocate(request('X'));
    expect(await device.isUnchanged(buffer)).toBeUndefined();
    await device.write(buffer, new Uint8Array(BYTES).fill(1));
    expect(await device.isUnchanged(buffer)).toBe(true);
    await device.write(buffer, Uint8Array.of(1), 8);
    expect(await device.isUnchanged(buffer)).toBeUndefined();
    await device.write(buffer, new Uint8Array(BYTES).fill(1));
    await device.fill(buffer, Uint8Array.of(2));
    expect(await device.isUnchanged(buffer)).toBeUndefined();
    await device.free(buffer);
  });

  it('one that fails fails alone', async () => {
    const [first, tooLarge, last] = await Promise.allSettled([
      device.allocate(request('first')),
      device.allocate(request('too large', 2 ** 50)),
      device.allocate(request('last')),
    ]);
    expect(tooLarge).toMatchObject({ status: 'rejected', reason: { details: { code: 'device-memory' } } });
    for (const one of [first, last]) {
      if (one.status === 'rejected') throw one.reason;
      await device.free(one.value);
    }
  });

  it('are answered in their order, and before what is asked for after them', async () => {
    const module = await loadCode(device, STUB_PTX);
    const plan = planOf('Q', 'O');
    const memory = await allocateCheckMemory(device, plan, contents);
    const [Q, O] = [memory.buffers.get('Q')!, memory.buffers.get('O')!];
    const [, , outcome, output] = await Promise.all([
      device.fill(Q, Uint8Array.of(0, 0, 0, 0)),
      device.fill(O, Uint8Array.of(9)),
      device.run(module, plan, memory.buffers, { orderSeed: 0, count: false, timeoutMs: 5000 }),
      device.read(O),
    ]);
    expect(outcome).toMatchObject({ ok: true });
    expect([...output.subarray(0, 5)]).toEqual([1, 0, 0, 0, 9]);
    await memory.close();
  });

  it('large contents go alone', async () => {
    const bytes = 2 ** 20;
    const buffers = await Promise.all(['X', 'Y', 'Z'].map((name) => device.allocate(request(name, bytes))));
    const before = await device.tally();
    const written = await Promise.all(buffers.map((buffer, i) => device.write(buffer, new Uint8Array(bytes).fill(i))));
    const { messages } = tallyBetween(before, await device.tally());
    expect(written).toHaveLength(3);
    expect(messages.write!.count).toBe(3);
    for (const buffer of buffers) await device.free(buffer);
  });

  it('if the process ends over one of them, all of them say so, and the next ones find a new process', async () => {
    const module = await loadCode(device, STUB_PTX);
    const crash: LaunchPlan = {
      buffers: [],
      steps: [planLaunch({ functionName: 'crash', grid: [1, 1, 1], block: [1, 1, 1], arguments: [] })],
    };
    const buffer = await device.allocate(request('X'));
    const [outcome, ...others] = await Promise.allSettled([
      device.run(module, crash, new Map(), { orderSeed: 0, count: false, timeoutMs: 5000 }),
      device.read(buffer),
      device.damagedGuardBytes(buffer),
    ]);
    expect(outcome).toMatchObject({ status: 'fulfilled', value: { status: 'crashed' } });
    for (const one of others)
      expect(one).toMatchObject({ status: 'rejected', reason: { details: { code: 'device-failed' } } });
    const [next, other] = await Promise.all([device.allocate(request('next')), device.allocate(request('other'))]);
    await Promise.all([device.free(next), device.free(other)]);
  });
});
