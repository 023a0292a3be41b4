import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Evaluation, EvaluationRequest, Evaluator } from '../../../src/core/evaluation.ts';
import { createRepeatingEvaluator, type RepeatContext, seedKey } from '../../../src/evaluation/recording/repeat.ts';
import { openRepeatStore } from '../../../src/store/repeats.ts';
import { toyCandidate, toyProblem, toyWorkload } from '../../support/toy-problem.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-repeats-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const problem = toyProblem();
const request: EvaluationRequest = {
  problem,
  candidate: toyCandidate({}, {}),
  workload: toyWorkload,
  seed: 7,
  id: 'e3',
};

/** Counts what it is asked, and says so in the reason. */
const counting = (outcome: Partial<Evaluation> = {}): Evaluator & { count: number } => ({
  count: 0,
  async evaluate({ candidate, workload, id = 'e0', seed }) {
    this.count += 1;
    return {
      schemaVersion: 1,
      id,
      candidate: { id: candidate.id, kernel: 'toy', folder: candidate.kernel.folder, parameters: {} },
      device: { id: 'virtual:fake', kind: 'virtual', name: 'Fake' },
      workload: { name: workload.name, dimensions: workload.dimensions },
      seed,
      status: 'passed',
      findings: [],
      elapsedMs: { compile: 1, verify: 2, time: 3, total: 6 },
      ...outcome,
    };
  },
  close: async () => {},
});

const context = (changes: Partial<RepeatContext> = {}): RepeatContext => ({
  store: openRepeatStore(join(folder, 'repeats'), { now: () => new Date('2025-11-20T18:41:03Z') }),
  evaluatorDigest: 'evaluator',
  problemDigest: () => 'files',
  isFresh: false,
  ...changes,
});

/** Whether the second of two requests was answered from the first. */
const isRepeated = async (
  first: EvaluationRequest,
  second: EvaluationRequest,
  contexts: { first?: Partial<RepeatContext>; second?: Partial<RepeatContext>; outcome?: Partial<Evaluation> } = {},
): Promise<boolean> => {
  const inner = counting(contexts.outcome);
  rmSync(join(folder, 'repeats'), { recursive: true, force: true });
  await createRepeatingEvaluator(inner, context(contexts.first)).evaluate(first);
  const again = await createRepeatingEvaluator(inner, context(contexts.second)).evaluate(second);
  expect(again.repeated !== undefined).toBe(inner.count === 1);
  return inner.count === 1;
};

describe('a repeated evaluation', () => {
  it('is what was found before, says so and when, and carries the names of the request', async () => {
    const wrong = {
      output: 'Y',
      index: [0],
      got: Number.NaN,
      want: Number.NEGATIVE_INFINITY,
      tolerance: 1,
      wrongCount: 1,
      elementCount: 2,
    };
    const inner = counting({
      status: 'wrong',
      reason: `toy/01/kernel.cu is wrong`,
      correctness: { maxAbsoluteError: null, tolerance: 1, checksRun: 1, firstWrong: wrong },
    });
    const evaluator = createRepeatingEvaluator(inner, context());
    const first = await evaluator.evaluate(request);
    const moved = { ...request.candidate, kernel: { ...request.candidate.kernel, folder: 'elsewhere/01' } };
    const second = await evaluator.evaluate({
      ...request,
      candidate: moved,
      id: 'e9',
      workload: { ...toyWorkload, name: 'R=16,C=64' },
    });
    expect(inner.count).toBe(1);
    expect(second).toMatchObject({
      id: 'e9',
      status: 'wrong',
      seed: 7,
      reason: 'elsewhere/01/kernel.cu is wrong',
      candidate: { folder: 'elsewhere/01' },
      workload: { name: 'R=16,C=64' },
      repeated: { evaluatedAt: '2025-11-20T18:41:03.000Z', elapsedMs: 6 },
      elapsedMs: { compile: 0, verify: 0, time: 0 },
    });
    expect(second.correctness).toEqual(first.correctness);
  });

  it('is asked for by what decides an evaluation, and by nothing else', async () => {
    expect(await isRepeated(request, request)).toBe(true);
    expect(await isRepeated(request, { ...request, id: 'e1', tier: 'accept', profile: 'full', sanitize: true })).toBe(
      true,
    );
    const beside = { against: [{ name: 'best', candidate: toyCandidate() }], blocks: 3 };
    expect(await isRepeated(request, { ...request, ...beside })).toBe(true);
  });

  const kernel = request.candidate.kernel;
  const withKernel = (changes: object) => ({
    ...request,
    candidate: { ...request.candidate, kernel: { ...kernel, ...changes } },
  });
  const OTHERS: Readonly<Record<string, EvaluationRequest>> = {
    'the source': withKernel({ sources: { 'kernel.cu': '//' } }),
    'the name of a source': withKernel({ sources: { 'other.cu': '' } }),
    'kernel.json': withKernel({ file: { ...kernel.file, steps: [] } }),
    'a parameter': { ...request, candidate: { ...request.candidate, parameters: { N: 1 } } },
    'problem.json': { ...request, problem: toyProblem({ determinism: 'none' } as never) },
    'the dimensions': { ...request, workload: { ...toyWorkload, dimensions: { R: 16, C: 65 } } },
    'the cache': { ...request, workload: { ...toyWorkload, cache: 'cold' } },
    'the seed': { ...request, seed: 8 },
    'how thoroughly': { ...request, thorough: true },
  };
  it.each(Object.entries(OTHERS))('is not given where %s differs', async (_what, other) => {
    expect(await isRepeated(request, other)).toBe(false);
  });

  it('is not given to a kernel that was made to share the short id of another', async () => {
    const { id } = request.candidate;
    expect(
      await isRepeated(request, {
        ...request,
        candidate: { ...request.candidate, id, kernel: { ...kernel, sources: { 'kernel.cu': 'wrong' } } },
      }),
    ).toBe(false);
  });

  it('is not given where the problem’s files, warpsmith, the device or the compiler differ', async () => {
    expect(await isRepeated(request, request, { second: { problemDigest: () => 'others' } })).toBe(false);
    expect(await isRepeated(request, request, { second: { evaluatorDigest: 'newer' } })).toBe(false);
  });

  it('is not given to what is only counted, nor kept of it', async () => {
    const passedBefore = {
      correctness: { maxAbsoluteError: 0, tolerance: 1, checksRun: 1 },
      coverage: {} as never,
    };
    expect(await isRepeated(request, { ...request, passedBefore })).toBe(false);
    expect(await isRepeated({ ...request, passedBefore }, request)).toBe(false);
  });

  it('is evaluated again where it is to be fresh, and that is kept', async () => {
    const inner = counting();
    await createRepeatingEvaluator(inner, context()).evaluate(request);
    const later = openRepeatStore(join(folder, 'repeats'), { now: () => new Date('2025-11-21T00:00:00Z') });
    const fresh = await createRepeatingEvaluator(inner, context({ isFresh: true, store: later })).evaluate(request);
    expect(fresh.repeated).toBeUndefined();
    const third = await createRepeatingEvaluator(inner, context()).evaluate(request);
    expect(third.repeated?.evaluatedAt).toBe('2025-11-21T00:00:00.000Z');
    expect(inner.count).toBe(2);
  });

  it.each(['timed-out', 'crashed', 'launch-failed', 'unsupported', 'device-failed', 'compile-failed'] as const)(
    'is not made of what ended as %s, which may be the machine’s fault',
    async (status) => {
      expect(await isRepeated(request, request, { outcome: { status } })).toBe(false);
    },
  );

  it('is not made of an evaluation that left out a check because the machine was too small or too slow', async () => {
    const leftOut = (code?: string) => ({
      coverage: {
        checkShapes: 1,
        excludedShapes: [],
        drawnShapes: [],
        generatorSets: [],
        fixedDimensions: [],
        timedShapeOnly: false,
        leftOut: [{ check: 'R=3', reason: 'why', code }],
      },
    });
    expect(await isRepeated(request, request, { outcome: leftOut('reference-timed-out') })).toBe(false);
    expect(await isRepeated(request, request, { outcome: leftOut('blind-check') })).toBe(true);
  });

  it('is not made where the problem’s files change while it is evaluated', async () => {
    const digests = ['before', 'after', 'before'];
    const inner = counting();
    const evaluator = createRepeatingEvaluator(inner, context({ problemDigest: () => digests.shift()! }));
    await evaluator.evaluate(request);
    await evaluator.evaluate(request);
    expect(inner.count).toBe(2);
  });

  it('is not made of an interrupted evaluation', async () => {
    const interrupt = new AbortController();
    const inner = counting();
    const interrupted: Evaluator = {
      ...inner,
      async evaluate(asked) {
        interrupt.abort();
        return inner.evaluate(asked);
      },
    };
    await createRepeatingEvaluator(interrupted, context()).evaluate({ ...request, signal: interrupt.signal });
    expect((await createRepeatingEvaluator(inner, context()).evaluate(request)).repeated).toBeUndefined();
  });

  it('is not made of a damaged entry, which is replaced', async () => {
    const inner = counting();
    const evaluator = createRepeatingEvaluator(inner, context());
    await evaluator.evaluate(request);
    const [name] = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.length > 20);
    const path = join(folder, name!);
    for (const damaged of [Buffer.from('not gzip'), readFileSync(path).subarray(0, 40), Buffer.alloc(0)]) {
      writeFileSync(path, damaged);
      const before = inner.count;
      expect((await evaluator.evaluate(request)).repeated).toBeUndefined();
      expect((await evaluator.evaluate(request)).repeated).toBeDefined();
      expect(inner.count).toBe(before + 1);
    }
  });
});

describe('a seed that was drawn', () => {
  const subject = { problem, judged: [request.candidate, kernelOf('rung')], asked: [toyWorkload] };
  function kernelOf(text: string) {
    return { ...request.candidate.kernel, sources: { 'kernel.cu': text } };
  }
  const key = (changes: Partial<typeof subject> = {}, after?: number): string =>
    seedKey({ ...subject, ...changes }, context(), after);

  it('belongs to exactly the files that it was drawn for', () => {
    expect(key()).toBe(key());
    const others = [
      key({ judged: [request.candidate] }),
      key({ judged: [request.candidate, kernelOf('another rung')] }),
      key({ judged: [{ ...request.candidate, parameters: { N: 2 } }, kernelOf('rung')] }),
      key({ judged: [request.candidate, kernelOf('rung'), kernelOf('one more')] }),
      key({ problem: toyProblem({ name: 'other' }) }),
      key({ asked: [] as never }),
      key({}, 7),
      key({}, 8),
      seedKey(subject, context({ evaluatorDigest: 'newer' })),
      seedKey(subject, context({ problemDigest: () => 'others' })),
    ];
    expect(new Set([key(), ...others]).size).toBe(others.length + 1);
  });
});
