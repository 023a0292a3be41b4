import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tallyBetween } from '../../../src/core/device-tally.ts';
import type { DeviceBuffer, LoadedModule } from '../../../src/core/device-values.ts';
import type { LaunchPlan, PlannedArgument, PlannedLaunch, PlannedStep } from '../../../src/core/launch-plan.ts';
import { type ReplayRound, UNSHARED } from '../../../src/core/measuring-device.ts';
import type { CudaDevice } from '../../../src/devices/cuda/cuda-device.ts';
import { lockGpu, openCudaDevice, openSecondWorker } from '../../../src/devices/cuda/open-cuda-device.ts';
import { processTree } from '../../../src/process/process-tree.ts';
import { eventually } from '../../process/processes.ts';
import {
  DEFAULT_RUN_OPTIONS,
  type KernelLaunch,
  loadCode,
  planLaunch,
  ptxCode,
  tryLaunch,
  words,
} from '../../support/launch/launch-kernel.ts';
import {
  noStub,
  STUB_PTX,
  STUB_PTX_WITH_HIDDEN_STATE,
  STUB_PTX_WITH_STATE,
  type StubCuda,
  useStubCuda,
} from '../../support/stub-cuda/stub-cuda.ts';

const CHIP = { key: 1, isL2Swept: false };

/** A round of a replay of so many sequences with nothing around it. */
const alone = (sequenceCount: number): ReplayRound => ({
  sequenceCount,
  chip: CHIP,
  draws: [],
  fills: [],
  reread: [],
  unchanged: [],
  guarded: [],
  poisons: [],
  reruns: [],
});

describe.skipIf(noStub)(`a CUDA device over a stub driver${noStub ? ` (${noStub})` : ''}`, () => {
  let stub: StubCuda;
  let device: CudaDevice;
  let module: LoadedModule;

  beforeAll(async () => {
    stub = useStubCuda();
    device = await openCudaDevice(0);
  });
  afterAll(async () => {
    await device.close();
    stub.close();
  });
  // One device for all: it must stand whatever a test does to it.
  beforeEach(async () => {
    module = await loadCode(device, STUB_PTX);
    stub.log();
  });

  const allocate = (bytes: number, name = 'x') => device.allocate({ name, bytes, alignmentBytes: 16 });
  const launch = (functionName: string, rest: KernelLaunch = {}) =>
    tryLaunch(device, module, { ...rest, functionName });
  const ADD_ONE: KernelLaunch = { arguments: ['in', 'out', { i32: 32 }], buffers: { in: 128, out: 128 } };
  const addOneWorks = async () => {
    const again = await loadCode(device, STUB_PTX);
    const outcome = await tryLaunch(device, again, { ...ADD_ONE, functionName: 'add_one' });
    if (!outcome.ok) throw new Error(outcome.message);
    expect(new Set(words(outcome.contents.out!))).toEqual(new Set([1]));
  };

  it('says what it is', () => {
    expect(device.identity).toMatchObject({ id: 'cuda:0', kind: 'cuda', name: 'Stub GPU' });
    expect(device.identity.uuid).toMatch(/^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(device.spec).toMatchObject({ architecture: 'sm_90a', smCount: { value: 132 } });
    expect(module.resources?.add_one ?? {}).toEqual({});
    expect(() => device.predict()).toThrow('measures');
  });

  it('tells what the functions that kernel.json names occupy', async () => {
    const code = { ...ptxCode(STUB_PTX), functionSymbols: { 'add<1>': 'add_one' } };
    const { resources } = await loadCode(device, code);
    expect(resources).toEqual({
      'add<1>': {
        registersPerThread: 40,
        registersSource: 'compiler',
        staticSharedBytes: 0,
        dynamicSharedBytes: 0,
        localBytesPerThread: 16,
      },
    });
  });

  describe('memory', () => {
    it('fills with patterns of any length', async () => {
      for (const bytes of [1, 7, 64, 4099, 3 << 20])
        for (const pattern of [[9], [1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3], [5, 5, 5, 5]]) {
          const buffer = await allocate(bytes);
          await device.fill(buffer, Uint8Array.from(pattern));
          const wanted = Buffer.alloc(bytes, Buffer.from(pattern));
          expect(Buffer.compare(wanted, await device.read(buffer))).toBe(0);
          expect(await device.damagedGuardBytes(buffer)).toBe(0);
          await device.free(buffer);
        }
    });

    it('counts what was written into the guard zones', async () => {
      for (const at of [-1, 128, 1151, -1024]) {
        const out = await allocate(128, 'out');
        const plan: LaunchPlan = {
          buffers: [],
          steps: [planLaunch({ functionName: 'overrun', arguments: ['out', { i32: at }] })],
        };
        expect(await device.run(module, plan, new Map([['out', out]]), DEFAULT_RUN_OPTIONS)).toMatchObject({
          ok: true,
        });
        expect(await device.damagedGuardBytes(out)).toBe(1);
        await device.free(out);
      }
    });

    it('starts buffers where they ask for: at 256 bytes, or no better than declared', async () => {
      for (const alignmentBytes of [1, 4, 16, 128, 512, 4096])
        for (const minimumAlignment of [false, true]) {
          const buffer = await device.allocate({ name: 'x', bytes: 100, alignmentBytes, minimumAlignment });
          const address = await addressOf(buffer);
          expect(address % BigInt(minimumAlignment ? alignmentBytes : Math.max(256, alignmentBytes))).toBe(0n);
          if (minimumAlignment)
            expect([alignmentBytes, address % BigInt(2 * alignmentBytes)]).not.toEqual([alignmentBytes, 0n]);
          await device.free(buffer);
        }
    });

    it('a buffer that does not fit: how much there is', async () => {
      await expect(allocate(2 ** 31, 'huge')).rejects.toMatchObject({
        details: { code: 'device-memory', received: `${2 ** 31} bytes` },
      });
      await expect(allocate(2 ** 31, 'huge')).rejects.toThrow(/huge does not fit: \d+ of 1073741824 bytes/);
    });

    /** What a kernel gets for the buffer. */
    async function addressOf(buffer: DeviceBuffer): Promise<bigint> {
      const out = await allocate(16, 'out');
      const pointers: PlannedArgument = { kind: 'pointers', targets: [{ buffer: 'x', offsetBytes: 0 }] };
      // The bytes parameter of `dump` holds nothing of use here: the pointer array does.
      const plan: LaunchPlan = {
        buffers: [],
        steps: [planLaunch({ functionName: 'read_pointer', arguments: [pointers, 'out'] })],
      };
      const slot = new Map([
        ['x', buffer],
        ['out', out],
      ]);
      const outcome = await device.run(module, plan, slot, DEFAULT_RUN_OPTIONS);
      if (!outcome.ok) throw new Error(outcome.message);
      const address = new DataView((await device.read(out)).buffer).getBigUint64(0, true);
      await device.free(out);
      return address;
    }
  });

  describe('arguments', () => {
    it('scalars, structs and pointers arrive as the function takes them', async () => {
      const bytes = Uint8Array.from({ length: 16 }, (_, i) => i + 1);
      const struct: PlannedArgument = { kind: 'bytes', bytes, alignmentBytes: 8 };
      const dumped = await launch('dump', { arguments: ['out', struct], buffers: { out: 16 } });
      expect(dumped).toMatchObject({ ok: true, contents: { out: bytes } });
      const small = await launch('dump_small', {
        arguments: ['out', { kind: 'scalar', dtype: 'u8', value: 200 }],
        buffers: { out: 1 },
      });
      expect(small).toMatchObject({ ok: true, contents: { out: Uint8Array.of(200) } });
      const targets = [0, 8].map((offsetBytes) => ({ buffer: 'in', offsetBytes }));
      const followed = await launch('follow', {
        arguments: [{ kind: 'pointers', targets }, 'out'],
        buffers: { in: Int32Array.of(1, 2, 3), out: 4 },
      });
      expect(followed).toMatchObject({ ok: true, contents: { out: Uint8Array.of(3, 0, 0, 0) } });
    });

    const map = (boxDim: number[]): PlannedArgument => ({
      kind: 'tensor-map',
      buffer: 'in',
      dtype: 'f16',
      globalDim: [64, 32],
      globalStridesBytes: [128],
      boxDim,
      elementStrides: [1, 1],
      swizzle: '128B',
      interleave: 'none',
      l2Promotion: '256B',
      fill: 'nan',
    });

    it('tensor maps are encoded by the host, aligned, and passed by value', async () => {
      const outcome = await launch('dump_map', { arguments: ['out', map([64, 8])], buffers: { in: 4096, out: 128 } });
      expect(outcome).toMatchObject({ ok: true, contents: { out: new Uint8Array(128).fill(0x5a) } });
      expect(stub.log()).toContain(
        'tensor-map type 6 rank 2 dim 64 stride 128 box 64,8 swizzle 3 promotion 3 fill 1 aligned 1',
      );
    });

    it('a tensor map the driver refuses: its parameters', async () => {
      const outcome = await launch('dump_map', { arguments: ['out', map([512, 8])], buffers: { in: 4096, out: 128 } });
      expect(outcome).toMatchObject({ ok: false, status: 'invalid' });
      expect(outcome).toMatchObject({ message: expect.stringContaining('argument 1 of dump_map') });
      expect(outcome).toMatchObject({
        message: expect.stringMatching(/buffer in .*f16.*boxDim \[512, 8\].*swizzle 128B/),
      });
    });

    it('too few, and of another size: where', async () => {
      expect(await launch('add_one', { ...ADD_ONE, arguments: ['in'] })).toMatchObject({
        status: 'invalid',
        mismatch: { functionName: 'add_one', received: '1 arguments', expected: '3 arguments' },
      });
      expect(await launch('add_one', { ...ADD_ONE, arguments: ['in', 'out', 'in'] })).toMatchObject({
        status: 'invalid',
        mismatch: { argumentIndex: 2, received: '8 bytes (buffer in)', expected: '4 bytes' },
      });
    });
  });

  describe('launches', () => {
    const step = (more: Partial<PlannedLaunch> = {}): PlannedLaunch => ({
      ...planLaunch({ functionName: 'add_one', grid: 4, block: 32, arguments: ['in', 'out', { i32: 128 }] }),
      ...more,
    });
    const run = async (...steps: LaunchPlan['steps']) => {
      const slot = new Map([
        ['in', await allocate(512, 'in')],
        ['out', await allocate(512, 'out')],
      ]);
      stub.log();
      const outcome = await device.run(module, { buffers: [], steps }, slot, DEFAULT_RUN_OPTIONS);
      return { outcome, log: stub.log() };
    };
    const launches = (log: string[]) => log.filter((line) => line.startsWith('launch'));

    it('carry cluster, cooperative and programmatic attributes; the first launch of a sequence never overlaps', async () => {
      const { log } = await run(
        step({ programmaticDependent: true }),
        step({ programmaticDependent: true }),
        { kind: 'memset', buffer: 'out', byteValue: 7 },
        step({ programmaticDependent: true }),
        step({ cluster: [2, 1, 1] }),
        step({ cooperative: true }),
      );
      const plain = 'launch add_one grid 4,1,1 block 32,1,1 shared 0';
      expect(log.filter((line) => !line.startsWith('attribute'))).toEqual([
        plain,
        `${plain} [6: 1 0 0]`,
        'memset 512 bytes to 7',
        plain,
        `${plain} [4: 2 1 1]`,
        `${plain} [2: 1 0 0]`,
      ]);
    });

    it('copy between places of buffers, behind which a launch never overlaps', async () => {
      const slot = new Map([
        ['in', await allocate(128, 'in')],
        ['out', await allocate(128, 'out')],
      ]);
      await device.write(slot.get('in')!, new Uint8Array(Int32Array.from({ length: 32 }, (_, i) => i).buffer));
      const add = planLaunch({ functionName: 'add_one', arguments: ['in', 'out', { i32: 32 }] });
      const place = (buffer: string, offsetBytes: number) => ({ buffer, offsetBytes });
      const steps: PlannedStep[] = [
        { kind: 'copy', from: place('in', 4), to: place('in', 64), bytes: 8 },
        { ...add, programmaticDependent: true },
        { kind: 'copy', from: place('out', 64), to: place('out', 0), bytes: 4 },
      ];
      stub.log();
      const outcome = await device.run(module, { buffers: [], steps }, slot, DEFAULT_RUN_OPTIONS);
      expect(outcome.ok).toBe(true);
      expect(launches(stub.log())).toEqual(['launch add_one grid 1,1,1 block 32,1,1 shared 0']);
      const left = new Int32Array((await device.read(slot.get('out')!)).slice().buffer);
      expect([left[0], left[1], left[16], left[17], left[18]]).toEqual([2, 2, 2, 3, 19]);
    });

    it('ask for shared memory above 48 KB, the carve-out, and clusters of more than 8 CTAs', async () => {
      const { log } = await run(
        step({ dynamicSharedBytes: 100_000, carveOut: 50 }),
        step({ grid: [16, 1, 1], cluster: [16, 1, 1] }),
      );
      expect(log).toContain('attribute add_one 8=100000');
      expect(log).toContain('attribute add_one 9=50');
      expect(log).toContain('attribute add_one 14=1');
      // The second launch has its own carve-out again.
      expect(log.lastIndexOf('attribute add_one 9=-1')).toBeGreaterThan(log.indexOf('attribute add_one 9=50'));
    });

    it('that cannot be resident are refused with the numbers', async () => {
      const cooperative = await run(step({ grid: [132 * 64 + 1, 1, 1], cooperative: true }));
      expect(cooperative.outcome).toMatchObject({ status: 'launch-failed' });
      expect(cooperative.outcome).toMatchObject({ message: expect.stringContaining('8449 CTAs') });
      const ragged = await run(step({ cluster: [3, 1, 1] }));
      expect(ragged.outcome).toMatchObject({
        status: 'launch-failed',
        message: expect.stringContaining('whole clusters'),
      });
      const large = await run(step({ grid: [256, 1, 1], cluster: [256, 1, 1] }));
      expect(large.outcome).toMatchObject({
        status: 'launch-failed',
        message: expect.stringContaining('cluster of 256'),
      });
      for (const { log } of [cooperative, ragged, large]) expect(launches(log)).toEqual([]);
    });

    it('that the driver refuses: which function, and the device goes on', async () => {
      expect(await launch('refused')).toMatchObject({
        status: 'launch-failed',
        message: expect.stringContaining('refused asks for more registers'),
      });
      expect(await launch('add_one', ADD_ONE)).toMatchObject({ ok: true });
    });

    it('of functions that are not there: which there are', async () => {
      const code = { ...ptxCode(STUB_PTX), functionSymbols: { add: 'add_one', gone: 'gone' } };
      const outcome = await tryLaunch(device, await loadCode(device, code), { functionName: 'gone' });
      expect(outcome).toMatchObject({
        status: 'invalid',
        message: expect.stringMatching(/function gone; it has add_one/),
      });
    });
  });

  describe('code', () => {
    it('the driver cannot compile: its log', async () => {
      expect(await device.load(ptxCode('nonsense'))).toMatchObject({
        ok: false,
        status: 'compile-failed',
        message: expect.stringContaining('ptxas error: not PTX'),
      });
    });

    it('that launches kernels itself is refused', async () => {
      const text = `${STUB_PTX}\n.extern .func (.param .b32 r) cudaLaunchDeviceV2 (.param .b64 a, .param .b64 b) ;`;
      expect(await device.load(ptxCode(text))).toMatchObject({
        status: 'unsupported',
        message: expect.stringContaining('cudaLaunchDeviceV2'),
      });
    });
  });

  describe('kernels that go wrong', () => {
    const cases = [
      ['hang', 'timed-out', /hang did not finish within 150 ms; its process was ended/],
      ['crash', 'crashed', /crash: .*SIGSEGV/],
      ['illegal', 'unsafe', /illegal accessed memory outside every allocation.*700/],
      ['misaligned', 'unsafe', /not a multiple of the access size/],
      ['trap', 'crashed', /trap/],
    ] as const;
    it.each(cases)('%s: %s, and the next evaluation is right', async (functionName, status, message) => {
      const kept = await allocate(64, 'kept');
      const outcome = await launch(functionName, { options: { timeoutMs: 150 } });
      expect(outcome).toMatchObject({ ok: false, status, message: expect.stringMatching(message) });
      // What lived in the old worker is gone: giving it back is fine, using it is not.
      await expect(device.read(kept)).rejects.toMatchObject({ details: { code: 'device-failed' } });
      await device.free(kept);
      await expect(device.free(kept)).rejects.toThrow('not allocated');
      await device.unload(module);
      await addOneWorks();
    });

    it('in a replay too', async () => {
      for (const [functionName, status] of [
        ['hang', 'timed-out'],
        ['illegal', 'unsafe'],
      ] as const) {
        const loaded = await loadCode(device, STUB_PTX);
        const plan: LaunchPlan = { buffers: [], steps: [planLaunch({ functionName })] };
        const prepared = await device.measuring.prepareReplay(loaded, plan, [new Map()]);
        if (!prepared.ok) throw new Error(prepared.message);
        expect(await device.measuring.replayOnce(prepared.replay, alone(1), 150)).toMatchObject({ ok: false, status });
        await device.measuring.releaseReplay(prepared.replay);
      }
      await addOneWorks();
    });
  });

  describe('measuring', () => {
    it('knows what a replay takes beside its launches, asked before anything else', async () => {
      const fresh = await openSecondWorker(0, UNSHARED);
      // The stub's clock counts kernels only.
      expect(await fresh.measuring.replayOverheadNs()).toBe(0);
      await fresh.close();
    });

    it('arenas: every buffer where nothing else is, in another order for another seed', async () => {
      const requests = Array.from({ length: 40 }, (_, i) => ({ name: `b${i}`, bytes: 100 + i, alignmentBytes: 16 }));
      const measuring = device.measuring;
      for (const seed of [1, 2]) {
        const buffers = await measuring.allocateArena(requests, seed);
        expect(buffers.map(({ name, bytes }) => ({ name, bytes, alignmentBytes: 16 }))).toEqual(requests);
        await measuring.fillAll(buffers.map((buffer, i) => ({ buffer, pattern: Uint8Array.of(i + 1) })));
        const contents = await measuring.readAll(buffers.map((buffer) => ({ buffer })));
        for (const [i, bytes] of contents.entries()) expect(new Set(bytes)).toEqual(new Set([i + 1]));
        const empty = await measuring.prepareReplay(module, { buffers: [], steps: [] }, []);
        if (!empty.ok) throw new Error(empty.message);
        const looked = {
          ...alone(0),
          guarded: [buffers[0]!],
          poisons: buffers.map((buffer) => ({ buffer, pattern: Uint8Array.of(3) })),
        };
        expect(await measuring.replayOnce(empty.replay, looked, 5000)).toMatchObject({
          heldElements: buffers.map((_, i) => (i === 2 ? 102 : 0)),
          damagedGuards: [],
        });
        await measuring.writeAll([{ buffer: buffers[0]!, bytes: Uint8Array.of(9) }]);
        expect((await device.read(buffers[0]!))[0]).toBe(9);
        const slot = new Map([['out', buffers[7]!]]);
        const plan: LaunchPlan = {
          buffers: [],
          steps: [planLaunch({ functionName: 'overrun', arguments: ['out', { i32: 107 }] })],
        };
        await device.run(module, plan, slot, DEFAULT_RUN_OPTIONS);
        expect(await measuring.replayOnce(empty.replay, looked, 5000)).toMatchObject({
          damagedGuards: [{ buffer: 'b7', bytes: 1 }],
        });
        await measuring.releaseReplay(empty.replay);
        await measuring.freeArena(buffers);
        await expect(device.read(buffers[0]!)).rejects.toThrow('not allocated');
      }
    });

    it('replays: one sequence for each slot in one graph, timed by the event clock without the host’s part', async () => {
      const slots = await Promise.all(
        [10, 20, 30].map(async (value) => {
          const slot = new Map([
            ['in', await allocate(128, 'in')],
            ['out', await allocate(128, 'out')],
          ]);
          await device.write(slot.get('in')!, new Uint8Array(Int32Array.from({ length: 32 }, () => value).buffer));
          return slot;
        }),
      );
      const add = planLaunch({ functionName: 'add_one', arguments: ['in', 'out', { i32: 32 }] });
      const steps = [
        { kind: 'memset', buffer: 'out', byteValue: 5 } as const,
        { ...add, programmaticDependent: true },
        { ...add, programmaticDependent: true },
      ];
      const prepared = await device.measuring.prepareReplay(module, { buffers: [], steps }, slots);
      if (!prepared.ok) throw new Error(prepared.message);
      const log = stub.log();
      expect(log).toContain('instantiate 9 nodes');
      expect(log.filter((line) => line.includes('[6:') && line.endsWith('captured'))).toHaveLength(3);
      expect(prepared.replay.sequenceCount).toBe(3);
      for (let round = 0; round < 2; round++) {
        // The stub's clock counts a microsecond for each kernel.
        expect(await device.measuring.replayOnce(prepared.replay, alone(3), 5000)).toMatchObject({
          ok: true,
          ns: expect.closeTo(6000, 0),
        });
        // What was left on the chip is overwritten outside the clock.
        const launched = stub.log().filter((line) => line.includes('launch warpsmith'));
        expect(launched.map((line) => /warpsmith_\w+/.exec(line)![0])).toEqual([
          'warpsmith_scrub_local',
          'warpsmith_scrub',
          'warpsmith_hold',
        ]);
      }
      const overSweptL2 = { ...alone(3), chip: { ...CHIP, isL2Swept: true } };
      await device.measuring.replayOnce(prepared.replay, overSweptL2, 5000);
      const swept = stub.log().flatMap((line) => /launch (warpsmith_\w+)/.exec(line)?.[1] ?? []);
      expect(swept).toEqual(['warpsmith_scrub_local', 'warpsmith_count', 'warpsmith_scrub', 'warpsmith_hold']);
      const reread = { ...alone(3), reread: [slots[0]!.get('out')!] };
      await device.measuring.replayOnce(prepared.replay, reread, 5000);
      const read = stub.log().flatMap((line) => /launch (warpsmith_\w+)/.exec(line)?.[1] ?? []);
      expect(read.slice(0, 3)).toEqual(['warpsmith_scrub_local', 'warpsmith_count', 'warpsmith_scrub']);
      // A cut one has a graph of its own.
      expect(await device.measuring.replayOnce(prepared.replay, alone(2), 5000)).toMatchObject({
        ns: expect.closeTo(4000, 0),
      });
      expect(stub.log()).toContain('instantiate 6 nodes');
      for (const [i, slot] of slots.entries())
        expect(words(new Uint8Array(await device.read(slot.get('out')!)))[0]).toBe(10 * (i + 1) + 1);
      await device.measuring.releaseReplay(prepared.replay);
      await expect(device.measuring.replayOnce(prepared.replay, alone(3), 5000)).rejects.toThrow('not allocated');
      expect(await device.measuring.replayOverheadNs()).toBe(0);
      const eager = (longNs: number) =>
        device.measuring.timeEager(module, { buffers: [], steps: [add] }, slots[0]!, {
          runs: 4,
          longNs,
          timeoutMs: 5000,
        });
      const once = expect.closeTo(1000, 0);
      expect(await eager(1e9)).toEqual({ ok: true, times: [once, once, once, once] });
      expect(await eager(10)).toEqual({ ok: true, times: [once, once] });
    });

    it('reruns: one sequence at a time over what it is to find, compared before the next one', async () => {
      const [left, shared] = [await allocate(128, 'out'), await allocate(128, 'out')];
      const slots = await Promise.all(
        [10, 20].map(async (value) => {
          const input = await allocate(128, 'in');
          await device.write(input, new Uint8Array(Int32Array.from({ length: 32 }, () => value).buffer));
          return new Map([
            ['in', input],
            ['out', shared],
          ]);
        }),
      );
      await device.write(left, new Uint8Array(Int32Array.from({ length: 32 }, () => 21).buffer));
      const steps = [planLaunch({ functionName: 'add_one', arguments: ['in', 'out', { i32: 30 }] })];
      const prepared = await device.measuring.prepareReplay(module, { buffers: [], steps }, [], slots);
      if (!prepared.ok) throw new Error(prepared.message);
      const reruns = [1, 0].map((sequence) => ({
        sequence,
        fills: [{ buffer: shared, pattern: Uint8Array.of(21, 0, 0, 0) }],
        pairs: [{ left, right: shared, dtype: 'i32' as const, tolerance: 0 }],
      }));
      stub.log();
      const outcome = await device.measuring.replayOnce(prepared.replay, { ...alone(0), reruns }, 5000);
      // The sequences leave two elements as they lay.
      expect(outcome).toMatchObject({ ok: true, equalElements: [[32], [2]] });
      const launched = stub.log().flatMap((line) => /launch (\w+)/.exec(line)?.[1] ?? []);
      const once = ['warpsmith_fill', 'warpsmith_scrub', 'warpsmith_scrub_local', 'add_one', 'warpsmith_compare'];
      expect(launched).toEqual(['warpsmith_scrub', 'warpsmith_hold', ...once, ...once]);
      await device.measuring.releaseReplay(prepared.replay);
    });

    it('fills buffers with patterns of any length before each sequence, from memory that is written once', async () => {
      const bytes = 128;
      const arena = await device.measuring.allocateArena(
        ['in', 'out', 'again'].map((name) => ({ name, bytes, alignmentBytes: 16 })),
        3,
      );
      const [input, out, again] = arena as [DeviceBuffer, DeviceBuffer, DeviceBuffer];
      const pattern = new Uint8Array(Int32Array.from({ length: 5 }, (_, i) => 100 * i).buffer);
      const steps = [planLaunch({ functionName: 'add_one', arguments: ['in', 'out', { i32: 32 }] })];
      const slots = [out, again].map(
        (to) =>
          new Map([
            ['in', input],
            ['out', to],
          ]),
      );
      const prepared = await device.measuring.prepareReplay(module, { buffers: [], steps }, [slots[0]!], [slots[1]!]);
      if (!prepared.ok) throw new Error(prepared.message);
      const fills = [{ buffer: input, pattern }];
      const round: ReplayRound = {
        ...alone(1),
        fills,
        reruns: [{ sequence: 0, fills, pairs: [{ left: out, right: again, dtype: 'i32', tolerance: 0 }] }],
      };
      const play = () => device.measuring.replayOnce(prepared.replay, round, 5000);
      expect(await play()).toMatchObject({ ok: true, equalElements: [[32]] });
      const wanted = Int32Array.from({ length: 32 }, (_, i) => 100 * (i % 5) + 1);
      expect(await device.read(out)).toEqual(new Uint8Array(wanted.buffer));
      const before = await device.tally();
      expect(await play()).toMatchObject({ ok: true, equalElements: [[32]] });
      const spent = tallyBetween(before, await device.tally());
      // The jobs of the round, and no table again.
      expect(spent.driver.cuMemcpyHtoDAsync_v2?.count).toBe(1);
      expect(spent.driver.cuMemAlloc_v2).toBeUndefined();
      await device.measuring.fillAll([{ buffer: again, pattern: pattern.subarray(4, 16) }]);
      expect(await device.read(again)).toEqual(
        new Uint8Array(Int32Array.from({ length: 32 }, (_, i) => 100 * ((i % 3) + 1)).buffer),
      );
      await device.measuring.releaseReplay(prepared.replay);
      await device.measuring.freeArena(arena);
    });

    it('a round: draws, poisons, replays, looks and runs again, in one message and two copies', async () => {
      const arena = await device.measuring.allocateArena(
        ['in', 'out', 'out'].map((name) => ({ name, bytes: 128, alignmentBytes: 16 })),
        3,
      );
      const [input, out, again] = arena as [DeviceBuffer, DeviceBuffer, DeviceBuffer];
      const steps = [planLaunch({ functionName: 'add_one', arguments: ['in', 'out', { i32: 32 }] })];
      const slot = (to: DeviceBuffer) =>
        new Map([
          ['in', input],
          ['out', to],
        ]);
      const prepared = await device.measuring.prepareReplay(module, { buffers: [], steps }, [slot(out)], [slot(again)]);
      if (!prepared.ok) throw new Error(prepared.message);
      const draw = {
        buffer: input,
        dtype: 'i32' as const,
        rule: { kind: 'integers' as const, low: 0, high: 127 },
        key: [5, 6] as const,
      };
      const poison = { buffer: out, pattern: Uint8Array.of(200) };
      const round: ReplayRound = {
        ...alone(1),
        draws: [draw],
        fills: [poison],
        unchanged: [draw],
        guarded: arena,
        poisons: [poison],
        reruns: [
          {
            sequence: 0,
            fills: [{ buffer: again, pattern: Uint8Array.of(9) }],
            pairs: [{ left: out, right: again, dtype: 'i32', tolerance: 0 }],
          },
        ],
      };
      const before = await device.tally();
      expect(await device.measuring.replayOnce(prepared.replay, round, 5000)).toEqual({
        ok: true,
        ns: expect.closeTo(1000, 0),
        changedElements: [0],
        damagedGuards: [],
        heldElements: [0],
        equalElements: [[32]],
      });
      const spent = tallyBetween(before, await device.tally());
      expect(spent.messages.replayOnce?.count).toBe(1);
      expect(spent.driver.cuMemcpyHtoDAsync_v2?.count).toBe(1);
      expect(spent.driver.cuMemcpyDtoHAsync_v2?.count).toBe(1);
      expect([spent.driver.cuModuleLoadDataEx, spent.driver.cuMemAlloc_v2]).toEqual([undefined, undefined]);
      await device.measuring.releaseReplay(prepared.replay);
      await device.measuring.freeArena(arena);
    });

    it.each([
      ['put back', STUB_PTX_WITH_STATE, 0],
      ['had by loading it again, where the driver does not know one', STUB_PTX_WITH_HIDDEN_STATE, 3],
    ])(
      'variables of a module are %s: each replay and each rerun finds their initial values',
      async (_, text, loads) => {
        const counting = await loadCode(device, text);
        expect([device.measuring.hasState(counting), device.measuring.hasState(module)]).toEqual([true, false]);
        const slots = await Promise.all([0, 1].map(async (i) => new Map([['out', await allocate(4, `out${i}`)]])));
        const left = await allocate(4, 'zero');
        await device.write(left, new Uint8Array(4));
        const plan = { buffers: [], steps: [planLaunch({ functionName: 'count_calls', arguments: ['out'] })] };
        const prepared = await device.measuring.prepareReplay(counting, plan, slots, slots);
        if (!prepared.ok) throw new Error(prepared.message);
        const reruns = slots.map((slot, sequence) => ({
          sequence,
          fills: [],
          pairs: [{ left, right: slot.get('out')!, dtype: 'i32' as const, tolerance: 0 }],
        }));
        for (let round = 0; round < 2; round++) {
          expect(await device.measuring.replayOnce(prepared.replay, alone(2), 5000)).toMatchObject({ ok: true });
          const calls = await device.measuring.readAll(slots.map((slot) => ({ buffer: slot.get('out')! })));
          expect(calls.map((bytes) => bytes[0])).toEqual([0, 1]);
        }
        stub.log();
        const outcome = await device.measuring.replayOnce(prepared.replay, { ...alone(1), reruns }, 5000);
        expect(outcome).toMatchObject({ ok: true, equalElements: [[1], [1]] });
        expect(stub.log().filter((line) => line === 'load')).toHaveLength(loads);
        await device.measuring.releaseReplay(prepared.replay);
        await device.unload(counting);
      },
    );

    it('persisting lines of L2 are given up before each replay while code is loaded that may leave some, and once after it', async () => {
      const slot = new Map([
        ['in', await allocate(128, 'in')],
        ['out', await allocate(128, 'out')],
      ]);
      const steps = [planLaunch({ functionName: 'add_one', arguments: ['in', 'out', { i32: 32 }] })];
      const prepared = await device.measuring.prepareReplay(module, { buffers: [], steps }, [slot]);
      if (!prepared.ok) throw new Error(prepared.message);
      const givenUp = async (): Promise<number> => {
        stub.log();
        await device.measuring.replayOnce(prepared.replay, alone(1), 5000);
        return stub.log().filter((line) => line === 'give up persisting lines').length;
      };
      expect(await givenUp()).toBe(0);
      const keeps = '.visible .entry keeps() { createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0; ret; }';
      const keeping = await loadCode(device, `${STUB_PTX}${keeps}`);
      expect([await givenUp(), await givenUp()]).toEqual([1, 1]);
      await device.unload(keeping);
      expect([await givenUp(), await givenUp()]).toEqual([1, 0]);
      await device.measuring.releaseReplay(prepared.replay);
    });

    it('a replay that the plan does not allow is a failure', async () => {
      const plan: LaunchPlan = { buffers: [], steps: [planLaunch({ functionName: 'add_one', arguments: [] })] };
      expect(await device.measuring.prepareReplay(module, plan, [new Map()])).toMatchObject({ status: 'invalid' });
      const refused: LaunchPlan = { buffers: [], steps: [planLaunch({ functionName: 'refused' })] };
      expect(await device.measuring.prepareReplay(module, refused, [new Map()])).toMatchObject({
        status: 'launch-failed',
      });
      expect(await launch('add_one', ADD_ONE)).toMatchObject({ ok: true });
    });

    it('energy: a replay that hangs is a failure; without NVML there is a reason', async () => {
      const of = async (steps: LaunchPlan['steps'], timeoutMs: number) => {
        const plan: LaunchPlan = { buffers: [], steps };
        const prepared = await device.measuring.prepareReplay(await loadCode(device, STUB_PTX), plan, [new Map()]);
        if (!prepared.ok) throw new Error(prepared.message);
        return device.measuring.energyOf(prepared.replay, { leastMs: 1, timeoutMs });
      };
      expect(await of([], 1000)).toEqual({ ok: true, why: 'NVML has no energy counter for this GPU' });
      const idle = await device.measuring.energyOf(undefined, { leastMs: 1, timeoutMs: 0 });
      expect(idle).toEqual({ ok: true, why: 'NVML has no energy counter for this GPU' });
      expect(await of([planLaunch({ functionName: 'hang' })], 1)).toMatchObject({ ok: false, status: 'timed-out' });
    });

    it('state is empty where there is no NVML', async () => {
      if (existsSync('/proc/driver/nvidia/version')) return;
      expect(await device.measuring.state()).toEqual({});
    });
  });

  it('a second process waits for the first; the holder is named; a reference device needs no lock', async () => {
    await expect(lockGpu(device.identity.uuid!, 'cuda:0', 100)).rejects.toMatchObject({
      details: { code: 'device-busy', message: expect.stringContaining(`process ${process.pid}`) },
    });
    const reference = await openSecondWorker(0, device.measuring.use);
    await reference.close();
  });

  it('an ordinal that is not there', async () => {
    await expect(openCudaDevice(1)).rejects.toMatchObject({
      details: { code: 'unknown-device', expected: expect.stringContaining('cuda:0') },
    });
  });

  // The last: there is no device after it.
  it('close ends the worker and gives the GPU back', async () => {
    // The guard, which ends what this process leaves behind, stays as long as this process.
    const workers = () => [...processTree(process.pid)].filter((pid) => commandOf(pid).includes('worker-main'));
    expect(workers().length).toBeGreaterThan(0);
    await device.close();
    await eventually(() => workers().length === 0);
    await expect(allocate(16)).rejects.toThrow('closed');
    (await lockGpu(device.identity.uuid!, 'cuda:0', 0))();
  });
});

/** Empty where the process has ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
