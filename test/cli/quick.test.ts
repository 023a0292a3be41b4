import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli, runJson, SCALE, temporaryFolder } from './run-cli.ts';

const KERNEL = join(SCALE, '02_coalesced');
const QUICK = ['evaluate', KERNEL, '--device', 'virtual:l4', '--quick'];

test('a quick look is unverified, in words, in JSON and by its exit code', async () => {
  const { code, json } = await runJson(QUICK);
  expect(code).toBe(4);
  expect(json).toMatchObject({ kind: 'evaluate', status: 'unverified', timing: { kind: 'predicted' } });
  expect(json.correctness.checksRun).toBe(2);
  const { stdout, code: again } = await runCli(QUICK);
  expect(again).toBe(4);
  expect(stdout).toContain('unverified: two checks were run');
});

test.each([
  ['--keep', join(temporaryFolder(), 'kept')],
  ['--record', join(temporaryFolder(), 'run.jsonl.gz')],
])('%s takes no quick look', async (flag, value) => {
  const { code, json } = await runJson([...QUICK, flag, value]);
  expect(code).toBe(2);
  expect(json.error).toMatchObject({ code: 'conflicting-options', path: flag });
});
