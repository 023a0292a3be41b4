import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../../support/launch/compile-cuda.ts';
import { type KernelLaunch, loadCode, tryLaunch, words } from '../../support/launch/launch-kernel.ts';

const SOURCE = readFileSync(path.join(import.meta.dirname, 'kernels.cu'), 'utf8');
const x = Float32Array.from({ length: 1024 }, (_, i) => i / 2);

let devices: Device[];
let modules: LoadedModule[];

beforeAll(async () => {
  devices = await Promise.all([1, 3].map((threads) => openDevice('virtual:l4', { threads })));
  const code = await compileCuda(await createClangToolchain(), SOURCE, functionsIn(SOURCE));
  modules = await Promise.all(devices.map((device) => loadCode(device, code)));
});

afterAll(async () => {
  for (const device of devices ?? []) await device.close();
});

const launch = (functionName: string, on: number, more: Partial<KernelLaunch> = {}) =>
  tryLaunch(devices[on]!, modules[on]!, {
    ...{ functionName, grid: 16, block: 64, arguments: ['x', { i32: 1000 }], buffers: { x }, inputs: ['x'] },
    ...more,
  });

describe('what a kernel prints', () => {
  it.each([0, 1])('has CTA and thread, and ends after 40 lines (device %i)', async (on) => {
    const { printed } = await launch('lines', on);
    expect(printed!.lines).toHaveLength(40);
    expect(printed!.lines[1]).toEqual({
      ...{ step: 0, functionName: 'lines', cta: [0, 0, 0], thread: [1, 0, 0] },
      text: 'i=1 x=  0.50 odd 1099511627776%',
    });
    // Each of 1,000 threads prints a line, and one of each CTA another.
    expect(printed!.moreCalls).toBe(1000 + 16 - 40);
  });

  it('is that of the first CTAs in the order of the launch', async () => {
    const reordered = { options: { orderSeed: 7 } };
    const one = await launch('lines', 0, reordered);
    expect(one.printed!.lines[0]!.cta).not.toEqual([0, 0, 0]);
    expect((await launch('lines', 1, reordered)).printed).toEqual(one.printed);
  });

  it('counts the same with counters and while races are looked for', async () => {
    const plain = await launch('lines', 0);
    for (const options of [{ count: true }, { findRaces: true }])
      expect((await launch('lines', 0, { options })).printed).toEqual(plain.printed);
  });

  it('is put together by thread, without characters that move a cursor', async () => {
    const { printed } = await launch('pieces', 0, { grid: 1, block: 2 });
    expect(printed!.lines.map(({ thread, text }) => [thread[0], text])).toEqual([
      [0, '0 0.5 1 end'],
      [0, 'second \\x1b[2J'],
      [1, '0 0.5 1 '],
    ]);
    expect(printed!.moreCalls).toBe(0);
  });

  it('is -1 without a format', async () => {
    const outcome = await launch('without_format', 0, { grid: 1, block: 1, arguments: ['y'], buffers: { y: 4 } });
    expect(outcome.ok && words(outcome.contents.y!)[0]).toBe(0xffffffff);
  });

  it('takes of a text no more than the precision says', async () => {
    const four = new TextEncoder().encode('text');
    const outcome = await launch('bounded', 0, { grid: 1, block: 1, arguments: ['four'], buffers: { four } });
    expect(outcome.printed?.lines[0]?.text).toBe('text|xt');
  });

  it.each([0, 1])('is nothing before a fault of the first CTA (device %i)', async (on) => {
    const outcome = await launch('stops_first', on);
    expect(outcome).toMatchObject({ ok: false, status: 'crashed', fault: { cta: [0, 0, 0] } });
    expect(outcome.printed).toBeUndefined();
  });

  it('is a fault where a text lies nowhere', async () => {
    const outcome = await launch('wrong_text', 0, { grid: 1 });
    expect(outcome).toMatchObject({ ok: false, status: 'unsafe' });
  });
});

describe('a failed assertion', () => {
  it.each([0, 1])('prints what CUDA says, after what was printed (device %i)', async (on) => {
    const outcome = await launch('asserts', on, { grid: 4, block: 16 });
    expect(outcome).toMatchObject({ ok: false, status: 'crashed', printed: { lines: expect.any(Array) } });
    const { lines, moreCalls } = outcome.printed!;
    expect(lines).toHaveLength(16 + 1);
    expect(moreCalls).toBeUndefined();
    expect(lines.find(({ text }) => text !== 'before')).toMatchObject({
      ...{ cta: [0, 0, 0], thread: [6, 0, 0] },
      text:
        'kernels.cu:30: void asserts(const float *, int): block: [0,0,0], thread: [6,0,0] ' +
        'Assertion `x[threadIdx.x] < 3.0f && "too large"` failed.',
    });
  });

  it('has a message with nothing that the kernel chose, since its author reads it', async () => {
    const outcome = await launch('asserts', 0, { grid: 4, block: 16 });
    expect(outcome.ok || outcome.message).toBe(
      'asserts: an assertion failed in CTA (0, 0, 0) thread (6, 0, 0) at kernels.cu:30',
    );
  });
});
