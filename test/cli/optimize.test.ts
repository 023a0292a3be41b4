import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readEventLog } from '../../src/store/event-log.ts';
import { NARROWEST, narrowAttention } from '../support/attention-problem.ts';
import { interrupted } from '../support/sampling/long-tests.ts';
import { longTests } from '../support/sampling/matrix.ts';
import { fewSizes, runCli, runJson, scaleCopy, temporaryFolder } from './run-cli.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const { problem } = scaleCopy({ problem: fewSizes });
const optimize = (store: string, ...more: string[]) => [
  'optimize',
  problem,
  '--device',
  'virtual:l4',
  '--store',
  store,
  ...more,
];

/** The only run of a store. */
function onlyRun(store: string): string {
  const runs = readdirSync(join(store, 'runs'));
  expect(runs).toHaveLength(1);
  return join(store, 'runs', runs[0]!);
}

describe('optimize', () => {
  long('finds the coalesced rung through its finding, and leaves a run folder that explains it', async () => {
    const store = temporaryFolder();
    const { code, stdout, stderr } = await runCli(optimize(store, '--max-evaluations', '6'));
    expect(code).toBe(0);
    const run = onlyRun(store);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.slice(-2)).toEqual([
      `Report: ${join(run, 'report.html')}`,
      `Best kernel: ${join(run, 'best/kernel.cu')}`,
    ]);
    expect(stderr).toMatch(/trying 01_strided → 02_coalesced\n {4}why: uncoalesced-access of e\d+: /);
    expect(stderr).toMatch(/best so far: e\d+, predicted .*; budget left: \d evaluation/);
    expect(readdirSync(run).sort()).toEqual([
      'best',
      'events.jsonl',
      'objects',
      'report.html',
      'report.json',
      'report.md',
      'report.svg',
      'writer.lock',
    ]);
    expect(readFileSync(join(run, 'report.md'), 'utf8')).toMatch(
      /!\[predicted time by evaluation of .*\]\(report\.svg\)/,
    );
    const view = JSON.parse(readFileSync(join(run, 'report.json'), 'utf8'));
    expect(view).toMatchObject({ schemaVersion: 2, complete: true, best: { candidate: { kernel: '02_coalesced' } } });
    expect(view.speedup).toBeGreaterThan(1.03);
    const change = expect.stringContaining('02_coalesced → 01_strided');
    expect(view.ablation).toContainEqual(expect.objectContaining({ change }));

    // The best kernel is a kernel folder of its own.
    const best = join(run, 'best');
    expect(readFileSync(join(best, 'kernel.cu'), 'utf8')).toMatch(
      /^\/\/ 02_coalesced, candidate [0-9a-f]+: the best kernel[\s\S]*#define BLOCK \d+\n/,
    );
    expect((await runCli(['check', best])).code).toBe(0);
    const again = await runJson(['evaluate', best, '--device', 'virtual:l4']);
    expect(again.json.status).toBe('passed');
    expect(again.json.timing.medianNs).toBe(view.best.medianNs);

    // The report can be printed again in every form.
    const markdown = await runCli(['report', '--store', store, '--format', 'markdown']);
    expect(markdown.stdout).toContain('| 0 | e1 | start |');
    const json = await runJson(['report', view.runId, '--store', store]);
    expect(json.json).toEqual(view);
    expect((await runCli(['report', run])).stdout).toContain('What failed or was reverted, and why');
  });

  long('the same seed gives the same events apart from times; --json prints the report with its paths', async () => {
    const stores = [temporaryFolder(), temporaryFolder()];
    const withoutTimes = (text: string): unknown => {
      const { time: _time, minutesUsed: _used, ledger: _ledger, ...event } = JSON.parse(text);
      delete event.evaluation?.elapsedMs;
      return event;
    };
    const logs: unknown[][] = [];
    for (const store of stores) {
      const { code, json } = await runJson(optimize(store, '--max-evaluations', '4', '--seed', '7'));
      expect(code).toBe(0);
      expect(json).toMatchObject({ kind: 'run-report', seed: 7, reportPath: join(onlyRun(store), 'report.html') });
      expect(existsSync(json.bestKernelPath)).toBe(true);
      logs.push(
        readFileSync(join(onlyRun(store), 'events.jsonl'), 'utf8')
          .trimEnd()
          .split('\n')
          .map(withoutTimes),
      );
    }
    expect(logs[1]).toEqual(logs[0]);
  });

  test('a goal below the bound is refused before anything runs, with the arithmetic', async () => {
    const store = temporaryFolder();
    const { code, json } = await runJson(optimize(store, '--goal', '0.01ns'));
    expect(code).toBe(2);
    expect(json.error).toMatchObject({ code: 'goal-below-bound', path: '--goal' });
    expect(json.error.message).toMatch(/FLOP ÷/);
    expect(existsSync(join(store, 'runs'))).toBe(false);
  });

  test('a start that fails: exit code 1, and the reason', async () => {
    const store = temporaryFolder();
    const { problem } = scaleCopy({ source: (text) => text.replace('2.0f', '3.0f') });
    const { code, json } = await runJson(['optimize', problem, '--device', 'virtual:l4', '--store', store]);
    expect(code).toBe(1);
    expect(json).toMatchObject({ stop: { reason: 'start-failed' }, best: null, bestKernelPath: null });
  });

  test('a store that is not a folder is refused', async () => {
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    const { code, json } = await runJson(optimize(file));
    expect(code).toBe(2);
    expect(json.error).toMatchObject({ code: 'store-not-a-folder', hint: expect.stringContaining('--store') });
  });
});

describe('Ctrl-C', () => {
  const smallRun = (store: string, ...options: string[]): string[] => [
    ...['optimize', narrowAttention(store, NARROWEST), '--device', 'virtual:l4', '--workload', 'b1h1s32d64'],
    ...['--store', store],
    // Draws small shapes.
    ...['--seed', '14'],
    ...options,
  ];

  interrupted('a kernel that never ends')(
    'in the middle of a kernel that never ends: 130 at once, one JSON error',
    async () => {
      const { kernel } = scaleCopy({
        source: (text) =>
          text.replace('const int first', 'for (volatile int spin = 0; spin == 0;) {}\n  const int first'),
      });
      const args = ['evaluate', kernel, '--json', '--run-timeout', '50'];
      const { code, stdout } = await runCli(args, { interruptAt: 'No --device given', interruptAfterMs: 1500 });
      expect(code).toBe(130);
      expect(JSON.parse(stdout)).toMatchObject({ schemaVersion: 1, error: { code: 'interrupted' } });
    },
  );

  test('ends with 130, the best so far on disk, and no process left', async () => {
    const store = temporaryFolder();
    const args = smallRun(store);
    // runCli settles when every process that holds the pipes is gone.
    const { code, stdout, stderr } = await runCli(args, { interruptAt: '[1] trying' });
    expect(code).toBe(130);
    expect(stderr).toContain('Stopping;');
    expect(stdout).toContain('Stopped: interrupted');
    const run = onlyRun(store);
    const { events, tornLastLine } = readEventLog(join(run, 'events.jsonl'));
    expect(tornLastLine).toBe(false);
    expect(events.at(-1)).toMatchObject({ type: 'run-finished', stopReason: 'interrupted', best: 'e1' });
    expect(existsSync(join(run, 'best/kernel.cu'))).toBe(true);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(`Best kernel: ${join(run, 'best/kernel.cu')}`);
  });

  interrupted('a search, by timeout')(
    'prints its result when `timeout` ends it, which signals the process and then its group',
    async () => {
      const store = temporaryFolder();
      const args = smallRun(store, '--json');
      // Different signals, since the kernel makes one of two equal ones that wait.
      const signals = ['SIGTERM', 'SIGHUP'] as const;
      const { code, stdout } = await runCli(args, { interruptAt: '[1] trying', interruptSignals: signals });
      expect(code).toBe(130);
      expect(JSON.parse(stdout)).toMatchObject({ kind: 'run-report', stop: { reason: 'interrupted' } });
    },
  );
});
