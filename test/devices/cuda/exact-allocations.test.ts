import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CudaContext } from '../../../src/devices/cuda/worker/cuda-context.ts';
import { planLaunch, ptxCode } from '../../support/launch/launch-kernel.ts';
import { noStub, STUB_PTX, type StubCuda, useStubCuda } from '../../support/stub-cuda/stub-cuda.ts';

describe.skipIf(noStub)(`a context in this process${noStub ? ` (${noStub})` : ''}`, () => {
  let stub: StubCuda;
  beforeAll(() => {
    stub = useStubCuda();
  });
  afterAll(() => stub.close());

  it('allocates exactly what is asked for, without guard zones, when a memory checker watches', () => {
    const context = CudaContext.open({ ordinal: 0, exactAllocations: true });
    for (const alignmentBytes of [1, 16, 256, 4096])
      for (const minimumAlignment of [false, true]) {
        const buffer = context.allocate({ name: 'x', bytes: 1000, alignmentBytes, minimumAlignment });
        expect(buffer.guards).toEqual([]);
        expect(buffer.address % BigInt(alignmentBytes)).toBe(0n);
        if (minimumAlignment) expect(buffer.address & -buffer.address).toBe(BigInt(alignmentBytes));
        context.fill(buffer, Uint8Array.of(7));
        expect(new Set(context.read(buffer))).toEqual(new Set([7]));
        expect(context.damagedGuardBytes(buffer)).toBe(0);
        context.free(buffer);
      }
    context.close();
  });

  it('runs plans, and knows when it is lost', () => {
    const context = CudaContext.open({ ordinal: 0 });
    const loaded = context.load(ptxCode(STUB_PTX));
    if (!loaded.ok) throw new Error(loaded.message);
    const slot = new Map(
      ['in', 'out'].map((name) => [name, context.allocate({ name, bytes: 128, alignmentBytes: 16 })]),
    );
    context.fill(slot.get('in')!, Uint8Array.of(0));
    const add = planLaunch({ functionName: 'add_one', arguments: ['in', 'out', { i32: 32 }] });
    const plan = { buffers: [], steps: [add] };
    expect(context.run(loaded.module, plan, slot)).toMatchObject({ ok: true, counters: [] });
    expect(context.read(slot.get('out')!)[0]).toBe(1);
    const fault = { buffers: [], steps: [add, planLaunch({ functionName: 'illegal' })] };
    expect(context.run(loaded.module, fault, slot)).toMatchObject({
      status: 'unsafe',
      message: expect.stringContaining('one of add_one, illegal'),
    });
    expect(context.isLost).toBe(true);
    expect(context.run(loaded.module, plan, slot)).toMatchObject({ ok: false });
    context.close();
  });
});
