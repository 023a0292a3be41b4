import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { judgeRow } from '../../src/app/dispatch-row.ts';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import type { NamedCandidate } from '../../src/app/same-blocks.ts';
import { chooseWorkload } from '../../src/app/workload.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Evaluation, EvaluationRequest, Evaluator, RoughTime } from '../../src/core/evaluation.ts';
import type { Measurement } from '../../src/core/measurement.ts';
import type { Problem } from '../../src/core/problem.ts';

const ROW_SUM = fileURLToPath(new URL('../../examples/row-sum', import.meta.url));

let problem: Problem;
/** The same kernel with 1, 2, 4 and 8 warps. */
let settings: NamedCandidate[];

beforeAll(async () => {
  const loaded = await loadKernel(join(ROW_SUM, '02_warp_per_row'));
  problem = loaded.problem;
  settings = [1, 2, 4, 8].map((WARPS) => ({ name: `w${WARPS}`, candidate: makeCandidate(loaded.kernel, { WARPS }) }));
});

/** What a staged GPU knows of a kernel. */
interface Staged {
  readonly roughNs: number | readonly number[] | Extract<RoughTime, { ok: false }>;
  readonly verified?: Pick<Evaluation, 'status' | 'reason'>;
  readonly ns?: number;
}

const timingOf = (ns: number): NonNullable<Evaluation['timing']> => ({
  kind: 'measured',
  medianNs: ns,
  intervalNs: [ns, ns],
  vetoNs: 1,
  attainableNs: 1,
  bindingResource: 'unknown',
  measurement: { summary: { medianNs: ns, intervalNs: [ns, ns], blockCount: 6 } } as Measurement,
});

/** @param inBlocks answers a measurement of several kernels, by their names; by default all are measured. */
function stage(
  kernels: Readonly<Record<string, Staged>>,
  inBlocks?: (names: readonly string[]) => Partial<Evaluation> | undefined,
) {
  const asked: string[] = [];
  const looks = new Map<string, number>();
  const evaluation = (request: EvaluationRequest, rest: Partial<Evaluation>): Evaluation =>
    ({ schemaVersion: 1, id: request.id, status: 'passed', findings: [], ...rest }) as Evaluation;
  const evaluator: Evaluator = {
    async estimate({ id }) {
      const { roughNs } = kernels[id!]!;
      const look = looks.get(id!) ?? 0;
      looks.set(id!, look + 1);
      if (typeof roughNs === 'number') return { ok: true, ns: roughNs };
      return 'ok' in roughNs ? roughNs : { ok: true, ns: roughNs[look]! };
    },
    async evaluate(request) {
      const { id, against = [], blocks } = request;
      const names = [id!, ...against.map(({ name }) => name)];
      const isVerification = blocks === 1;
      asked.push(`${isVerification ? 'verify' : 'measure'} ${names.join(' ')}`);
      const timing = timingOf(kernels[id!]!.ns ?? 1000);
      if (isVerification) return evaluation(request, { timing, ...kernels[id!]!.verified });
      const baselines = against.map(({ name }) => ({
        name,
        kind: 'kernel' as const,
        measurement: timingOf(kernels[name]!.ns ?? 1000).measurement!,
      }));
      return evaluation(request, inBlocks?.(names) ?? { timing, baselines });
    },
    close: async () => {},
  };
  return { evaluator, asked };
}

const judge = async (evaluator: Evaluator, options: { blocks?: number } = { blocks: 6 }) => {
  const { contenders } = await judgeRow({
    options: { seed: 1, tier: 'accept', ...options },
    session: { evaluator },
    problem,
    workload: chooseWorkload(problem.file, undefined),
    contenders: settings,
    isMeasured: true,
  });
  return contenders.map(({ candidate: _id, ...rest }) => rest);
};

describe('a row of a dispatch table', () => {
  it('rules out what is much slower in a first look, and measures the others in the same blocks', async () => {
    const { evaluator, asked } = stage({
      w1: { roughNs: 1499, ns: 1100 },
      w2: { roughNs: 1000, ns: 1000 },
      w4: { roughNs: [9000, 1200], ns: 900 },
      w8: { roughNs: 1900 },
    });
    const outcomes = await judge(evaluator);
    expect(asked).toEqual(['verify w2', 'verify w4', 'verify w1', 'measure w2 w4 w1']);
    expect(outcomes).toMatchObject([
      { outcome: 'timed', kind: 'measured', medianNs: 1100, blockCount: 6 },
      { outcome: 'timed', medianNs: 1000 },
      // Its second look counts: the GPU may have been asleep.
      { outcome: 'timed', medianNs: 900, roughNs: 1200 },
      { outcome: 'ruled-out', reason: 'some 1.9 × the time of w2 in a first look; not measured', roughNs: 1900 },
    ]);
    expect(outcomes[3]).not.toHaveProperty('medianNs');
  });

  it('lets a wrong kernel rule nobody out, however quick it is', async () => {
    const { evaluator, asked } = stage({
      w1: { roughNs: 10, verified: { status: 'wrong', reason: 'every element' } },
      w2: { roughNs: 1000 },
      w4: { roughNs: { ok: false, status: 'crashed', reason: 'an illegal address' } },
      w8: { roughNs: { ok: false, status: 'unsupported', reason: 'needs sm_100' } },
    });
    expect(await judge(evaluator)).toMatchObject([
      { outcome: 'failed', status: 'wrong', reason: 'every element' },
      { outcome: 'timed', medianNs: 1000 },
      { outcome: 'failed', status: 'crashed' },
      { outcome: 'not-applicable', reason: 'needs sm_100' },
    ]);
    expect(asked).toEqual(['verify w1', 'verify w2', 'measure w2']);
  });

  const alike = { w1: { roughNs: 1 }, w2: { roughNs: 1 }, w4: { roughNs: 1 }, w8: { roughNs: 1 } };

  it('measures the others again without one that fails in the blocks', async () => {
    const failing: Readonly<Record<string, Partial<Evaluation>>> = {
      'w1 w2 w4 w8': { status: 'wrong', reason: 'a stale result' },
      'w2 w4 w8': { status: 'device-failed', reason: 'w8 …', missingBaselines: [{ name: 'w8', reason: 'it hung' }] },
    };
    const { evaluator, asked } = stage(alike, (names) => failing[names.join(' ')]);
    expect(await judge(evaluator)).toMatchObject([
      { outcome: 'failed', status: 'wrong', reason: 'a stale result' },
      { outcome: 'timed' },
      { outcome: 'timed' },
      { outcome: 'failed', reason: 'it hung' },
    ]);
    expect(asked.slice(4)).toEqual(['measure w1 w2 w4 w8', 'measure w2 w4 w8', 'measure w2 w4']);
  });

  it('blames nobody, and measures once, if the device measures none of them', async () => {
    const { evaluator, asked } = stage(alike, () => ({ status: 'device-failed', reason: 'every block was discarded' }));
    const outcomes = await judge(evaluator);
    expect(outcomes).toHaveLength(4);
    for (const one of outcomes) expect(one).toMatchObject({ outcome: 'failed', reason: 'every block was discarded' });
    expect(asked).toHaveLength(5);
  });
});
