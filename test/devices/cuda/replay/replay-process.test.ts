import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { LaunchPlan, PlannedBuffer } from '../../../../src/core/launch-plan.ts';
import { prepareReplay } from '../../../../src/devices/cuda/replay/replay-command.ts';
import type { ReplayRequest, ReplayResult } from '../../../../src/devices/cuda/replay/replay-request.ts';
import { runProcess } from '../../../../src/process/run-process.ts';
import { planLaunch, ptxCode, words } from '../../../support/launch/launch-kernel.ts';
import { noStub, STUB_PTX, type StubCuda, useStubCuda } from '../../../support/stub-cuda/stub-cuda.ts';

const buffer = (name: string, role: 'in' | 'out'): PlannedBuffer => ({
  name,
  role,
  dtype: 'i32',
  shape: [32],
  strides: [1],
  bytes: 128,
  alignmentBytes: 4,
});
const planOf = (functionName: string, args: readonly (string | { i32: number })[] = []): LaunchPlan => ({
  buffers: [buffer('in', 'in'), buffer('out', 'out')],
  steps: [planLaunch({ functionName, arguments: args })],
});

describe.skipIf(noStub)(`the replay process over a stub driver${noStub ? ` (${noStub})` : ''}`, () => {
  let stub: StubCuda;
  let folder: string;
  beforeAll(() => {
    stub = useStubCuda();
  });
  afterAll(() => stub.close());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'replay-process-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const run = async (plan: LaunchPlan, changes: Partial<ReplayRequest> = {}): Promise<ReplayResult | undefined> => {
    const contents = new Map([['in', new Uint8Array(Int32Array.from({ length: 32 }, (_, i) => i).buffer)]]);
    const { command, environment, result } = prepareReplay(
      {
        ordinal: 0,
        code: ptxCode(STUB_PTX),
        runs: [
          { name: 'as allocated', plan, contents },
          { name: 'at the declared alignment', plan, contents, minimumAlignment: true },
        ],
        exactAllocations: true,
        leaveUnwritten: true,
        repeatCount: 1,
        readOutputs: true,
        timeoutMs: 10_000,
        ...changes,
      },
      folder,
    );
    const outcome = await runProcess({
      command: command[0]!,
      args: command.slice(1),
      cwd: folder,
      env: environment,
      timeoutMs: 20_000,
      maximumOutputBytes: 1 << 20,
    });
    expect(outcome).toMatchObject({ stdout: '', stderr: '' });
    return result();
  };

  it('runs the launches and returns the outputs, at either alignment', async () => {
    const result = await run(planOf('add_one', ['in', 'out', { i32: 32 }]));
    expect(result!.runs.map(({ ok, name }) => [ok, name])).toEqual([
      [true, 'as allocated'],
      [true, 'at the declared alignment'],
    ]);
    for (const outcome of result!.runs) {
      if (!outcome.ok) throw new Error(outcome.message);
      expect([...words(Uint8Array.from(outcome.outputs.get('out')!))]).toEqual(
        Array.from({ length: 32 }, (_, i) => i + 1),
      );
    }
  });

  it('reports a fault as the kernel’s and runs nothing after it', async () => {
    const result = await run(planOf('illegal'));
    expect(result!.runs).toMatchObject([{ ok: false, name: 'as allocated', status: 'unsafe' }]);
  });

  it('reports a kernel that does not load or is not there', async () => {
    const result = await run(planOf('nothing_of_that_name'));
    expect(result!.failure ?? result!.runs[0]).toBeTruthy();
    expect(result!.runs.every(({ ok }) => !ok)).toBe(true);
  });

  it('reports a GPU that is not there', async () =>
    expect(await run(planOf('add_one'), { ordinal: 7 })).toMatchObject({
      runs: [],
      failure: expect.stringContaining('cuda:7'),
    }));

  it('leaves no result when the kernel takes the process down', async () =>
    expect(await run(planOf('crash'))).toBeUndefined());
});
