import { describe, expect, test } from 'vitest';
import { chooseKernels } from '../../src/handover/choose-kernels.ts';

/** Workload → candidate → time. */
const chosen = (times: Record<string, Record<string, number>>): Record<string, string> =>
  Object.fromEntries(
    chooseKernels(new Map(Object.entries(times).map(([name, row]) => [name, new Map(Object.entries(row))]))),
  );

describe('chooseKernels', () => {
  test('each workload gets its fastest', () => {
    expect(chosen({ w1: { a: 10, b: 20 }, w2: { a: 20, b: 10 } })).toEqual({ w1: 'a', w2: 'b' });
  });

  test('a kernel that another one comes within 2 % of wherever it wins is left out', () => {
    expect(chosen({ w1: { a: 10, b: 20 }, w2: { a: 10.19, b: 10 } })).toEqual({ w1: 'a', w2: 'a' });
    expect(chosen({ w1: { a: 10, b: 20 }, w2: { a: 10.21, b: 10 } })).toEqual({ w1: 'a', w2: 'b' });
  });

  test('kernels that are left out one after another do not add up to more than 2 %', () => {
    // c is within 2 % of b, and b of a, but c is not of a.
    const times = { w1: { a: 10, b: 10.15, c: 10.3 }, w2: { a: 30, b: 30, c: 10 }, w3: { a: 10.3, b: 10.15, c: 10 } };
    const result = chosen(times);
    for (const [workload, row] of Object.entries(times)) {
      const least = Math.min(...Object.values(row));
      expect(row[result[workload] as keyof typeof row]).toBeLessThanOrEqual(1.02 * least);
    }
  });

  test('the only one that takes a workload stays, and a workload that none takes is left out', () => {
    expect(chosen({ w1: { a: 10 }, w2: { b: 99 }, w3: {} })).toEqual({ w1: 'a', w2: 'b' });
  });
});
