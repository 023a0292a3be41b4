import { describe, expect, it } from 'vitest';
import type { DeviceFailure } from '../../../src/core/device-values.ts';
import { WarpsmithError } from '../../../src/core/errors.ts';
import type { Evaluation, EvaluationRequest } from '../../../src/core/evaluation.ts';
import type { Candidate } from '../../../src/core/kernel.ts';
import { createLiveEvaluator } from '../../../src/evaluation/live-evaluator.ts';
import { createExpectationCache } from '../../../src/evaluation/oracle/expectation-cache.ts';
import { createFakeDevice, type FakeDevice, type FakeKernel } from '../../support/fake-device.ts';
import { createFakeToolchain } from '../../support/fake-toolchain.ts';
import { withMeasuring } from '../../support/measuring-device.ts';
import { sampled } from '../../support/sampling/matrix.ts';
import { honest, toyCandidate, toyProblem, toyWorkload } from '../../support/toy-problem.ts';

/** The same inputs are judged again and again: what is expected of them is worked out once. */
const problem = toyProblem();
const oracle = createExpectationCache();

/** Once its failure ends the context, everything on the device is lost: handles can be given back but not used. */
const losingDevice = (device: FakeDevice): FakeDevice => {
  const { load, allocate, write, fill, read, damagedGuardBytes, run } = device;
  const births = new WeakMap<object, number>();
  let generation = 0;
  const use = <T extends object>(handle: T): T => {
    if (births.get(handle) === generation) return handle;
    throw new WarpsmithError({ code: 'device-failed', message: 'it was lost when the worker process ended.' });
  };
  return Object.assign(device, {
    async load(code) {
      const loaded = await load(code);
      if (loaded.ok) births.set(loaded.module, generation);
      return loaded;
    },
    async allocate(request) {
      const buffer = await allocate(request);
      births.set(buffer, generation);
      return buffer;
    },
    write: async (buffer, bytes, offset) => write(use(buffer), bytes, offset),
    fill: async (buffer, pattern) => fill(use(buffer), pattern),
    read: async (buffer) => read(use(buffer)),
    damagedGuardBytes: async (buffer) => damagedGuardBytes(use(buffer)),
    async run(module, plan, buffers, options) {
      for (const buffer of buffers.values()) use(buffer);
      const outcome = await run(use(module), plan, buffers, options);
      if (!outcome.ok) generation += 1;
      return outcome;
    },
  } satisfies Partial<FakeDevice>);
};

/** Launches of `kernel` before `failure`, once; all are honest but that one. */
const failingAt = (launch: number, failure: Omit<DeviceFailure, 'ok'>): FakeKernel & { launches: () => number } => {
  let launches = 0;
  const kernel: FakeKernel = (seen) => {
    launches += 1;
    return launches === launch ? { ok: false, ...failure } : honest(seen);
  };
  return Object.assign(kernel, { launches: () => launches });
};

const OTHER = toyCandidate({
  name: 'other',
  steps: [
    { function: 'other', grid: ['R'], block: [32], arguments: [{ buffer: 'X' }, { buffer: 'W' }, { buffer: 'Y' }] },
  ],
});
/** A number of blocks that no clock decides. */
const BESIDE: Partial<EvaluationRequest> = { blocks: 2, against: [{ name: 'other', candidate: OTHER }] };

const rig = (kernels: Record<string, FakeKernel>, adapt: (device: FakeDevice) => FakeDevice = losingDevice) => {
  const device = withMeasuring(adapt(createFakeDevice(kernels)), { sequenceNs: () => 20_000 });
  const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain(), oracle, secret: 1 });
  return async (request: Partial<EvaluationRequest> = {}): Promise<Evaluation> => {
    const evaluation = await evaluator.evaluate({
      problem,
      candidate: toyCandidate(),
      workload: toyWorkload,
      seed: 1,
      ...request,
    });
    expect(device.liveBuffers.size, 'buffers left allocated').toBe(0);
    expect(device.liveModules.size, 'modules left loaded').toBe(0);
    return evaluation;
  };
};

/** Launches until everything is measured, of which the last half lie in samples. */
const launchesOf = async (function_: 'kernel' | 'other'): Promise<number> => {
  const counting = failingAt(Number.POSITIVE_INFINITY, { status: 'crashed', message: '' });
  await rig({ kernel: honest, other: honest, [function_]: counting })(BESIDE);
  return counting.launches();
};

const HANG = { status: 'timed-out', message: 'kernel did not finish within 10 ms' } as const;
const ILLEGAL = { status: 'unsafe', message: 'kernel accessed memory outside every allocation' } as const;

describe('a failure while times are measured', () => {
  sampled('failures of a candidate', [HANG, ILLEGAL], { oneIn: 2 })(
    'is what the candidate is told, beside another kernel too: %o',
    async (failure) => {
      const total = await launchesOf('kernel');
      // Places in the warm-up, in samples and in the checks after them.
      for (const share of [0.4, 0.7, 0.9, 1]) {
        const evaluate = rig({ kernel: failingAt(Math.floor(share * total), failure), other: honest });
        expect(await evaluate(BESIDE)).toMatchObject({ status: failure.status, reason: failure.message });
        expect(await evaluate()).toMatchObject({ status: 'passed' });
      }
    },
  );

  sampled('failures beside a candidate', [HANG, ILLEGAL], { oneIn: 2 })(
    'of a kernel beside it is not held against the candidate: %o',
    async (failure) => {
      const total = await launchesOf('other');
      for (const share of [0.1, 0.5, 0.8]) {
        const evaluate = rig({ kernel: honest, other: failingAt(Math.ceil(share * total), failure) });
        expect(await evaluate(BESIDE)).toMatchObject({
          status: 'device-failed',
          reason: `other, which ran in the same blocks, ended the device process: ${failure.message}`,
          missingBaselines: [{ name: 'other', reason: failure.message }],
        });
        expect(await evaluate(BESIDE)).toMatchObject({ status: 'passed', comparisons: [{ baseline: 'other' }] });
      }
    },
  );
});

describe('a device that is full', () => {
  const withRoomFor = (count: number) => (device: FakeDevice) => {
    const { allocate } = device;
    device.allocate = async (request) => {
      if (device.liveBuffers.size < count) return allocate(request);
      throw new WarpsmithError({
        code: 'device-memory',
        message: `Buffer ${request.name} does not fit.`,
        hint: 'Less.',
      });
    };
    return device;
  };

  it.each([
    ['verification', 1],
    ['repeated launches', 5],
    ['a block', 18],
  ])('says what did not fit into %s, and leaves nothing behind', async (_where, count) => {
    expect(await rig({ kernel: honest, other: honest }, withRoomFor(count))(BESIDE)).toMatchObject({
      status: 'unsupported',
      reason: expect.stringMatching(/^Buffer \w+(#\d)? does not fit\. Less\.$/),
    });
  });

  it('goes on without a kernel beside it that does not fit', async () => {
    const evaluate = rig({ kernel: honest, other: honest }, withRoomFor(30));
    expect(await evaluate(BESIDE)).toMatchObject({
      status: 'passed',
      missingBaselines: [{ name: 'other', reason: expect.stringMatching(/does not fit/) }],
    });
  });
});

it('verifies code again that is launched otherwise', async () => {
  // The toolchain gives both the same code; a smaller grid leaves rows unwritten.
  const halved = toyCandidate({
    steps: [
      {
        function: 'kernel',
        grid: ['ceilDiv(R, 2)'],
        block: [32],
        arguments: [{ buffer: 'X' }, { buffer: 'W' }, { buffer: 'Y' }],
      },
    ],
  });
  const toolchain = createFakeToolchain();
  const device = withMeasuring(createFakeDevice({ kernel: honest }), { sequenceNs: () => 20_000 });
  const evaluator = createLiveEvaluator({
    device,
    oracle,
    toolchain: {
      ...toolchain,
      async compile(request) {
        const compiled = await toolchain.compile(request);
        return compiled.ok ? { ...compiled, code: { ...compiled.code, key: 'same' } } : compiled;
      },
    },
  });
  const request = { problem, workload: toyWorkload, seed: 1, blocks: 1 };
  expect(await evaluator.evaluate({ ...request, candidate: toyCandidate() })).toMatchObject({ status: 'passed' });
  /** Verification shuffles the order of CTAs in some runs; what is timed never does. */
  const shuffledRuns = async (candidate: Candidate): Promise<number> => {
    const before = device.runs.length;
    await evaluator.evaluate({ ...request, candidate });
    return device.runs.slice(before).filter(({ orderSeed }) => orderSeed !== 0).length;
  };
  expect(await shuffledRuns(toyCandidate())).toBe(0);
  // Its first check already fails: it is not even measured.
  expect(await shuffledRuns(halved)).toBeGreaterThan(0);
});
