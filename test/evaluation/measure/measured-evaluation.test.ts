import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { inProcess } from '../../../src/core/call-reference.ts';
import type { EvaluationRequest } from '../../../src/core/evaluation.ts';
import type { GpuState } from '../../../src/core/measurement.ts';
import { createLiveEvaluator } from '../../../src/evaluation/live-evaluator.ts';
import { DECLARED } from '../../../src/evaluation/oracle/check.ts';
import { createExpectationCache } from '../../../src/evaluation/oracle/expectation-cache.ts';
import type { DeviceReference } from '../../../src/evaluation/oracle/expectations.ts';
import { createFakeDevice, type FakeKernel, type FakeLaunch } from '../../support/fake-device.ts';
import { createFakeToolchain } from '../../support/fake-toolchain.ts';
import { type MeasuringOptions, withMeasuring } from '../../support/measuring-device.ts';
import { longTests, sampled } from '../../support/sampling/matrix.ts';
import { honest, product, toyCandidate, toyProblem, toyWorkload } from '../../support/toy-problem.ts';

const long = longTests(import.meta.filename, { oneIn: 6 });

/** The same inputs are judged again and again: what is expected of them is worked out once. */
const toy = toyProblem();
const oracle = createExpectationCache();

const SEQUENCE_NS = 20_000;

const evaluate = async (
  kernel: FakeKernel,
  measuring: Partial<MeasuringOptions> = {},
  request: Partial<EvaluationRequest> = {},
) => {
  const device = withMeasuring(createFakeDevice({ kernel }), { sequenceNs: () => SEQUENCE_NS, ...measuring });
  const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain(), oracle, secret: 1 });
  const evaluation = await evaluator.evaluate({
    problem: toy,
    candidate: toyCandidate(),
    workload: toyWorkload,
    seed: 1,
    ...request,
  });
  expect(device.liveBuffers.size, 'buffers left allocated').toBe(0);
  expect(device.liveModules.size, 'modules left loaded').toBe(0);
  return evaluation;
};

/** Counts the launches of the kernel and plays `cheat` once those of verification are over. */
const cheatingWhenTimed = (
  cheat: (launch: FakeLaunch, timedLaunch: number) => void,
  verificationLaunches = LAUNCHES.forgetful,
): FakeKernel => {
  // Verification launches on smaller or the same shapes, one at a time; what follows is timed.
  let launches = 0;
  return (launch) => {
    launches += 1;
    const timed = launches - verificationLaunches;
    if (timed > 0) cheat(launch, timed);
    else honest(launch);
  };
};

const countVerification = async (options: Partial<MeasuringOptions> = {}): Promise<number> => {
  let launches = 0;
  let atFirstEstimate = 0;
  await evaluate(
    (launch) => {
      launches += 1;
      honest(launch);
    },
    {
      ...options,
      sequenceNs: () => {
        atFirstEstimate ||= launches - 1;
        return SEQUENCE_NS;
      },
    },
  );
  return atFirstEstimate;
};
/** Of verification; a kernel with variables is tried with inputs that resemble the last ones, too. */
const LAUNCHES = {
  forgetful: await countVerification(),
  remembering: await countVerification({ moduleState: { forget: () => {} } }),
};

describe('a rough time', () => {
  const roughly = async (kernel: FakeKernel, candidate = toyCandidate()) => {
    const device = withMeasuring(createFakeDevice({ kernel }), { sequenceNs: () => SEQUENCE_NS });
    const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain(), oracle, secret: 1 });
    const rough = await evaluator.estimate!({ problem: toy, candidate, workload: toyWorkload, seed: 1 });
    expect(device.liveBuffers.size, 'buffers left allocated').toBe(0);
    expect(device.liveModules.size, 'modules left loaded').toBe(0);
    return rough;
  };

  it('is that of a few runs, which nobody checks', async () => {
    let launches = 0;
    const rough = await roughly(() => {
      launches += 1;
    });
    expect(rough).toEqual({ ok: true, ns: expect.closeTo(SEQUENCE_NS, -4) });
    expect(launches).toBeGreaterThan(0);
    expect(launches).toBeLessThan(LAUNCHES.forgetful);
  });

  it('says why a kernel has none', async () => {
    const crashed = { ok: false, status: 'crashed', message: 'gone' } as const;
    expect(await roughly(() => crashed)).toMatchObject({ ok: false, status: 'crashed', reason: 'gone' });
    const limited = toyCandidate({ limits: ['R < 0'] });
    expect(await roughly(honest, limited)).toMatchObject({ ok: false, status: 'unsupported' });
  });
});

describe('an honest kernel', () => {
  it('is measured: its time, conditions and blocks', async () => {
    const { status, timing } = await evaluate(honest);
    expect(status).toBe('passed');
    expect(timing).toMatchObject({ kind: 'measured', medianNs: SEQUENCE_NS });
    const { conditions, blocks, summary, checkedSlotCount, eagerNs } = timing!.measurement!;
    expect(conditions).toMatchObject({
      tier: 'screen',
      cache: 'hot',
      replayOverheadNs: 1300,
      inputs: 'drawn-on-device',
    });
    // 2 KiB + 32 B + 2 KiB slots in half of 64 KiB; ten sequences make 200 µs.
    expect(conditions).toMatchObject({ fewestSlotCount: 6, slotCount: 7, replaysPerSample: 2 });
    // Five, or as many as half a second allows, two at least.
    expect(blocks.length).toBeGreaterThanOrEqual(2);
    expect(blocks.length).toBeLessThanOrEqual(5);
    expect(summary).toMatchObject({ sampleCount: 3 * blocks.length, blockCount: blocks.length });
    expect(checkedSlotCount).toBe(1);
    expect(eagerNs).toBe(SEQUENCE_NS + 1300);
  });

  it('is compared with the reference beside what it was timed beside', async () => {
    let [now, most, isReady, timedTooEarly] = [0, 0, false, false];
    const deviceReference: DeviceReference = {
      // Until after the verification.
      async prepare() {
        await sleep(2000);
        isReady = true;
      },
      run: async () => {
        now += 1;
        most = Math.max(most, now);
        await setImmediate();
        now -= 1;
        return undefined;
      },
      close: async () => {},
    };
    const device = withMeasuring(createFakeDevice({ kernel: honest }), { sequenceNs: () => SEQUENCE_NS });
    const instruments = { deviceReference };
    const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain(), oracle, instruments, secret: 1 });
    const against = [{ name: 'best', candidate: toyCandidate() }];
    const { status, baselines, timing } = await evaluator.evaluate({
      ...{ problem: toy, candidate: toyCandidate(), workload: toyWorkload, seed: 1, against },
      blocks: 2,
      onStage: ({ stage }) => {
        if (stage === 'time') timedTooEarly = !isReady;
      },
    });
    expect(status).toBe('passed');
    expect([timing!.measurement, baselines![0]!.measurement].map((each) => each!.checkedSlotCount)).toEqual([2, 2]);
    expect(most).toBe(2);
    expect(timedTooEarly, 'timed while the reference was being loaded').toBe(false);
  });

  it('whose launches are long is warmed up once, and sampled without a replay that does not count', async () => {
    const timed: number[] = [];
    const sequenceNs = () => {
      timed.push(1);
      return 200e6;
    };
    const { timing } = await evaluate(honest, { sequenceNs }, { tier: 'accept' });
    expect(timing!.measurement!.summary).toMatchObject({ blockCount: 10, sampleCount: 20 });
    // Two for the estimate, two samples in each block, and at most one more in each for the slot that is compared.
    expect(timed.length).toBeGreaterThanOrEqual(2 + 20);
    expect(timed.length).toBeLessThanOrEqual(2 + 30);
  });

  long('has one slot for each sequence of a cold ring of three times L2', async () => {
    const { timing } = await evaluate(honest, {}, { workload: { ...toyWorkload, cache: 'cold' } });
    const { conditions } = timing!.measurement!;
    expect(conditions.slotCount).toBe(conditions.sequencesPerReplay);
    expect(conditions.ringBytes).toBeGreaterThanOrEqual(3 * conditions.l2Bytes);
    expect(conditions.replaysPerSample).toBe(1);
  });

  long('is compared with itself and found the same', async () => {
    const against = [{ name: 'itself', candidate: toyCandidate() }];
    const { comparisons, baselines } = await evaluate(honest, {}, { tier: 'accept', against });
    expect(comparisons).toMatchObject([
      { candidate: 'candidate', baseline: 'itself', verdict: 'same', blockCount: 10 },
    ]);
    expect(baselines).toMatchObject([{ name: 'itself', kind: 'kernel' }]);
  });

  long('gets exactly the blocks it asks for', async () => {
    const { timing } = await evaluate(honest, {}, { tier: 'accept', blocks: 13 });
    expect(timing!.measurement!.blocks).toHaveLength(13);
    expect(timing!.measurement!.checkedSlotCount).toBe(13);
  });

  long('gets inputs when it is timed that its author cannot know', async () => {
    const firstInputs = async (secret?: number): Promise<string[]> => {
      const seen: string[] = [];
      const kernel: FakeKernel = (launch) => {
        honest(launch);
        seen.push(launch.load('X', 'f16').slice(0, 4).join());
      };
      const device = withMeasuring(createFakeDevice({ kernel }), { sequenceNs: () => SEQUENCE_NS });
      const toolchain = createFakeToolchain();
      const evaluator = createLiveEvaluator({ device, toolchain, oracle, ...(secret !== undefined && { secret }) });
      await evaluator.evaluate({
        problem: toy,
        candidate: toyCandidate(),
        workload: toyWorkload,
        seed: 1,
        blocks: 1,
      });
      return seen.slice(-7);
    };
    expect(await firstInputs(5)).toEqual(await firstInputs(5));
    expect(await firstInputs(5)).not.toEqual(await firstInputs(6));
    expect(await firstInputs()).not.toEqual(await firstInputs());
  });

  long('may take long for a ring of slow sequences', async () => {
    const device = withMeasuring(createFakeDevice({ kernel: honest }), { sequenceNs: () => 1e9 });
    const evaluator = createLiveEvaluator({
      device,
      toolchain: createFakeToolchain(),
      secret: 1,
      runTimeoutMs: 10_000,
    });
    const workload = { ...toyWorkload, cache: 'cold' } as const;
    const request = { problem: toy, candidate: toyCandidate(), workload, seed: 1, blocks: 1 };
    const { timing } = await evaluator.evaluate(request);
    const { slotCount } = timing!.measurement!.conditions;
    expect(device.runs.at(-1)!.timeoutMs).toBeGreaterThan(2 * slotCount * 1000);
  });

  describe('whose right outputs look like poison', () => {
    // Whole numbers from 1 to 100 are what integer outputs are poisoned with: here each slot is one of them throughout.
    const problem = toyProblem({
      inputs: {
        X: { dtype: 'u8', shape: ['R', 'C'], access: 'in', generator: { kind: 'index-range', low: '7', high: '8' } },
        W: { dtype: 'f16', shape: ['R'], access: 'in' },
      },
      outputs: { Y: { dtype: 'u8', shape: ['R', 'C'], access: 'out' } },
      generatorSets: {},
      comparison: { kind: 'exact' },
    });
    const counted: typeof problem = { ...problem, reference: inProcess(({ X }) => ({ Y: X!.map(() => 7) })) };
    const evaluateCounted = (kernel: FakeKernel, seed: number) =>
      evaluate(kernel, { l2Bytes: 2 ** 21 }, { problem: counted, blocks: 2, seed });

    sampled('seeds of poison', [1, 2, 3, 4, 5], { oneIn: 5 })('is not refused, seed %i', async (seed) => {
      const sevens: FakeKernel = ({ load, store }) =>
        store(
          'Y',
          'u8',
          load('X', 'u8').map(() => 7),
        );
      expect(await evaluateCounted(sevens, seed)).toMatchObject({ status: 'passed' });
    });

    it('is refused where it is not written', async () => {
      let launches = 0;
      const lazy: FakeKernel = ({ load, store }) => {
        launches += 1;
        if (launches <= LAUNCHES.forgetful)
          store(
            'Y',
            'u8',
            load('X', 'u8').map(() => 7),
          );
      };
      const { status, reason } = await evaluateCounted(lazy, 1);
      expect({ status, reason }).toMatchObject({
        status: 'wrong',
        reason: expect.stringMatching(/(?:not|wrong) when timed/),
      });
    });
  });

  it('loses blocks in which the GPU was too hot, and makes them again', async () => {
    let calls = 0;
    const state = (): GpuState => ({ throttleReasons: calls++ === 2 ? ['hw-thermal-slowdown'] : [] });
    const { measurement } = (await evaluate(honest, { state }, { blocks: 5 })).timing!;
    expect(measurement).toMatchObject({ discardedBlockCount: 1, summary: { blockCount: 5 } });
    expect(measurement!.blocks.map(({ discarded }) => discarded)).toEqual([undefined, 'thermal-slowdown', ...Array(4)]);
  });

  it('says who else used the GPU, and that it ran at the power cap', async () => {
    const state = (): GpuState => ({ otherProcessCount: 2, throttleReasons: ['sw-power-cap'] });
    const { measurement } = (await evaluate(honest, { state })).timing!;
    expect(measurement).toMatchObject({
      powerCapped: true,
      disturbances: [expect.stringMatching(/2 other processes/)],
    });
  });
});

describe('a kernel that cheats when it is timed', () => {
  it('skips every second launch', async () => {
    const kernel = cheatingWhenTimed((launch, timed) => timed % 2 === 0 && honest(launch));
    const { status, reason } = await evaluate(kernel);
    expect(status).toBe('wrong');
    expect(reason).toMatch(/right when verified, (not|wrong) when timed/);
  });

  it('skips everything', async () => {
    const { status, reason } = await evaluate(cheatingWhenTimed(() => {}));
    expect(status).toBe('wrong');
    expect(reason).toMatch(
      /output 'Y' of launch sequence \d+ of \d: 1024 elements were never written|1024 of 1024 elements/,
    );
  });

  it('writes the same wrong values everywhere', async () => {
    const zeros = cheatingWhenTimed((launch) => launch.store('Y', 'f16', new Float64Array(1024)));
    const { status, reason } = await evaluate(zeros);
    expect(status).toBe('wrong');
    expect(reason).toMatch(/wrong when timed \(launch sequence \d+ of \d\): Y\[0, 0\] = 0, wanted/);
  });

  it('writes outside its buffers', async () => {
    const kernel = cheatingWhenTimed((launch) => {
      honest(launch);
      launch.store('Y', 'f16', [1], 1024);
    });
    expect(await evaluate(kernel)).toMatchObject({
      status: 'unsafe',
      reason: expect.stringMatching(/wrote outside buffer 'Y'/),
    });
  });

  it('makes its inputs easier', async () => {
    const kernel = cheatingWhenTimed((launch) => {
      launch.store('X', 'f16', new Float64Array(1024));
      launch.store('Y', 'f16', new Float64Array(1024));
    });
    const { status, reason } = await evaluate(kernel);
    expect(status).toBe('unsafe');
    expect(reason).toMatch(/modified input 'X' of slot 0: 1024 elements changed, while it was timed/);
  });

  it('remembers the outputs of the launch before', async () => {
    let remembered: Float64Array | undefined;
    const kernel = cheatingWhenTimed((launch) => {
      remembered ??= product(launch);
      launch.store('Y', 'f16', remembered);
    }, LAUNCHES.remembering);
    const { status } = await evaluate(kernel, {
      moduleState: {
        forget: () => {
          remembered = undefined;
        },
      },
    });
    expect(status).toBe('wrong');
  });

  it('leaves the work to the next launch', async () => {
    let pending: FakeLaunch | undefined;
    const kernel = cheatingWhenTimed((launch) => {
      if (pending) honest(pending);
      pending = launch;
    }, LAUNCHES.remembering);
    const forget = () => {
      pending = undefined;
    };
    const { status } = await evaluate(kernel, { moduleState: { forget } });
    expect(status).toBe('wrong');
  });

  /** Counts launches of one burst: since the variables had their initial values. */
  const burst = () => {
    const state = { place: 0 };
    return { state, moduleState: { forget: () => Object.assign(state, { place: 0 }) } };
  };

  sampled('launches of which one works', [2, 3, 4, 7], { oneIn: 2 })(
    'lets one of %i launches do the work of all',
    async (size) => {
      // Honest at first, as in verification; whatever number the replay has, some cut falls between.
      for (const honestCount of [2, 3]) {
        const { state, moduleState } = burst();
        let queue: FakeLaunch[] = [];
        const kernel = cheatingWhenTimed((launch) => {
          const place = state.place++;
          if (place < honestCount) {
            queue = [];
            honest(launch);
            return;
          }
          queue.push(launch);
          if (queue.length === size) for (const one of queue.splice(0)) honest(one);
        }, LAUNCHES.remembering);
        const { status, reason } = await evaluate(kernel, { moduleState, l2Bytes: 2 ** 21 }, { blocks: 2 });
        expect({ status, reason }).toEqual({ status: 'wrong', reason: expect.stringMatching(/^right when verified/) });
      }
    },
  );

  it('skips one launch in a hundred, where it has been before', async () => {
    // What is written looks right: an earlier launch's results. The last launch, and the first ones, are honest.
    const { state, moduleState } = burst();
    let earlier: Float64Array | undefined;
    const kernel = cheatingWhenTimed((launch, timed) => {
      const place = state.place++;
      const own = product(launch);
      launch.store('Y', 'f16', place === 3 && timed % 100 < 50 && earlier ? earlier : own);
      earlier = own;
    }, LAUNCHES.remembering);
    const { status, reason } = await evaluate(kernel, { moduleState, l2Bytes: 2 ** 21 }, { blocks: 10 });
    expect({ status, reason }).toEqual({
      status: 'wrong',
      reason: expect.stringMatching(/^right when verified, not when timed: .*elements of 'Y'.*by itself/),
    });
  });

  it('knows from what launches leave on the chip that the first replays are over', async () => {
    let left = 0;
    const chipState = {
      scrub: () => {
        left = 0;
      },
    };
    let cheated = 0;
    const kernel = (): FakeKernel =>
      cheatingWhenTimed((launch) => {
        left += 1;
        if (left <= 25) return honest(launch);
        cheated += 1;
        launch.store('Y', 'f16', new Float64Array(1024));
      });
    expect(await evaluate(kernel(), { chipState })).toMatchObject({ status: 'passed' });
    expect(cheated, 'launches in which it could').toBe(0);
    // Where nothing is scrubbed, it is seen all the same: a rerun comes later than what it is compared with.
    left = 0;
    expect(await evaluate(kernel())).toMatchObject({ status: 'wrong' });
    expect(cheated).toBeGreaterThan(0);
  });

  it('writes outside its buffers and puts the guard zone in order before the block ends', async () => {
    let launches = 0;
    const kernel = cheatingWhenTimed((launch) => {
      honest(launch);
      launches += 1;
      if (launches === 40) launch.store('Y', 'f16', [1], 1024);
    });
    expect(await evaluate(kernel)).toMatchObject({ status: 'unsafe' });
  });

  it('is slow when it is estimated, and gets the ring that its time asks for', async () => {
    let timed = 0;
    const sequenceNs = () => (timed++ < 6 ? 400_000 : 10_000);
    const { status, timing } = await evaluate(honest, { sequenceNs, l2Bytes: 2 ** 21 }, { blocks: 3 });
    expect(status).toBe('passed');
    const { conditions, blocks, discardedBlockCount } = timing!.measurement!;
    expect(conditions).toMatchObject({ fewestSlotCount: 20, slotCount: 25 });
    expect(discardedBlockCount).toBe(1);
    expect(blocks.map(({ discarded }) => discarded)).toEqual(['estimates were off', undefined, undefined, undefined]);
  });

  long('slows down what it is compared with, and is not called faster for that', async () => {
    const other = toyCandidate({
      name: 'other',
      steps: [
        { function: 'other', grid: ['R'], block: [32], arguments: ['X', 'W', 'Y'].map((buffer) => ({ buffer })) },
      ],
    });
    const compared = async (slowedNs: number) => {
      let sinceCandidate = 0;
      const device = withMeasuring(createFakeDevice({ kernel: honest, other: honest }), {
        sequenceNs: ({ steps }) => {
          const isOther = steps.some((step) => step.kind === 'launch' && step.functionName === 'other');
          sinceCandidate = isOther ? sinceCandidate + 1 : 0;
          return isOther && sinceCandidate < 50 ? slowedNs : 20_000;
        },
      });
      const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain(), oracle, secret: 1 });
      const against = [{ name: 'other', candidate: other }];
      const request = { problem: toy, candidate: toyCandidate(), workload: toyWorkload, seed: 1 };
      return (await evaluator.evaluate({ ...request, against, tier: 'accept' })).comparisons![0]!;
    };
    expect(await compared(20_000)).toMatchObject({ verdict: 'same', baselineSlowdown: expect.closeTo(1, 3) });
    const slowed = await compared(22_000);
    expect(slowed).toMatchObject({ verdict: 'ambiguous', baselineSlowdown: expect.closeTo(1.1, 2) });
    expect(slowed.ratio).toBeGreaterThan(1.05);
  });
});

describe('a candidate that passed before', () => {
  it('is profiled: neither launched here, nor measured, nor held against the reference', async () => {
    const before = await evaluate(honest);
    const { correctness, coverage, timing } = before as Required<typeof before>;
    const levels: string[] = [];
    const evaluator = createLiveEvaluator({
      device: withMeasuring(createFakeDevice({ kernel: () => expect.unreachable('launched') }), {
        sequenceNs: () => expect.unreachable('measured'),
      }),
      toolchain: createFakeToolchain(),
      instruments: {
        diagnose: async ({ level, oracle, problem, seed, workload: { dimensions } }) => {
          // The profiler is given inputs, which no reference has to work out.
          oracle.check({ problem, seed, dimensions, generatorSet: DECLARED }).inputs.bytes.get('X');
          levels.push(level);
          return { findings: [] };
        },
      },
    });
    const unneeded = async () => expect.unreachable('the reference was run');
    const evaluation = await evaluator.evaluate({
      problem: { ...toyProblem(), reference: unneeded },
      candidate: toyCandidate(),
      workload: toyWorkload,
      seed: 1,
      profile: 'full',
      passedBefore: { correctness, coverage, timing },
    });
    expect(evaluation).toMatchObject({ status: 'passed', timing, correctness, coverage });
    expect(levels).toEqual(['full']);
  });
});

it('times nothing but with the GPU for itself', async () => {
  const device = withMeasuring(createFakeDevice({ kernel: honest }), { sequenceNs: () => SEQUENCE_NS });
  const { measuring } = device;
  const { replayOnce, timeEager } = measuring;
  const timed: boolean[] = [];
  let isAlone = false;
  Object.assign(measuring, {
    use: {
      beside: (work: () => Promise<unknown>) => work(),
      async alone(work: () => Promise<unknown>) {
        isAlone = true;
        return work().finally(() => {
          isAlone = false;
        });
      },
    },
    replayOnce(...asked: Parameters<typeof replayOnce>) {
      timed.push(isAlone);
      return replayOnce(...asked);
    },
    timeEager(...asked: Parameters<typeof timeEager>) {
      timed.push(isAlone);
      return timeEager(...asked);
    },
  });
  const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain(), oracle, secret: 1 });
  const against = [{ name: 'best', candidate: toyCandidate() }];
  const request = { problem: toy, candidate: toyCandidate(), workload: toyWorkload, seed: 1, against };
  expect(await evaluator.evaluate({ ...request, tier: 'accept' })).toMatchObject({ status: 'passed' });
  expect(timed.length).toBeGreaterThan(20);
  expect(timed.every((one) => one)).toBe(true);
});
