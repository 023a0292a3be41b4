import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadKernelTarget } from '../../src/app/target.ts';
import { chooseWorkload } from '../../src/app/workload.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Evaluation, EvaluationRequest, Evaluator } from '../../src/core/evaluation.ts';
import { refusingUnreached } from '../../src/core/unreached.ts';
import { openVirtualDevice } from '../../src/devices/open-device.ts';
import { createLiveEvaluator } from '../../src/evaluation/live-evaluator.ts';
import { createWatchingEvaluator } from '../../src/evaluation/watch.ts';
import { H200 } from '../../src/hardware/specs/h200.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { smallRowSum } from '../support/small-row-sum.ts';
import { toyCandidate, toyProblem, toyWorkload } from '../support/toy-problem.ts';

const ELAPSED = { compile: 1, verify: 1, time: 1, total: 3 };
const COVERAGE = {
  ...{ checkShapes: 1, excludedShapes: [], drawnShapes: [], generatorSets: [], leftOut: [], fixedDimensions: [] },
  timedShapeOnly: false,
};

/** Passes everything that it is asked, as a GPU does whose checks meet no mistake. */
const evaluation = (more: Partial<Evaluation> = {}): Evaluation => ({
  ...{ schemaVersion: 1, id: 'e0', status: 'passed', findings: [], coverage: COVERAGE, elapsedMs: ELAPSED },
  candidate: { id: 'c', kernel: 'k', folder: 'f', parameters: {} },
  device: { id: 'cuda:0', kind: 'cuda', name: 'a GPU' },
  workload: { name: 'main', dimensions: {} },
  ...more,
});
const answering = (more: Partial<Evaluation> = {}): Evaluator & { asked: EvaluationRequest[] } => {
  const asked: EvaluationRequest[] = [];
  return {
    asked,
    async evaluate(request) {
      asked.push(request);
      return evaluation(more);
    },
    async close() {},
  };
};
const VIRTUAL = { id: 'virtual:h200', kind: 'virtual', name: 'virtual' } as const;
const toy: EvaluationRequest = {
  ...{
    problem: toyProblem(),
    candidate: toyCandidate(),
    workload: toyWorkload,
    seed: 1,
    tier: 'accept',
    watched: true,
  },
};

describe('a kernel with a condition that no check meets', () => {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-watched-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const target = join(smallRowSum(folder), '01_thread_per_row');
  const source = join(target, 'kernel.cu');
  const planted = '  if (rows == 3 && columns > 50000) sum *= 2.0f;\n  y[row] = sum;';
  writeFileSync(source, readFileSync(source, 'utf8').replace('  y[row] = sum;', planted));

  it('is unverified on a GPU, because a virtual one of its kind sees the condition', async () => {
    const { kernel, problem } = await loadKernelTarget(target);
    const candidate = makeCandidate(kernel, {});
    const request = { problem, candidate, workload: chooseWorkload(problem.file, undefined, undefined), seed: 3 };
    const device = openVirtualDevice(H200, { threads: 1 });
    const toolchain = await createClangToolchain({});
    const evaluator = createWatchingEvaluator(answering(), async () => createLiveEvaluator({ device, toolchain }));
    try {
      const found = await evaluator.evaluate({ ...request, watched: true });
      expect(found.coverage?.conditions?.seenOn).toBe('virtual:h200');
      expect(found.elapsedMs.verify).toBeGreaterThan(ELAPSED.verify);
      const judged = refusingUnreached(found);
      expect(judged).toMatchObject({ status: 'unverified', device: { id: 'cuda:0' } });
      expect(judged.reason).toContain('`if (rows == 3 && columns > 50000) sum *= 2.0f;` was never true');
      expect(await evaluator.evaluate(request)).toEqual(evaluation());
    } finally {
      await evaluator.close();
      await device.close();
      await toolchain.close?.();
    }
  });
});

it('what a virtual GPU finds wrong is wrong, without a time', async () => {
  const timing = { kind: 'measured', medianNs: 5 } as Evaluation['timing'];
  const seen = answering({ device: VIRTUAL, status: 'unsafe', reason: 'a race', failedCheck: 'R=1' });
  const found = await createWatchingEvaluator(answering({ timing }), async () => seen).evaluate(toy);
  expect(found).toMatchObject({
    ...{ status: 'unsafe', reason: 'on virtual:h200, which judged it, too: a race', failedCheck: 'R=1' },
    device: { id: 'cuda:0' },
  });
  expect(found.timing).toBeUndefined();
});

it('a kernel that a virtual GPU does not run is unverified; where there is none, that is said and nothing more', async () => {
  const seen = answering({ device: VIRTUAL, status: 'unsupported', reason: 'tcgen05', coverage: undefined });
  const strange = await createWatchingEvaluator(answering(), async () => seen).evaluate(toy);
  expect(strange.status).toBe('passed');
  expect(refusingUnreached(strange)).toMatchObject({
    status: 'unverified',
    reason: expect.stringMatching(
      /^which ways the source's conditions go: virtual:h200 says unsupported: tcgen05, so /,
    ),
  });
  const alone = await createWatchingEvaluator(answering(), async () => 'No compiler was found.').evaluate(toy);
  expect(refusingUnreached(alone).status).toBe('passed');
  expect(alone.coverage?.leftOut).toEqual([
    { check: "which ways the source's conditions go", reason: 'No compiler was found.' },
  ]);
});

it('it is asked for what it can judge, once for all measurements, and never about kernels that failed', async () => {
  const seen = answering({
    device: VIRTUAL,
    coverage: { ...COVERAGE, conditions: { count: 0, libraryDecisions: 0, oneWay: [] } },
  });
  const evaluator = createWatchingEvaluator(answering(), async () => seen);
  for (const request of [toy, { ...toy, tier: 'screen' } as const, { ...toy, seed: 2 }])
    await evaluator.evaluate(request);
  expect(seen.asked.map(({ seed }) => seed)).toEqual([1, 2]);
  expect(seen.asked[0]).toMatchObject({ thorough: true, sampleCtas: expect.any(Number) });
  expect(seen.asked[0]).not.toHaveProperty('tier');
  const failing = createWatchingEvaluator(answering({ status: 'wrong' }), async () => seen);
  expect(await failing.evaluate(toy)).toEqual(evaluation({ status: 'wrong' }));
  expect(seen.asked).toHaveLength(2);
});

describe('what only racecheck reported, of a kernel whose barriers it loses track of', () => {
  const doubt = { reason: 'partial-barriers' } as const;
  const sanitizer = { outcome: 'errors' as const, version: null, tools: [], doubt };
  const unwatched = { ...toy, watched: false };
  const conditions = { count: 0, libraryDecisions: 0, oneWay: [] };
  const judgedBy = (seen: Partial<Evaluation>) => {
    const virtual = answering({ device: VIRTUAL, coverage: { ...COVERAGE, conditions }, ...seen });
    const evaluator = createWatchingEvaluator(answering({ sanitizer }), async () => virtual);
    return { virtual, evaluator };
  };

  it('is followed by a race checker in the usual checks; if that finds none, this is noted beside it', async () => {
    const { virtual, evaluator } = judgedBy({});
    const found = await evaluator.evaluate(unwatched);
    expect(virtual.asked).toMatchObject([{ thorough: false }]);
    expect(found.sanitizer).toEqual({ ...sanitizer, doubt: { ...doubt, clearedBy: 'virtual:h200' } });
    expect(found.coverage).toEqual(COVERAGE);
  });

  it('is unsafe if the race checker finds one', async () => {
    const { evaluator } = judgedBy({ status: 'unsafe', reason: 'a race' });
    expect(await evaluator.evaluate(unwatched)).toMatchObject({
      status: 'unsafe',
      reason: 'on virtual:h200, which judged it, too: a race',
    });
  });

  it('stays as it is where the kernel does not run there, or there is no virtual GPU', async () => {
    const { evaluator } = judgedBy({ status: 'unsupported', reason: 'tcgen05', coverage: undefined });
    const uncleared = 'virtual:h200 says unsupported: tcgen05';
    const stays = await evaluator.evaluate(unwatched);
    expect(stays).toMatchObject({ status: 'passed', sanitizer: { outcome: 'errors', doubt: { ...doubt, uncleared } } });
    const alone = createWatchingEvaluator(answering({ sanitizer }), async () => 'No compiler was found.');
    const told = await alone.evaluate(unwatched);
    expect(told.sanitizer?.doubt).toEqual({ ...doubt, uncleared: 'No compiler was found.' });
  });

  it('needs no second look where the candidate is watched anyway', async () => {
    const { virtual, evaluator } = judgedBy({});
    const found = await evaluator.evaluate(toy);
    expect(virtual.asked).toMatchObject([{ thorough: true }]);
    expect(found.sanitizer?.doubt?.clearedBy).toBe('virtual:h200');
    expect(found.coverage?.conditions?.seenOn).toBe('virtual:h200');
  });
});
