import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, expect, it, vi } from 'vitest';
import { entryFile, entryFolder } from '../../src/process/entry-file.ts';
import { repository, runInProcess, SCALE } from '../cli/run-cli.ts';
import { longTestOf } from '../support/sampling/long-tests.ts';

const SOURCES = new URL('../../src/', import.meta.url);
const SOURCE = new URL('process/guard-main.ts', SOURCES);

afterEach(() => vi.unstubAllEnvs());

it('is the source itself in a checkout', () => {
  vi.stubEnv('WARPSMITH_BUILD', '');
  expect(entryFile(SOURCE).href).toBe(SOURCE.href);
  expect(entryFolder().href).toBe(SOURCES.href);
});

it('is what was built from it, where a build is named', () => {
  vi.stubEnv('WARPSMITH_BUILD', '/some where');
  expect(entryFile(SOURCE).href).toBe(pathToFileURL('/some where/src/process/guard-main.js').href);
  expect(fileURLToPath(entryFolder())).toBe('/some where/src/');
});

it.skipIf(!process.env.WARPSMITH_BUILD)('is in the build that tests start processes from', () => {
  expect(existsSync(entryFile(SOURCE))).toBe(true);
});

it('is asked for by all that start processes and threads: the build would not have others', () => {
  const deciding = globSync('src/**/*.ts', { cwd: repository }).filter((file) =>
    /import\.meta\.url\.endsWith/.test(readFileSync(`${repository}/${file}`, 'utf8')),
  );
  expect(deciding).toEqual(['src/process/entry-file.ts']);
});

longTestOf(import.meta.filename)(
  'judges alike from the sources, with the processes and threads of a command',
  async () => {
    const words = [
      'evaluate',
      `${SCALE}/01_strided`,
      '--device',
      'virtual:l4',
      '--checks',
      'usual',
      '--json',
      '--seed',
      '1',
    ];
    const outcome = await runInProcess(words, { env: { WARPSMITH_BUILD: '' } });
    expect(JSON.parse(outcome.stdout)).toMatchObject({ status: 'passed' });
  },
);
