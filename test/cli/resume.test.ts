import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { withoutTimes } from '../../bench/soak/kill-runs.ts';
import { readEventLog } from '../../src/store/event-log.ts';
import { eventsPath, findRun } from '../../src/store/run-folder.ts';
import { interrupted } from '../support/sampling/long-tests.ts';
import { repository, runCli, runJson, SCALE, temporaryFolder } from './run-cli.ts';

const optimize = (store: string) => [
  ...['optimize', SCALE, '--device', 'virtual:l4', '--threads', '1', '--store', store, '--max-evaluations', '4'],
  ...['--seed', '1'],
];

/** Kills the command, and it alone, as soon as stderr contains this; a second look at it is taken just before. */
async function killedAt(args: readonly string[], mark: string, before: () => Promise<void>): Promise<void> {
  const child = spawn(process.execPath, [join(repository, 'bin/warpsmith.mjs'), ...args], {
    cwd: repository,
    env: { ...process.env, CUDA_VISIBLE_DEVICES: '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  let stderr = '';
  await new Promise<void>((resolve) => {
    child.stderr.on('data', (text) => {
      stderr += text;
      if (stderr.includes(mark)) resolve();
    });
    void ended.then(() => resolve());
  });
  await before();
  child.kill('SIGKILL');
  await ended;
}

interrupted('a search, by a kill')(
  'a run that is killed while it judges goes on where it was, once nobody writes it',
  {
    timeout: 120_000,
  },
  async () => {
    const [store, alone] = [temporaryFolder(), temporaryFolder()];
    expect((await runCli(optimize(alone))).code).toBe(0);
    let refused: unknown;
    await killedAt(optimize(store), '[1] trying', async () => {
      // Still running: the evaluation takes longer than this, or the run has ended and the test says so below.
      process.kill(
        Number(JSON.parse(readFileSync(join(findRun(store, 'latest'), 'writer.json'), 'utf8')).pid),
        'SIGSTOP',
      );
      refused = (await runJson(['resume', '--store', store])).json.error;
    });
    expect(refused).toMatchObject({ code: 'run-in-use', message: expect.stringMatching(/written by process \d+/) });
    const { json: listed } = await runJson(['runs', '--store', store]);
    expect(listed.runs).toMatchObject([{ state: 'died', stopReason: null }]);
    const { code, json, stderr } = await runJson(['resume', '--store', store]);
    expect(code).toBe(0);
    expect(stderr).toContain('result e2');
    expect(stderr).not.toContain('e1: passed');
    expect(json).toMatchObject({ kind: 'run-report', complete: true, best: { candidate: { kernel: '02_coalesced' } } });
    const log = (folder: string) => readEventLog(eventsPath(findRun(folder, 'latest'))).events.map(withoutTimes);
    expect(log(store)).toEqual(log(alone));
    expect(readdirSync(json.runFolder).sort()).toEqual(readdirSync(findRun(alone, 'latest')).sort());

    // It has ended for good: nothing to do, and fine.
    const again = await runCli(['resume', '--store', store]);
    expect(again.code).toBe(0);
    expect(again.stderr).toContain('The run has ended: ');
    expect(again.stdout.trimEnd().split('\n').at(-1)).toBe(`Best kernel: ${json.bestKernelPath}`);
  },
);
