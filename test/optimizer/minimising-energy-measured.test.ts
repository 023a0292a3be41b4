import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Evaluator } from '../../src/core/evaluation.ts';
import { createLiveEvaluator } from '../../src/evaluation/live-evaluator.ts';
import { createExpectationCache } from '../../src/evaluation/oracle/expectation-cache.ts';
import { createRecordingEvaluator } from '../../src/evaluation/recording/record.ts';
import { createRecordedEvaluator } from '../../src/evaluation/recording/replay.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import type { RunEvent } from '../../src/store/events.ts';
import { openRecording, readRecording } from '../../src/store/recording.ts';
import { createFakeDevice } from '../support/fake-device.ts';
import { createFakeToolchain } from '../support/fake-toolchain.ts';
import { withMeasuring } from '../support/measuring-device.ts';
import { honest, toyCandidate, toyProblem, toyWorkload } from '../support/toy-problem.ts';
import { CUDA } from './fake-gpu.ts';
import { ofType, runLoop } from './fakes.ts';

/** Kernels that do the same in other functions: time in ns and joules of a launch sequence. Long, so that windows are short of launches. */
const KERNELS = {
  start: { ns: 2e7, joules: 8 },
  faster: { ns: 1.6e7, joules: 12 },
  thriftier: { ns: 2.2e7, joules: 4 },
  equal: { ns: 1.8e7, joules: 4 },
  // Half of the 70 W that the idle board draws make 7 J of its time.
  slow: { ns: 2e8, joules: 16 },
} as const;
type Name = keyof typeof KERNELS;

const candidates = (Object.keys(KERNELS) as Name[]).map((name) =>
  toyCandidate({
    name,
    steps: [{ function: name, grid: ['R'], block: [32], arguments: ['X', 'W', 'Y'].map((buffer) => ({ buffer })) }],
  }),
);
const known = Object.fromEntries(Object.keys(KERNELS).map((name) => [name, honest]));

function measuring(): Evaluator {
  const of = (steps: readonly { kind: string; functionName?: string }[]) =>
    KERNELS[steps.find(({ kind }) => kind === 'launch')!.functionName as Name];
  const device = withMeasuring(createFakeDevice(known), {
    sequenceNs: ({ steps }) => of(steps as never).ns,
    joules: ({ steps }) => of(steps as never).joules,
  });
  const oracle = createExpectationCache();
  const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain(), oracle, secret: 1 });
  // A winner is verified for long, which is no matter of energy.
  return { ...evaluator, evaluate: (request) => evaluator.evaluate({ ...request, thorough: false }) };
}

const run = (evaluator: Evaluator) =>
  runLoop({
    evaluator,
    problem: toyProblem(),
    device: CUDA,
    workloads: [{ ...toyWorkload, weight: 1 }],
    start: candidates[0]!,
    rungs: candidates.map(({ kernel }) => kernel),
    strategy: 'exhaustive',
    minimised: 'energy',
  });

let folder: string;
let recorded: Awaited<ReturnType<typeof run>>;
const path = () => join(folder, 'run.jsonl.gz');

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-energy-'));
  const compiler = { name: 'nvrtc', version: '13.0' };
  const writer = openRecording(path(), { device: CUDA, spec: DEVICE_SPECS.get('l4')!, compiler, environment: {} });
  const evaluator = createRecordingEvaluator(measuring(), writer);
  recorded = await run(evaluator);
  await evaluator.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const decisionOn = (events: readonly RunEvent[], kernel: Name) => {
  const { iteration } = ofType(events, 'move-proposed').find(({ candidate }) => candidate.kernel === kernel)!;
  return ofType(events, 'decision').find((event) => event.iteration === iteration);
};

test('windows on a device that counts energy decide: less is kept, faster and equal are not', () => {
  const { events, result } = recorded;
  expect(decisionOn(events, 'faster')).toMatchObject({ decision: 'revert', energy: { verdict: 'more' } });
  expect(decisionOn(events, 'thriftier')).toMatchObject({ decision: 'keep', energy: { verdict: 'less' } });
  expect(decisionOn(events, 'equal')).toMatchObject({ decision: 'revert', energy: { verdict: 'equal' } });
  const slow = decisionOn(events, 'slow')!;
  expect(slow.energy).toBeUndefined();
  expect(slow.reason).toContain('even at 35 W, half of idle power, it would need 1.7');
  expect(result.best!.candidate.kernel.file.name).toBe('thriftier');
  expect(result.confirmation).toMatchObject({
    outcome: 'accepted, unsanitized',
    verdict: 'slower',
    energy: { verdict: 'less' },
  });
});

test('a recording gives the same run again, to the bit', async () => {
  const replayed = await run(createRecordedEvaluator(readRecording(path())));
  expect(replayed.events).toEqual(recorded.events);
  expect(JSON.stringify(ofType(replayed.events, 'decision'))).toBe(JSON.stringify(ofType(recorded.events, 'decision')));
});
