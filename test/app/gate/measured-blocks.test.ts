import { expect } from 'vitest';
import { judgeWorkload } from '../../../src/app/gate/judge-workload.ts';
import { createLiveEvaluator } from '../../../src/evaluation/live-evaluator.ts';
import { createExpectationCache } from '../../../src/evaluation/oracle/expectation-cache.ts';
import { createFakeDevice } from '../../support/fake-device.ts';
import { createFakeToolchain } from '../../support/fake-toolchain.ts';
import { withMeasuring } from '../../support/measuring-device.ts';
import { sampled } from '../../support/sampling/matrix.ts';
import { honest, toyCandidate, toyProblem, toyWorkload } from '../../support/toy-problem.ts';

/* The gate with the real protocol of a measurement, on a device whose clock is set here. */

const launch = { grid: ['R'], block: [32], arguments: [{ buffer: 'X' }, { buffer: 'W' }, { buffer: 'Y' }] };
const after = toyCandidate({ steps: [{ ...launch, function: 'kernel' }] });
const before = toyCandidate({ steps: [{ ...launch, function: 'other' }] });

const oracle = createExpectationCache();

/** Judges a kernel that takes `ns` now and took 20 µs, by a clock that jitters by 0.3 %. */
async function judged(ns: number) {
  let draws = 0;
  const device = withMeasuring(createFakeDevice({ kernel: honest, other: honest }), {
    sequenceNs: ({ steps }) =>
      steps.some((step) => step.kind === 'launch' && step.functionName === 'other') ? 20_000 : ns,
    noise: () => 0.003 * Math.sin(draws++),
  });
  const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain(), oracle, secret: 1 });
  const { row } = await judgeWorkload({
    options: { checks: 'usual', maximumSlowdown: 3 },
    session: { evaluator, device: { identity: { id: 'cuda:0', kind: 'cuda', name: 'GPU' } } },
    ...{ seed: 1, problem: toyProblem(), workload: toyWorkload, before, after },
  });
  return row;
}

const BLOCKS = [
  ['a twentieth slower', 21_000, 'slower', 'slower'],
  ['slower within what is allowed', 20_400, 'passes', 'slower'],
  ['a fifth faster', 16_000, 'passes', 'faster'],
] as const;
sampled('gates by blocks', BLOCKS, { oneIn: 3, placeOf: () => 'src/app/gate' })(
  'in shared blocks, a kernel that is %s',
  async (_, ns, outcome, verdict) => {
    const row = await judged(ns);
    expect(row).toMatchObject({ outcome, verdict, after: { status: 'passed', timing: { kind: 'measured' } } });
    expect(row.ratio).toBeCloseTo(20_000 / ns, 2);
    expect(row.blockCount).toBeGreaterThanOrEqual(10);
    expect(row.why).toBe(outcome === 'slower' ? 'measured 5.0 % slower; 3 % are allowed' : undefined);
  },
);
