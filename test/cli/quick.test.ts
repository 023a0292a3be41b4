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

const SAMPLE = ['evaluate', KERNEL, '--device', 'virtual:l4', '--checks', 'usual', '--sample-ctas', '3'];

test('a sample of CTAs is unverified, in words, in JSON and by its exit code', async () => {
  const { code, json } = await runJson(SAMPLE);
  expect(code).toBe(4);
  const [launch] = json.counters.launches;
  expect(launch).toMatchObject({ countedCtas: 3 });
  expect(launch.ctaCount).toBeGreaterThan(3);
  const { sampledCtas } = json.coverage;
  expect(sampledCtas).toMatchObject({ run: 3, of: launch.ctaCount });
  expect(sampledCtas.comparedElements).toBeGreaterThan(0);
  expect(json).toMatchObject({ status: 'unverified', timing: { kind: 'predicted' } });
  const { stdout } = await runCli(SAMPLE);
  const share = `3 of ${launch.ctaCount.toLocaleString('en-US')} CTAs`;
  expect(stdout).toContain(`unverified: ${share} of the workload ran`);
  expect(stdout).toContain(`Time, from ${share}`);
  expect(stdout).toContain(`Counters (scaled up from ${share})`);
  expect(stdout).toContain(`not at the timed shape: ${share} ran`);
});

test.each([
  ['a quick look', '--keep', join(temporaryFolder(), 'kept'), QUICK],
  ['a quick look', '--record', join(temporaryFolder(), 'run.jsonl.gz'), QUICK],
  ['a sample of CTAs', '--keep', join(temporaryFolder(), 'kept'), SAMPLE],
  ['a quick look', '--sample-ctas', '3', QUICK],
])('%s takes no %s', async (_, flag, value, command) => {
  const { code, json } = await runJson([...command, flag, value]);
  expect(code).toBe(2);
  expect(json.error).toMatchObject({ code: 'conflicting-options', path: flag });
});
