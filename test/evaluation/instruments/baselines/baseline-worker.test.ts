import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { CompiledCode } from '../../../../src/core/compiled-code.ts';
import { UNSHARED } from '../../../../src/core/measuring-device.ts';
import { expandPlan } from '../../../../src/core/plan/expand-plan.ts';
import type { Workload } from '../../../../src/core/problem.ts';
import {
  BaselineWorker,
  type BaselineWorkerRequest,
} from '../../../../src/evaluation/instruments/baselines/baseline-worker.ts';
import type { Ring } from '../../../../src/evaluation/measure/contender.ts';
import { createExpectationCache } from '../../../../src/evaluation/oracle/expectation-cache.ts';
import { findExecutable } from '../../../../src/process/find-executable.ts';
import { isRunning } from '../../../process/processes.ts';
import { toyCandidate, toyProblem } from '../../../support/toy-problem.ts';

const fixtures = join(import.meta.dirname, 'fixtures');
const folder = join(fixtures, 'row-scale');
const workload: Workload = { name: 'small', dimensions: { R: 3, C: 17 }, cache: 'hot' };
const ring: Ring = {
  cache: 'hot',
  slotCount: 4,
  ringBytes: 0,
  sequencesPerReplay: 4,
  rereadsInputs: false,
  replaysPerSample: 2,
};

/** Of the inputs on which a library is checked. */
const SEED = 7;

const python = findExecutable('python3');
const workers: BaselineWorker[] = [];
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.close();
});

const start = async (changes: Partial<BaselineWorkerRequest> = {}): Promise<BaselineWorker> => {
  const worker = await BaselineWorker.start({
    problem: { ...toyProblem(), folder },
    oracle: createExpectationCache(),
    backendFile: join(fixtures, 'host_backend.py'),
    ...changes,
  });
  workers.push(worker);
  return worker;
};

const prepare = async (worker: BaselineWorker, name: string) => {
  const outcome = await worker.contender(name, workload, SEED);
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome;
};

describe.skipIf(!python)('a baseline worker', () => {
  let shared: BaselineWorker;
  beforeAll(async () => {
    shared = await start();
    workers.splice(0);
    return () => shared.close();
  });

  it('tells what it runs on and what baseline.py offers', async () => {
    expect(shared.versions).toEqual({ python: 'test', host: '1.0' });
    expect(shared.processIds).toHaveLength(1);
    const listed = await shared.list({ R: 3, C: 64 });
    if (!listed.ok) throw new Error(listed.reason);
    expect(listed.baselines).toContainEqual({ name: 'returns', title: 'returns', unsupported: null });
    expect(listed.baselines).toContainEqual({
      name: 'small-only',
      title: 'small-only',
      unsupported: 'C = 64 is too long',
    });
  });

  it.each(['returns', 'writes', 'by-name', 'prints', 'small-only'])('times %s as the ring says', async (name) => {
    const { contender } = await prepare(shared, name);
    expect(contender).toMatchObject({ name, kind: 'library', slotBytes: 2 * (3 * 17 + 3 + 3 * 17) });
    expect(await contender.estimateNs()).toEqual({ ok: true, ns: 1000, eagerNs: 3000 });
    const opened = await contender.openBlock(ring, 11, true);
    if (!opened.ok) throw new Error(opened.reason);
    const { block } = opened;
    expect(block).toMatchObject({ replayOverheadNs: 500, inputs: 'drawn-on-device', checkedSlotCount: 0 });
    // The clock takes 500 ns a replay and 1000 ns a call: two replays of four calls, less two overheads, by eight.
    expect(await block.sample(1)).toEqual({ ok: true, ns: 1000 });
    expect(await block.sample(2)).toEqual({ ok: true, ns: 1000 });
    expect(await block.close()).toEqual({ ok: true });
    expect(block.checkedSlotCount).toBe(1);
  });

  it('prepares a baseline once and names the kernels that ran', async () => {
    const first = await prepare(shared, 'returns');
    expect(await prepare(shared, 'returns')).toBe(first);
    expect(await first.describe()).toEqual({ versions: shared.versions, gpuKernels: ['host_kernel'] });
  });

  it('refuses outputs that are wrong, and says where', async () => {
    expect(await shared.contender('wrong', workload, SEED)).toMatchObject({
      ok: false,
      status: 'wrong',
      reason: expect.stringMatching(/^Y\[0, 0\] = .*; 51 of 51 elements wrong$/),
    });
  });

  it('refuses a call that is right when checked and wrong when timed', async () => {
    const { contender } = await prepare(shared, 'wrong-later');
    const opened = await contender.openBlock(ring, 3, true);
    if (!opened.ok) throw new Error(opened.reason);
    expect(await opened.block.sample(1)).toMatchObject({ ok: true });
    expect(await opened.block.close()).toMatchObject({
      ok: false,
      status: 'wrong',
      reason: expect.stringContaining('right when checked, wrong when timed'),
    });
  });

  it.each([
    ['wrong-dtype', 'invalid', /output 'Y' came back as f32/],
    ['raises', 'invalid', /make failed: ValueError: no such thing \(line \d+\)/],
    ['refuses', 'unsupported', /not on this device/],
    ['no-such', 'invalid', /has no baseline 'no-such'; it has: returns, writes/],
  ])('%s is %s', async (name, status, reason) => {
    expect(await shared.contender(name, workload, SEED)).toMatchObject({
      ok: false,
      status,
      reason: expect.stringMatching(reason),
    });
  });

  it('says which shapes a baseline does not take', async () => {
    const long: Workload = { ...workload, dimensions: { R: 2, C: 64 } };
    const outcome = await shared.contender('small-only', long, SEED);
    expect(outcome).toEqual({ ok: false, status: 'unsupported', reason: 'C = 64 is too long' });
  });

  it('launches a kernel of ours under its symbol, timed like a library call', async () => {
    const problem = toyProblem();
    const { kernel } = toyCandidate();
    const { dimensions } = workload;
    const plan = expandPlan({
      problem: problem.file,
      kernel: kernel.file,
      parameters: {},
      dimensions,
      device: { smCount: 1 },
    });
    const code: CompiledCode = {
      kind: 'ptx',
      text: '.entry _Z6kernel',
      architecture: 'sm_90',
      compiler: { name: 'test', version: '1' },
      functionSymbols: { kernel: '_Z6kernel' },
      key: '',
      diagnostics: [],
    };
    const prepared = await shared.kernelContender({ name: 'toy', code, plan }, workload, SEED);
    if (!prepared.ok) throw new Error(prepared.reason);
    expect(await prepared.contender.estimateNs()).toEqual({ ok: true, ns: 1000, eagerNs: 3000 });
  });

  it('sees the one GPU that candidates are measured on', async () => {
    const worker = await start({ gpu: { uuid: 'GPU-0000abcd-0000-1111-2222-333344445555', use: UNSHARED } });
    expect(worker.versions.gpuUuid).toBe('GPU-0000abcd-0000-1111-2222-333344445555');
  });

  it('survives a crash once, with what was prepared before', async () => {
    const worker = await start();
    const { contender } = await prepare(worker, 'writes');
    const opened = await contender.openBlock(ring, 1, true);
    if (!opened.ok) throw new Error(opened.reason);
    const [pid] = worker.processIds;
    expect(await worker.contender('crashes', workload, SEED)).toMatchObject({
      ok: false,
      status: 'crashed',
      reason: expect.stringContaining('ended with exit code 7'),
    });
    expect(isRunning(pid!)).toBe(false);
    expect(await opened.block.sample(1)).toMatchObject({ ok: false, status: 'crashed' });
    expect(await contender.estimateNs()).toMatchObject({ ok: true, ns: 1000 });
    expect(worker.processIds).not.toEqual([pid]);
    expect(await worker.contender('crashes', workload, SEED)).toMatchObject({ ok: false, status: 'crashed' });
    expect(worker.processIds).toHaveLength(1); // Asked once, never again.
    expect(await worker.contender('crashes-too', workload, SEED)).toMatchObject({ ok: false, status: 'crashed' });
    expect(await contender.estimateNs()).toMatchObject({ ok: false, status: 'crashed' });
    expect(worker.processIds).toEqual([]);
  });

  it('ends a baseline that hangs', async () => {
    const worker = await start({ limits: { requestMs: 1000 } });
    const [pid] = worker.processIds;
    expect(await worker.contender('hangs', workload, SEED)).toMatchObject({
      ok: false,
      status: 'timed-out',
      reason: expect.stringContaining('no answer within 1 s'),
    });
    expect(isRunning(pid!)).toBe(false);
  });

  it('leaves nothing behind when closed', async () => {
    const worker = await start();
    const [pid] = worker.processIds;
    await worker.close();
    expect(isRunning(pid!)).toBe(false);
  });
});

describe('what is missing is said', () => {
  it('Python', async () => {
    await expect(start({ python: '/no/such/python3' })).rejects.toMatchObject({
      exitCode: 3,
      details: { code: 'python-missing', received: '/no/such/python3' },
    });
  });

  it('baseline.py', async () => {
    await expect(start({ problem: { ...toyProblem(), folder: fixtures } })).rejects.toMatchObject({
      details: { code: 'no-baselines', file: join(fixtures, 'baseline.py') },
    });
  });

  it.skipIf(!python)('PyTorch', async () => {
    // -S and -I would be needed to hide an installed one for sure; a folder that shadows it does the same.
    process.env.PYTHONPATH = join(fixtures, 'no-torch');
    try {
      const problem = { ...toyProblem(), folder };
      const starting = BaselineWorker.start({ problem, oracle: createExpectationCache() });
      await expect(starting).rejects.toMatchObject({
        exitCode: 3,
        message: expect.stringMatching(/PyTorch can't be imported by Python 3.*WARPSMITH_PYTHON/s),
        details: { code: 'baselines-unavailable' },
      });
    } finally {
      delete process.env.PYTHONPATH;
    }
  });

  it.skipIf(!python)('a baseline.py that is broken', async () => {
    const problem = { ...toyProblem(), folder: join(fixtures, 'broken') };
    await expect(start({ problem })).rejects.toMatchObject({
      message: expect.stringMatching(/baseline\.py can't be loaded: NameError: .*nothing.* \(line 3\)/),
    });
  });
});
