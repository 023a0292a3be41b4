import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CompiledCode } from '../../src/core/compiled-code.ts';
import type { Device, RunOutcome } from '../../src/core/device.ts';
import type { DeviceBuffer, LoadedModule } from '../../src/core/device-values.ts';
import type { LaunchPlan, PlannedArgument, PlannedStep } from '../../src/core/launch-plan.ts';
import { functionsIn } from '../support/launch/compile-cuda.ts';
import {
  DEFAULT_RUN_OPTIONS,
  type KernelLaunch,
  launchKernel,
  planLaunch,
  tryLaunch,
  words,
} from '../support/launch/launch-kernel.ts';

export interface ContractSubject {
  open(): Promise<Device>;
  /** Compiles CUDA C++ with the given `extern "C"` functions for the device. */
  compile(source: string, functions: readonly string[], device: Device): Promise<CompiledCode>;
}

/** What every device must do, whatever its kind: the one suite for virtual and real GPUs. */
export function describeDeviceContract(name: string, subject: ContractSubject): void {
  describe(`device contract: ${name}`, () => {
    let device: Device;
    let code: CompiledCode;
    let module: LoadedModule;

    beforeAll(async () => {
      const source = await readFile(join(import.meta.dirname, 'contract.cu'), 'utf8');
      device = await subject.open();
      code = await subject.compile(source, functionsIn(source), device);
      module = await load(device, code);
    });

    afterAll(() => device.close());

    const allocate = (bytes: number, alignmentBytes = 16, bufferName = 'x') =>
      device.allocate({ name: bufferName, bytes, alignmentBytes });

    describe('memory', () => {
      it('reads back what was written, as a copy', async () => {
        const buffer = await allocate(1000);
        expect([buffer.name, buffer.bytes]).toEqual(['x', 1000]);
        const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i & 255);
        await device.write(buffer, bytes);
        const copy = await device.read(buffer);
        expect(copy).toEqual(bytes);
        await device.write(buffer, Uint8Array.of(1, 2, 3), 997);
        expect((await device.read(buffer)).slice(995)).toEqual(Uint8Array.of(995 & 255, 996 & 255, 1, 2, 3));
        expect(copy).toEqual(bytes);
        await device.free(buffer);
      });

      it('fills with a repeated pattern, cut off at the end', async () => {
        const buffer = await allocate(11);
        await device.fill(buffer, Uint8Array.of(7));
        expect(await device.read(buffer)).toEqual(new Uint8Array(11).fill(7));
        await device.fill(buffer, Uint8Array.of(1, 2, 3, 4));
        expect([...(await device.read(buffer))]).toEqual([1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3]);
        await device.free(buffer);
      });

      it('keeps buffers and their guard zones apart', async () => {
        const buffers = await Promise.all([1, 17, 256, 4099].map((bytes, i) => allocate(bytes, 16, `b${i}`)));
        for (const [i, buffer] of buffers.entries()) await device.fill(buffer, Uint8Array.of(i + 1));
        for (const [i, buffer] of buffers.entries()) {
          expect(new Set(await device.read(buffer))).toEqual(new Set([i + 1]));
          expect(await device.damagedGuardBytes(buffer)).toBe(0);
        }
        for (const buffer of buffers) await device.free(buffer);
      });

      it('uses freed memory again', async () => {
        for (let round = 0; round < 50; round++) {
          const buffer = await allocate(8 << 20);
          await device.write(buffer, Uint8Array.of(round), (8 << 20) - 1);
          await device.free(buffer);
        }
      });

      it('refuses misuse with an exception', async () => {
        const buffer = await allocate(16);
        await expect(device.write(buffer, new Uint8Array(17))).rejects.toThrow();
        await expect(device.write(buffer, new Uint8Array(2), 15)).rejects.toThrow();
        await device.free(buffer);
        await expect(device.free(buffer)).rejects.toThrow();
        await expect(device.read(buffer)).rejects.toThrow();
      });
    });

    describe('places', () => {
      const addressOf = async (buffer: DeviceBuffer): Promise<bigint> => {
        const out = await allocate(8, 16, 'out');
        const plan: LaunchPlan = {
          buffers: [],
          steps: [planLaunch({ functionName: 'address_of', block: 1, arguments: [buffer.name, 'out'] })],
        };
        const slot = new Map([
          [buffer.name, buffer],
          ['out', out],
        ]);
        expect(await device.run(module, plan, slot, DEFAULT_RUN_OPTIONS)).toMatchObject({ ok: true });
        const bytes = new Uint8Array(await device.read(out));
        await device.free(out);
        return new BigUint64Array(bytes.buffer)[0]!;
      };

      it('are aligned to 256 bytes or more, or to no more than asked for', async () => {
        for (const alignmentBytes of [1, 2, 16, 256, 1024])
          for (const minimumAlignment of [false, true]) {
            const buffer = await device.allocate({ name: 'x', bytes: 1000, alignmentBytes, minimumAlignment });
            const address = await addressOf(buffer);
            const wanted = minimumAlignment ? alignmentBytes : Math.max(256, alignmentBytes);
            expect(address % BigInt(wanted)).toBe(0n);
            // An odd multiple of the alignment, and of nothing larger.
            if (minimumAlignment) expect(address & -address).toBe(BigInt(alignmentBytes));
            await device.fill(buffer, Uint8Array.of(1, 2, 3, 4));
            expect(await device.read(buffer)).toEqual(Uint8Array.from({ length: 1000 }, (_, i) => (i % 4) + 1));
            expect(await device.damagedGuardBytes(buffer)).toBe(0);
            await device.free(buffer);
          }
      });
    });

    describe('launches', () => {
      const launch = (functionName: string, rest: KernelLaunch) =>
        launchKernel(device, module, { ...rest, functionName });

      it('give threads and CTAs their indices, in three dimensions', async () => {
        const [grid, block] = [[3, 2, 2] as const, [5, 3, 2] as const];
        const { contents } = await launch('indices', {
          grid,
          block,
          arguments: ['out'],
          buffers: { out: 12 * 30 * 4 },
        });
        const wanted: number[] = [];
        for (let bz = 0; bz < 2; bz++)
          for (let by = 0; by < 2; by++)
            for (let bx = 0; bx < 3; bx++)
              for (let tz = 0; tz < 2; tz++)
                for (let ty = 0; ty < 3; ty++)
                  for (let tx = 0; tx < 5; tx++)
                    wanted.push(bx + 10 * by + 100 * bz + 1000 * tx + 10000 * ty + 100000 * tz);
        expect([...words(contents.out!)]).toEqual(wanted);
      });

      it('take scalars of every integer and floating-point type', async () => {
        const scalars = [
          ['i8', -100],
          ['u8', 200],
          ['i16', -30_000],
          ['u16', 60_000],
          ['i32', -2_000_000_000],
          ['u32', 4_000_000_000],
          ['i64', -(2 ** 40)],
          ['u64', 2 ** 52],
          ['f32', 0.5],
          ['f64', 0.1],
        ] as const;
        const { contents } = await launch('scalars', {
          block: 1,
          arguments: ['out', ...scalars.map(([dtype, value]): PlannedArgument => ({ kind: 'scalar', dtype, value }))],
          buffers: { out: 80 },
        });
        expect([...new Float64Array(contents.out!.buffer)]).toEqual(scalars.map(([, value]) => value));
      });

      it('take structs by value, laid out as in C', async () => {
        const bytes = new DataView(new ArrayBuffer(16));
        bytes.setFloat32(0, 2, true);
        bytes.setInt32(4, 3, true);
        bytes.setFloat64(8, 0.25, true);
        const { contents } = await launch('by_value', {
          block: 4,
          arguments: [{ kind: 'bytes', bytes: new Uint8Array(bytes.buffer), alignmentBytes: 8 }, 'in', 'out'],
          buffers: { in: Float32Array.from([0, 1, 2, 3, 4, 5, 6]), out: 32 },
        });
        expect([...new Float64Array(contents.out!.buffer)]).toEqual([6.25, 8.25, 10.25, 12.25]);
      });

      it('take arrays of pointers, pointers into a buffer, and null', async () => {
        const input = Int32Array.from({ length: 96 }, (_, i) => i);
        const targets = [0, 128, 256].map((offsetBytes) => ({ buffer: 'in', offsetBytes }));
        const sum = await launch('pointer_array', {
          arguments: [{ kind: 'pointers', targets }, { i32: 3 }, 'out'],
          buffers: { in: input, out: 128 },
        });
        expect([...words(sum.contents.out!)]).toEqual(Array.from({ length: 32 }, (_, t) => 3 * t + 96));
        const part = await launch('add_one', {
          arguments: [{ kind: 'buffer', buffer: 'in', offsetBytes: 40 }, 'out', { i32: 32 }],
          buffers: { in: input, out: 128 },
        });
        expect([...words(part.contents.out!)]).toEqual(Array.from({ length: 32 }, (_, t) => t + 11));
        for (const [argument, wanted] of [
          [{ kind: 'null' } as const, 1],
          ['out', 2],
        ] as const) {
          const { contents } = await launch('is_null', { block: 1, arguments: [argument, 'out'], buffers: { out: 4 } });
          expect([...words(contents.out!)]).toEqual([wanted]);
        }
      });

      it('give a kernel static and dynamic shared memory beside each other', async () => {
        const input = Int32Array.from({ length: 96 }, (_, i) => i * i);
        const { contents } = await launch('shared_memory', {
          block: 96,
          dynamicSharedBytes: 96 * 4,
          arguments: ['in', 'out'],
          buffers: { in: input, out: 96 * 4 },
        });
        const wanted = Array.from({ length: 96 }, (_, t) => (95 - t) ** 2 + 100 * ((t % 3) + 1));
        expect([...words(contents.out!)]).toEqual(wanted);
      });
    });

    describe('module variables', () => {
      it('start with their initial values and keep theirs from launch to launch, until the module is unloaded', async () => {
        for (let loads = 0; loads < 2; loads++) {
          const own = await load(device, code);
          for (let calls = 0; calls < 3; calls++) {
            const { contents } = await launchKernel(device, own, {
              functionName: 'variables',
              block: 1,
              arguments: ['out'],
              buffers: { out: 16 },
            });
            expect([...words(contents.out!)]).toEqual([calls, 7 + 10 * calls, 5 + calls, 4]);
          }
          await device.unload(own);
        }
      });
    });

    describe('sequences of steps', () => {
      it('run in order: memsets and launches, each seeing what the one before left', async () => {
        const step = (from: string, to: string): PlannedStep =>
          planLaunch({ functionName: 'add_one', grid: 2, arguments: [from, to, { i32: 40 }] });
        const steps: PlannedStep[] = [
          { kind: 'memset', buffer: 'a', byteValue: 1 },
          step('a', 'b'),
          step('b', 'a'),
          { kind: 'memset', buffer: 'b', byteValue: 0xff },
          step('b', 'c'),
        ];
        const { outcome, contents } = await run(steps, { a: 160, b: 160, c: 160 });
        expect(outcome.ok).toBe(true);
        expect(new Set(words(contents.a!))).toEqual(new Set([0x01010103]));
        expect(new Set(words(contents.b!))).toEqual(new Set([0xffffffff]));
        expect(new Set(words(contents.c!))).toEqual(new Set([0]));
      });

      it('copy parts of buffers, within one, too', async () => {
        const copy = (from: [string, number], to: [string, number], bytes: number): PlannedStep => ({
          kind: 'copy',
          from: { buffer: from[0], offsetBytes: from[1] },
          to: { buffer: to[0], offsetBytes: to[1] },
          bytes,
        });
        const steps: PlannedStep[] = [
          { kind: 'memset', buffer: 'a', byteValue: 1 },
          copy(['a', 0], ['b', 4], 8),
          planLaunch({ functionName: 'add_one', arguments: ['b', 'c', { i32: 4 }] }),
          copy(['c', 4], ['c', 0], 4),
        ];
        const { outcome, contents } = await run(steps, { a: 16, b: 16, c: 16 });
        expect(outcome.ok).toBe(true);
        expect([...words(contents.b!)]).toEqual([0, 0x01010101, 0x01010101, 0]);
        expect([...words(contents.c!)]).toEqual([0x01010102, 0x01010102, 0x01010102, 1]);
      });

      it('stop at the first step that fails', async () => {
        const steps: PlannedStep[] = [
          planLaunch({ functionName: 'nowhere', arguments: [] }),
          { kind: 'memset', buffer: 'a', byteValue: 9 },
        ];
        const { outcome, contents } = await run(steps, { a: 4 });
        expect(outcome.ok).toBe(false);
        expect([...words(contents.a!)]).toEqual([0]);
      });

      it('count one entry per launch, when asked to', async () => {
        const steps = [
          planLaunch({ functionName: 'add_one', arguments: ['a', 'b', { i32: 32 }] }),
          planLaunch({ functionName: 'add_one', grid: 2, arguments: ['b', 'a', { i32: 32 }] }),
        ];
        const plain = await run(steps, { a: 128, b: 128 });
        expect(plain.outcome).toMatchObject({ ok: true, counters: [] });
      });

      /** Runs steps on zeroed buffers. */
      async function run(
        steps: readonly PlannedStep[],
        sizes: Readonly<Record<string, number>>,
      ): Promise<{ outcome: RunOutcome; contents: Record<string, Uint8Array<ArrayBuffer>> }> {
        const buffers = new Map<string, DeviceBuffer>();
        for (const [bufferName, bytes] of Object.entries(sizes)) {
          buffers.set(bufferName, await allocate(bytes, 256, bufferName));
          await device.fill(buffers.get(bufferName)!, Uint8Array.of(0));
        }
        const plan: LaunchPlan = { buffers: [], steps };
        const outcome = await device.run(module, plan, buffers, DEFAULT_RUN_OPTIONS);
        const contents: Record<string, Uint8Array<ArrayBuffer>> = {};
        for (const [bufferName, buffer] of buffers) {
          contents[bufferName] = new Uint8Array(await device.read(buffer));
          await device.free(buffer);
        }
        return { outcome, contents };
      }
    });

    describe('refusals', () => {
      const refuse = async (functionName: string, rest: KernelLaunch) => {
        const outcome = await tryLaunch(device, module, { ...rest, functionName });
        if (outcome.ok) throw new Error(`${functionName} was launched`);
        return outcome;
      };
      const OUT = { arguments: ['out'], buffers: { out: 8192 } };

      it('a function the code does not have: which ones it has', async () => {
        const { status, message } = await refuse('indexes', OUT);
        expect(status).toBe('invalid');
        expect(message).toContain('indexes');
        expect(message).toContain('indices');
      });

      it('too few or too many arguments', async () => {
        for (const list of [['in'], ['in', 'out', { i32: 1 }, { i32: 2 }]]) {
          const { status, message } = await refuse('add_one', { arguments: list, buffers: { in: 128, out: 128 } });
          expect(status).toBe('invalid');
          expect(message).toContain('takes 3 parameters');
          expect(message).toContain(`passes ${list.length} arguments`);
        }
      });

      it('an argument of another size than the parameter', async () => {
        const list: PlannedArgument = { kind: 'scalar', dtype: 'i64', value: 4 };
        const { status, message } = await refuse('add_one', {
          arguments: ['in', 'out', list],
          buffers: { in: 128, out: 128 },
        });
        expect(status).toBe('invalid');
        expect(message).toContain('argument 2 of add_one has 8 bytes (scalar i64)');
        expect(message).toContain('4');
      });

      it('more threads than the device or the kernel allows', async () => {
        const limit = device.spec.maximumThreadsPerCta.value;
        const tooMany = await refuse('indices', { ...OUT, block: [limit / 2, 3, 1] });
        expect(tooMany.status).toBe('launch-failed');
        expect(tooMany.message).toContain(`${limit * 1.5} threads per CTA; at most ${limit}`);
        const bounded = await refuse('small_block', { ...OUT, block: 65 });
        expect(bounded.status).toBe('launch-failed');
        expect(bounded.message).toContain('65 threads per CTA; at most 64');
      });

      it('more shared memory than the device has: static, dynamic, and what is allowed', async () => {
        const allowed = device.spec.sharedBytesPerCta.value;
        const { status, message } = await refuse('big_static', { ...OUT, dynamicSharedBytes: allowed - 32768 + 4 });
        expect(status).toBe('launch-failed');
        expect(message).toContain(`${allowed + 4} bytes`);
        expect(message).toContain('32768 static');
        expect(message).toContain(`${allowed - 32768 + 4} dynamic`);
        expect(message).toContain(String(allowed));
        const fits = await tryLaunch(device, module, {
          ...OUT,
          functionName: 'big_static',
          dynamicSharedBytes: allowed - 32768,
        });
        expect(fits.ok).toBe(true);
      });

      it('grids and blocks out of range', async () => {
        for (const rest of [{ grid: [1, 65536, 1] as const }, { block: [1, 1, 65] as const }]) {
          const { status, message } = await refuse('indices', { ...OUT, ...rest });
          expect(status).toBe('launch-failed');
          expect(message).toMatch(/6553[56]|65/);
        }
      });
    });

    describe('kernels that do not end', () => {
      it('are stopped at the time limit, and the device goes on working', async () => {
        const stopped = await tryLaunch(device, module, {
          functionName: 'endless',
          block: 1,
          arguments: ['out'],
          buffers: { out: 4 },
          options: { timeoutMs: 200 },
        });
        expect(stopped).toMatchObject({ ok: false, status: 'timed-out' });
        const after = await load(device, code);
        const { contents } = await launchKernel(device, after, {
          functionName: 'add_one',
          arguments: ['in', 'out', { i32: 32 }],
          buffers: { in: 128, out: 128 },
        });
        expect(new Set(words(contents.out!))).toEqual(new Set([1]));
        await device.unload(after);
      });
    });
  });
}

async function load(device: Device, code: CompiledCode): Promise<LoadedModule> {
  const loaded = await device.load(code);
  if (!loaded.ok) throw new Error(`${loaded.status}: ${loaded.message}`);
  return loaded.module;
}
