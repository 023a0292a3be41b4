import { afterEach, describe, expect, it } from 'vitest';
import { type NvrtcLimits, NvrtcProcess } from '../../src/toolchains/nvrtc/nvrtc-process.ts';
import type { NvrtcProgram } from '../../src/toolchains/nvrtc/protocol.ts';
import { longTests } from '../support/sampling/matrix.ts';

const long = longTests(import.meta.filename, { oneIn: 3 });

const ENTRY = new URL('./fixtures/misbehaving-nvrtc.ts', import.meta.url);
const LIMITS: NvrtcLimits = { timeoutMs: 20_000, maximumMemoryBytes: 1 << 30 };
const program = (unit: string): NvrtcProgram => ({
  unit,
  unitName: 'unit.cu',
  headers: [],
  options: [],
  functions: [],
});

let nvrtc: NvrtcProcess;
afterEach(() => nvrtc.close());

const compile = (unit: string, limits: Partial<NvrtcLimits> = {}, signal?: AbortSignal) =>
  nvrtc.compile(program(unit), { ...LIMITS, ...limits }, signal);
const pidOf = async () => {
  const ended = await compile('good');
  return ended.end === 'finished' && ended.outcome.ok ? ended.outcome.symbols.pid : undefined;
};

describe('the NVRTC process', () => {
  it('stays warm between programs, and bytes arrive as bytes', async () => {
    nvrtc = new NvrtcProcess('library', ENTRY);
    expect(await nvrtc.describe(20_000)).toEqual({ version: '13.0', computeCapabilities: [90] });
    expect(await compile('good')).toMatchObject({ outcome: { ok: true, cubin: new Uint8Array([1, 2, 3]) } });
    expect(await pidOf()).toBe(await pidOf());
  });

  it('a crash costs it, not its parent; the next program gets a new one', async () => {
    nvrtc = new NvrtcProcess('library', ENTRY);
    const before = await pidOf();
    expect(await compile('crash')).toEqual({ end: 'crashed', how: 'SIGSEGV' });
    const after = await pidOf();
    expect(after).toMatch(/^\d+$/);
    expect(after).not.toBe(before);
  });

  long('a program that never ends is timed out', async () => {
    nvrtc = new NvrtcProcess('library', ENTRY);
    await nvrtc.describe(20_000);
    expect(await compile('hang', { timeoutMs: 300 })).toEqual({ end: 'timed-out' });
    expect(await pidOf()).toMatch(/^\d+$/);
  });

  long('memory is bounded', async () => {
    nvrtc = new NvrtcProcess('library', ENTRY);
    expect(await compile('grow', { maximumMemoryBytes: 300 << 20 })).toEqual({ end: 'memory-exceeded' });
    expect(await pidOf()).toMatch(/^\d+$/);
  });

  it('an abort ends the program at once with its reason, those that wait go on', async () => {
    nvrtc = new NvrtcProcess('library', ENTRY);
    await nvrtc.describe(20_000);
    const controller = new AbortController();
    const hanging = compile('hang', {}, controller.signal);
    const waiting = compile('good');
    setTimeout(() => controller.abort(new Error('stop')), 100);
    await expect(hanging).rejects.toThrow('stop');
    expect(await waiting).toMatchObject({ end: 'finished' });
  });

  long('a limit counts from when a program begins, not from when it waits', async () => {
    nvrtc = new NvrtcProcess('library', ENTRY);
    await nvrtc.describe(20_000);
    const [first, second] = await Promise.all([
      compile('hang', { timeoutMs: 400 }),
      compile('good', { timeoutMs: 10_000 }),
    ]);
    expect([first.end, second.end]).toEqual(['timed-out', 'finished']);
  });
});
