import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../../src/core/candidate.ts';
import type { Kernel, ParameterRange } from '../../../src/core/kernel.ts';
import { failedLimit } from '../../../src/core/plan/limits.ts';
import { allowsValue, countValues, describeValues, listValues } from '../../../src/core/plan/parameter-values.ts';
import {
  closestAssignment,
  completeParameters,
  countAssignments,
  failedConstraint,
  validAssignments,
} from '../../../src/core/plan/parameters.ts';
import { detailsOf } from '../support/expect-error.ts';
import { smallKernel } from '../support/small-problem.ts';

describe('completeParameters', () => {
  it('fills in defaults, in declared order', () => {
    expect(Object.entries(completeParameters(smallKernel, { ITEMS: 4 }))).toEqual([
      ['BLOCK', 128],
      ['ITEMS', 4],
    ]);
  });

  it('refuses what is not declared or not allowed', () => {
    expect(detailsOf(() => completeParameters(smallKernel, { BLOK: 64 }))).toEqual({
      code: 'unknown-parameter',
      message: 'Kernel 01_minimal has no parameter `BLOK`.',
      received: 'BLOK',
      expected: 'one of BLOCK, ITEMS',
      hint: 'Did you mean `BLOCK`?',
    });
    expect(detailsOf(() => completeParameters(smallKernel, { BLOCK: 96 }))).toEqual({
      code: 'parameter-not-allowed',
      message: "Parameter `BLOCK` of kernel 01_minimal can't be 96.",
      received: '96',
      expected: 'one of 64, 128, 256',
      hint: 'Add 96 to parameters.BLOCK.values in kernel.json if the kernel supports it.',
    });
  });
});

describe('constraints', () => {
  it('say which one fails, with the values in it', () => {
    expect(failedConstraint(smallKernel, { BLOCK: 256, ITEMS: 4 })).toBe(
      'BLOCK * ITEMS <= 512 (BLOCK = 256, ITEMS = 4)',
    );
    expect(failedConstraint(smallKernel, { BLOCK: 64, ITEMS: 4 })).toBeUndefined();
  });

  it('over dimensions wait for dimensions', () => {
    expect(failedConstraint(smallKernel, { BLOCK: 64, ITEMS: 4 }, { N: 1, D: 2, causal: 0 })).toBe(
      'ITEMS <= D (ITEMS = 4, D = 2)',
    );
  });

  it('leave the valid assignments, each once, the last parameter fastest', () => {
    expect(validAssignments(smallKernel).map(({ BLOCK, ITEMS }) => [BLOCK, ITEMS])).toEqual([
      [64, 1],
      [64, 2],
      [64, 4],
      [128, 1],
      [128, 2],
      [128, 4],
      [256, 1],
      [256, 2],
    ]);
    expect(validAssignments(smallKernel, { N: 1, D: 1, causal: 0 })).toHaveLength(3);
    const { parameters: _, constraints: __, ...plain } = smallKernel;
    expect(validAssignments(plain)).toEqual([{}]);
  });

  it('refuse to list more than a million combinations', () => {
    const values = Array.from({ length: 101 }, (_, index) => index);
    const parameters = Object.fromEntries(['A', 'B', 'C'].map((name) => [name, { values, default: 0 }]));
    expect(detailsOf(() => validAssignments({ ...smallKernel, parameters }))).toMatchObject({
      code: 'too-many-assignments',
      received: '1030301',
    });
  });
});

describe('ranges', () => {
  const ranges: [range: ParameterRange, values: number[], text: string][] = [
    [{ from: 16, to: 80, step: 16 }, [16, 32, 48, 64, 80], '16 to 80 in steps of 16'],
    [{ from: 16, to: 79, step: 16 }, [16, 32, 48, 64], '16 to 79 in steps of 16'],
    [{ from: -2, to: 2, step: 2 }, [-2, 0, 2], '-2 to 2 in steps of 2'],
    [{ from: 5, to: 5, step: 3 }, [5], '5 to 5 in steps of 3'],
    [{ from: 1, to: 64, factor: 2 }, [1, 2, 4, 8, 16, 32, 64], '1 to 64, each 2 times the one before'],
    [{ from: 3, to: 80, factor: 3 }, [3, 9, 27], '3 to 80, each 3 times the one before'],
  ];
  it.each(ranges)('%j', (range, values, text) => {
    expect(listValues(range)).toEqual(values);
    expect(countValues(range)).toBe(values.length);
    expect(describeValues(range)).toBe(text);
    for (let value = -4; value <= 90; value += 0.5) expect(allowsValue(range, value)).toBe(values.includes(value));
    expect(allowsValue(range, Number.NaN)).toBe(false);
  });

  const ranged = (range: ParameterRange) => ({
    ...smallKernel,
    parameters: { ...smallKernel.parameters, BLOCK: { values: range, default: 128 } },
  });

  it('allow what they hold and say what is near to what they do not', () => {
    const kernel = ranged({ from: 32, to: 256, step: 32 });
    expect(completeParameters(kernel, { BLOCK: 96 })).toEqual({ BLOCK: 96, ITEMS: 1 });
    expect(detailsOf(() => completeParameters(kernel, { BLOCK: 100 }))).toEqual({
      code: 'parameter-not-allowed',
      message: "Parameter `BLOCK` of kernel 01_minimal can't be 100.",
      received: '100',
      expected: '32 to 256 in steps of 32',
      hint: 'Nearest: 96 and 128. Change the range parameters.BLOCK.values in kernel.json if the kernel supports 100.',
    });
  });

  it('are the values that a list of them would be', () => {
    const listed = { ...smallKernel.parameters, BLOCK: { values: [64, 128, 256], default: 128 } };
    expect(validAssignments(ranged({ from: 64, to: 256, factor: 2 }))).toEqual(
      validAssignments({ ...smallKernel, parameters: listed }),
    );
  });
});

describe('many assignments', () => {
  const range = { values: { from: 1, to: 4096, step: 1 }, default: 1 };
  const parameters = { A: range, B: range, C: range };
  const wide = { ...smallKernel, parameters, constraints: [] };

  it('are counted without being listed, where no constraint is about them', () => {
    expect(countAssignments(wide)).toBe(4096 ** 3);
    expect(countAssignments({ ...wide, constraints: ['A == 7 || A == 9'] })).toBe(2 * 4096 ** 2);
    expect(countAssignments({ ...wide, constraints: ['A + B + C > 0'] })).toBeUndefined();
    expect(countAssignments(smallKernel)).toBe(validAssignments(smallKernel).length);
  });

  it('are listed as far as constraints allow: what fails early is not gone into', () => {
    const few = { ...wide, constraints: ['A == 4096', 'B == A', 'C > 4094'] };
    expect(validAssignments(few)).toEqual([
      { A: 4096, B: 4096, C: 4095 },
      { A: 4096, B: 4096, C: 4096 },
    ]);
    expect(detailsOf(() => validAssignments(wide))).toMatchObject({ code: 'too-many-assignments' });
  });

  it('guard one another in their order, as when each assignment is judged whole', () => {
    const guarded = {
      ...smallKernel,
      parameters: { A: { values: [0, 1, 2], default: 1 }, B: { values: [0, 1], default: 1 } },
      constraints: ['A + B > 1', '4 % A == 0'],
    };
    expect(validAssignments(guarded)).toEqual([
      { A: 1, B: 1 },
      { A: 2, B: 0 },
      { A: 2, B: 1 },
    ]);
    const open = { ...guarded, constraints: ['4 % A == 0'] };
    expect(detailsOf(() => validAssignments(open))).toMatchObject({ code: 'division-by-zero' });
  });

  it('give the one nearest to what is wanted', () => {
    const wanted = { A: 5, B: 6, C: 7 };
    expect(closestAssignment({ ...wide, constraints: ['A % 2 == 0'] }, wanted, {})).toEqual({ A: 2, B: 6, C: 7 });
    expect(closestAssignment({ ...wide, constraints: ['A > 4096'] }, wanted, {})).toBeUndefined();
  });
});

it('limits say which workload they refuse', () => {
  expect(failedLimit(smallKernel, { N: 100_000, D: 64, causal: 0 })).toBeUndefined();
  expect(failedLimit(smallKernel, { N: 100_001, D: 64, causal: 0 })).toBe('N <= 100000 (N = 100001)');
});

describe('makeCandidate', () => {
  const kernel: Kernel = { folder: '/anywhere', file: smallKernel, sources: { 'kernel.cu': 'void f();' } };
  const { id } = makeCandidate(kernel, {});

  it('names a candidate by its content', () => {
    expect(id).toMatch(/^[0-9a-f]{12}$/);
    expect(makeCandidate({ ...kernel, folder: '/elsewhere' }, {}).id).toBe(id);
    expect(makeCandidate(kernel, { BLOCK: 128 }).id).toBe(id);
    const reordered = Object.fromEntries(Object.entries(smallKernel).reverse()) as unknown as typeof smallKernel;
    expect(makeCandidate({ ...kernel, file: reordered }, {}).id).toBe(id);
  });

  it('gives another name to another content', () => {
    const others = [
      makeCandidate(kernel, { BLOCK: 64 }),
      makeCandidate({ ...kernel, sources: { 'kernel.cu': 'void f() {}' } }, {}),
      makeCandidate({ ...kernel, file: { ...smallKernel, limits: [] } }, {}),
    ];
    expect(new Set([id, ...others.map((candidate) => candidate.id)]).size).toBe(4);
  });

  it('completes the parameters', () => {
    expect(makeCandidate(kernel, { ITEMS: 2 }).parameters).toEqual({ BLOCK: 128, ITEMS: 2 });
  });
});
