import { describe, expect, it } from 'vitest';
import { loadProblem } from '../../../src/app/loading/load-problem.ts';
import { inProcess } from '../../../src/core/call-reference.ts';
import type { Problem, ProblemFile } from '../../../src/core/problem.ts';
import { auditProblem } from '../../../src/evaluation/audit/audit.ts';
import {
  hiddenSignals,
  refuseBlindCheck,
  refuseBlindNamedCheck,
  sightOf,
} from '../../../src/evaluation/audit/blind-checks.ts';
import { prepareCheck } from '../../../src/evaluation/oracle/expectation-cache.ts';
import type { Expectation } from '../../../src/evaluation/oracle/tolerances/tolerance.ts';
import { auditDocument } from '../../../src/reports/documents/audit.ts';
import { printTerminal } from '../../../src/reports/print/terminal.ts';
import { toyProblem } from '../../support/toy-problem.ts';

/** Checks of the timed shape alone. */
const AS_TIMED = { workloads: [{ name: 'as checked', dimensions: { R: 3, C: 17 } }] };
const CHECK = { dimensions: { R: 3, C: 17 }, generatorSet: 'normal' };

const refuse = (problem: Problem): Promise<void> =>
  refuseBlindCheck({ problem, check: CHECK, prepared: prepareCheck({ problem, ...CHECK, seed: 1 }), seed: 1 });

const expectation = (want: number[], tolerances: number[]): Expectation => ({
  want: Float64Array.from(want),
  tolerances: Float64Array.from(tolerances),
  groupSize: want.length / tolerances.length,
});

describe('what a tolerance hides', () => {
  const many = Array.from({ length: 32 }, (_, i) => (i % 2 === 0 ? 1 : 5));

  it('is its median ÷ the standard deviation of the right values', () => {
    const tolerances = many.map((_, i) => (i < 4 ? 1e9 : 0.5));
    expect(sightOf('Y', expectation(many, tolerances))).toEqual({
      output: 'Y',
      tolerance: 0.5,
      spread: 2,
      share: 0.25,
    });
  });

  it('is compared with the size of the values where they are all equal, or too few to deviate', () => {
    expect(sightOf('Y', expectation(Array(20).fill(3), [1.5])).share).toBe(0.5);
    expect(sightOf('Y', expectation([3, 4], [1])).spread).toBeCloseTo(Math.sqrt(12.5));
  });

  it('is nothing where no error is allowed, and not known where all values are zero', () => {
    expect(sightOf('Y', expectation(many, [0])).share).toBe(0);
    expect(sightOf('Y', expectation([0, 0], [0])).share).toBe(0);
    expect(sightOf('Y', expectation([0, 0], [1])).share).toBeNull();
    expect(
      sightOf(
        'Y',
        expectation(
          [Number.NaN, ...many],
          [...many, 0].map(() => 0.25),
        ),
      ).share,
    ).toBe(0.125);
  });

  it('is too much from the share on that problem.json names, a quarter unless it does', () => {
    const sights = [sightOf('Y', expectation(many, [0.5]))];
    expect(hiddenSignals(toyProblem(), sights)).toEqual(['Y: tolerance 0.5 ÷ spread 2 = 0.25, less than 0.25 wanted']);
    expect(hiddenSignals(toyProblem({ toleranceShare: 0.3 }), sights)).toEqual([]);
  });
});

describe('a check', () => {
  it('that sees is not refused', async () => {
    await expect(refuse(toyProblem())).resolves.toBeUndefined();
  });

  it.each([
    [
      'is told by answers for its own inputs moved, of numbers that are drawn one by one',
      { kind: 'normal' as const },
      0,
    ],
    ['needs those of another seed where the order of numbers is given', { kind: 'ramp' as const, low: 0, high: 1 }, 1],
  ])('%s', async (_, generator, draws) => {
    const problem = toyProblem({ generatorSets: { chosen: { X: generator, W: generator } } });
    const check = { ...CHECK, generatorSet: 'chosen' };
    const prepared = prepareCheck({ problem, ...check, seed: 1 });
    let drawn = 0;
    const drawAgain = (seed: number) => {
      drawn++;
      return prepared.drawAgain(seed);
    };
    await refuseBlindCheck({ problem, check, prepared: { ...prepared, drawAgain }, seed: 1 });
    expect(drawn).toBe(draws);
  });

  it('costs one run of the reference beside those that judging takes anyway', async () => {
    const toy = toyProblem();
    let runs = 0;
    const counted: Problem = {
      ...toy,
      reference: (run) => {
        runs++;
        return toy.reference(run);
      },
    };
    const request = {
      problem: counted,
      check: CHECK,
      prepared: prepareCheck({ problem: counted, ...CHECK, seed: 1 }),
      seed: 1,
    };
    await request.prepared.expectations();
    const before = runs;
    await refuseBlindCheck(request);
    expect(runs - before).toBe(1);
    await refuseBlindCheck(request);
    expect(runs - before).toBe(1);
  });

  it('whose tolerance reaches its share of the spread is refused, with the arithmetic', async () => {
    const loose = toyProblem({ comparison: { kind: 'allclose', atol: 0.5, rtol: 0 } });
    await expect(refuse(loose)).rejects.toThrow(
      /^a check of row-scale is blind, R=3, C=17 · normal inputs: .*Y: tolerance 0\.5 ÷ spread [\d.]+ = [\d.]+, less than 0\.25/,
    );
  });

  it('that accepts a generic wrong kernel is refused, though its tolerance is small beside the spread', async () => {
    // A few elements make the spread; zeros are within the tolerance everywhere else, and within rtol there.
    const blind = toyProblem({ comparison: { kind: 'allclose', atol: 0, rtol: 1 }, toleranceShare: 1 });
    await expect(refuse(blind)).rejects.toThrow(
      /it accepts a kernel that writes zeros \(zeros\): its largest error is 1 of/,
    );
  });

  it('is told by audit beside the others, with every wrong kernel it lets through', async () => {
    const report = await auditProblem({
      problem: toyProblem({ ...AS_TIMED, comparison: { kind: 'allclose', atol: 0.5, rtol: 0 } }),
      seed: 1,
    });
    const [normal, large] = report.sight;
    expect(normal!.blind).toMatch(/^Y: tolerance 0\.5 ÷ spread/);
    expect(normal!.accepted).toContain('gain');
    expect(large!.blind).toBeNull();
    expect(report).toMatchObject({ ok: false, blindChecks: [normal!.check] });
    const text = printTerminal(auditDocument(report));
    expect(text).toContain('Blind checks: 1 of 2');
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThan(81);
  });

  it('whose calibration is not finite is blind, too', async () => {
    const comparison = { kind: 'calibrated', storage: 'f16', accumulate: 'f32', roundings: { square: 'f16' } } as const;
    const problem: Problem = {
      ...toyProblem({ ...AS_TIMED, comparison }),
      // x² overflows fp16 for large inputs, its root does not.
      reference: inProcess(({ X }, _, round) => ({ Y: X!.map((x) => Math.sqrt(round(1000 * x * x, 'square')) / 32) })),
    };
    const report = await auditProblem({ problem, seed: 1 });
    expect(report.sight.map(({ blind }) => blind)).toEqual([null, expect.stringMatching(/naive run.*overflows/)]);
    expect(report.ok).toBe(false);
  });
});

describe('a reference that rounds inside its loop', () => {
  const sums = (comparison: ProblemFile['comparison']): Problem => ({
    ...toyProblem({ outputs: { Y: { dtype: 'f16', shape: ['R'], access: 'out' } }, comparison }),
    reference: inProcess(({ X }, { R, C }, round) => ({
      Y: Float64Array.from({ length: R! }, (_, r) =>
        X!.subarray(r * C!, (r + 1) * C!).reduce((sum, x) => round(sum + x, 'sum'), 0),
      ),
    })),
  });
  const toleranceOf = async (comparison: ProblemFile['comparison']): Promise<number> => {
    const problem = sums(comparison);
    const prepared = prepareCheck({ problem, dimensions: { R: 64, C: 512 }, generatorSet: 'normal', seed: 1 });
    return sightOf('Y', (await prepared.expectations()).get('Y')!).share!;
  };

  it('loosens nothing, unless problem.json names that rounding', async () => {
    const calibrated = { kind: 'calibrated', storage: 'f16', accumulate: 'f32' } as const;
    expect(await toleranceOf(calibrated)).toBeLessThan(0.005);
    expect(await toleranceOf({ ...calibrated, roundings: { other: 'f16' } })).toBeLessThan(0.005);
    expect(await toleranceOf({ ...calibrated, roundings: { sum: 'f16' } })).toBeGreaterThan(0.005);
  });
});

describe('answers of another seed', () => {
  /** One sum of 51 values, which may be off by 0.05. */
  const sum = toyProblem({
    ...AS_TIMED,
    outputs: { Y: { dtype: 'f32', shape: [1], access: 'out' } },
    comparison: { kind: 'allclose', atol: 0.05, rtol: 0 },
    toleranceShare: 1e6,
  });
  const problem: Problem = {
    ...sum,
    reference: inProcess(({ X }) => ({ Y: Float64Array.of(X!.reduce((total, value) => total + value, 0)) })),
  };
  const prepared = (seed: number) => prepareCheck({ problem, ...CHECK, seed });
  const sumOf = async (seed: number): Promise<number> => (await prepared(seed).expectations()).get('Y')!.want[0]!;

  it('may be as near by chance: a check is blind if those of a second one are, too', async () => {
    const sums = await Promise.all(Array.from({ length: 600 }, (_, seed) => sumOf(seed)));
    const isNear = (seed: number, further: number): boolean => Math.abs(sums[seed]! - sums[seed + further]!) < 0.05;
    const seeds = Array.from({ length: 590 }, (_, seed) => seed);
    const byChance = seeds.find((seed) => isNear(seed, 1) && !isNear(seed, 2) && !isNear(seed, 3))!;
    expect(byChance).toBeDefined();
    await refuseBlindCheck({ problem, check: CHECK, prepared: prepared(byChance), seed: byChance });
    const comparison = { kind: 'allclose', atol: 100, rtol: 0 } as const;
    const blind = { ...problem, file: { ...problem.file, comparison } };
    const inputs = prepareCheck({ problem: blind, ...CHECK, seed: 1 });
    await expect(refuseBlindCheck({ problem: blind, check: CHECK, prepared: inputs, seed: 1 })).rejects.toMatchObject({
      details: { code: 'blind-check' },
    });
  });
});

describe('a check that a problem names', () => {
  const blindCheck = { details: { code: 'blind-check' } };

  it('is no mistake of the problem if it is blind with one seed only', async () => {
    const problem = await loadProblem('problems/layernorm');
    const check = { dimensions: { R: 37, N: 2 }, generatorSet: 'largeMean' };
    const preparedWith = (seed: number) => prepareCheck({ problem, ...check, seed });
    // Both values of the last row are rounded to one, and what is right there is little.
    const request = { problem, check, prepared: preparedWith(69), seed: 69 };
    await expect(refuseBlindCheck(request)).rejects.toMatchObject(blindCheck);
    await refuseBlindNamedCheck(request, preparedWith);
  });

  it('is one if it is blind with others, too', async () => {
    const file = toyProblem({ comparison: { kind: 'allclose', atol: 100, rtol: 0 } });
    const preparedWith = (seed: number) => prepareCheck({ problem: file, ...CHECK, seed });
    const request = { problem: file, check: CHECK, prepared: preparedWith(1), seed: 1 };
    await expect(refuseBlindNamedCheck(request, preparedWith)).rejects.toMatchObject(blindCheck);
  });
});
