import { expect, it } from 'vitest';
import { messages } from '../../../src/devices/cuda/transfers.ts';

it('cuts large buffers and puts small ones together', () => {
  expect(messages([3, 10, 0, 4], 8)).toEqual([
    [
      { index: 0, offsetBytes: 0, bytes: 3 },
      { index: 1, offsetBytes: 0, bytes: 5 },
    ],
    [
      { index: 1, offsetBytes: 5, bytes: 5 },
      { index: 2, offsetBytes: 0, bytes: 0 },
      { index: 3, offsetBytes: 0, bytes: 3 },
    ],
    [{ index: 3, offsetBytes: 3, bytes: 1 }],
  ]);
  expect(messages([], 8)).toEqual([]);
  expect(messages([0], 8)).toEqual([[{ index: 0, offsetBytes: 0, bytes: 0 }]]);
  expect(messages([16], 8).flat()).toHaveLength(2);
});
