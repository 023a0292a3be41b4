import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { longTests } from '../support/sampling/matrix.ts';
import { smallRowSum } from '../support/small-row-sum.ts';
import { runCli, runJson } from './run-cli.ts';

const long = longTests(import.meta.filename, { oneIn: 3 });

const folder = mkdtempSync(join(tmpdir(), 'warpsmith-unreached-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A kernel that is wrong for one width in some thousands, where the search for shapes does not get: rows times columns are 20,000 at most. */
const kernel = join(smallRowSum(folder), '01_thread_per_row');
const source = join(kernel, 'kernel.cu');
const honest = readFileSync(source, 'utf8');
const plant = (line: string): void =>
  writeFileSync(source, honest.replace('  y[row] = sum;', `  ${line}\n  y[row] = sum;`));
plant('if (rows == 3 && columns > 50000) sum *= 2.0f;');

const EVALUATE = ['evaluate', kernel, '--device', 'virtual:l4', '--seed', '3'];

long(
  'a condition on sizes that no check makes true leaves a kernel unverified, in words and by its exit code',
  async () => {
    const { code, stdout } = await runCli([...EVALUATE, '--checks', 'thorough']);
    expect(code).toBe(4);
    const text = stdout.replaceAll(/\s+/g, ' ');
    expect(text).toContain(
      'unverified: a condition on sizes or other arguments went one way in every check: kernel.cu:',
    );
    expect(text).toContain('`if (rows == 3 && columns > 50000) sum *= 2.0f;` was never true');
    expect(text).toContain('or accept it: --unreached name');
  },
);

long('it passes where it is to be named only, and with the checks of a search', async () => {
  for (const more of [
    ['--checks', 'thorough', '--unreached', 'name'],
    ['--checks', 'usual'],
  ]) {
    const { code, json } = await runJson([...EVALUATE, ...more]);
    expect([code, json.status]).toEqual([0, 'passed']);
    expect(json.coverage.conditions.oneWay).toContainEqual(expect.objectContaining({ isOfLaunch: true }));
  }
});

long('so does a condition on a clock, which one launch of a thousand meets', async () => {
  plant('if ((clock64() >> 20 & 1023) == 611) sum *= 2.0f;');
  const { code, json } = await runJson([...EVALUATE, '--checks', 'thorough']);
  expect([code, json.status]).toEqual([4, 'unverified']);
  expect(json.reason).toMatch(
    /^a condition on a clock, or on where a thread runs, went one way in every check: kernel.cu:/,
  );
});
