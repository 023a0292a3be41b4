import { expect, it } from 'vitest';
import { quietEvaluator } from '../../../../src/app/author/command/quiet-evaluator.ts';
import type { EvaluationRequest } from '../../../../src/core/evaluation.ts';
import { createLiveEvaluator } from '../../../../src/evaluation/live-evaluator.ts';
import { createExpectationCache } from '../../../../src/evaluation/oracle/expectation-cache.ts';
import { createFakeDevice, type FakeKernel } from '../../../support/fake-device.ts';
import { createFakeToolchain } from '../../../support/fake-toolchain.ts';
import { withMeasuring } from '../../../support/measuring-device.ts';
import { honest, toyCandidate, toyProblem, toyWorkload } from '../../../support/toy-problem.ts';

const request: EvaluationRequest = {
  problem: toyProblem(),
  candidate: toyCandidate(),
  workload: toyWorkload,
  seed: 1,
  tier: 'screen',
};
const oracle = createExpectationCache();
const wrong: FakeKernel = ({ load, store }) => store('Y', 'f16', load('X', 'f16'));

/** What the device was asked for while agents worked, and while they were stopped. */
async function watch({ kernel = honest, fails = false }: { kernel?: FakeKernel; fails?: boolean } = {}) {
  let isPaused = false;
  let pauses = 0;
  const seen: { working: string[]; stopped: string[] } = { working: [], stopped: [] };
  const agents = {
    pause() {
      if (!isPaused) pauses += 1;
      isPaused = true;
    },
    resume() {
      isPaused = false;
    },
  };
  const note = (what: string) => (isPaused ? seen.stopped : seen.working).push(what);
  const device = withMeasuring(createFakeDevice({ kernel }), { sequenceNs: () => 20_000 });
  const { measuring } = device;
  const { replayOnce, timeEager } = { replayOnce: measuring!.replayOnce, timeEager: measuring!.timeEager };
  const watched = {
    ...measuring!,
    replayOnce(...given: Parameters<typeof replayOnce>) {
      note('replay');
      if (fails) throw new Error('the driver is gone');
      return replayOnce.apply(measuring, given);
    },
    timeEager(...given: Parameters<typeof timeEager>) {
      note('eager');
      return timeEager.apply(measuring, given);
    },
  };
  const run = device.run.bind(device);
  const live = createLiveEvaluator({
    device: Object.assign(device, {
      measuring: watched,
      run(...given: Parameters<typeof run>) {
        note('check');
        return run(...given);
      },
    }),
    toolchain: createFakeToolchain(),
    oracle,
  });
  const evaluator = quietEvaluator(live, agents);
  const outcome = await evaluator.evaluate(request).catch((error: Error) => error.message);
  await evaluator.close();
  return { outcome, seen, pauses, isPaused };
}

it('stops agents while replays are timed, and for nothing else', async () => {
  const { outcome, seen, pauses, isPaused } = await watch();
  expect(outcome).toMatchObject({ status: 'passed', timing: { kind: 'measured' } });
  expect(seen.stopped).toContain('replay');
  expect(seen.working).not.toContain('replay');
  expect(seen.working).toContain('check');
  expect([pauses, isPaused]).toEqual([1, false]);
});

it('stops nobody for a kernel that is wrong before it is timed', async () => {
  const { outcome, pauses } = await watch({ kernel: wrong });
  expect([outcome, pauses]).toEqual([expect.objectContaining({ status: 'wrong' }), 0]);
});

it('lets agents go on when a measurement breaks off', async () => {
  const { seen, pauses, isPaused } = await watch({ fails: true });
  expect([seen.stopped.length > 0, pauses, isPaused]).toEqual([true, 1, false]);
});
