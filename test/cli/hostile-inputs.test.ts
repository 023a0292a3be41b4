import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { longTests, sampled } from '../support/sampling/matrix.ts';
import { type Json, runCli, runJson, SCALE, scaleCopy, temporaryFolder } from './run-cli.ts';

const longTest = longTests(import.meta.filename, { oneIn: 2 });

/** What is refused must not fill the memory first. */
const SMALL_HEAP = { nodeOptions: ['--max-old-space-size=400'] };

const storeWithLog = (create: (path: string) => void): string => {
  const store = temporaryFolder();
  mkdirSync(join(store, 'runs/r1'), { recursive: true });
  create(join(store, 'runs/r1/events.jsonl'));
  return store;
};

describe('what no command can use is refused by name', () => {
  const long = 'a'.repeat(5000);

  const words: [what: string, exitCode: number, code: string, args: string[]][] = [
    ['a path that is too long', 2, 'system-refused', ['check', long]],
    ['a run whose name is too long', 2, 'system-refused', ['report', long]],
    ['a recording that never ends', 2, 'no-recording', ['evaluate', SCALE, '--replay', '/dev/zero']],
    ['a space that never ends', 2, 'unreadable-file', ['search-bench', '/dev/zero']],
    ['a time limit that no timer takes', 2, 'bad-option-value', ['evaluate', SCALE, '--run-timeout', '3000000']],
    ['a name that is none', 2, 'bad-option-value', ['evaluate', SCALE, '--set', '__proto__=3']],
    ['a dimension that is none', 2, 'unknown-dimension', ['check', SCALE, '--workload', 'N=4,__proto__=3']],
  ];
  sampled('hostile words', words, { oneIn: 8 })('%s', async (_name, exitCode, code, args) => {
    const outcome = await runJson(args, SMALL_HEAP);
    expect(outcome.json.error).toMatchObject({ code, hint: expect.any(String) });
    expect(outcome).toMatchObject({ code: exitCode, stderr: expect.not.stringContaining('    at ') });
  });

  const logs: [what: string, code: string, create: (path: string) => void][] = [
    ['empty', 'no-run-started', (path) => writeFileSync(path, '')],
    ['endless', 'no-event-log', (path) => symlinkSync('/dev/zero', path)],
    ['a folder', 'no-event-log', (path) => mkdirSync(path)],
    ['a link to nothing', 'no-event-log', (path) => symlinkSync('/nowhere/events.jsonl', path)],
    ['no list of events', 'damaged-event-log', (path) => writeFileSync(path, 'null\n')],
    [
      'an event without what it is about',
      'damaged-event-log',
      (path) => writeFileSync(path, '{"schemaVersion":2,"sequence":1,"type":"run-started"}\n'),
    ],
  ];
  sampled('hostile logs', logs, { oneIn: 8 })('a log that is %s', async (_name, code, create) => {
    const outcome = await runJson(['report', '--store', storeWithLog(create)], SMALL_HEAP);
    expect(outcome.json.error.code).toBe(code);
    expect(outcome.code).toBe(2);
  });

  test('a log that is a link to nothing is listed and shown', async () => {
    const store = storeWithLog((path) => symlinkSync('/nowhere/events.jsonl', path));
    for (const command of [['runs'], ['show', 'r1']]) {
      const outcome = await runJson([...command, '--store', store]);
      expect(outcome.code).toBe(0);
      expect(JSON.stringify(outcome.json)).toContain('no readable event log');
    }
    const { stdout } = await runCli(['show', 'r1', '--store', store]);
    expect(stdout).toContain('unreadable: There is no readable event log');
    expect(stdout).not.toContain('null');
  });

  longTest('a launch sequence of fifty million steps', async () => {
    const { kernel } = scaleCopy({
      kernel: (file) => {
        file.steps = Array.from({ length: 5000 }, () => ({ ...file.steps[0], repeat: 10_000 }));
      },
    });
    const outcome = await runJson(['check', kernel], SMALL_HEAP);
    expect(outcome.json.error).toMatchObject({
      ...{ code: 'too-many-launches', path: 'steps[1]', received: '10001' },
    });
    expect(outcome.code).toBe(2);
  });
});

describe('a problem whose folder holds', () => {
  const npy = (file: Json): void => {
    file.inputs.X.generator = { kind: 'npy', file: 'x.npy' };
    delete file.generatorSets;
    for (const shape of file.checkShapes) delete shape.generators;
  };
  const pipe = (path: string): void => void execFileSync('mkfifo', [path]);
  const endless = (path: string): void => symlinkSync('/dev/zero', path);
  const large = (path: string): void => {
    writeFileSync(path, '');
    truncateSync(path, 2 ** 32);
  };

  const files: [what: string, file: string, code: string, create: (path: string) => void][] = [
    ['an endless array', 'x.npy', 'npy-file', endless],
    ['a pipe for an array', 'x.npy', 'npy-file', pipe],
    ['an array that no memory takes', 'x.npy', 'npy-file', large],
    ['an endless file that a reference might import', 'suites.json', 'not-a-file', endless],
    ['a pipe that a reference might import', 'table.json', 'not-a-file', pipe],
    ['a file that no memory takes', 'table.json', 'file-too-large', large],
  ];
  sampled('hostile files', files, { oneIn: 8 })('%s', async (_name, file, code, create) => {
    const { problem, kernel } = scaleCopy({ problem: file === 'x.npy' ? npy : undefined });
    create(join(problem, file));
    const outcome = await runJson(['evaluate', kernel, '--device', 'virtual:l4'], SMALL_HEAP);
    expect(outcome.json.error).toMatchObject({ code, file: join(problem, file), hint: expect.any(String) });
    expect(outcome.code).toBe(2);
  });
});

longTest('a time limit is that of the whole launch sequence', async () => {
  const { kernel } = scaleCopy({
    kernel: (file) => {
      file.steps = [{ ...file.steps[0], repeat: 9_000 }];
    },
  });
  const { json } = await runJson(['evaluate', kernel, '--device', 'virtual:l4', '--run-timeout', '1']);
  expect(json).toMatchObject({
    status: 'timed-out',
    reason: expect.stringMatching(/did not finish within 1000 ms/),
  });
});
