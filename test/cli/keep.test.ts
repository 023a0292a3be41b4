import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runJson, SCALE, temporaryFolder } from './run-cli.ts';

const ON_L4 = ['--device', 'virtual:l4'];

test('evaluate --keep writes the code that ran, and says so where it does not disturb the JSON', async () => {
  const folder = join(temporaryFolder(), 'kept');
  const { code, json, stderr } = await runJson(['evaluate', join(SCALE, '02_coalesced'), ...ON_L4, '--keep', folder]);
  expect(code).toBe(0);
  expect(json.artifacts).toEqual({ ptx: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(readdirSync(folder)).toEqual(['kernel.ptx']);
  expect(readFileSync(join(folder, 'kernel.ptx'), 'utf8')).toMatch(/\.entry/);
  expect(stderr).toBe(`Kept in ${folder}: kernel.ptx.\n`);
});

test('a replay has no code to keep', async () => {
  const { code, json } = await runJson(['evaluate', SCALE, '--keep', 'kept', '--replay', 'run.jsonl.gz']);
  expect(code).toBe(2);
  expect(json.error).toMatchObject({ code: 'conflicting-options', path: '--keep' });
});
