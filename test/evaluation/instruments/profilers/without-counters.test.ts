import { describe, expect, it } from 'vitest';
import { loadKernel } from '../../../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../../../src/core/candidate.ts';
import { completeParameters } from '../../../../src/core/plan/parameters.ts';
import { resolveWorkload } from '../../../../src/core/plan/resolve-workload.ts';
import { resourceFindings } from '../../../../src/evaluation/instruments/profilers/resource-findings.ts';
import { virtualCounters } from '../../../../src/evaluation/instruments/profilers/virtual-counters.ts';
import { DEVICE_SPECS } from '../../../../src/hardware/device-specs.ts';
import { createFakeToolchain } from '../../../support/fake-toolchain.ts';
import { longTestOf } from '../../../support/sampling/long-tests.ts';
import { PLAN } from './fixtures.ts';

const spec = DEVICE_SPECS.get('h200')!;

describe('resourceFindings', () => {
  const resources = {
    registersPerThread: 64,
    registersSource: 'compiler',
    staticSharedBytes: 0,
    dynamicSharedBytes: 0,
    localBytesPerThread: 0,
  } as const;
  const ids = (of: Partial<typeof resources> | { localBytesPerThread: number; registersPerThread: number }, x = 16) => {
    const plan = {
      ...PLAN,
      steps: PLAN.steps.map((step) => (step.kind === 'launch' ? { ...step, grid: [x, 8, 1] as const } : step)),
    };
    const known = { ...resources, ...of };
    return resourceFindings({
      plan,
      resources: { 'attention<64>': known, combine: known },
      spec,
      because: 'no ncu',
    }).map(({ id }) => id);
  };

  it('sees too few CTAs, from the widest launch', () => {
    expect(ids({})).toEqual(['parallelism']);
    expect(ids({}, 17)).toEqual([]);
  });

  it('sees low occupancy only where CTAs wait', () => {
    expect(ids({ registersPerThread: 255, localBytesPerThread: 0 }, 4096)).toEqual(['occupancy']);
    expect(ids({ registersPerThread: 255, localBytesPerThread: 0 }, 17)).toEqual([]);
  });

  it('sees local memory', () =>
    expect(ids({ registersPerThread: 64, localBytesPerThread: 128 }, 17)).toEqual(['register-spills']));

  it('finds nothing where nothing is known', () =>
    expect(resourceFindings({ plan: PLAN, resources: {}, spec, because: 'no ncu' })).toEqual([]));
});

describe('virtualCounters', async () => {
  const folder = new URL('../../../../problems/attention/04_warp', import.meta.url).pathname;
  const { kernel, problem } = await loadKernel(folder);
  const candidate = makeCandidate(kernel, completeParameters(kernel.file, {}));
  const workload = resolveWorkload(problem.file, 'b1h8s512d64');
  const request = { problem, candidate, workload, seed: 1, spec, because: 'ncu is missing' };

  longTestOf(import.meta.filename)('counts the same candidate on the virtual GPU, and says so', async () => {
    const outcome = await virtualCounters(request);
    if (!outcome.ok) throw new Error(outcome.detail);
    expect(outcome.countersSource).toEqual({
      kind: 'virtual-gpu',
      detail: 'counted on virtual:h200 because ncu is missing',
    });
    expect(outcome.counters).toHaveLength(1);
    expect(outcome.counters[0]!.functionName).toBe('attention<64>');
    expect(outcome.counters[0]!.instructions).toBeGreaterThan(1e5);
    expect(outcome.counters[0]!.flop.fp32).toBeGreaterThan(4 * 8 * 512 * 512 * 64);
  });

  it('gives the reason where the virtual GPU cannot run the code', async () => {
    const failure = {
      ok: false,
      status: 'compile-failed',
      message: 'no wgmma',
      diagnostics: [],
      elapsedMs: 0,
    } as const;
    expect(await virtualCounters({ ...request, toolchain: createFakeToolchain(failure) })).toEqual({
      ok: false,
      detail: 'not counted on virtual:h200 either: no wgmma',
    });
    const unreadable = await virtualCounters({ ...request, toolchain: createFakeToolchain(undefined, '.nonsense') });
    expect(unreadable).toMatchObject({ ok: false, detail: expect.stringMatching(/^not counted on virtual:h200/) });
  });
});
