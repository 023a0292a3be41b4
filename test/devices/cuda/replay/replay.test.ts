import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CompiledCode } from '../../../../src/core/compiled-code.ts';
import type { DeviceFailure } from '../../../../src/core/device-values.ts';
import type { LaunchPlan } from '../../../../src/core/launch-plan.ts';
import { type ReplayContext, replay } from '../../../../src/devices/cuda/replay/replay.ts';
import { prepareReplay } from '../../../../src/devices/cuda/replay/replay-command.ts';
import { type ReplayRequest, readRequest } from '../../../../src/devices/cuda/replay/replay-request.ts';

const CODE: CompiledCode = {
  kind: 'ptx',
  text: '',
  architecture: 'sm_90a',
  compiler: { name: 'c', version: '1' },
  functionSymbols: {},
  key: 'k',
  diagnostics: [],
};
const shape = { dtype: 'u8', shape: [4], strides: [1], bytes: 4, alignmentBytes: 2 } as const;
const PLAN: LaunchPlan = {
  buffers: [
    { ...shape, name: 'in', role: 'in' },
    { ...shape, name: 'both', role: 'inout' },
    { ...shape, name: 'out', role: 'out' },
    { ...shape, name: 'scratch', role: 'workspace', init: 'undefined' },
    { ...shape, name: 'zeroed', role: 'workspace', init: 'zero' },
    { ...shape, name: 'kept', role: 'workspace', init: 'once' },
  ],
  steps: [
    {
      kind: 'launch',
      functionName: 'f',
      grid: [1, 1, 1],
      block: [32, 1, 1],
      dynamicSharedBytes: 0,
      cooperative: false,
      programmaticDependent: false,
      arguments: [{ kind: 'bytes', bytes: Uint8Array.of(1, 2, 3), alignmentBytes: 1 }],
    },
  ],
};
const CONTENTS = new Map([
  ['in', Uint8Array.of(1, 2, 3, 4)],
  ['both', Uint8Array.of(5, 6, 7, 8)],
]);
const request = (changes: Partial<ReplayRequest> = {}): ReplayRequest => ({
  ordinal: 0,
  code: CODE,
  runs: [{ name: 'a', plan: PLAN, contents: CONTENTS }],
  exactAllocations: true,
  leaveUnwritten: true,
  repeatCount: 1,
  readOutputs: true,
  timeoutMs: 1000,
  ...changes,
});

const UNWRITTEN = 0xcd;

/** A context whose kernel adds one to every byte of every buffer; it notes what each launch found. */
function fakeContext(failAt = Number.POSITIVE_INFINITY) {
  const memory = new Map<object, Uint8Array>();
  const found: Record<string, number[]>[] = [];
  const allocations: { name: string; minimumAlignment: boolean }[] = [];
  const context: ReplayContext = {
    load: (code) => ({ ok: true, module: { code } }),
    allocate: ({ name, bytes, minimumAlignment }) => {
      const buffer = { name, bytes };
      memory.set(buffer, new Uint8Array(bytes).fill(UNWRITTEN));
      allocations.push({ name, minimumAlignment });
      return buffer;
    },
    free: (buffer) => void memory.delete(buffer),
    write: (buffer, bytes) => memory.get(buffer)!.set(bytes),
    fill: (buffer, pattern) => void memory.get(buffer)!.fill(pattern[0]!),
    read: (buffer) => memory.get(buffer)!.slice(),
    run: (_module, _plan, buffers): { ok: true } | DeviceFailure => {
      found.push(Object.fromEntries([...buffers].map(([name, buffer]) => [name, [...memory.get(buffer)!]])));
      if (found.length >= failAt) return { ok: false, status: 'launch-failed', message: 'illegal address' };
      for (const [name, buffer] of buffers) {
        if (name !== 'in')
          memory.set(
            buffer,
            memory.get(buffer)!.map((byte) => byte + 1),
          );
      }
      return { ok: true };
    },
  };
  return { context, found, memory, allocations };
}

describe('replay', () => {
  it('writes inputs and zeroes, and leaves outputs and workspaces as they are', async () => {
    const { context, found, memory } = fakeContext();
    const result = await replay(request(), context);
    expect(found).toEqual([
      {
        in: [1, 2, 3, 4],
        both: [5, 6, 7, 8],
        out: Array(4).fill(UNWRITTEN),
        scratch: Array(4).fill(UNWRITTEN),
        zeroed: [0, 0, 0, 0],
        kept: [0, 0, 0, 0],
      },
    ]);
    expect(result.runs).toMatchObject([{ ok: true, name: 'a' }]);
    const [run] = result.runs;
    expect(run?.ok && [...run.outputs]).toEqual([
      ['both', Uint8Array.of(6, 7, 8, 9)],
      ['out', new Uint8Array(4).fill(UNWRITTEN + 1)],
    ]);
    expect(memory.size).toBe(0);
  });

  it('poisons what it is not told to leave', async () => {
    const { context, found } = fakeContext();
    await replay(request({ leaveUnwritten: false }), context);
    expect(found[0]).toMatchObject({ out: [255, 255, 255, 255], scratch: [255, 255, 255, 255], kept: [0, 0, 0, 0] });
  });

  it('restores before a repetition what must be as at first, and nothing else', async () => {
    const { context, found } = fakeContext();
    await replay(request({ repeatCount: 2 }), context);
    expect(found[1]).toMatchObject({ both: [5, 6, 7, 8], zeroed: [0, 0, 0, 0], kept: [1, 1, 1, 1] });
  });

  it('asks for the declared alignment where a run does', async () => {
    const { context, allocations } = fakeContext();
    const [run] = request().runs;
    await replay(request({ runs: [run!, { ...run!, minimumAlignment: true }] }), context);
    expect(allocations.map(({ minimumAlignment }) => minimumAlignment)).toEqual([
      ...Array(6).fill(false),
      ...Array(6).fill(true),
    ]);
  });

  it('stops at the first failure', async () => {
    const [run] = request().runs;
    const runs = ['a', 'b', 'c'].map((name) => ({ ...run!, name }));
    const result = await replay(request({ runs }), fakeContext(2).context);
    expect(result.runs).toMatchObject([
      { ok: true, name: 'a' },
      { ok: false, name: 'b', status: 'launch-failed', message: 'illegal address' },
    ]);
  });

  it('says when the code does not load', async () => {
    const context = {
      ...fakeContext().context,
      load: () => ({ ok: false, status: 'unsupported', message: 'no image' }),
    };
    expect(await replay(request(), context as ReplayContext)).toEqual({ runs: [], failure: 'no image' });
  });
});

describe('prepareReplay', () => {
  it('passes the whole request through a file, and a result back', () => {
    const folder = mkdtempSync(join(tmpdir(), 'replay-test-'));
    try {
      const wanted = request({ ordinal: 99 });
      const { command, environment, result } = prepareReplay(wanted, folder);
      expect(readRequest(command.at(-2)!)).toEqual(wanted);
      expect(result()).toBeUndefined();
      // The real process: there is no GPU 99, or no driver at all.
      execFileSync(command[0]!, command.slice(1), { env: { ...environment }, timeout: 20_000 });
      expect(result()).toEqual({ runs: [], failure: expect.stringMatching(/libcuda|cuda:99|driver/i) });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
