import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { findExecutable } from '../../src/process/find-executable.ts';
import { readEventLog } from '../../src/store/event-log.ts';
import { ofType } from '../../src/store/events.ts';
import { answer, file } from '../app/author/model/runs.ts';
import { eventually, isRunning } from '../process/processes.ts';
import { fakeModel } from '../support/fake-model.ts';
import { interrupted } from '../support/sampling/long-tests.ts';
import { smallRowSum } from '../support/small-row-sum.ts';
import { type CliOptions, repository, runCli, runJson, temporaryFolder } from './run-cli.ts';

const AGENT = join(repository, 'test/app/author/command/agent.mjs');

/** A folder with a problem, a store, and what every run here is begun with. */
function place() {
  const folder = temporaryFolder();
  const problem = smallRowSum(folder);
  const store = ['--store', join(folder, 'store')];
  const device = ['--device', 'virtual:l4', '--workload', 'rows=64,columns=256'];
  const few = ['--no-ablation', '--only-authors', '--max-evaluations', '4'];
  return { folder, problem, store, run: ['optimize', problem, '--trust', ...device, ...store, ...few] };
}

/** As soon as a kernel was kept, while its author is at work on another one. */
async function interrupt(run: readonly string[], options: CliOptions): Promise<void> {
  const { stdout, stderr } = await runCli(run, { interruptAt: '    keep: ', interruptAfterMs: 300, ...options });
  expect(stdout, stderr).toContain('Stopped: interrupted');
}

async function expectToKeepWhatWasFound({ problem, folder, store }: ReturnType<typeof place>, author: string) {
  const before = (await runJson(['report', 'latest', ...store])).json;
  expect(before.stop.reason).toBe('interrupted');
  expect(before.best.candidate.kernel).toMatch(/^warp_row/);

  const resumed = await runJson(['resume', 'latest', ...store]);
  expect(resumed.code, JSON.stringify(resumed.json.error)).toBe(0);
  const { events } = readEventLog(join(resumed.json.runFolder, 'events.jsonl'));
  expect(ofType(events, 'move-proposed').filter(({ move }) => move.kind === 'written')).toHaveLength(1);
  expect(resumed.json.best.candidate.kernel).toMatch(/^warp_row/);

  const exported = join(folder, 'exported');
  expect((await runJson(['export', 'latest', ...store, '-o', exported])).code).toBe(0);
  expect(existsSync(join(exported, 'change.patch'))).toBe(true);
  if (!findExecutable('git')) return;
  const git = (...words: string[]) => execFileSync('git', words, { cwd: problem, encoding: 'utf8' });
  git('init', '-q');
  git('config', 'user.name', 'Ann');
  git('config', 'user.email', 'ann@example.org');
  git('add', '.');
  git('commit', '-q', '-m', 'start');
  const { json } = await runJson(['export', 'latest', ...store, '--commit']);
  const message = git('log', '-1', '--format=%B', json.branch.branch);
  expect(message).toContain(`written by ${author}`);
  expect(message).toContain('Hypothesis: one warp per row\n');
  expect(message).toMatch(/Predicted \d+\.\d+× faster than e1/);
}

const SIGNALS: readonly (readonly [string, readonly NodeJS.Signals[]])[] = [
  ['Ctrl-C', ['SIGINT']],
  ['SIGTERM', ['SIGTERM']],
];

for (const [name, signals] of SIGNALS)
  interrupted(`an agent, by ${name}`)(
    `${name} in the midst of a step ends an agent with all that it started, and keeps what was found`,
    async () => {
      const at = place();
      const [pids, done] = [join(at.folder, 'pids'), join(at.folder, 'done')];
      const author = JSON.stringify([process.execPath, AGENT, 'lingers', pids, done]);
      await interrupt([...at.run, '--author', author, '--contain', 'never'], { interruptSignals: signals });
      const started = readFileSync(pids, 'utf8').split(' ').map(Number);
      expect(started).toHaveLength(2);
      await eventually(() => !started.some(isRunning));
      // The agents of the resumed run hand in nothing.
      writeFileSync(done, '');
      await expectToKeepWhatWasFound(at, 'command: ');
    },
  );

const WARP = readFileSync(join(repository, 'examples/row-sum/02_warp_per_row/kernel.cu'), 'utf8');
const KERNEL = JSON.stringify({
  schemaVersion: 1,
  name: 'warp_row',
  description: 'One warp sums one row.',
  source: { kind: 'cuda', files: ['kernel.cu'], flags: ['-DWARPS=4'] },
  limits: ['rows <= 128', 'columns <= 300'],
  steps: [
    {
      function: 'row_sum',
      grid: ['ceilDiv(rows, 4)'],
      block: [128],
      arguments: [
        { buffer: 'x' },
        { buffer: 'y' },
        { scalar: 'rows', dtype: 'i32' },
        { scalar: 'columns', dtype: 'i32' },
      ],
    },
  ],
});

interrupted('a model that writes')('Ctrl-C while a model writes keeps what was found', async () => {
  const at = place();
  const parts = `${file(KERNEL, 'kernel.json')}\n${file(WARP)}`;
  let isDone = false;
  await using model = await fakeModel((_sent, index) => {
    if (index === 0) return { text: answer({ parts, hypothesis: 'one warp per row' }) };
    return isDone ? { text: 'Enough.' } : { text: 'Let me', afterwards: 'silence' };
  });
  const options = ['--author', 'model', '--model', 'openai-compatible:fake', '--endpoint', model.url];
  await interrupt([...at.run, ...options], {});
  isDone = true;
  await expectToKeepWhatWasFound(at, 'openai-compatible:fake');
});
