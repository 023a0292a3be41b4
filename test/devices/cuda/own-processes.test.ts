import { expect, it } from 'vitest';
import { OwnProcesses } from '../../../src/devices/cuda/worker/own-processes.ts';

it('our processes are looked for when one that has a context is not known to be ours, and only then', () => {
  const seen = [new Set([1, 2]), new Set([1, 3])];
  let looks = 0;
  const own = new OwnProcesses(() => seen[looks++]!);
  expect(own.among([])).toEqual(new Set());
  expect(own.among([2])).toEqual(new Set([1, 2]));
  expect(own.among([1, 2])).toEqual(new Set([1, 2]));
  expect(looks).toBe(1);
  // One more is there: ours by now, or another's.
  expect(own.among([1, 3, 9])).toEqual(new Set([1, 3]));
  expect(looks).toBe(2);
});
