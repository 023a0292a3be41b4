import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CompiledCode } from '../../src/core/compiled-code.ts';
import type { Device } from '../../src/core/device.ts';
import type { DeviceFailure, LoadedModule } from '../../src/core/device-values.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../support/launch/compile-cuda.ts';
import {
  failureOf,
  type KernelLaunch,
  launchKernel,
  loadCode,
  ptxCode,
  tryLaunch,
  words,
} from '../support/launch/launch-kernel.ts';
import { entry, moduleText } from '../support/launch/ptx-text.ts';

const THREAD_COUNTS = [1, 2, 8];
let source: string;
let code: CompiledCode;
let devices: Device[];
let modules: LoadedModule[];

beforeAll(async () => {
  source = await readFile(join(import.meta.dirname, 'faults.cu'), 'utf8');
  code = await compileCuda(await createClangToolchain(), source, functionsIn(source), 'faults.cu');
  devices = await Promise.all(THREAD_COUNTS.map((threads) => openDevice('virtual:l4', { threads })));
  modules = await Promise.all(devices.map((device) => loadCode(device, code)));
});

afterAll(async () => {
  await Promise.all(devices.map((device) => device.close()));
});

const lineOf = (marker: string): number =>
  source.split('\n').findIndex((line) => line.includes(`// line: ${marker}`)) + 1;

/** The failure of a launch, which must be the same on 1, 2 and 8 threads. */
async function fail(functionName: string, launch: KernelLaunch): Promise<DeviceFailure> {
  const failures: DeviceFailure[] = [];
  for (const [i, device] of devices.entries()) {
    const outcome = await tryLaunch(device, modules[i]!, { ...launch, functionName });
    if (outcome.ok) throw new Error(`${functionName} succeeded`);
    failures.push(outcome);
  }
  for (const other of failures.slice(1)) expect(other).toEqual(failures[0]);
  return failures[0]!;
}

const IN_OUT = { in: 96 * 4, out: 96 * 4 };
const shift = (by: number): KernelLaunch => ({ grid: 3, arguments: ['in', 'out', { i32: by }], buffers: IN_OUT });

describe('device memory', () => {
  it('a read one element past the end: the last thread of the last CTA', async () => {
    const failure = await fail('shifted_read', shift(1));
    expect(failure.status).toBe('unsafe');
    expect(failure.fault).toMatchObject({
      functionName: 'shifted_read',
      cta: [2, 0, 0],
      thread: [31, 0, 0],
      accessBytes: 4,
      buffer: { name: 'in', offsetBytes: 384, sizeBytes: 384 },
      source: { file: 'faults.cu', line: lineOf('shifted read') },
    });
    expect(failure.fault!.address).toMatch(/^0x7[0-9a-f]{11}$/);
    expect(failure.fault!.instruction).toMatch(/^ld\.global/);
    expect(failure.message).toBe(
      `shifted_read: out-of-bounds global read at address ${failure.fault!.address} (offset 384 of buffer in, which has 384 bytes) in CTA (2, 0, 0) thread (31, 0, 0) at faults.cu:${lineOf('shifted read')}`,
    );
  });

  it('a write one element past the end', async () => {
    const { status, message, fault } = await fail('shifted_write', shift(1));
    expect(status).toBe('unsafe');
    expect(message).toContain('out-of-bounds global write');
    expect(fault).toMatchObject({
      cta: [2, 0, 0],
      thread: [31, 0, 0],
      buffer: { name: 'out', offsetBytes: 384 },
      source: { line: lineOf('shifted write') },
    });
  });

  it('a negative index: the first thread of the first CTA', async () => {
    const { fault } = await fail('shifted_read', shift(-1));
    expect(fault).toMatchObject({ cta: [0, 0, 0], thread: [0, 0, 0], buffer: { name: 'in', offsetBytes: -4 } });
  });

  it('an index that lands inside another buffer', async () => {
    // Buffers are less than 2 KiB apart: 500 elements on lies memory of `out`, but the pointer was made from `in`.
    const { status, fault } = await fail('shifted_read', {
      ...shift(500),
      buffers: { in: 96 * 4, out: 16384 },
    });
    expect(status).toBe('unsafe');
    expect(fault).toMatchObject({ cta: [0, 0, 0], thread: [0, 0, 0], buffer: { name: 'in', offsetBytes: 2000 } });
  });

  it('a null pointer', async () => {
    const { status, message, fault } = await fail('shifted_read', {
      ...shift(0),
      arguments: [{ kind: 'null' }, 'out', { i32: 0 }],
    });
    expect(status).toBe('unsafe');
    expect(message).toContain('out-of-bounds global read at address 0x0 in CTA (0, 0, 0) thread (0, 0, 0)');
    expect(fault!.buffer).toBeUndefined();
  });

  it('a bound check that lets one thread too many through, in a function called by the kernel', async () => {
    const { fault } = await fail('guarded_read', {
      grid: 3,
      arguments: ['in', 'out', { i32: 70 }],
      buffers: { in: 70 * 4, out: 96 * 4 },
    });
    // Thread 70 is thread 6 of CTA 2.
    expect(fault).toMatchObject({
      cta: [2, 0, 0],
      thread: [6, 0, 0],
      buffer: { name: 'in', offsetBytes: 280, sizeBytes: 280 },
      source: { line: lineOf('read in a function') },
    });
  });

  it('a vector load from an address that is not a multiple of its size', async () => {
    const { status, message, fault } = await fail('misaligned_vector', {
      arguments: ['in', 'out'],
      buffers: { in: 1024, out: 512 },
    });
    expect(status).toBe('unsafe');
    expect(message).toContain('misaligned 16-byte global read');
    expect(fault).toMatchObject({
      thread: [0, 0, 0],
      accessBytes: 16,
      buffer: { name: 'in', offsetBytes: 4 },
      source: { line: lineOf('misaligned vector') },
    });
  });

  it('coordinates in three dimensions', async () => {
    // 12 CTAs of 32 threads store 384 words; the buffer ends one word early.
    const { fault } = await fail('deep', {
      grid: [2, 3, 2],
      block: [4, 4, 2],
      arguments: ['out'],
      buffers: { out: 384 * 4 - 4 },
    });
    expect(fault).toMatchObject({ cta: [1, 2, 1], thread: [3, 3, 1], buffer: { offsetBytes: 1532 } });
  });

  it('of several CTAs at fault, the first in the launch order is reported', async () => {
    // Every CTA faults in its first thread.
    for (const orderSeed of [0, 7]) {
      const launch = { ...shift(10_000), grid: 40, options: { orderSeed } };
      const { fault } = await fail('shifted_read', launch);
      if (orderSeed === 0) expect(fault!.cta).toEqual([0, 0, 0]);
      else expect(fault!.cta).not.toEqual([0, 0, 0]);
    }
  });

  it('nothing is written around a buffer, and the device goes on working', async () => {
    const [device, module] = [devices[1]!, modules[1]!];
    const buffer = await device.allocate({ name: 'out', bytes: 380, alignmentBytes: 4 });
    const outcome = await device.run(
      module,
      {
        buffers: [],
        steps: [
          {
            kind: 'launch',
            functionName: 'fill',
            grid: [3, 1, 1],
            block: [32, 1, 1],
            dynamicSharedBytes: 0,
            cooperative: false,
            programmaticDependent: false,
            arguments: [
              { kind: 'buffer', buffer: 'out', offsetBytes: 0 },
              { kind: 'scalar', dtype: 'i32', value: -1 },
            ],
          },
        ],
      },
      new Map([['out', buffer]]),
      { orderSeed: 0, count: false, timeoutMs: 10_000 },
    );
    expect(outcome.ok).toBe(false);
    expect(await device.damagedGuardBytes(buffer)).toBe(0);
    await device.free(buffer);
    const { contents } = await launchKernel(device, module, {
      functionName: 'fill',
      arguments: ['out', { i32: 9 }],
      buffers: { out: 128 },
    });
    expect(new Set(words(contents.out!))).toEqual(new Set([9]));
  });
});

describe('shared and local memory', () => {
  it('a read past static shared memory: the first thread beyond', async () => {
    // 40 words: thread 20 reads word 40.
    const { status, message, fault } = await fail('shared_read', {
      arguments: ['out', { i32: 20 }],
      buffers: { out: 128 },
    });
    expect(status).toBe('unsafe');
    expect(message).toContain('out-of-bounds shared read: 4 bytes at 160 of 160');
    expect(fault).toMatchObject({ thread: [20, 0, 0], source: { line: lineOf('shared read') } });
    expect(fault!.buffer).toBeUndefined();
  });

  it('a write past dynamic shared memory', async () => {
    const { message, fault } = await fail('dynamic_shared_write', {
      arguments: ['out', { i32: 4 }],
      buffers: { out: 128 },
      dynamicSharedBytes: 256,
    });
    // Thread 16 writes word 64 of 64.
    expect(message).toContain('out-of-bounds shared write: 4 bytes at 256 of 256');
    expect(fault).toMatchObject({ thread: [16, 0, 0], source: { line: lineOf('dynamic shared write') } });
  });

  it('a read past a local array', async () => {
    const { message, fault } = await fail('local_read', { arguments: ['out', { i32: 8 }], buffers: { out: 128 } });
    expect(message).toContain('out-of-bounds local read: 4 bytes at 32 of 32');
    expect(fault).toMatchObject({ thread: [0, 0, 0], source: { line: lineOf('local read') } });
  });

  it.each([
    ['a shared address with a wide offset', 'ld.shared.u32 %r1, [1048576];', 'out-of-bounds shared read'],
    ['a generic address in no window', 'mov.u64 %d0, 0x900000000; ld.u32 %r1, [%d0];', 'out-of-bounds generic read'],
    [
      'a write through a generic address of constant memory',
      'mov.u64 %d0, table; cvta.const.u64 %d1, %d0; st.u32 [%d1], 1;',
      'out-of-bounds generic write',
    ],
    [
      'a generic address past the end of shared memory',
      'mov.u64 %d0, words; cvta.shared.u64 %d1, %d0; ld.u32 %r1, [%d1+64];',
      'out-of-bounds generic read',
    ],
    ['an atomic that is not aligned', 'atom.shared.add.u32 %r1, [words+2], 1;', 'misaligned 4-byte shared write'],
  ])('%s', async (_, body, message) => {
    const text = moduleText('.shared .align 4 .b8 words[64]; .const .align 4 .u32 table = 5;', entry({ body }));
    const failure = await failureOf(devices[0]!, text, {});
    expect(failure.status).toBe('unsafe');
    expect(failure.message).toContain(message);
  });
});

describe('an address common to the warp', () => {
  it('is the first active thread’s', async () => {
    const body = `mov.u32 %r0, %tid.x; setp.ge.u32 %p0, %r0, 6; @%p0 bra READ; bra END; READ: ld.global.u32 %r1, [%in+8]; END:`;
    const text = moduleText(entry({ parameters: ['u64 in'], body }));
    const { fault } = await failureOf(devices[0]!, text, { arguments: ['in'], buffers: { in: 8 } });
    expect(fault).toMatchObject({ thread: [6, 0, 0], buffer: { name: 'in', offsetBytes: 8, sizeBytes: 8 } });
  });
});

describe('stops', () => {
  it('trap: the thread that executed it', async () => {
    const { status, message, fault } = await fail('stop', { arguments: ['out'], buffers: { out: 128 } });
    expect(status).toBe('crashed');
    expect(message).toContain('the kernel executed trap');
    expect(fault).toMatchObject({ thread: [5, 0, 0], source: { line: lineOf('trap') } });
  });

  it('a barrier that counts on threads that have exited', async () => {
    const launch = { block: 64, arguments: ['out'], buffers: { out: 256 } };
    const { status, message, fault } = await fail('counted_barrier', launch);
    expect(status).toBe('unsafe');
    expect(message).toContain(
      'barrier 1 was reached by 32 of 64 threads, a count that the code names; the others have exited or wait elsewhere',
    );
    expect(fault).toMatchObject({ cta: [0, 0, 0], source: { line: lineOf('barrier') } });
  });

  it('a barrier at which half of a warp waits for the other half, which waits in a shuffle', async () => {
    const { status, message, fault } = await fail('half_at_barrier', { arguments: ['out'], buffers: { out: 128 } });
    expect(status).toBe('unsafe');
    expect(message).toContain('thread 0 waits at a barrier while other threads of its warp wait for it');
    expect(fault).toMatchObject({ thread: [0, 0, 0], source: { line: lineOf('half a warp') } });
  });

  it('warps that wait at different barriers', async () => {
    const body = 'mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 32; @%p0 bra A; bar.sync 1; bra B; A: bar.sync 2; B:';
    const { status, message } = await failureOf(devices[0]!, moduleText(entry({ body })), { block: 64 });
    expect(status).toBe('unsafe');
    expect(message).toContain('barrier 2 was reached by 32 of 64 threads');
    expect(message).toContain('barrier 1 was reached by 32 of 64 threads');
  });

  it('an instruction the virtual GPU does not know, by name and line', async () => {
    const text = moduleText(entry({ body: 'mov.u32 %r0, %tid.x;\nfrobnicate.rn.u32 %r1, %r0;' }));
    const line = text.split('\n').findIndex((t) => t.includes('frobnicate')) + 1;
    const { status, message } = await failureOf(devices[0]!, text, {});
    expect(status).toBe('unsupported');
    expect(message).toContain(`line ${line}`);
    expect(message).toContain('frobnicate.rn.u32');
  });

  it('a special register it does not have', async () => {
    const { status, message } = await failureOf(devices[0]!, moduleText(entry({ body: 'mov.u32 %r0, %pm0;' })), {});
    expect(status).toBe('unsupported');
    expect(message).toContain('%pm0');
  });
});

describe('time', () => {
  const endless: KernelLaunch = { functionName: 'endless', arguments: ['out'], buffers: { out: 8 } };

  it('an endless loop ends at the instruction budget, the same on any number of threads', async () => {
    const { status, message } = await fail('endless', { ...endless, options: { instructionsPerCta: 1_000_000 } });
    expect(status).toBe('timed-out');
    expect(message).toContain('more than 1,000,000 warp instructions');
  });

  it('an endless loop ends at the time limit, and the next launch works', async () => {
    const [device, module] = [devices[1]!, modules[1]!];
    for (let round = 0; round < 2; round++) {
      const outcome = await tryLaunch(device, module, { ...endless, options: { timeoutMs: 150 } });
      expect(outcome).toMatchObject({ ok: false, status: 'timed-out' });
      expect(outcome.ok ? '' : outcome.message).toContain('did not finish within 150 ms');
      const { contents } = await launchKernel(device, module, {
        functionName: 'fill',
        grid: 4,
        arguments: ['out', { i32: 3 }],
        buffers: { out: 512 },
      });
      expect(new Set(words(contents.out!))).toEqual(new Set([3]));
    }
  });

  it('a fault is reported although a later CTA never ends', async () => {
    const { status, fault } = await fail('fault_then_endless', {
      grid: 8,
      arguments: ['in', 'out', { i32: 100 }],
      buffers: { in: 32, out: 400 },
    });
    expect(status).toBe('unsafe');
    expect(fault).toMatchObject({ cta: [0, 0, 0], source: { line: lineOf('late fault') } });
  });
});

describe('code that cannot be loaded or launched', () => {
  it('text that is no PTX: the line', async () => {
    const outcome = await devices[0]!.load(
      ptxCode('.version 8.4\n.target sm_89\n.address_size 64\n.entry k() { mov.u32 %r0, 1; }'),
    );
    expect(outcome).toMatchObject({ ok: false, status: 'unsupported' });
    expect(outcome.ok ? '' : outcome.message).toContain('PTX line 4');
  });

  it('a cubin', async () => {
    const outcome = await devices[0]!.load({ ...code, kind: 'cubin' });
    expect(outcome).toMatchObject({ ok: false, status: 'unsupported' });
  });

  it('calls to functions that are not there', async () => {
    const text = moduleText('.extern .func missing;', entry({ body: 'call missing;' }));
    const { status, message } = await failureOf(devices[0]!, text, {});
    expect(status).toBe('unsupported');
    expect(message).toContain('missing');
  });
});
