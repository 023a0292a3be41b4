import { describe, expect, it } from 'vitest';
import { chooseObjective } from '../../src/app/workload.ts';
import type { ProblemFile } from '../../src/core/problem.ts';

const problem = {
  name: 'rows',
  dimensions: { B: { description: 'batch' }, N: { description: 'length' } },
  workloads: [
    { name: 'small', dimensions: { B: 1, N: 64 }, weight: 5 },
    { name: 'large', dimensions: { B: 8, N: 4096 }, cache: 'cold' },
  ],
} as unknown as ProblemFile;

const weights = (...texts: string[]) => chooseObjective(problem, texts).map(({ name, weight }) => [name, weight]);
const refused = (code: string, received?: string) =>
  expect.objectContaining({
    details: expect.objectContaining({ code, ...(received === undefined ? {} : { received }) }),
  });

describe('the workloads of an objective', () => {
  it('are the first one that is declared where none is named', () => {
    expect(chooseObjective(problem, [])).toEqual([
      { name: 'small', dimensions: { B: 1, N: 64 }, cache: 'hot', weight: 5 },
    ]);
  });

  it('weigh what is said behind the colon, else what problem.json says, else 1', () => {
    expect(weights('small', 'large')).toEqual([
      ['small', 5],
      ['large', 1],
    ]);
    expect(weights('small:2', 'large:0.25')).toEqual([
      ['small', 2],
      ['large', 0.25],
    ]);
  });

  it('are all that are declared, with their weights and caches', () => {
    expect(chooseObjective(problem, ['all'])).toEqual([
      { name: 'small', dimensions: { B: 1, N: 64 }, cache: 'hot', weight: 5 },
      { name: 'large', dimensions: { B: 8, N: 4096 }, cache: 'cold', weight: 1 },
    ]);
  });

  it('are each there once, with what was said of it last', () => {
    expect(weights('all', 'large:3')).toEqual([
      ['small', 5],
      ['large', 3],
    ]);
    // Named again without a weight, a workload keeps the one it was given.
    expect(weights('small:2', 'all')).toEqual([
      ['small', 2],
      ['large', 1],
    ]);
    expect(weights('all:3')).toEqual([
      ['small', 3],
      ['large', 3],
    ]);
    // A list of dimensions that equals a declared workload is that workload.
    expect(weights('small:2', 'B=1,N=64:7')).toEqual([['small', 7]]);
  });

  it('may be lists of dimensions, weighted like the others', () => {
    expect(chooseObjective(problem, ['B=2,N=128:4', 'B=4,N=128'])).toMatchObject([
      { name: 'b2n128', dimensions: { B: 2, N: 128 }, weight: 4 },
      { name: 'b4n128', weight: 1 },
    ]);
  });

  it('take the cache that is asked for instead of their own', () => {
    expect(chooseObjective(problem, ['all'], 'cold').map(({ cache }) => cache)).toEqual(['cold', 'cold']);
  });

  it.each(['small:', 'small:0', 'small:-1', 'small:heavy', 'small:NaN', 'small:Infinity', 'small:1:x'])(
    'have no weight such as %s',
    (text) => {
      expect(() => chooseObjective(problem, [text])).toThrow(refused('bad-weight', text));
    },
  );

  it('are ones that exist', () => {
    expect(() => chooseObjective(problem, ['smal:2'])).toThrow(refused('unknown-workload'));
    expect(() => chooseObjective({ ...problem, workloads: [] }, [])).toThrow(refused('no-workloads'));
  });
});
