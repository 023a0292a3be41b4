import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli, runJson, temporaryFolder } from './run-cli.ts';

beforeAll(() => {
  process.env.XDG_CONFIG_HOME = temporaryFolder();
  delete process.env.WARPSMITH_TRUST;
});
afterAll(() => {
  process.env.WARPSMITH_TRUST = 'all';
});

describe('warpsmith new', () => {
  const folder = join(temporaryFolder(), 'mine');

  it('makes a problem that passes check, audit and evaluate as it is, with no question', async () => {
    const made = await runCli(['new', folder]);
    expect([made.code, made.stdout.split('\n')[0]]).toEqual([0, `Problem mine in ${folder}.`]);
    expect(JSON.parse(readFileSync(join(folder, 'problem.json'), 'utf8')).name).toBe('mine');
    expect((await runCli(['check', folder])).code).toBe(0);
    expect((await runCli(['audit', folder])).code).toBe(0);
    const small = ['--device', 'virtual:l4', '--workload', 'rows=40,columns=40', '--checks', 'usual'];
    const { code, stderr } = await runCli(['evaluate', folder, ...small]);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('trust')]);
  });

  it('replaces nothing', async () => {
    const { code, json } = await runJson(['new', folder]);
    expect([code, json.error.code]).toEqual([2, 'folder-not-empty']);
  });

  it.each(['3rd', 'a b', 'ü'])('refuses the name %s', async (name) => {
    const { code, json } = await runJson(['new', name]);
    expect([code, json.error.code, existsSync(name)]).toEqual([2, 'bad-problem-name', false]);
  });
});
