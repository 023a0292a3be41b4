import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../../src/core/candidate.ts';
import type { Kernel } from '../../../src/core/kernel.ts';
import { failedLimit } from '../../../src/core/plan/limits.ts';
import { completeParameters, failedConstraint, validAssignments } from '../../../src/core/plan/parameters.ts';
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
