import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { inProcess } from '../../src/core/call-reference.ts';
import type { CompiledCode } from '../../src/core/compiled-code.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { evaluationSchema } from '../../src/core/evaluation.ts';
import type { KernelFile, ParameterValues } from '../../src/core/kernel.ts';
import type { ProblemFile, RunReference } from '../../src/core/problem.ts';
import { createLiveEvaluator } from '../../src/evaluation/live-evaluator.ts';
import { createFakeDevice, type FakeDevice, type FakeKernel, type FakeLaunch } from '../support/fake-device.ts';
import { createFakeToolchain } from '../support/fake-toolchain.ts';
import { longTests, sampled } from '../support/sampling/matrix.ts';
import { honest, product, toyCandidate, toyProblem, toyWorkload } from '../support/toy-problem.ts';

const long = longTests(import.meta.filename, { oneIn: 4 });

let device: FakeDevice;

const evaluate = (
  kernel: FakeKernel,
  changes: {
    kernel?: Partial<KernelFile>;
    problem?: Partial<ProblemFile>;
    reference?: RunReference;
    parameters?: ParameterValues;
    toolchain?: ReturnType<typeof createFakeToolchain>;
    device?: Parameters<typeof createFakeDevice>[1];
    signal?: AbortSignal;
    checksAhead?: number;
  } = {},
): Promise<Evaluation> => {
  device = createFakeDevice({ kernel }, changes.device);
  const { toolchain = createFakeToolchain(), checksAhead } = changes;
  const evaluator = createLiveEvaluator({ device, toolchain, checksAhead });
  return evaluator.evaluate({
    problem: { ...toyProblem(changes.problem), ...(changes.reference && { reference: changes.reference }) },
    candidate: toyCandidate(changes.kernel, changes.parameters),
    workload: toyWorkload,
    seed: 1,
    ...(changes.signal && { signal: changes.signal }),
  });
};

afterEach(() => {
  expect(device.liveBuffers.size, 'buffers left allocated').toBe(0);
  expect(device.liveModules.size, 'modules left loaded').toBe(0);
});

describe('what checks expect', () => {
  /** Most shapes that a reference was asked for at a time, and what came of it all. */
  const shapesAtATime = async (checksAhead: number) => {
    const asked = new Map<string, number>();
    let most = 0;
    const { reference } = toyProblem();
    const evaluation = await evaluate(honest, {
      checksAhead,
      reference: async (run) => {
        const shape = JSON.stringify(run.dimensions);
        asked.set(shape, (asked.get(shape) ?? 0) + 1);
        most = Math.max(most, asked.size);
        await setImmediate();
        asked.set(shape, asked.get(shape)! - 1);
        if (asked.get(shape) === 0) asked.delete(shape);
        return reference(run);
      },
    });
    const { status, correctness, coverage } = evaluation;
    return { most, found: { status, correctness, coverage } };
  };

  long('is worked out ahead for some, and comes out the same', async () => {
    const [ahead, inTurn] = [await shapesAtATime(3), await shapesAtATime(0)];
    expect(inTurn.most).toBe(1);
    expect(ahead.most).toBeGreaterThan(1);
    expect(ahead.most).toBeLessThanOrEqual(4);
    expect(ahead.found).toEqual(inTurn.found);
  });
});

it('compiles ahead, but nothing once it is closed: nobody would end the compiler', async () => {
  device = createFakeDevice({ kernel: honest });
  let compileCount = 0;
  const toolchain = createFakeToolchain();
  const counting: typeof toolchain = {
    ...toolchain,
    compile(request) {
      compileCount += 1;
      return toolchain.compile(request);
    },
  };
  const evaluator = createLiveEvaluator({ device, toolchain: counting });
  evaluator.prepare!([toyCandidate()]);
  await setImmediate();
  expect(compileCount).toBe(1);
  evaluator.prepare!([toyCandidate()]);
  await evaluator.close();
  await setImmediate();
  expect(compileCount).toBe(1);
});

const WORKSPACE = { workspaces: { scratch: { bytes: 64, init: 'undefined' as const } } };

describe('an honest kernel', () => {
  it('passes with timing, counters and correctness', async () => {
    const evaluation = await evaluate(honest);
    expect(evaluation).toMatchObject({ schemaVersion: 1, id: 'e0', status: 'passed', workload: { name: 'main' } });
    // 1 check shape × 2 generator sets and main, each run twice; on main once more over its results, once with the large
    // inputs, four times in a row, once over zeros; 2 ways to place values at the check shape; 3 drawn shapes, each run twice and
    // once with values placed, one of them once more with large inputs; 2 shapes with a large dimension, one with two, the smallest;
    // 2 with one whole dimension; main with large and with small inputs, 2 ways to place values and one size.
    expect(evaluation.correctness?.checksRun).toBe(6 + 7 + 2 + 9 + 1 + 4 + 2 + 5);
    expect(evaluation.seed).toBe(1);
    expect(evaluation.coverage).toMatchObject({ checkShapes: 1, timedShapeOnly: false });
    expect(evaluation.coverage?.drawnShapes).toHaveLength(3 + 4 + 2);
    expect(evaluation.correctness?.worstErrorRatio).toBeLessThanOrEqual(1);
    expect(evaluation.timing?.kind).toBe('predicted');
    expect(evaluation.counters).toMatchObject({ instructions: 16, totals: { instructions: 16 } });
    expect(evaluation.counters?.launches).toHaveLength(1);
    expect(JSON.parse(JSON.stringify(evaluation))).toEqual(evaluation);
    expect(evaluationSchema.parse(evaluation)).toEqual(evaluation);
  });

  it('is invalid at once if its grid ends where a confirmation may look', async () => {
    const steps = [{ ...toyCandidate().kernel.file.steps[0]!, grid: ['R', 'ceilDiv(R, 8)'] }];
    expect(await evaluate(honest, { kernel: { steps } })).toMatchObject({
      status: 'invalid',
      reason: expect.stringMatching(/^The grid's y is \d+\. .*declare in `limits`/),
      failedCheck: expect.stringMatching(/^R=\d{6,}, C=1 /),
    });
    expect(device.runs).toEqual([]);
    const limits = ['ceilDiv(R, 8) <= 65535'];
    expect(await evaluate(honest, { kernel: { steps, limits } })).toMatchObject({ status: 'passed' });
  });

  describe('whose timed shape takes the reference long', () => {
    const file = {
      flop: 'R == 16 && C == 64 ? 1e9 : R * C',
      comparison: { kind: 'conditioned', constant: 1, unit: 'f16', terms: 1 },
    } as const;
    /** How often the reference computes all rows for the declared inputs, or for those that are nearly the same. */
    const runsWith = async (error: number): Promise<{ evaluation: Evaluation; wholeRuns: number }> => {
      let wholeRuns = 0;
      const { reference } = toyProblem();
      const evaluation = await evaluate(
        (launch) =>
          launch.store(
            'Y',
            'f16',
            product(launch).map((y) => (launch.launch.grid[0] === 16 ? y * (1 + error) : y)),
          ),
        {
          problem: file,
          reference: (run) => {
            if (run.dimensions.R === 16 && run.dimensions.C === 64 && !run.rows) wholeRuns += 1;
            return reference(run);
          },
        },
      );
      return { evaluation, wholeRuns };
    };

    long('needs no runs on perturbed inputs if it passes without', async () => {
      const [near, far, wrong] = [await runsWith(0), await runsWith(0.75 * 2 ** -10), await runsWith(2 ** -6)];
      expect([near, far, wrong].map(({ evaluation }) => evaluation.status)).toEqual(['passed', 'passed', 'wrong']);
      expect(far.wholeRuns).toBe(near.wholeRuns + 2);
    });
  });

  const firstSeeds = Array.from({ length: 10 }, (_, part) => 5 * part);
  sampled('seeds of an honest kernel', firstSeeds, { oneIn: 10 })(
    'passes for every seed of the five from %i',
    async (first) => {
      for (let seed = first; seed < first + 5; seed++) {
        device = createFakeDevice({ kernel: honest });
        const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain() });
        const request = { problem: toyProblem(), candidate: toyCandidate(), workload: toyWorkload, seed };
        expect((await evaluator.evaluate(request)).status).toBe('passed');
      }
    },
  );

  it('is counted only on the main workload, and run once in a seeded order', async () => {
    await evaluate(honest);
    expect(device.runs.findIndex(({ count }) => count)).toBe(4);
    expect(device.runs.filter(({ count }) => count)).toHaveLength(1);
    // The three repeated launches come after the third check's two runs.
    const reordered = [false, true, false, true, false, true, false, false, false];
    const seen = device.runs.map(({ orderSeed }) => orderSeed !== 0);
    expect(seen.slice(0, reordered.length)).toEqual(reordered);
    expect(seen.slice(reordered.length)).toEqual(expect.arrayContaining([false, true]));
  });

  it('is run once on every check with each buffer at its declared minimum alignment', async () => {
    await evaluate(honest);
    const ofY = device.allocations.filter(({ name }) => name === 'Y');
    expect(ofY.slice(0, 6).map(({ minimumAlignment }) => minimumAlignment)).toEqual(
      [0, 1, 2].flatMap(() => [false, true]),
    );
  });

  it('may keep a workspace that is zeroed once, and finds a zeroed one zeroed', async () => {
    const workspaces = { once: { bytes: 4, init: 'once' }, zeroed: { bytes: 4, init: 'zero' } } as const;
    const seen: number[][] = [];
    const evaluation = await evaluate(
      (launch) => {
        const [runs, zeroed] = [launch.load('once', 'f32')[0]!, launch.load('zeroed', 'f32')[0]!];
        seen.push([runs, zeroed]);
        launch.store('once', 'f32', [runs + 1]);
        launch.store('zeroed', 'f32', [1]);
        launch.store('Y', 'f16', product(launch));
      },
      { kernel: { workspaces } },
    );
    expect(evaluation.status).toBe('passed');
    const twoChecks = [0, 0, 1, 0, 0, 1];
    // Run 2 and every launch of the burst have a workspace of their own.
    const overOthers = [2, 3, 0, 0, 0, 0];
    // Inputs that resemble the last ones, each beside a launch that remembers nothing; each kind of them, and the earlier ones again;
    // rows of X exchanged, and the earlier ones again; one other element of X and of W; over results of almost the same inputs, twice, and of rows exchanged.
    const ofEachKind = [
      ...[1, 0, 1],
      ...[2, 0, 1],
      ...[2, 0, 1],
      ...[2, 0, 1],
      ...[2, 0, 1],
      ...[2, 0, 1],
      ...[2, 0, 1, 0],
    ];
    const resembling = [4, 0, ...ofEachKind, ...[1, 0, 1, 0, 1, 0]];
    const repeated = [...overOthers, ...resembling];
    const main = [0, 0, 1];
    const runs = [...twoChecks, ...main, ...repeated];
    expect(seen.slice(0, runs.length)).toEqual(runs.map((run) => [run, 0]));
    // Drawn shapes and further inputs come last, and two larger shapes, each with six launches that may remember. Behind those, each of X and W
    // has 130 launches on the same values and one on others.
    const last = seen.slice(runs.length);
    expect(last.every(([run, zeroed]) => run! <= 3 + 2 * 131 && zeroed === 0)).toBe(true);
    expect(last.some(([run]) => run! > 130)).toBe(true);
  });
});

it('refuses a problem whose checks are blind before a kernel is judged by them', async () => {
  const comparison = { kind: 'allclose', atol: 100, rtol: 0 } as const;
  await expect(
    evaluate((launch) => launch.store('Y', 'f16', product(launch)), { problem: { comparison } }),
  ).rejects.toThrow(/a check of row-scale is blind, R=3, C=17 · normal inputs: its tolerance hides the signal/);
});

describe('a problem whose dimensions depend on each other', () => {
  // Columns in groups of R: a reference that is nonsense elsewhere, where honest kernels would be called wrong.
  const reference = inProcess(({ X, W }, { R, C }) => ({
    Y: X!.map((x, i) => x * W![Math.floor(i / C!)]! * (C! % R! === 0 ? 1 : 2)),
  }));
  const shapes = { checkShapes: [{ dimensions: { R: 3, C: 18 } }] };

  it('is judged only at shapes within its limits', async () => {
    const limits = ['C % R == 0', 'C <= 96'];
    const { status, coverage } = await evaluate(honest, { reference, problem: { ...shapes, limits } });
    expect(status).toBe('passed');
    expect(coverage!.drawnShapes.length).toBeGreaterThanOrEqual(3);
    for (const { R, C } of coverage!.drawnShapes) expect(C! <= 96 && C! % R! === 0).toBe(true);
    expect((await evaluate(honest, { reference, problem: shapes })).status).toBe('wrong');
  });
});

describe('a timed shape whose declared inputs show nothing', () => {
  // Tiny values, of which every one is within the tolerance of every other.
  const X = {
    dtype: 'f16',
    shape: ['R', 'C'],
    access: 'in',
    generator: { kind: 'normal', standardDeviation: 1e-4 },
  } as const;
  const inputs = { ...toyProblem().file.inputs, X: { ...X, shape: [...X.shape] } };
  const comparison = { kind: 'allclose', atol: 0.01, rtol: 0.01 } as const;

  it('is verified with a generator set that shows it, whichever the seed would have chosen', async () => {
    const generatorSets = {
      normal: { X: { kind: 'normal' } },
      tiny: { X: { kind: 'normal', standardDeviation: 1e-5 } },
    } as const;
    const checkShapes = [{ dimensions: { R: 3, C: 17 }, generators: ['normal'] }];
    const { status, coverage } = await evaluate(honest, {
      problem: { inputs, comparison, generatorSets, checkShapes },
    });
    expect(status).toBe('passed');
    expect(coverage?.generatorSets).toContain('normal');
    expect(coverage?.leftOut).toContainEqual({
      check: 'R=16, C=64 · declared inputs',
      reason: expect.stringMatching(/^blind, its tolerance hides the signal: .*; normal inputs show it there$/),
    });
  });

  it('is an error of the problem where no inputs show it', async () => {
    const reference = inProcess(({ X, W }, { C }) => ({
      Y: X!.map((x, i) => x * W![Math.floor(i / C!)]! * (C === 64 ? 1e-5 : 1)),
    }));
    await expect(evaluate(honest, { problem: { comparison }, reference })).rejects.toThrow(
      /the timed shape of row-scale is blind with all its inputs, R=16, C=64 · declared inputs: its tolerance hides/,
    );
  });
});

describe('a wrong kernel', () => {
  it('is told the first wrong element and how many there are', async () => {
    const evaluation = await evaluate((launch) => {
      const y = product(launch);
      y[20] = y[20]! + 1;
      y[21] = y[21]! + 1;
      launch.store('Y', 'f16', y);
    });
    expect(evaluation.status).toBe('wrong');
    expect(evaluation.reason).toMatch(
      /^Y\[1, 3\] = \S+, wanted \S+ ± \S+ \(off by \S+, \S+ times its tolerance\); 2 of 51 elements wrong: .+$/,
    );
    expect(evaluation.failedCheck).toBe('R=3, C=17 · normal inputs · run 1 (natural order, NaN poison)');
    expect(evaluation.correctness?.firstWrong).toMatchObject({
      output: 'Y',
      index: [1, 3],
      wrongCount: 2,
      elementCount: 51,
    });
  });

  it('that is right on the timed shape for ordinary inputs only is found', async () => {
    const evaluation = await evaluate((launch) => {
      const x = launch.load('X', 'f16');
      const isTimedShape = x.length === 16 * 64;
      launch.store(
        'Y',
        'f16',
        product(launch).map((y, i) => (isTimedShape && Math.abs(x[i]!) > 20 ? 0 : y)),
      );
    });
    expect(evaluation.status).toBe('wrong');
    expect(evaluation.failedCheck).toMatch(/^R=16, C=64 · /);
  });

  it('that writes NaN is wrong', async () => {
    const evaluation = await evaluate((launch) => launch.store('Y', 'f16', product(launch).fill(Number.NaN, 7, 8)));
    expect(evaluation.status).toBe('wrong');
    expect(evaluation.reason).toMatch(/^Y\[0, 7\] = NaN/);
    expect(evaluation.correctness?.maxAbsoluteError).toBeNull();
    expect(evaluationSchema.safeParse(JSON.parse(JSON.stringify(evaluation))).error).toBeUndefined();
  });

  it('that leaves elements unwritten is told so', async () => {
    const evaluation = await evaluate((launch) => launch.store('Y', 'f16', product(launch).subarray(0, 50)));
    expect(evaluation.status).toBe('wrong');
    expect(evaluation.reason).toBe('1 of 51 elements of Y never written, first [2, 16]');
  });

  it('that is right for the first CTA order only is told so', async () => {
    const evaluation = await evaluate((launch) => {
      const y = product(launch);
      if (launch.options.orderSeed !== 0) y[0] = 0;
      launch.store('Y', 'f16', y);
    });
    expect(evaluation.status).toBe('wrong');
    expect(evaluation.reason).toMatch(/^output depends on the order of CTAs or warps: 1 of 51 elements of Y differ/);
  });

  it('that never ends for sizes beyond all others is refused by a thorough verification, too', async () => {
    const endless: FakeKernel = (launch) => {
      if (launch.load('X', 'f16').length > 20_000) return { ok: false, status: 'timed-out', message: 'still running' };
      return honest(launch);
    };
    device = createFakeDevice({ kernel: endless });
    const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain() });
    const request = { problem: toyProblem(), candidate: toyCandidate(), workload: toyWorkload, seed: 1 };
    expect(await evaluator.evaluate({ ...request, thorough: true })).toMatchObject({
      status: 'timed-out',
      reason: 'still running',
    });
  });

  long(
    'that is wrong from the 512th launch on is found by its counter, and confirmed by as many launches',
    async () => {
      const counting =
        (isWrong: (launches: number) => boolean): Parameters<typeof evaluate>[0] =>
        (launch) => {
          const launches = launch.load('count', 'i32')[0]!;
          launch.store('count', 'i32', [launches + 1]);
          launch.store(
            'Y',
            'f16',
            product(launch).map((value) => (isWrong(launches) ? 2 * value : value)),
          );
        };
      const kernel = { workspaces: { count: { bytes: 4, init: 'once' } } } as const;
      const wrong = await evaluate(
        counting((launches) => (launches & 512) !== 0),
        { kernel },
      );
      expect(wrong).toMatchObject({
        status: 'wrong',
        reason: 'launch 513 in a row gives other results than the first, of the same inputs',
      });

      const late = await evaluate(
        counting((launches) => launches >= 2 ** 16),
        { kernel },
      );
      expect(late).toMatchObject({
        status: 'wrong',
        reason: expect.stringMatching(/^launch 65537 in a row gives other results .* \(so many were not made/),
      });
      // No such launch follows from the ones before: after 40,000 the count begins anew.
      const renewed = await evaluate(
        (launch) => {
          const launches = launch.load('count', 'i32')[0]!;
          launch.store('count', 'i32', [(launches + 1) % 40_000]);
          launch.store(
            'Y',
            'f16',
            product(launch).map((value) => (launches >= 2 ** 16 - 1 ? 2 * value : value)),
          );
        },
        { kernel },
      );
      expect(renewed).toMatchObject({ status: 'passed' });
      // Nothing that a launch leaves there.
      const ring: Parameters<typeof evaluate>[0] = (launch) => {
        const place = launch.load('count', 'i32')[0]!;
        launch.store('count', 'i32', [(place + 1) % 5]);
        launch.store(
          'Y',
          'f16',
          product(launch).map((value) => (place >= 5 ? 0 : value)),
        );
      };
      expect((await evaluate(ring, { kernel })).status).toBe('passed');
    },
  );

  it('that does not keep its once-zeroed workspace valid is told so', async () => {
    const evaluation = await evaluate(
      (launch) => {
        const ticket = launch.load('tickets', 'u32')[0]!;
        launch.store('tickets', 'u32', [ticket + 1]);
        launch.store(
          'Y',
          'f16',
          product(launch).map((y) => y + ticket),
        );
      },
      { kernel: { workspaces: { tickets: { bytes: 4, init: 'once' } } } },
    );
    expect(evaluation.status).toBe('wrong');
    expect(evaluation.reason).toMatch(
      /on what earlier launches left in a workspace that is zeroed once or in a __device__ variable: 51 of 51/,
    );
  });

  it('that is right, but not always to the bit, is wrong under bitwise determinism only', async () => {
    const unstable: FakeKernel = (launch) => {
      const y = product(launch);
      if (launch.options.orderSeed !== 0) y[0] = y[0]! * (1 + 2 ** -11);
      launch.store('Y', 'f16', y);
    };
    expect((await evaluate(unstable)).reason).toMatch(/order of CTAs or warps/);
    expect((await evaluate(unstable, { problem: { determinism: 'tolerance' } })).status).toBe('passed');
  });
});

/** What a kernel keeps in a `__device__` variable: gone when its module is loaded anew. */
const rememberingKernel = <State>(initial: () => State, run: (launch: FakeLaunch, state: State) => void) => {
  let state = initial();
  const load = async (code: CompiledCode) => {
    state = initial();
    return { ok: true, module: { code, resources: {} } } as const;
  };
  const toolchain = createFakeToolchain(
    undefined,
    '.visible .global .align 4 .u32 state; .global .u64 at = generic(state);',
  );
  return evaluate((launch) => run(launch, state), { device: { load, unload: async () => {} }, toolchain });
};

const isMainWorkload = ({ load }: FakeLaunch): boolean => load('X', 'f16').length === 16 * 64;

describe('a kernel that remembers earlier launches', () => {
  it('and skips every second one is told so', async () => {
    const { status, reason, failedCheck } = await rememberingKernel(
      () => ({ launches: 0 }),
      (launch, state) => {
        if (state.launches++ % 2 === 0) honest(launch);
      },
    );
    expect(status).toBe('wrong');
    expect(reason).toMatch(
      /^a launch leaves 51 of 51 elements of Y as they lay, first \[0, 0\], because of launches bef/,
    );
    expect(failedCheck).toContain('run 2');
  });

  it('and returns their results for new inputs is told so', async () => {
    const { status, reason, failedCheck } = await rememberingKernel(
      () => ({ results: new Map<number, Float64Array>() }),
      (launch, { results }) => {
        const y = (isMainWorkload(launch) && results.get(0)) || product(launch);
        if (isMainWorkload(launch)) results.set(0, y);
        launch.store('Y', 'f16', y);
      },
    );
    expect(status).toBe('wrong');
    expect(reason).toMatch(
      /^output is that of earlier inputs, in 1024 of 1024 elements of Y: the kernel remembers results/,
    );
    expect(failedCheck).toContain('new inputs');
  });

  it('and does nothing after a number of them is told so', async () => {
    const { status, reason } = await rememberingKernel(
      () => ({ launches: 0 }),
      (launch, state) => {
        if (state.launches++ < 6) honest(launch);
      },
    );
    expect(status).toBe('wrong');
    expect(reason).toMatch(
      /^a launch leaves \d+ of 1024 elements of Y as they lay, first \S+ \d+\], because of launches/,
    );
  });

  it('and does nothing when launched in a row is told so', async () => {
    const { status, reason } = await evaluate((launch) => {
      const isFollowed = launch.launch.arguments.some(
        (argument) => argument.kind === 'buffer' && /#[012]/.test(argument.buffer),
      );
      if (!isFollowed) honest(launch);
    });
    expect(status).toBe('wrong');
    expect(reason).toMatch(/^launch 1 of 4 in a row: a launch leaves 1024 of 1024 elements of Y as they lay/);
  });
});

describe('a kernel that looks at what its output holds', () => {
  const heldBefore = /^output depends on what it held before: \d+ of 1024 elements of Y are left as they lay, first/;

  it('and returns early when it looks right is unsafe', async () => {
    const { status, reason } = await evaluate((launch) => {
      const [y, right] = [launch.load('Y', 'f16'), product(launch)];
      const looksRight = right.slice(0, 8).some((value, i) => Math.f16round(value) === y[i]);
      if (!looksRight) launch.store('Y', 'f16', right);
    });
    expect({ status, reason }).toEqual({ status: 'unsafe', reason: expect.stringMatching(heldBefore) });
  });

  it('and knows the poison of all first runs is unsafe', async () => {
    const { status, reason } = await evaluate((launch) => {
      const y = launch.load('Y', 'f16')[0]!;
      if (Number.isNaN(y) || y === 0 || y > 60_000) honest(launch);
    });
    expect({ status, reason }).toEqual({ status: 'unsafe', reason: expect.stringMatching(heldBefore) });
  });
});

describe('a kernel that is right at ordinary addresses only', () => {
  it('is told so', async () => {
    const { status, reason } = await evaluate((launch) => {
      const y = product(launch);
      // Buffers at minimum alignment are allocated beside the check's own.
      if (device.liveBuffers.size > 3) y[0] = 9;
      launch.store('Y', 'f16', y);
    });
    expect(status).toBe('wrong');
    expect(reason).toMatch(/^output depends on where the buffers lie, at the declared minimum alignment: 1 of 51/);
  });
});

describe('an unsafe kernel', () => {
  it('that changes an input', async () => {
    const evaluation = await evaluate((launch) => {
      launch.store('Y', 'f16', product(launch));
      launch.store('X', 'f16', [123], 18);
    });
    expect(evaluation.status).toBe('unsafe');
    expect(evaluation.reason).toBe("modified input 'X': 1 of 51 elements changed, first [1, 1]");
  });

  it('that writes past its output', async () => {
    const evaluation = await evaluate((launch) => {
      launch.store('Y', 'f16', [...product(launch), 1, 2]);
    });
    expect(evaluation.status).toBe('unsafe');
    expect(evaluation.reason).toBe("wrote outside buffer 'Y': 4 guard bytes changed");
  });

  it('that reads uninitialised workspace', async () => {
    const evaluation = await evaluate(
      (launch) => {
        const y = product(launch);
        if (Number.isNaN(launch.load('scratch', 'f32')[0])) y[0] = 0;
        launch.store('Y', 'f16', y);
      },
      { kernel: WORKSPACE },
    );
    expect(evaluation.status).toBe('unsafe');
    expect(evaluation.reason).toMatch(/^output depends on uninitialised memory: 1 of 51 elements of Y differ/);
  });

  it('that reads uninitialised workspace which breaks it the same way whatever it holds, but for zeros', async () => {
    const evaluation = await evaluate(
      (launch) => {
        const broken = launch.load('scratch', 'f32')[0] !== 0;
        launch.store(
          'Y',
          'f16',
          product(launch).map((y) => (broken ? Number.NaN : y)),
        );
      },
      { kernel: WORKSPACE },
    );
    expect(evaluation.status).toBe('unsafe');
    expect(evaluation.reason).toMatch(/^output depends on uninitialised memory: 51 of 51 elements of Y differ/);
  });

  it('that accumulates onto an output nobody zeroed', async () => {
    const evaluation = await evaluate((launch) => {
      const old = launch.load('Y', 'f16');
      launch.store(
        'Y',
        'f16',
        product(launch).map((value, i) => value + old[i]! * 0),
      );
    });
    expect(evaluation.status).toBe('unsafe');
    expect(evaluation.reason).toMatch(/uninitialised memory: 51 of 51/);
  });

  it('that reads uninitialised workspace into a tolerated difference, even where bits may differ', async () => {
    const evaluation = await evaluate(
      (launch) => {
        const y = product(launch);
        if (Number.isNaN(launch.load('scratch', 'f32')[0])) y[0] = 9;
        launch.store('Y', 'f16', y);
      },
      { kernel: WORKSPACE, problem: { determinism: 'tolerance' } },
    );
    expect(evaluation.status).toBe('unsafe');
  });

  it('whose fault the device reports', async () => {
    const fault = { functionName: 'kernel', address: '0x10', buffer: { name: 'Y', offsetBytes: 102, sizeBytes: 102 } };
    const evaluation = await evaluate(() => ({ ok: false, status: 'unsafe', message: 'out of bounds', fault }));
    expect(evaluation).toMatchObject({ status: 'unsafe', reason: 'out of bounds', fault });
    expect(evaluation.failedCheck).toMatch(/^R=3, C=17 · normal inputs · run 1/);
  });
});

describe('strided buffers', () => {
  const strided: Partial<ProblemFile> = {
    outputs: { Y: { dtype: 'f16', shape: ['R', 'C'], strides: ['C + 3', 1], access: 'out' } },
  };
  const rows = (launch: FakeLaunch): { columns: number; y: Float64Array } => {
    const y = product(launch);
    return { columns: y.length / launch.launch.grid[0], y };
  };

  it('are compared element by element', async () => {
    const evaluation = await evaluate(
      (launch) => {
        const { columns, y } = rows(launch);
        for (let r = 0; r * columns < y.length; r++) {
          launch.store('Y', 'f16', y.subarray(r * columns, (r + 1) * columns), r * (columns + 3));
        }
      },
      { problem: strided },
    );
    expect(evaluation.status).toBe('passed');
  });

  it('must keep the gaps between their elements', async () => {
    const evaluation = await evaluate(
      (launch) => {
        const { columns, y } = rows(launch);
        for (let r = 0; r * columns < y.length; r++) {
          launch.store('Y', 'f16', y.subarray(r * columns, (r + 1) * columns), r * (columns + 3));
        }
        launch.store('Y', 'f16', [0], columns);
      },
      { problem: strided },
    );
    expect(evaluation).toMatchObject({
      status: 'unsafe',
      reason: "wrote between the elements of output 'Y', at byte 34",
    });
  });
});

describe('a buffer updated in place', () => {
  const inPlace: Partial<ProblemFile> = {
    inputs: {
      Y: { dtype: 'f16', shape: ['R', 'C'], access: 'inout' },
      W: { dtype: 'f16', shape: ['R'], access: 'in' },
    },
    outputs: {},
  };
  const problem = {
    ...toyProblem(inPlace),
    reference: inProcess(({ Y, W }, { C }, round) => ({ Y: Y!.map((y, i) => round(y * W![Math.floor(i / C!)]!)) })),
  };
  const judge = async (kernel: FakeKernel): Promise<Evaluation> => {
    device = createFakeDevice({ kernel });
    const candidate = toyCandidate({
      steps: [{ function: 'kernel', grid: ['R'], block: [32], arguments: [{ buffer: 'Y' }, { buffer: 'W' }] }],
    });
    const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain() });
    return evaluator.evaluate({ problem, candidate, workload: toyWorkload, seed: 3 });
  };

  it('starts from the same contents every time', async () => {
    const evaluation = await judge(({ load, launch, store }) => {
      const [y, w] = [load('Y', 'f16'), load('W', 'f16')];
      store(
        'Y',
        'f16',
        y.map((value, i) => value * w[Math.floor(i / (y.length / launch.grid[0]))]!),
      );
    });
    expect(evaluation.status).toBe('passed');
  });

  it('left as it was is wrong', async () => {
    expect((await judge(() => {})).status).toBe('wrong');
  });
});

describe('what is refused before anything runs', () => {
  it('a workload outside the kernel’s limits', async () => {
    const evaluation = await evaluate(honest, { kernel: { limits: ['C <= 32'] } });
    expect(evaluation.status).toBe('unsupported');
    expect(evaluation.reason).toContain('C <= 32');
    expect(device.runs).toHaveLength(0);
  });

  it('an architecture the kernel is not for', async () => {
    const source = { kind: 'cuda' as const, files: ['kernel.cu'], architectures: ['sm_90a'] };
    const evaluation = await evaluate(honest, { kernel: { source } });
    expect(evaluation).toMatchObject({ status: 'unsupported', reason: 'toy is for sm_90a; virtual:fake is sm_89' });
  });

  it('parameters that break a constraint', async () => {
    const parameters = { TILE: { values: [16, 32], default: 16 } };
    const evaluation = await evaluate(honest, {
      kernel: { parameters, constraints: ['TILE <= 16'] },
      parameters: { TILE: 32 },
    });
    expect(evaluation.status).toBe('invalid');
    expect(evaluation.reason).toContain('TILE <= 16');
  });

  it('too much shared memory, with the numbers', async () => {
    const step = { function: 'kernel', grid: ['R'], block: [32], sharedBytes: 200_000, arguments: [] };
    const evaluation = await evaluate(honest, { kernel: { steps: [step] } });
    expect(evaluation.status).toBe('launch-failed');
    expect(evaluation.reason).toMatch(/200000 bytes.*101376/);
  });

  it('too many threads, with the numbers', async () => {
    const step = { function: 'kernel', grid: ['R'], block: [64, 32], arguments: [] };
    const evaluation = await evaluate(honest, { kernel: { steps: [step] } });
    expect(evaluation.status).toBe('launch-failed');
    expect(evaluation.reason).toMatch(/2048 threads/);
  });

  it('a grid of no CTAs', async () => {
    const step = { function: 'kernel', grid: ['R - 16'], block: [32], arguments: [] };
    const evaluation = await evaluate(honest, { kernel: { steps: [step] } });
    expect(evaluation.status).toBe('invalid');
  });

  it('code that does not compile, with its diagnostics', async () => {
    const diagnostics = [{ severity: 'error' as const, message: 'no', location: { file: 'kernel.cu', line: 3 } }];
    const toolchain = createFakeToolchain({
      ok: false,
      status: 'compile-failed',
      message: 'kernel.cu:3: no',
      diagnostics,
      elapsedMs: 1,
    });
    const evaluation = await evaluate(honest, { toolchain });
    expect(evaluation).toMatchObject({ status: 'compile-failed', reason: 'kernel.cu:3: no', diagnostics });
  });

  it('code the device cannot load', async () => {
    const load = async () => ({ ok: false, status: 'unsupported', message: 'unknown opcode wgmma' }) as const;
    const evaluation = await evaluate(honest, { device: { load } });
    expect(evaluation).toMatchObject({ status: 'unsupported', reason: 'unknown opcode wgmma' });
  });
});

describe('limits of a check shape', () => {
  it('leave drawn shapes within the limits', async () => {
    const evaluation = await evaluate(honest, { kernel: { limits: ['R >= 16'] } });
    expect(evaluation.status).toBe('passed');
    expect(evaluation.coverage).toMatchObject({
      checkShapes: 0,
      excludedShapes: [{ R: 3, C: 17 }],
      timedShapeOnly: false,
    });
    const drawn = evaluation.coverage!.drawnShapes;
    expect(drawn.length).toBeGreaterThanOrEqual(3);
    expect(drawn.every(({ R }) => R! >= 16)).toBe(true);
  });

  it('that leave the timed shape alone are said so, and all kinds of input go there twice', async () => {
    const evaluation = await evaluate(honest, { kernel: { limits: ['R == 16 && C == 64'] } });
    expect(evaluation.status).toBe('passed');
    expect(evaluation.coverage).toMatchObject({ drawnShapes: [], fixedDimensions: ['R', 'C'], timedShapeOnly: true });
    // Main with large and declared inputs, twice each, and seven repeated launches; the set named normal is what the inputs
    // declare.
    expect(evaluation.correctness?.checksRun).toBe(11 + 4 * 2);
  });
});

describe('shared memory that grows with a dimension', () => {
  const step = {
    function: 'kernel',
    grid: ['R'],
    block: [32],
    arguments: [{ buffer: 'X' }, { buffer: 'W' }, { buffer: 'Y' }],
  };
  const sharing = (sharedBytes: string): Partial<KernelFile> => ({ steps: [{ ...step, sharedBytes }] });
  /** Rows of what was run: W holds one f16 for each. */
  const seen = () => new Set(device.allocations.filter(({ name }) => name === 'W').map(({ bytes }) => bytes / 2));

  it('turns away the check shapes that have no room for it, not the settings', async () => {
    const checkShapes = [{ dimensions: { R: 3, C: 17 } }, { dimensions: { R: 5, C: 4096 } }];
    const evaluation = await evaluate(honest, { problem: { checkShapes }, kernel: sharing('64 * C') });
    expect(evaluation.status).toBe('passed');
    expect([...seen()].slice(0, 2)).toEqual([3, 16]);
    expect(evaluation.coverage).toMatchObject({ checkShapes: 1, excludedShapes: [{ R: 5, C: 4096 }] });
  });

  it('leaves drawn shapes that have room where it turns away every check shape', async () => {
    const evaluation = await evaluate(honest, { kernel: sharing('C == 64 ? 0 : 1e9') });
    expect(evaluation.status).toBe('passed');
    expect(evaluation.coverage).toMatchObject({ checkShapes: 0, fixedDimensions: ['C'] });
    expect(new Set(evaluation.coverage?.drawnShapes.map(({ C }) => C))).toEqual(new Set([64]));
  });

  it('is launch-failed where the workload itself has no room for it', async () => {
    const evaluation = await evaluate(honest, { kernel: sharing('4096 * C') });
    expect(evaluation).toMatchObject({ status: 'launch-failed', reason: expect.stringContaining('shared memory') });
  });
});

describe('a persistent kernel', () => {
  const step = {
    function: 'kernel',
    grid: ['device.smCount * kernel.ctasPerSm'],
    block: [256],
    arguments: [{ buffer: 'X' }],
  };
  const flat: FakeKernel = ({ load, store }) => {
    const [x, w] = [load('X', 'f16'), load('W', 'f16')];
    store(
      'Y',
      'f16',
      x.map((value, i) => value * w[Math.floor(i / (x.length / w.length))]!),
    );
  };

  long('gets as many CTAs as are resident at once', async () => {
    const evaluation = await evaluate(flat, { kernel: { steps: [step] } });
    // 64 registers × 256 threads = 16,384: four CTAs fill the 65,536 registers of each of the L4's 58 SMs.
    expect(evaluation).toMatchObject({ status: 'passed', counters: { launches: [{ grid: [58 * 4, 1, 1] }] } });
  });

  it('is not supported where the device does not know', async () => {
    const load = async (code: CompiledCode) => ({ ok: true, module: { code } }) as const;
    const evaluation = await evaluate(flat, { kernel: { steps: [step] }, device: { load, unload: async () => {} } });
    expect(evaluation).toMatchObject({ status: 'unsupported', reason: expect.stringContaining('kernel.ctasPerSm') });
  });
});

it('a time below the provable bound is implausible', async () => {
  const predict = () => ({
    kind: 'predicted' as const,
    medianNs: 1,
    intervalNs: [1, 1] as [number, number],
    vetoNs: 2,
    attainableNs: 3,
    bindingResource: 'fp32',
  });
  const evaluation = await evaluate(honest, { device: { predict } });
  expect(evaluation.status).toBe('implausible');
  expect(evaluation.reason).toMatch(/^1.0 ns is below the provable lower bound of 2.0 ns: .*FLOP/);
});

describe('aborting', () => {
  it('rejects with the reason and leaves nothing behind', async () => {
    const controller = new AbortController();
    const kernel: FakeKernel = (launch) => {
      launch.store('Y', 'f16', product(launch));
      controller.abort(new Error('interrupted'));
    };
    await expect(evaluate(kernel, { signal: controller.signal })).rejects.toThrow('interrupted');
    expect(device.runs).toHaveLength(1);
  });

  it('does not stop later evaluations', async () => {
    device = createFakeDevice({ kernel: honest });
    const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain() });
    const request = { problem: toyProblem(), candidate: toyCandidate(), workload: toyWorkload, seed: 1 };
    const aborted = evaluator.evaluate({ ...request, signal: AbortSignal.abort(new Error('no')) });
    const later = evaluator.evaluate(request);
    await expect(aborted).rejects.toThrow('no');
    expect((await later).status).toBe('passed');
  });
});

it('a problem whose reference is broken is the problem’s fault', async () => {
  device = createFakeDevice({ kernel: honest });
  const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain() });
  const problem = { ...toyProblem(), reference: inProcess(() => ({ Y: new Float64Array(3) })) };
  await expect(
    evaluator.evaluate({ problem, candidate: toyCandidate(), workload: toyWorkload, seed: 1 }),
  ).rejects.toThrow("does not return output 'Y'");
});
