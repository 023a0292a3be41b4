import { expect, it } from 'vitest';
import { makeCandidate } from '../../../src/core/candidate.ts';
import type { EvaluationRequest } from '../../../src/core/evaluation.ts';
import {
  answerJob,
  hashJob,
  jobOf,
  queueNameOf,
  type Requirements,
  requestOf,
  unpack,
} from '../../../src/evaluation/pool/job.ts';
import { otherThan } from '../../../src/evaluation/pool/queue-pool.ts';
import { notJudged } from '../../../src/evaluation/recording/not-judged.ts';
import { kernel, problem } from '../../optimizer/fakes.ts';

const requires: Requirements = {
  device: 'NVIDIA H200',
  warpsmith: '0.1.0',
  code: 'c'.repeat(64),
  compiler: 'nvrtc 13.0',
  driver: '580.159.04',
};
const files = { 'problem.json': 'a'.repeat(64) };
const candidate = makeCandidate(kernel('01_first'), { TILE: 64 });
const request: EvaluationRequest = {
  ...{ problem, candidate, seed: 7, id: 'e3', tier: 'accept', blocks: 20, thorough: true },
  workload: { name: 'n1024', dimensions: { N: 1024 }, cache: 'hot' },
  against: [{ name: 'best', candidate: makeCandidate(kernel('02_second'), {}) }],
};
/** As it comes out of a queue. */
const sent = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

it('holds all that decides, and gives the same request elsewhere', () => {
  const job = sent(jobOf(request, files, requires));
  const elsewhere = requestOf(job, { ...problem, folder: '/elsewhere' });
  expect(elsewhere).toMatchObject({ seed: 7, tier: 'accept', blocks: 20, thorough: true, workload: request.workload });
  expect(elsewhere.candidate).toMatchObject({ id: candidate.id, parameters: { TILE: 64 } });
  expect(elsewhere.against!.map(({ name, candidate: { id } }) => [name, id])).toEqual([
    ['best', request.against![0]!.candidate.id],
  ]);
});

it('is named by its contents: anything that decides gives another name, and nothing else does', () => {
  const name = (changes: Partial<EvaluationRequest> = {}, others: [typeof files, Requirements] = [files, requires]) =>
    hashJob(sent(jobOf({ ...request, ...changes }, ...others)));
  const same = [name(), name({ id: 'e9' }), name({ onStage: () => {} }), hashJob(jobOf(request, files, requires))];
  expect(new Set(same).size).toBe(1);
  const others = [
    name({ seed: 8 }),
    name({ tier: 'screen' }),
    name({ blocks: undefined }),
    name({ energy: true }),
    name({ energy: true, minimised: 'energy' }),
    name({ against: [] }),
    name({ candidate: makeCandidate(kernel('01_first'), { TILE: 32 }) }),
    name({ candidate: makeCandidate({ ...kernel('01_first'), sources: { 'kernel.cu': '' } }, { TILE: 64 }) }),
    name({ workload: { ...request.workload, cache: 'cold' } }),
    name({ keep: { store: { put: () => '' }, sass: true } }),
    name({}, [{ 'problem.json': 'b'.repeat(64) }, requires]),
    name({}, [files, { ...requires, driver: '581' }]),
  ];
  expect(new Set([...same, ...others]).size).toBe(1 + others.length);
});

it('is refused if its candidate is not the one that it names', () => {
  const job = jobOf(request, files, requires);
  const other = { ...job, candidate: { ...job.candidate, sources: { 'kernel.cu': 'other' } } };
  expect(() => requestOf(other, problem)).toThrow(`candidate ${candidate.id} of a job is`);
});

it('comes back with folders of this machine, the id that was asked for, and its files in the store', async () => {
  const job = sent(jobOf({ ...request, keep: { store: { put: () => '' }, sass: true } }, files, requires));
  const there = requestOf(job, { ...problem, folder: '/elsewhere' });
  const answer = await answerJob(job, there, async (asked) => ({
    ...notJudged(asked, { id: 'cuda:1', kind: 'cuda', name: 'NVIDIA H200' }, 'in /elsewhere/01_first/kernel.cu'),
    artifacts: { ptx: asked.keep!.store.put('ptx'), sass: undefined },
  }));
  const kept: unknown[] = [];
  const put = (content: string | Uint8Array) => `${kept.push(content)}`;
  const evaluation = unpack(answer, { ...request, keep: { store: { put }, sass: true } });
  expect(JSON.stringify(answer.evaluation)).not.toContain('/elsewhere');
  expect(evaluation).toMatchObject({
    ...{ id: 'e3', reason: 'in problems/scale/01_first/kernel.cu', device: { id: 'cuda:1' } },
    candidate: { folder: 'problems/scale/01_first' },
  });
  expect(kept).toEqual(['ptx']);
});

it.each([
  ['device', 'NVIDIA L4', 'device NVIDIA L4, not NVIDIA H200'],
  ['warpsmith', '0.2.0', 'warpsmith 0.2.0, not 0.1.0'],
  ['code', 'd'.repeat(64), `build of warpsmith ${'d'.repeat(40)}, not ${'c'.repeat(40)}`],
  ['compiler', 'nvcc 13.0', 'compiler nvcc 13.0, not nvrtc 13.0'],
  ['driver', null, 'driver none, not 580.159.04'],
] as const)('is not for a worker with another %s, which has another queue', (name, value, said) => {
  expect(otherThan(requires, requires)).toBeUndefined();
  expect(otherThan(requires, { ...requires, [name]: value })).toBe(said);
  expect(queueNameOf({ ...requires, [name]: value })).not.toBe(queueNameOf(requires));
  expect(queueNameOf(requires)).toMatch(/^nvidia-h200-[0-9a-f]{16}$/);
});
