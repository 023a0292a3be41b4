import { describe, expect, it } from 'vitest';
import { type GatePair, judgeWorkload } from '../../../src/app/gate/judge-workload.ts';
import { loadKernel } from '../../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../../src/core/candidate.ts';
import type { DeviceIdentity } from '../../../src/core/device.ts';
import type { Evaluation, EvaluationRequest } from '../../../src/core/evaluation.ts';
import type { Comparison } from '../../../src/core/measurement.ts';
import type { GatedWorkload } from '../../../src/reports/documents/gate.ts';
import { SCALE } from '../../cli/run-cli.ts';

/* A gate on a GPU, whose evaluations are said beforehand: what is asked of it, and what becomes of its verdicts. */

const { kernel, problem } = await loadKernel(`${SCALE}/02_coalesced`);
const after = makeCandidate(kernel, { BLOCK: 128 });
const before = makeCandidate(kernel, { BLOCK: 64 });
const GPU: DeviceIdentity = { id: 'cuda:0', kind: 'cuda', name: 'NVIDIA H200' };
const [workload] = problem.file.workloads.map((one) => ({ ...one, cache: 'hot' as const }));

const timing = (medianNs: number): NonNullable<Evaluation['timing']> => ({
  kind: 'measured',
  medianNs,
  intervalNs: [medianNs, medianNs],
  vetoNs: 0,
  attainableNs: 0,
  bindingResource: 'dram',
});

const evaluation = (more: Partial<Evaluation> = {}): Evaluation =>
  ({ status: 'passed', findings: [], timing: timing(1000), ...more }) as Evaluation;

const beside = (verdict: Comparison['verdict'], ratio: number): Comparison =>
  ({
    baseline: 'before',
    candidate: 'after',
    verdict,
    ratio,
    intervalRatio: [ratio, ratio],
    blockCount: 12,
  }) as Comparison;

/** Judges on a GPU that answers by the candidate's id. */
async function judged(
  answers: { readonly before?: Partial<Evaluation>; readonly after?: Partial<Evaluation> },
  more: Partial<GatePair> = {},
): Promise<{ row: GatedWorkload; asked: EvaluationRequest[] }> {
  const asked: EvaluationRequest[] = [];
  const evaluate = async (request: EvaluationRequest): Promise<Evaluation> => {
    asked.push(request);
    return evaluation(answers[request.id as 'before' | 'after']);
  };
  const session = { evaluator: { evaluate, close: async () => {} }, device: { identity: GPU } };
  const options = { checks: 'usual', maximumSlowdown: 3 } as const;
  const { row } = await judgeWorkload({
    ...{ options, session, seed: 1, problem, workload: workload!, before, after },
    ...more,
  });
  return { row, asked };
}

describe('a kernel and what it was, on a GPU', () => {
  it('are measured in the same blocks, once what it was has passed', async () => {
    const { row, asked } = await judged({ after: { comparisons: [beside('same', 0.99)] } });
    expect(asked.map(({ id, quick }) => [id, quick])).toEqual([
      ['before', false],
      ['after', undefined],
    ]);
    expect(asked[1]).toMatchObject({ tier: 'accept', against: [{ name: 'before', candidate: before }] });
    expect(row).toMatchObject({ outcome: 'passes', ratio: 0.99, verdict: 'same', blockCount: 12 });
  });

  it.each([
    ['slower', 0.95, 'slower'],
    // Sure, and within what is allowed.
    ['slower', 0.98, 'passes'],
    // Beyond what is allowed, and not sure.
    ['ambiguous', 0.9, 'passes'],
    ['faster', 1.2, 'passes'],
  ] as const)('the verdict %s with the ratio %d: %s', async (verdict, ratio, outcome) => {
    const { row } = await judged({ after: { comparisons: [beside(verdict, ratio)] } });
    expect(row.outcome).toBe(outcome);
    expect(row.why).toBe(outcome === 'slower' ? 'measured 5.3 % slower; 3 % are allowed' : undefined);
  });

  it('are not compared by times that were measured apart', async () => {
    const { row } = await judged({ before: { timing: timing(10) } });
    expect(row).toMatchObject({ outcome: 'passes', ratio: null });
  });

  it('are not measured together if the base is wrong, or could not be', async () => {
    const { row, asked } = await judged({ before: { status: 'wrong', reason: 'y[0]', timing: undefined } });
    expect(asked[1]!.against).toBeUndefined();
    expect(row).toMatchObject({ outcome: 'passes', why: 'not compared: the base is wrong: y[0]' });
    const lost = await judged({ after: { missingBaselines: [{ name: 'before', reason: 'it hung' }] } });
    expect(lost.row).toMatchObject({ outcome: 'passes', why: 'not compared: it hung' });
  });

  it.each([
    ['unsupported', 'not-judged'],
    ['device-failed', 'not-judged'],
    ['unsafe', 'wrong'],
    ['timed-out', 'wrong'],
  ] as const)('a kernel that is %s: %s', async (status, outcome) => {
    const { row } = await judged({ after: { status, reason: 'because', timing: undefined } });
    expect(row).toMatchObject({ outcome, why: `${status}: because`, ratio: null });
  });

  it('a ratio that is not a number does not pass', async () => {
    const { row } = await judged({ after: { comparisons: [beside('slower', Number.NaN)] } });
    expect(row.outcome).toBe('slower');
  });

  it('a workload that neither takes is named, and nothing is asked', async () => {
    const large = { ...workload!, dimensions: { N: 200_000 } };
    const { row, asked } = await judged({}, { workload: large });
    expect(row.outcome).toBe('not-taken');
    expect(asked).toEqual([]);
  });
});
