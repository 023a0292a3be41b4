import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aboutRequest } from '../../../src/core/about-request.ts';
import type { Evaluation, EvaluationRequest, Evaluator } from '../../../src/core/evaluation.ts';
import type { Candidate } from '../../../src/core/kernel.ts';
import { createRecordingEvaluator } from '../../../src/evaluation/recording/record.ts';
import { createRecordedEvaluator } from '../../../src/evaluation/recording/replay.ts';
import { DEVICE_SPECS } from '../../../src/hardware/device-specs.ts';
import { openRecording, readRecording } from '../../../src/store/recording.ts';
import { toyCandidate, toyProblem, toyWorkload } from '../../support/toy-problem.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-recorded-'));
  path = join(folder, 'run.jsonl.gz');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const device = { id: 'cuda:0', kind: 'cuda', name: 'NVIDIA H200' } as const;
const at = (candidate: Candidate): Candidate => ({
  ...candidate,
  kernel: { ...candidate.kernel, folder: '/home/someone/toy/01' },
});
const request: EvaluationRequest = {
  problem: { ...toyProblem(), folder: '/home/someone/toy' },
  candidate: at(toyCandidate()),
  workload: toyWorkload,
  seed: 1,
  id: 'e1',
};

/** Answers with a different time each, and names the kernel's folder as real evaluations do. */
const judge = (): Evaluator => {
  let calls = 0;
  return {
    async evaluate(asked) {
      const { candidate, problem } = asked;
      calls += 1;
      return {
        ...aboutRequest(asked, device),
        status: 'compile-failed',
        reason: `call ${calls}: see ${candidate.kernel.folder}/kernel.cu and ${problem.folder}/problem.json`,
        findings: [],
        elapsedMs: { compile: calls, verify: 0, time: 0, total: calls },
      } satisfies Evaluation;
    },
    close: async () => {},
  };
};

const recordAll = async (requests: readonly EvaluationRequest[]): Promise<Evaluation[]> => {
  const compiler = { name: 'nvrtc', version: '13.0' };
  const writer = openRecording(path, { device, spec: DEVICE_SPECS.get('h200')!, compiler, environment: {} });
  const evaluator = createRecordingEvaluator(judge(), writer);
  const evaluations: Evaluation[] = [];
  for (const asked of requests) evaluations.push(await evaluator.evaluate(asked));
  await evaluator.close();
  return evaluations;
};

const replay = () => createRecordedEvaluator(readRecording(path));

describe('a recorded run', () => {
  it('answers the same requests with the same evaluations', async () => {
    const other = { ...request, candidate: toyCandidate({ description: 'another' }), id: 'e2' };
    const evaluations = await recordAll([request, other]);
    const evaluator = replay();
    expect(await evaluator.evaluate(other)).toEqual(evaluations[1]);
    expect(await evaluator.evaluate({ ...request, id: 'e9' })).toEqual({ ...evaluations[0], id: 'e9' });
  });

  it('answers what was asked again in the order of the recording, then with the last', async () => {
    const evaluations = await recordAll([request, request, request]);
    const evaluator = replay();
    for (const index of [0, 1, 2, 2]) expect(await evaluator.evaluate(request)).toEqual(evaluations[index]);
  });

  it.each([
    ['seed', { seed: 2 }],
    ['tier', { tier: 'accept' }],
    ['blocks', { blocks: 20 }],
    ['libraryBaselines', { libraryBaselines: ['sdpa'] }],
    ['profile', { profile: 'light' }],
    ['sanitize', { sanitize: true }],
    ['energy', { energy: true }],
    ['minimised', { minimised: 'energy' }],
    ['workload', { workload: { ...toyWorkload, cache: 'cold' } }],
    ['workload', { workload: { ...toyWorkload, dimensions: { R: 1, C: 1 } } }],
    ['against', { against: [{ name: 'best', candidate: toyCandidate() }] }],
    ['candidate', { candidate: toyCandidate({ description: 'another' }) }],
    ['problem', { problem: toyProblem({ description: 'another' }) }],
  ] as const)(
    'blames no candidate for what was not recorded, and names the nearest: another %s',
    async (field, change) => {
      await recordAll([request]);
      const missed = await replay().evaluate({ ...request, ...(change as Partial<EvaluationRequest>), id: 'e5' });
      expect(missed).toMatchObject({ id: 'e5', status: 'device-failed', device });
      expect(missed.reason).toMatch(/was not recorded like this; the nearest that was is /);
      expect(missed.reason).toContain(`with ${field}: `);
      expect(missed.timing).toBeUndefined();
    },
  );

  it('names the same candidate, asked for in another way, before another candidate', async () => {
    const another = toyCandidate({ description: 'another' });
    await recordAll([{ ...request, candidate: another, tier: 'accept' }, request]);
    const missed = await replay().evaluate({ ...request, tier: 'accept' });
    expect(missed.reason).toMatch(/with tier: screen instead of accept$/);
  });

  it('treats defaults as what they stand for', async () => {
    const [evaluation] = await recordAll([request]);
    const spelled = { ...request, tier: 'screen', profile: 'none', sanitize: false, against: [] } as const;
    expect(await replay().evaluate(spelled)).toEqual(evaluation);
  });

  it('names no folder of the machine it was recorded on, and those of the machine it is replayed on', async () => {
    await recordAll([request]);
    const text = gunzipSync(readFileSync(path)).toString();
    expect(text).not.toContain('someone');
    const { kernel } = request.candidate;
    const moved: EvaluationRequest = {
      ...request,
      problem: { ...request.problem, folder: '/elsewhere/$&' },
      candidate: { ...request.candidate, kernel: { ...kernel, folder: '/elsewhere/$&/01' } },
    };
    const evaluation = await replay().evaluate(moved);
    expect(evaluation.candidate.folder).toBe('/elsewhere/$&/01');
    expect(evaluation.reason).toBe('call 1: see /elsewhere/$&/01/kernel.cu and /elsewhere/$&/problem.json');
  });

  it('keeps nothing of a request that was aborted', async () => {
    await recordAll([request, { ...request, seed: 3, signal: AbortSignal.abort() }]);
    expect(readRecording(path).evaluations).toHaveLength(1);
  });

  it('says so when it holds nothing', async () => {
    await recordAll([]);
    expect((await replay().evaluate(request)).reason).toMatch(/the recording holds no evaluation$/);
  });
});
