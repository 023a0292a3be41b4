import { appendFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { measureProblem } from '../../src/app/measure.ts';
import { chooseWorkload } from '../../src/app/workload.ts';
import { aboutRequest } from '../../src/core/about-request.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Evaluation, EvaluationRequest } from '../../src/core/evaluation.ts';
import type { Measurement } from '../../src/core/measurement.ts';
import { createRecordingEvaluator } from '../../src/evaluation/recording/record.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { ladderDocument } from '../../src/reports/documents/ladder.ts';
import { openRecording } from '../../src/store/recording.ts';

const SCALE = fileURLToPath(new URL('../cli/fixtures/scale', import.meta.url));
const BLOCKS = 12;
const SAMPLES = 8;

let folder: string;
let replay: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-measure-'));
  replay = join(folder, 'measured.jsonl.gz');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Samples around a time, each block a little different from the others. */
const measurementOf = (contender: string, ns: number): Measurement => {
  const blocks = Array.from({ length: BLOCKS }, (_, block) => ({
    samples: [{ contender, samplesNs: Array.from({ length: SAMPLES }, (_, i) => ns * (1 + 1e-4 * (block + i))) }],
    before: {},
    after: {},
  }));
  return {
    contender,
    conditions: {
      tier: 'accept',
      cache: 'hot',
      ringBytes: 1 << 20,
      l2Bytes: 60 << 20,
      slotCount: 4,
      sequencesPerReplay: 4,
      replaysPerSample: 1,
      replayOverheadNs: 0,
      inputs: 'drawn-on-device',
    },
    summary: {
      minNs: ns,
      p5Ns: ns,
      medianNs: ns,
      p95Ns: ns,
      maxNs: ns,
      meanNs: ns,
      coefficientOfVariation: 0,
      sampleCount: BLOCKS * SAMPLES,
      blockCount: BLOCKS,
      intervalNs: [ns, ns],
    },
    blocks,
    discardedBlockCount: 0,
    powerCapped: false,
    disturbances: [],
    checkedSlotCount: 1,
  };
};

const device = { id: 'cuda:0', kind: 'cuda', name: 'NVIDIA H200' } as const;

const evaluationOf = (
  request: EvaluationRequest,
  rest: Pick<Evaluation, 'status'> & Partial<Evaluation>,
): Evaluation => ({
  ...aboutRequest(request, device),
  findings: [],
  elapsedMs: { compile: 0, verify: 0, time: 0, total: 0 },
  ...rest,
});

const measured = (contender: string, ns: number): Pick<Evaluation, 'status' | 'timing'> => ({
  status: 'passed',
  timing: {
    kind: 'measured',
    medianNs: ns,
    intervalNs: [ns, ns],
    vetoNs: 1,
    attainableNs: 2,
    bindingResource: 'measured',
    measurement: measurementOf(contender, ns),
  },
});

type Answer = (request: EvaluationRequest) => Evaluation;

/** Records what a GPU would have answered to the requests that measuring makes. */
const record = async (answers: readonly (readonly [EvaluationRequest, Answer])[]): Promise<void> => {
  const compiler = { name: 'nvrtc', version: '13.0' };
  const spec = DEVICE_SPECS.get('h200')!;
  const writer = openRecording(replay, { device, spec, compiler, environment: { warpsmith: '0.1.0' } });
  for (const [request, answer] of answers) {
    const evaluator = { evaluate: async () => answer(request), close: async () => {} };
    await createRecordingEvaluator(evaluator, writer).evaluate(request);
  }
  writer.close();
};

const requests = async () => {
  const { kernel: strided, problem } = await loadKernel(join(SCALE, '01_strided'));
  const { kernel: coalesced } = await loadKernel(join(SCALE, '02_coalesced'), { problem });
  const base = { problem, workload: chooseWorkload(problem.file, undefined), seed: 1 };
  const first: EvaluationRequest = { ...base, candidate: makeCandidate(strided, {}), id: '01_strided' };
  const second: EvaluationRequest = { ...base, candidate: makeCandidate(coalesced, {}), id: '02_coalesced' };
  return { first, second };
};

const options = {
  device: 'recorded',
  target: SCALE,
  kernels: [],
  parameters: {},
  baselines: ['all'],
  workloads: [],
  tier: 'accept' as const,
  seed: 1,
};

describe('measure', () => {
  it('puts every rung beside every library, compared over the same blocks', async () => {
    const { first, second } = await requests();
    const together: EvaluationRequest = {
      ...first,
      tier: 'accept',
      against: [{ name: '02_coalesced', candidate: second.candidate }],
      libraryBaselines: ['torch', 'gone'],
    };
    const torch = { name: 'torch', kind: 'library', versions: { torch: '2.11' }, gpuKernels: ['scale_k'] } as const;
    await record([
      [first, (request) => evaluationOf(request, measured('candidate', 5000))],
      [second, (request) => evaluationOf(request, measured('candidate', 2000))],
      [
        together,
        (request) =>
          evaluationOf(request, {
            ...measured('candidate', 5000),
            baselines: [
              { name: '02_coalesced', kind: 'kernel', measurement: measurementOf('02_coalesced', 2000) },
              { ...torch, gpuKernels: ['scale_k'], measurement: measurementOf('torch', 2500) },
            ],
            missingBaselines: [{ name: 'gone', reason: 'there is none' }],
          }),
      ],
    ]);
    const steps: string[] = [];
    const view = await measureProblem({ ...options, replay, onStep: (text) => steps.push(text) });
    expect(view).toMatchObject({ kind: 'ladder', problem: 'scale', device, tier: 'accept' });
    expect(view.contenders).toEqual([
      { name: '01_strided', kind: 'kernel' },
      { name: '02_coalesced', kind: 'kernel' },
      { name: 'torch', kind: 'library', versions: { torch: '2.11' } },
      { name: 'gone', kind: 'library' },
    ]);
    const [row] = view.rows;
    expect(view.rows).toHaveLength(1);
    expect(row!.peer).toBe('torch');
    const cells = new Map(row!.cells.map((cell) => [cell.contender, cell]));
    expect(cells.get('01_strided')).toMatchObject({ outcome: 'measured', comparison: { verdict: 'slower' } });
    expect(cells.get('02_coalesced')).toMatchObject({ outcome: 'measured', comparison: { verdict: 'faster' } });
    const { comparison } = cells.get('02_coalesced') as { comparison: { ratio: number; blockCount: number } };
    expect(comparison.ratio).toBeCloseTo(1.25, 3);
    expect(comparison.blockCount).toBe(BLOCKS);
    expect(cells.get('torch')).toMatchObject({ outcome: 'measured', gpuKernels: ['scale_k'] });
    expect(cells.get('gone')).toEqual({ contender: 'gone', outcome: 'not-applicable', reason: 'there is none' });
    expect(row!.flop).toBeGreaterThan(0);
    expect(row!.vetoNs).toBeGreaterThan(0);
    expect(steps).toEqual([
      expect.stringMatching(/verifying 01_strided$/),
      expect.stringMatching(/verifying 02_coalesced$/),
      expect.stringMatching(/measuring 4 contenders in the same blocks$/),
    ]);
  });

  it('leaves a kernel that fails out of the blocks, and says why', async () => {
    const { first, second } = await requests();
    await record([
      [first, (request) => evaluationOf(request, { status: 'wrong', reason: '7 instead of 8' })],
      [second, (request) => evaluationOf(request, measured('candidate', 2000))],
      [{ ...second, tier: 'accept' }, (request) => evaluationOf(request, measured('candidate', 2000))],
    ]);
    const view = await measureProblem({ ...options, baselines: [], replay });
    expect(view.rows[0]!.cells).toMatchObject([
      { contender: '01_strided', outcome: 'failed', status: 'wrong', reason: '7 instead of 8' },
      { contender: '02_coalesced', outcome: 'measured' },
    ]);
    expect(view.rows[0]!.peer).toBe('02_coalesced');
  });

  it('keeps the workloads that were measured when it is interrupted', async () => {
    const { first } = await requests();
    const { problem } = first;
    const later = chooseWorkload(problem.file, 'N=64');
    await record([
      [first, (request) => evaluationOf(request, measured('candidate', 2000))],
      [{ ...first, tier: 'accept' }, (request) => evaluationOf(request, measured('candidate', 2000))],
    ]);
    const controller = new AbortController();
    const asked = {
      ...{ ...options, baselines: [], kernels: ['01_strided'], replay, signal: controller.signal },
      workloads: [first.workload.name, 'N=64'],
      onStep: (text: string) => text.startsWith(later.name) && controller.abort(),
    };
    const view = await measureProblem(asked);
    expect(view.rows.map(({ workload }) => workload)).toEqual([first.workload.name]);
    expect(view.notMeasured).toEqual([later.name]);
    expect(JSON.stringify(ladderDocument(view))).toContain(`interrupted: not measured at ${later.name}`);
  });

  it('measures nothing where no kernel passes', async () => {
    const { first, second } = await requests();
    const fail: Answer = (request) => evaluationOf(request, { status: 'timed-out' });
    await record([
      [first, fail],
      [second, fail],
    ]);
    const { rows } = await measureProblem({ ...options, baselines: [], replay });
    expect(rows[0]!.cells.map(({ outcome }) => outcome)).toEqual(['failed', 'failed']);
    expect(rows[0]!.peer).toBeNull();
  });

  it('takes kernels by name or folder, with parameters for a single one', async () => {
    const { second } = await requests();
    const candidate = makeCandidate(second.candidate.kernel, { BLOCK: 64 });
    const answer: Answer = (request) => evaluationOf(request, measured('candidate', 2000));
    await record([
      [{ ...second, candidate }, answer],
      [{ ...second, candidate, tier: 'accept' }, answer],
    ]);
    const asked = { ...options, baselines: [], replay, parameters: { BLOCK: 64 } };
    for (const kernel of ['02_coalesced', join(SCALE, '02_coalesced')]) {
      const { rows } = await measureProblem({ ...asked, kernels: [kernel] });
      expect(rows[0]!.cells).toMatchObject([{ contender: '02_coalesced', outcome: 'measured' }]);
    }
  });

  it('refuses a kernel of another problem', async () => {
    await record([]);
    const other = fileURLToPath(new URL('../../examples/row-sum/01_thread_per_row', import.meta.url));
    await expect(measureProblem({ ...options, baselines: [], replay, kernels: [other] })).rejects.toMatchObject({
      details: { code: 'kernel-of-another-problem' },
    });
  });

  it('takes a kernel once, and tells kernels of one name apart', async () => {
    await record([]);
    const target = join(folder, 'scale');
    cpSync(SCALE, target, { recursive: true });
    cpSync(join(target, '01_strided'), join(target, 'edited'), { recursive: true });
    appendFileSync(join(target, 'edited', 'kernel.cu'), '// edited\n');
    const measure = async (...kernels: string[]) =>
      (await measureProblem({ ...options, target, baselines: [], replay, kernels })).contenders.map(({ name }) => name);
    expect(await measure('01_strided', join(target, '01_strided'))).toEqual(['01_strided']);
    const [original, edited] = await measure('01_strided', join(target, 'edited'));
    for (const name of [original, edited]) expect(name).toMatch(/^01_strided \([0-9a-f]{12}\)$/);
    expect(edited).not.toBe(original);
  });
});
