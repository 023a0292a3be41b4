import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { inProcess } from '../../../src/core/call-reference.ts';
import { expandBuffers } from '../../../src/core/plan/expand-buffers.ts';
import type { Problem, ProblemFile } from '../../../src/core/problem.ts';
import { drawInputs } from '../../../src/evaluation/oracle/draw-inputs.ts';
import {
  createExpectationCache,
  type ExpectationCache,
  prepareCheck,
} from '../../../src/evaluation/oracle/expectation-cache.ts';
import type { DeviceReference } from '../../../src/evaluation/oracle/expectations.ts';
import { leastMaySuffice, runsLong } from '../../../src/evaluation/oracle/reference-runs.ts';
import type { OracleThreads } from '../../../src/evaluation/oracle/threads/oracle-threads.ts';
import { toyProblem } from '../../support/toy-problem.ts';

const counted = (changes = {}): { problem: Problem; calls: () => number } => {
  let calls = 0;
  const inner = toyProblem(changes);
  const reference: Problem['reference'] = (run) => {
    calls++;
    return inner.reference(run);
  };
  return { problem: { ...inner, reference }, calls: () => calls };
};

const DIMENSIONS = { R: 3, C: 17 };
const GENERATORS = { generatorSet: 'normal', seed: 1 };

describe('a prepared check', () => {
  it('shows the reference the values a kernel gets: rounded to the input’s dtype', () => {
    const { inputs } = prepareCheck({ problem: toyProblem(), dimensions: DIMENSIONS, ...GENERATORS });
    for (const value of inputs.tensors.X!) expect(value).toBe(Math.f16round(value));
    const bits = new Float16Array(inputs.bytes.get('X')!.slice().buffer);
    expect([...bits]).toEqual([...inputs.tensors.X!]);
  });

  it('calls a reference that changes its inputs wrong, and loses none of them', async () => {
    const problem: Problem = { ...toyProblem(), reference: inProcess(({ X }) => ({ Y: X!.fill(0) })) };
    const { inputs, expectations } = prepareCheck({ problem, dimensions: DIMENSIONS, ...GENERATORS });
    await expect(expectations()).rejects.toMatchObject({
      details: { code: 'reference-changed-input', message: "the reference changes its input 'X'" },
    });
    expect(inputs.tensors.X!.every((value) => value === 0)).toBe(false);
  });

  it('draws other inputs for another seed, shape or generator set', () => {
    const draw = (seed: number, C: number, generatorSet: string) =>
      [
        ...prepareCheck({ problem: toyProblem(), dimensions: { R: 3, C }, seed, generatorSet }).inputs.tensors.W!,
      ].join();
    const all = [draw(1, 17, 'normal'), draw(2, 17, 'normal'), draw(1, 18, 'normal'), draw(1, 17, 'large')];
    expect(new Set(all).size).toBe(4);
    expect(draw(1, 17, 'normal')).toBe(all[0]);
  });

  it('fills the gaps of a strided input with NaN', () => {
    const inputs = {
      X: { dtype: 'f16', shape: ['R', 'C'], strides: ['C + 1', 1], access: 'in' },
      W: toyProblem().file.inputs.W!,
    } satisfies ProblemFile['inputs'];
    const { inputs: drawn } = prepareCheck({
      problem: toyProblem({ inputs }),
      dimensions: { R: 2, C: 3 },
      ...GENERATORS,
    });
    const elements = [...new Float16Array(drawn.bytes.get('X')!.slice().buffer)];
    expect(elements.map(Number.isNaN)).toEqual([false, false, false, true, false, false, false]);
    expect([...drawn.tensors.X!]).toEqual([...elements.slice(0, 3), ...elements.slice(4)]);
  });

  it('shows a broadcast input (stride 0) as it lies in memory', () => {
    const inputs = {
      X: toyProblem().file.inputs.X!,
      W: { dtype: 'f16', shape: ['R'], strides: [0], access: 'in' },
    } satisfies ProblemFile['inputs'];
    const { inputs: drawn } = prepareCheck({ problem: toyProblem({ inputs }), dimensions: DIMENSIONS, ...GENERATORS });
    expect(drawn.bytes.get('W')).toHaveLength(2);
    expect(new Set(drawn.tensors.W!).size).toBe(1);
  });

  it('refuses inputs that overflow their dtype', () => {
    const generatorSets = { huge: { X: { kind: 'large', magnitude: 1e6 } } } as const;
    const problem = toyProblem({ generatorSets });
    expect(() => prepareCheck({ problem, dimensions: DIMENSIONS, seed: 1, generatorSet: 'huge' })).toThrow(
      /huge inputs overflow: f16/,
    );
  });
});

describe('the oracle', () => {
  it('runs the reference when it is first asked, once per problem, shape, seed and generator set', async () => {
    const { problem, calls } = counted({ comparison: { kind: 'exact' } });
    const oracle = createExpectationCache();
    const key = { problem, dimensions: DIMENSIONS, ...GENERATORS };
    const first = oracle.check(key);
    expect(calls()).toBe(0);
    const again = oracle.check({ ...key, dimensions: { C: 17, R: 3 } });
    expect(await first.expectations()).toBe(await again.expectations());
    expect(calls()).toBe(1);
    for (const other of [
      { seed: 2 },
      { generatorSet: 'large' },
      { dimensions: { R: 4, C: 17 } },
      { problem: counted().problem },
    ]) {
      expect(oracle.check({ ...key, ...other })).not.toBe(first);
    }
  });

  it('runs it on perturbed inputs, too, for a calibrated tolerance: four times where the output is small', async () => {
    const { problem, calls } = counted();
    const prepared = createExpectationCache().check({ problem, dimensions: DIMENSIONS, ...GENERATORS });
    expect((await prepared.expectations()).size).toBe(1);
    expect(calls()).toBe(1 + 4);
  });

  it('has the least tolerances after one run where more would take long, and the others if asked', async () => {
    const { problem, calls } = counted({ flop: '1e9' });
    const prepared = createExpectationCache().check({ problem, dimensions: { R: 3, C: 64 }, ...GENERATORS });
    const least = (await prepared.leastExpectations!()).get('Y')!;
    expect(calls()).toBe(1);
    const all = (await prepared.expectations()).get('Y')!;
    expect(calls()).toBe(1 + 2);
    expect(all.want).toEqual(least.want);
    expect(all.tolerances.every((tolerance, i) => tolerance > least.tolerances[i]!)).toBe(true);
    expect(await prepared.leastExpectations!()).not.toBe(await prepared.expectations());
  });

  it('has them of a sample, too, whose values are the same', async () => {
    const { problem, calls } = counted({ flop: '1e9' });
    const prepared = createExpectationCache().check({ problem, dimensions: { R: 3, C: 64 }, ...GENERATORS });
    const least = (await prepared.leastSample!()).expectations.get('Y')!;
    await prepared.leastSample!();
    expect(calls()).toBe(1);
    const all = (await prepared.sample()).expectations.get('Y')!;
    expect(calls()).toBe(1 + 1 + 2);
    expect(all.want).toEqual(least.want);
    expect(all.tolerances.every((tolerance, i) => tolerance > least.tolerances[i]!)).toBe(true);
  });

  it('a reference runs long of many operations, or of many elements', () => {
    const inputsOf = (length: number) => ({ X: { length } as Float64Array });
    expect(runsLong(toyProblem({ flop: '1e9' }), DIMENSIONS, inputsOf(10))).toBe(true);
    expect(runsLong(toyProblem({ flop: '1e9 - 1' }), DIMENSIONS, inputsOf(2 ** 21 - 1))).toBe(false);
    expect(runsLong(toyProblem({ flop: '1e9 - 1' }), DIMENSIONS, inputsOf(2 ** 21))).toBe(true);
  });

  it('has no least tolerances where thousands of results may each be smaller than their terms', () => {
    const [few, many] = [64, 65].map((C) => expandBuffers(toyProblem().file, { R: 64, C }));
    const conditioned = toyProblem({ comparison: { kind: 'conditioned', constant: 1, unit: 'f32', terms: 16 } });
    expect(leastMaySuffice(conditioned, few!)).toBe(true);
    expect(leastMaySuffice(conditioned, many!)).toBe(false);
    expect(leastMaySuffice(toyProblem(), many!)).toBe(true);
  });

  it.each([
    ['little is to be done', { flop: '1e9 - 1' }],
    ['no others are needed', { flop: '1e9', comparison: { kind: 'allclose', atol: 0, rtol: 0 } }],
  ] as const)('has no such tolerances where %s', (_, changes) => {
    const prepared = prepareCheck({ problem: toyProblem(changes), dimensions: DIMENSIONS, ...GENERATORS });
    expect(prepared.leastExpectations).toBeUndefined();
  });

  it('runs it once more where problem.json names roundings', async () => {
    const comparison = { kind: 'calibrated', storage: 'f16', accumulate: 'f32', roundings: { scaled: 'f16' } } as const;
    const { problem, calls } = counted({ comparison });
    await createExpectationCache()
      .check({ problem, dimensions: { R: 3, C: 64 }, ...GENERATORS })
      .expectations();
    expect(calls()).toBe(1 + 1 + 2);
  });

  it('forgets what was not used for longest beyond its limit', async () => {
    const { problem, calls } = counted({ comparison: { kind: 'exact' } });
    // One check of 51 elements keeps about 1.5 KiB alive.
    const oracle = createExpectationCache({ limitBytes: 4000 });
    const check = (seed: number) =>
      oracle.check({ problem, dimensions: DIMENSIONS, seed, generatorSet: 'normal' }).expectations();
    await check(1);
    await check(2);
    await check(1);
    const before = calls();
    for (let seed = 3; seed < 6; seed++) await check(seed);
    expect(calls()).toBe(before + 3);
    await check(2);
    expect(calls()).toBe(before + 4);
  });

  it('counts what it keeps for two kinds of tolerances: three times as much', async () => {
    const kept = (flop: string) => {
      const oracle = createExpectationCache({ limitBytes: 12_000 });
      const { problem } = counted({ flop });
      const check = (seed: number) =>
        oracle.check({ problem, dimensions: { R: 3, C: 64 }, seed, generatorSet: 'normal' });
      const first = check(1);
      check(2);
      return check(1) === first;
    };
    // 192 outputs keep 3 KiB, or 9.
    expect([kept('1e9 - 1'), kept('1e9')]).toEqual([true, false]);
  });
});

describe('caches of several devices', () => {
  /** More than 10^9 FLOP: a reference on a device computes it. */
  const LARGE = { R: 3, C: 4096 };
  const deviceReference = (runs: string[], name: string): DeviceReference => ({
    async run({ dimensions }) {
      runs.push(name);
      return { oracle: { Y: new Float64Array(dimensions.R! * dimensions.C!) } };
    },
    close: async () => {},
  });

  it('have what the host works out once, and what their own reference computes each', async () => {
    const { problem, calls } = counted({ flop: '1e5 * R * C' });
    const runs: string[] = [];
    const shared = createExpectationCache();
    const [a, b] = ['a', 'b'].map((name) =>
      createExpectationCache({ shared, deviceReference: deviceReference(runs, name) }),
    ) as [ExpectationCache, ExpectationCache];
    const small = { problem, dimensions: DIMENSIONS, ...GENERATORS };
    const first = await a.check(small).expectations();
    const count = calls();
    expect(await b.check(small).expectations()).toBe(first);
    expect(calls()).toBe(count);
    expect(runs).toEqual([]);
    const large = { problem, dimensions: LARGE, ...GENERATORS };
    await a.check(large).expectations();
    await b.check(large).expectations();
    expect(runs).toEqual(['a', 'b']);
    expect(calls()).toBe(count);
    expect(shared.check(large)).not.toBe(a.check(large));
  });

  it('draw a check once that several ask for ahead', async () => {
    const asked: string[] = [];
    const drawn = drawInputs({
      ...{ problem: toyProblem(), dimensions: DIMENSIONS, ...GENERATORS },
      buffers: expandBuffers(toyProblem().file, DIMENSIONS),
    });
    const threads = {
      async ask(task: string) {
        asked.push(task);
        await setImmediate();
        return drawn;
      },
    } as unknown as OracleThreads;
    const shared = createExpectationCache({ threads });
    const key = { problem: toyProblem(), dimensions: DIMENSIONS, ...GENERATORS };
    const caches = [1, 2].map(() => createExpectationCache({ shared, threads }));
    await Promise.all(caches.map((cache) => cache.ahead(key)));
    expect(asked).toEqual(['draw']);
    for (const cache of caches) expect(cache.check(key).inputs).toBe(drawn);
  });
});
