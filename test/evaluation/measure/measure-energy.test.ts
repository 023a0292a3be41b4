import { expect, test } from 'vitest';
import { inProcess } from '../../../src/core/call-reference.ts';
import type { MeasuredEnergy } from '../../../src/core/energy.ts';
import type { EvaluationRequest } from '../../../src/core/evaluation.ts';
import type { KernelFile } from '../../../src/core/kernel.ts';
import type { GpuState } from '../../../src/core/measurement.ts';
import type { Instruments } from '../../../src/evaluation/instruments/instruments.ts';
import { createLiveEvaluator } from '../../../src/evaluation/live-evaluator.ts';
import { createExpectationCache } from '../../../src/evaluation/oracle/expectation-cache.ts';
import { evaluationDocument } from '../../../src/reports/documents/evaluation.ts';
import { formatJoules } from '../../../src/reports/sections/energy.ts';
import { createFakeDevice, type FakeKernel } from '../../support/fake-device.ts';
import { createFakeToolchain } from '../../support/fake-toolchain.ts';
import { IDLE_W, type MeasuringOptions, withMeasuring } from '../../support/measuring-device.ts';
import { onTerminal, unwrapped } from '../../support/printed.ts';
import { longTests } from '../../support/sampling/matrix.ts';
import { honest, toyCandidate, toyProblem, toyWorkload } from '../../support/toy-problem.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const toy = toyProblem();
const oracle = createExpectationCache();
/** Long, so that blocks are short of launches. */
const SEQUENCE_NS = 1e6;
const JOULES = 4e-4;

/** The same work in another function, which takes as long and needs more energy. */
const other = toyCandidate({
  name: 'other',
  steps: [{ function: 'other', grid: ['R'], block: [32], arguments: ['X', 'W', 'Y'].map((buffer) => ({ buffer })) }],
});

const evaluate = async (
  measuring: Partial<MeasuringOptions>,
  request: Partial<EvaluationRequest> = {},
  kernel: FakeKernel = honest,
  instruments: Instruments = {},
) => {
  const device = withMeasuring(createFakeDevice({ kernel, other: honest }), {
    sequenceNs: () => SEQUENCE_NS,
    joules: ({ steps }) =>
      steps.some((step) => step.kind === 'launch' && step.functionName === 'other') ? 1.5 * JOULES : JOULES,
    ...measuring,
  });
  const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain(), oracle, secret: 1, instruments });
  const evaluation = await evaluator.evaluate({
    ...{ problem: toy, candidate: toyCandidate(), workload: toyWorkload, seed: 1, blocks: 2, energy: true },
    ...request,
  });
  expect([device.liveBuffers.size, device.liveModules.size], 'left on the device').toEqual([0, 0]);
  return evaluation;
};

long('energy is that of one launch sequence, in ten blocks, beside a baseline and with idle power', async () => {
  const noises = [0.004, -0.004, 0.002, -0.002];
  let turn = 0;
  const noise = () => noises[turn++ % noises.length]!;
  const evaluation = await evaluate({ noise }, { against: [{ name: 'start', candidate: other }] });
  const energy = evaluation.energy as MeasuredEnergy;
  expect(energy).toMatchObject({ blockCount: 10, discardedBlockCount: 0, idleW: IDLE_W });
  const [own, start] = energy.contenders;
  expect(own).toMatchObject({ contender: 'candidate', joules: expect.closeTo(JOULES, 5) });
  expect(own!.windows).toHaveLength(10);
  expect(start!.joules).toBeCloseTo(1.5 * JOULES, 5);
  expect(own!.watts).toBeCloseTo(JOULES / (SEQUENCE_NS / 1e9), -1);
  const [comparison] = energy.comparisons;
  expect(comparison).toMatchObject({
    baseline: 'start',
    verdict: 'less',
    blockCount: 10,
    ratio: expect.closeTo(1.5, 1),
  });
  expect(comparison!.intervalRatio[0]).toBeLessThan(1.5);
  expect(comparison!.intervalRatio[1]).toBeGreaterThan(1.5);
  // Times are as they are without, and their verdict knows nothing of joules.
  expect(evaluation.comparisons![0]!.ratio).toBeCloseTo(1, 1);
  const printed = unwrapped(onTerminal(evaluationDocument(evaluation)));
  expect(printed).toContain('candidate needs less energy beside start: 1.5');
  expect(printed).toContain('idle, with the context open: 70 W');
  expect(formatJoules(0.01234)).toBe('12.34 mJ');
});

test('blocks of a throttled GPU are discarded and repeated; other processes are told', async () => {
  let asked = 0;
  // Times take two states for each of two blocks; then every second block of energy is hot.
  const state = (): GpuState => {
    const number = asked++ - 4;
    const isHot = number >= 0 && Math.floor(number / 2) % 2 === 1;
    return { throttleReasons: isHot ? ['hw-thermal-slowdown'] : [], otherProcessCount: 1 };
  };
  expect((await evaluate({ state })).energy).toMatchObject({
    blockCount: 10,
    discardedBlockCount: 9,
    disturbances: ['another process held a context on this GPU'],
  });
});

long('a kernel that overwrites its inputs has none: a launch in a row would find other ones', async () => {
  const problem = {
    ...toyProblem({ inputs: { Y: { dtype: 'f16', shape: ['R', 'C'], access: 'inout' } }, outputs: {} }),
    reference: inProcess(({ Y }) => ({ Y: Y!.map((y) => 2 * y) })),
  };
  const steps: KernelFile['steps'] = [{ function: 'kernel', grid: ['R'], block: [32], arguments: [{ buffer: 'Y' }] }];
  const double: FakeKernel = ({ load, store }) =>
    store(
      'Y',
      'f16',
      load('Y', 'f16').map((y) => 2 * y),
    );
  const { status, energy } = await evaluate({}, { problem, candidate: toyCandidate({ steps }) }, double);
  expect([status, energy]).toEqual([
    'passed',
    { unavailable: expect.stringMatching(/^candidate: it overwrites its inputs/) },
  ]);
});

test('where there is none, the reason is told, and the time stands', async () => {
  const none = await evaluate({ joules: undefined });
  expect(none.energy).toEqual({ unavailable: 'this device counts no energy' });
  expect(none.timing!.medianNs).toBeCloseTo(SEQUENCE_NS, -4);
  const { energy } = await evaluate({}, { energy: false });
  expect(energy).toBeUndefined();
});

test('where energy is minimised, what needs less deserves a profile, and what is only faster does not', async () => {
  const profiledIn = async (
    minimised: 'energy' | undefined,
    faster: 'candidate' | 'start',
    thriftier: typeof faster,
  ) => {
    const isOther = ({ steps }: Parameters<MeasuringOptions['sequenceNs']>[0]) =>
      steps.some((step) => step.kind === 'launch' && step.functionName === 'other');
    let profiles = 0;
    const diagnose: Instruments['diagnose'] = async () => {
      profiles += 1;
      return { findings: [] };
    };
    await evaluate(
      {
        sequenceNs: (plan) => SEQUENCE_NS * (isOther(plan) === (faster === 'start') ? 1 : 2),
        joules: (plan) => JOULES * (isOther(plan) === (thriftier === 'start') ? 1 : 2),
      },
      { against: [{ name: 'start', candidate: other }], tier: 'accept', blocks: 10, profile: 'light', minimised },
      honest,
      { diagnose } as Instruments,
    );
    return profiles;
  };
  expect(await profiledIn('energy', 'start', 'candidate')).toBe(1);
  expect(await profiledIn('energy', 'candidate', 'start')).toBe(0);
  expect(await profiledIn(undefined, 'candidate', 'start')).toBe(1);
});
