import { describe, expect, it } from 'vitest';
import { loadProblemTarget } from '../../src/app/target.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import { deviceRefusal } from '../../src/core/plan/runs-on.ts';
import { PATTERNS } from '../../src/diagnosis/patterns/index.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { UNLIMITED } from '../../src/store/events.ts';
import { longTestOf } from '../support/sampling/long-tests.ts';
import { recordedFindings, recordedNs } from './attention-on-h200.ts';
import { CUDA, fakeGpu } from './fake-gpu.ts';
import { nameOf, ofType, runLoop } from './fakes.ts';

const target = await loadProblemTarget('problems/attention');

/** From 01_minimal, on a GPU that answers with the times that an H200 was recorded with. */
async function climb(workload: string, { device = 'h200', seed = 1 } = {}) {
  const { problem, start, rungs } = target;
  const spec = DEVICE_SPECS.get(device)!;
  const { dimensions, cache } = resolveWorkload(problem.file, workload);
  const evaluator = fakeGpu({
    nsOf: (candidate) => recordedNs(candidate, workload),
    findings: (request, ns) => (request.profile === 'light' ? recordedFindings(request, ns) : []),
    sanitizer: 'clean',
  });
  const { result, events } = await runLoop({
    problem,
    evaluator,
    device: CUDA,
    spec,
    workloads: [{ name: workload, dimensions, cache, weight: 1 }],
    start: makeCandidate(start, {}),
    rungs: rungs.filter(({ file }) => deviceRefusal(file, { identity: CUDA, spec }) === undefined),
    patterns: PATTERNS,
    exploring: true,
    budgets: { ...UNLIMITED, maximumEvaluations: 40 },
    seed,
  });
  const kept = ofType(events, 'decision').filter(({ decision }) => decision === 'keep');
  const path = kept.map(({ evaluationId }) => {
    const at = evaluator.requests.find(({ id }) => id === evaluationId)!;
    return nameOf(at.candidate);
  });
  const tried = evaluator.requests.map(({ candidate }) => candidate.kernel.file.name);
  return { best: result.best!.candidate, path, evaluationCount: evaluator.requests.length, tried };
}

/** Slower than the best recorded setting by so much at most: what a run of 40 evaluations may leave. */
const CLOSE = 1.03;

describe('attention, unattended from 01_minimal on an H200, 40 evaluations', () => {
  it.each([
    // From 02 to 11 each kept rung remedies a finding of the one before.
    {
      ...{ workload: 'b32h8s512d64', rung: '18_ones_column', bestUs: 38.7 },
      setting: { CONSUMERS: 4, BLOCK_N: 64, STAGES: 4 },
    },
    {
      ...{ workload: 'b4h16s4096d64', rung: '18_ones_column', bestUs: 437.1 },
      setting: { CONSUMERS: 4, BLOCK_N: 64, STAGES: 4 },
    },
    // 17_lean_turns gains 0.5 % there, which is not enough to be kept.
    {
      ...{ workload: 'b1h16s16384d128-causal', rung: '11_sums_first', bestUs: 1423 },
      setting: { CONSUMERS: 3, BLOCK_N: 64, STAGES: 4 },
    },
  ])('climbs to $rung and a good setting of it at $workload', async ({ workload, rung, bestUs, setting }) => {
    const { best, path, evaluationCount } = await climb(workload);
    expect(evaluationCount).toBeLessThanOrEqual(40);
    const rungs = [...new Set(path.map((name) => name.split(' ')[0]))];
    expect(rungs).toEqual(rungs.toSorted());
    expect(rungs).toEqual(expect.arrayContaining(['01_minimal', '05_mma', '07_cp_async', '10_wgmma', '11_sums_first']));
    expect(best.kernel.file.name).toBe(rung);
    expect(best.parameters).toMatchObject(setting);
    expect(recordedNs(best, workload) / 1e3).toBeLessThanOrEqual(bestUs * CLOSE);
  });

  it('ends with the keys shared out over a cluster where there are few tiles, at b1h8s512d64', async () => {
    const { best, path } = await climb('b1h8s512d64');
    expect(path[0]).toContain('01_minimal');
    expect(best.kernel.file.name).toBe('10_resident');
  });

  longTestOf(import.meta.filename)('does so with each of 48 seeds, with good settings of most', async () => {
    const bests: number[] = [];
    for (let seed = 1; seed <= 48; seed++) {
      const { best, path, evaluationCount } = await climb('b1h8s512d64', { seed });
      expect(evaluationCount).toBeLessThanOrEqual(40);
      expect(path[0]).toContain('01_minimal');
      expect(best.kernel.file.name).toBe('10_resident');
      bests.push(recordedNs(best, 'b1h8s512d64') / 1e3);
    }
    const shareWithin = (factor: number): number => bests.filter((us) => us <= 4.91 * factor).length / bests.length;
    // Which of its settings are tried first depends on the seed: of 96 seeds 59 find one within 3 % of the best.
    expect(shareWithin(CLOSE)).toBeGreaterThan(0.5);
    expect(shareWithin(1.15)).toBeGreaterThan(0.9);
    expect(shareWithin(1.25)).toBe(1);
  });

  it('passes over what does not take the workload, and what is for other devices', async () => {
    const { tried } = await climb('b32h8s512d64');
    expect(tried).not.toContain('12_decode');
    const { best, tried: onL4 } = await climb('b32h8s512d64', { device: 'l4' });
    expect(onL4.filter((name) => /^1[01789]_/.test(name))).toEqual([]);
    expect(best.kernel.file.name).toBe('07_cp_async');
  });
});
