import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { EvaluationRequest } from '../../src/core/evaluation.ts';
import type { SanitizerReport } from '../../src/core/profile.ts';
import type { Instruments, SanitizerSubject } from '../../src/evaluation/instruments/instruments.ts';
import { createLiveEvaluator } from '../../src/evaluation/live-evaluator.ts';
import { createExpectationCache } from '../../src/evaluation/oracle/expectation-cache.ts';
import { createFakeDevice, type FakeKernel } from '../support/fake-device.ts';
import { createFakeToolchain } from '../support/fake-toolchain.ts';
import { withMeasuring } from '../support/measuring-device.ts';
import { longTestOf } from '../support/sampling/long-tests.ts';
import { honest, toyCandidate, toyProblem, toyWorkload } from '../support/toy-problem.ts';

const problem = toyProblem();
const oracle = createExpectationCache();
const CLEAN: SanitizerReport = { outcome: 'clean', version: '1', tools: [] };
const SEQUENCE_NS = 20_000;

/** An evaluator that has measured the candidate, and what happens from then on, without repetitions. */
async function measuredBefore(later: { kernel?: FakeKernel; sanitize?: (signal: AbortSignal) => Promise<void> } = {}) {
  const { kernel = honest, sanitize = () => setImmediate() } = later;
  let happened: string[] = [];
  const happens = (what: string) => {
    if (happened.at(-1) !== what) happened.push(what);
  };
  let [isLater, isTimed] = [false, false];
  const subjects: SanitizerSubject[] = [];
  const instruments: Instruments = {
    async sanitize(subject) {
      subjects.push(subject);
      happens('sanitizer starts');
      try {
        await sanitize(subject.signal!);
      } finally {
        happens('sanitizer ends');
      }
      return { sanitizer: CLEAN };
    },
  };
  const running: FakeKernel = (launch) => {
    if (!isTimed) happens('runs');
    return isLater ? kernel(launch) : honest(launch);
  };
  const device = withMeasuring(createFakeDevice({ kernel: running }), {
    sequenceNs: () => {
      // The launch that is timed has run already.
      if (!isTimed && happened.at(-1) === 'runs') happened.pop();
      isTimed = true;
      happens('is timed');
      return SEQUENCE_NS;
    },
  });
  const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain(), oracle, instruments, secret: 1 });
  const request: EvaluationRequest = { problem, candidate: toyCandidate(), workload: toyWorkload, seed: 1 };
  expect(await evaluator.evaluate(request)).toMatchObject({ status: 'passed' });
  happened = [];
  [isLater, isTimed] = [true, false];
  const evaluation = await evaluator.evaluate({ ...request, seed: 2, sanitize: true });
  expect(device.liveModules.size, 'modules left loaded').toBe(0);
  return { evaluation, happened, subjects };
}

describe('the sanitizer of a candidate that was measured before', () => {
  longTestOf(import.meta.filename)(
    'runs while the candidate is verified, and has ended before anything is timed',
    async () => {
      const { evaluation, happened, subjects } = await measuredBefore({
        // Until after the whole verification.
        sanitize: () => new Promise((resolve) => setTimeout(resolve, 300)),
      });
      expect(evaluation).toMatchObject({ status: 'passed', sanitizer: CLEAN });
      expect(happened).toEqual(['sanitizer starts', 'runs', 'sanitizer ends', 'is timed']);
      expect(subjects).toMatchObject([{ sequenceNs: SEQUENCE_NS, seed: 2 }]);
    },
  );

  it('is ended, and waited for, when the candidate is refused', async () => {
    const { evaluation, happened } = await measuredBefore({
      kernel: () => ({ ok: false, status: 'crashed', message: 'gone' }),
      sanitize: (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => setTimeout(() => reject(signal.reason), 20), { once: true });
        }),
    });
    expect(evaluation).toMatchObject({ status: 'crashed' });
    expect(evaluation.sanitizer).toBeUndefined();
    expect(happened).toEqual(['sanitizer starts', 'runs', 'sanitizer ends']);
  });

  it('does not make a candidate that is slow beside it time out: that is verified alone again', async () => {
    let launches = 0;
    const { evaluation, happened } = await measuredBefore({
      kernel: (launch) => (launches++ === 0 ? { ok: false, status: 'timed-out', message: 'too slow' } : honest(launch)),
    });
    expect(evaluation).toMatchObject({ status: 'passed', sanitizer: CLEAN });
    // Then it is sanitized after the measurement.
    expect(happened.slice(-3)).toEqual(['is timed', 'sanitizer starts', 'sanitizer ends']);
  });

  it('fails as it would after the measurement', async () => {
    await expect(measuredBefore({ sanitize: async () => Promise.reject(new Error('no disk')) })).rejects.toThrow(
      'no disk',
    );
  });
});
