import { describe, expect, test } from 'vitest';
import { slope, soak } from '../../bench/soak/soak-run.ts';
import { longTestOf } from '../support/sampling/long-tests.ts';

// bench/soak/memory.ts does 500 evaluations and looks at memory, too.
longTestOf(import.meta.filename)('a run leaves no process, no temporary file and no open file behind', async () => {
  await soak(2, () => {}, false);
  const { statuses, childProcesses, temporaryFiles, openFiles } = await soak(3);
  expect(statuses).toEqual({ passed: 3 });
  expect(childProcesses).toEqual([]);
  expect(temporaryFiles).toEqual([]);
  expect(openFiles[1]).toBeLessThanOrEqual(openFiles[0]);
});

describe('the slope of the least-squares line', () => {
  test.each([
    [[3, 3, 3, 3], 0],
    [[1, 3, 5, 7], 2],
    [[0, 1, 0, -1, 0], -0.2],
  ])('of %j is %d', (values, expected) => expect(slope(values)).toBeCloseTo(expected, 12));
});
