import { expect, test } from 'vitest';
import type { CandidateTarget } from '../../src/app/candidate-target.ts';
import { passedInRun } from '../../src/app/inspect.ts';
import type { DeviceIdentity } from '../../src/core/device.ts';
import type { Workload } from '../../src/core/problem.ts';
import { fullRun } from '../reports/full-run.ts';

const run = { id: 'r', folder: '', started: fullRun[0] as never, events: fullRun };
const event = fullRun.find((each) => each.type === 'evaluation-finished' && each.evaluation.status === 'passed');
if (event?.type !== 'evaluation-finished') throw new Error('a run in which nothing passed');
const workload: Workload = { ...event.evaluation.workload, cache: 'hot' };
const gpu: DeviceIdentity = { id: 'cuda:0', kind: 'cuda', name: 'NVIDIA H200' };
const virtual: DeviceIdentity = { id: 'virtual:l4', kind: 'virtual', name: 'NVIDIA L4 (virtual)' };

/** As if it had passed on this device. */
const on = (device: DeviceIdentity): Pick<CandidateTarget, 'origin'> => {
  const found = { correctness: { worstErrorRatio: 0.5 }, coverage: {}, timing: { medianNs: 1000 } };
  const evaluation = { ...event.evaluation, ...found, device } as unknown as typeof event.evaluation;
  return { origin: { run, event: { ...event, evaluation } } };
};

test.each([
  ['a GPU, inspected on a GPU of that name', on(gpu), workload, gpu, true],
  ['a GPU, inspected on a virtual one', on(gpu), workload, virtual, true],
  ['another GPU', on({ ...gpu, name: 'NVIDIA L4' }), workload, gpu, false],
  ['a virtual GPU, inspected on a GPU', on(virtual), workload, gpu, false],
  ['another workload', on(gpu), { ...workload, dimensions: { N: 3 } }, gpu, false],
  ['no run at all', {}, workload, gpu, false],
] as const)('what passed on %s', (_, target, asked, device, counted) => {
  expect(passedInRun(target, asked, device) !== undefined).toBe(counted);
});
