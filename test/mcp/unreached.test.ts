import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect } from 'vitest';
import { overMcp } from '../support/sampling/long-tests.ts';
import { smallRowSum } from '../support/small-row-sum.ts';
import { connect } from './client.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'warpsmith-unreached-'));
const serve = [smallRowSum(folder), '--device', 'virtual:l4', '--store', path.join(folder, 'store')];

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Half of a sum is lost where a hash of one of its bits is a certain number: nothing leads to a value that has it. */
const PLANTED = {
  file: 'kernel.cu',
  search: '  y[row] = sum;',
  replace: `  unsigned h = __float_as_uint(sum);
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  h ^= h >> 16;
  y[row] = h == 0x12345678u ? 0.5f * sum : sum;`,
};

overMcp('a planted condition')('a condition on values that no check makes true is refused of an author', async () => {
  await using server = await connect(serve);
  const { data } = await server.judge({ edits: [PLANTED], parent: 'start', hypothesis: 'as before' });
  expect(data.feedback).toMatchObject({
    status: 'unverified',
    why: expect.stringMatching(/kernel\.cu:\d+ `y\[row\] = h == 0x12345678u .*` was never true/),
  });
});
