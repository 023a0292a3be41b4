import { describe, expect, it } from 'vitest';
import { resolveWorkload } from '../../../src/core/plan/resolve-workload.ts';
import { parseProblemFile } from '../../../src/core/schemas/parse-files.ts';
import { detailsOf } from '../support/expect-error.ts';
import { smallProblem } from '../support/small-problem.ts';

const workloads = [
  { name: 'small', dimensions: { N: 256 } },
  { name: 'cold', dimensions: { N: 512, D: 32 }, cache: 'cold' as const },
];
const problem = parseProblemFile(JSON.stringify({ ...smallProblem, workloads }), 'problem.json');

it('finds a declared workload by name', () => {
  expect(resolveWorkload(problem, 'small')).toEqual({
    name: 'small',
    dimensions: { N: 256, D: 64, causal: 0 },
    cache: 'hot',
  });
  expect(resolveWorkload(problem, 'cold').cache).toBe('cold');
});

it('gives a list its declared name, else a canonical one', () => {
  expect(resolveWorkload(problem, 'N=256')).toEqual(resolveWorkload(problem, 'small'));
  expect(resolveWorkload(problem, ' N = 512, D = 32 ')).toEqual(resolveWorkload(problem, 'cold'));
  expect(resolveWorkload(problem, 'D=32,N=5')).toEqual({
    name: 'n5d32',
    dimensions: { N: 5, D: 32, causal: 0 },
    cache: 'hot',
  });
  expect(resolveWorkload(problem, 'N=5,causal=1').name).toBe('n5d64-causal');
});

describe('mistakes', () => {
  it('an unknown name', () => {
    expect(detailsOf(() => resolveWorkload(problem, 'smal'))).toEqual({
      code: 'unknown-workload',
      message: 'scale has no workload `smal`.',
      received: 'smal',
      expected: 'one of small, cold; or N=…,D=…,causal=…',
      hint: 'Did you mean `small`?',
    });
  });

  it('an unknown dimension', () => {
    expect(detailsOf(() => resolveWorkload(problem, 'N=5,E=3'))).toEqual({
      code: 'unknown-dimension',
      message: 'The problem has no dimension `E`.',
      received: 'E',
      expected: 'one of N, D, causal',
      hint: 'Did you mean `N`?',
    });
  });

  it('a missing one', () => {
    expect(detailsOf(() => resolveWorkload(problem, 'D=32'))).toMatchObject({
      code: 'missing-dimension',
      expected: 'N = an integer from 1 to 1000000',
      hint: 'Give every dimension: N=…,D=…,causal=…',
    });
  });

  it('a value out of range', () => {
    expect(detailsOf(() => resolveWorkload(problem, 'N=0'))).toEqual({
      code: 'dimension-out-of-range',
      message: "Dimension `N` can't be 0.",
      received: '0',
      expected: 'an integer from 1 to 1000000',
      hint: 'N: elements.',
    });
  });

  it('a shape outside the limits of the problem', () => {
    const limited = { ...problem, limits: ['N % D == 0'] };
    expect(resolveWorkload(limited, 'N=128').dimensions.N).toBe(128);
    expect(detailsOf(() => resolveWorkload(limited, 'N=100'))).toMatchObject({
      code: 'shape-outside-limits',
      message: "The problem's limits leave this shape out: N % D == 0 (N = 100, D = 64).",
      received: 'N=100,D=64,causal=0',
    });
  });

  it.each(['N=', 'N=1.5', 'N=1;D=2', 'N=1,,D=2', '=3', 'N=1e3'])('a list that does not parse: %s', (text) => {
    expect(detailsOf(() => resolveWorkload(problem, text))).toMatchObject({
      code: 'workload-syntax',
      expected: 'each dimension once, as name=integer, separated by commas',
      hint: 'For example: N=256,D=64,causal=0',
    });
  });

  it('a dimension given twice', () => {
    expect(detailsOf(() => resolveWorkload(problem, 'N=1,N=2')).message).toBe('Dimension `N` is given twice.');
  });
});
