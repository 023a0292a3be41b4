import { afterAll, beforeAll, describe, expect } from 'vitest';
import { sampled } from '../support/sampling/matrix.ts';
import { type Judge, openJudge } from './judge.ts';
import { WRONG_KERNELS } from './kernels.ts';

let judging: Judge;

beforeAll(async () => {
  judging = await openJudge();
});

afterAll(async () => await judging?.close());

describe('a twin of an honest kernel that is subtly wrong', () => {
  sampled('wrong twins', WRONG_KERNELS, { oneIn: 10 })(
    'is refused: $kernel.problem, $kernel.name, which $title',
    async ({ kernel, edits }) => {
      const { status, reason } = await judging.judge(kernel, edits);
      // A copy that was not waited for reads what nothing has written.
      expect({ status, reason }).toEqual({
        status: expect.stringMatching(/^(wrong|unsafe)$/),
        reason: expect.any(String),
      });
    },
  );
});
