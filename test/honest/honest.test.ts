import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampled } from '../support/sampling/matrix.ts';
import { type Judge, openJudge } from './judge.ts';
import { HONEST_KERNELS } from './kernels.ts';

/** Kernels with a condition that no check reaches. */
const UNREACHED: Readonly<Record<string, string>> = { 'variance chunked': 'if (total > 0.0f) {` was never false' };

let judging: Judge;

beforeAll(async () => {
  judging = await openJudge();
});

afterAll(async () => await judging?.close());

describe('an honest kernel of unusual design', () => {
  it('is one of forty at least', () => expect(HONEST_KERNELS.length).toBeGreaterThanOrEqual(40));

  sampled('honest kernels', HONEST_KERNELS, { oneIn: 12 })('passes: $problem, $name', async (kernel) => {
    const { status, reason, failedCheck } = await judging.judge(kernel);
    const line = UNREACHED[`${kernel.problem} ${kernel.name}`];
    if (line === undefined) expect({ status, reason, failedCheck }).toEqual({ status: 'passed' });
    else expect({ status, reason }).toEqual({ status: 'unverified', reason: expect.stringContaining(line) });
  });
});
