import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Workload } from '../../../../src/core/problem.ts';
import { BaselineWorker } from '../../../../src/evaluation/instruments/baselines/baseline-worker.ts';
import { createExpectationCache } from '../../../../src/evaluation/oracle/expectation-cache.ts';
import { findExecutable } from '../../../../src/process/find-executable.ts';
import { runProcess } from '../../../../src/process/run-process.ts';
import { attentionProblem, attentionShape } from '../../../support/attention-problem.ts';

const python = process.env.WARPSMITH_PYTHON ?? findExecutable('python3');

const hasTorch = async (): Promise<boolean> => {
  if (!python) return false;
  const program = 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)';
  const request = { command: python, args: ['-c', program], cwd: '/', timeoutMs: 20_000, maximumOutputBytes: 1000 };
  return (await runProcess(request)).exitCode === 0;
};

const start = (backend: string): Promise<BaselineWorker> =>
  BaselineWorker.start({
    problem: attentionProblem(),
    oracle: createExpectationCache(),
    backendFile: join(import.meta.dirname, 'fixtures', backend),
  });

/** Of the inputs on which a library is checked. */
const SEED = 3;

const NAMES = ['sdpa', 'sdpa-flash', 'sdpa-efficient', 'sdpa-cudnn', 'sdpa-math', 'matmul-softmax-matmul'];

it.skipIf(!python)('attention lists every SDPA backend without PyTorch', async () => {
  const worker = await start('host_backend.py');
  try {
    const listed = await worker.list(attentionShape({ B: 1, H: 1, S: 32, D: 64, causal: 0 }));
    expect(listed.ok && listed.baselines.map(({ name }) => name)).toEqual(NAMES);
  } finally {
    await worker.close();
  }
});

it.skipIf(!python)('attention lists FlashAttention-3 where a built library is named', async () => {
  vi.stubEnv('WARPSMITH_FA3', '/somewhere/_C.so');
  const worker = await start('host_backend.py');
  try {
    const listed = await worker.list(attentionShape({ B: 1, H: 1, S: 32, D: 64, causal: 0 }));
    expect(listed.ok && listed.baselines.map(({ name }) => name)).toContain('fa3');
  } finally {
    await worker.close();
    vi.unstubAllEnvs();
  }
});

// The real PyTorch where the Python at hand has one; graphs and clocks need a GPU.
describe.skipIf(!(await hasTorch()))('attention with PyTorch on the CPU', () => {
  let worker: BaselineWorker;
  beforeAll(async () => {
    worker = await start('torch_on_cpu.py');
  });
  afterAll(() => worker.close());

  describe.each([0, 1])('causal = %i', (causal) => {
    const workload: Workload = { name: 'test', dimensions: { B: 1, H: 2, S: 130, D: 64, causal }, cache: 'hot' };

    it.each(['sdpa', 'sdpa-math', 'matmul-softmax-matmul'])('%s computes what the oracle wants', async (name) => {
      const prepared = await worker.contender(name, workload, SEED);
      if (!prepared.ok) throw new Error(prepared.reason);
      const ring = {
        cache: 'cold',
        slotCount: 3,
        ringBytes: 0,
        sequencesPerReplay: 3,
        rereadsInputs: true,
        replaysPerSample: 2,
      } as const;
      const opened = await prepared.contender.openBlock(ring, 9, true);
      if (!opened.ok) throw new Error(opened.reason);
      expect(await opened.block.sample(1)).toEqual({ ok: true, ns: 1000 });
      expect(await opened.block.close()).toEqual({ ok: true });
      expect(opened.block.checkedSlotCount).toBe(1);
    });

    it('refuses a backend that is not there instead of falling back', async () => {
      expect(await worker.contender('sdpa-cudnn', workload, SEED)).toEqual({
        ok: false,
        status: 'unsupported',
        reason: expect.stringMatching(/^PyTorch has no CUDNN_ATTENTION kernel for this shape/),
      });
    });
  });
});
