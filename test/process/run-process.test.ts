import { tmpdir } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { type ProcessRequest, runProcess } from '../../src/process/run-process.ts';
import { eventually, fixture, isRunning } from './processes.ts';

const run = (name: string, args: string[] = [], options: Partial<ProcessRequest> = {}) =>
  runProcess({
    command: process.execPath,
    args: [fixture(name), ...args],
    cwd: tmpdir(),
    timeoutMs: 20_000,
    maximumOutputBytes: 1 << 20,
    ...options,
  });

describe('runProcess', () => {
  it('returns the exit code and both streams', async () => {
    expect(await run('exit-with.mjs', ['3'])).toEqual({
      end: 'exited',
      exitCode: 3,
      stdout: 'out',
      stderr: 'err',
      elapsedMs: expect.any(Number),
    });
  });

  it('feeds stdin', async () => {
    expect(await run('echo-input.mjs', [], { stdin: 'héllo' })).toMatchObject({ end: 'exited', stdout: 'héllo' });
  });

  it('does not mind a program that never reads its input', async () => {
    const stdin = 'x'.repeat(4 << 20);
    expect(await run('exit-with.mjs', ['0'], { stdin })).toMatchObject({ end: 'exited', exitCode: 0 });
  });

  it('says when the program is not there', async () => {
    const outcome = await run('exit-with.mjs', [], { command: 'no-such-program' });
    expect(outcome).toMatchObject({ end: 'not-started', stderr: 'no-such-program: no such executable file' });
    const path = await run('exit-with.mjs', [], { command: '/no/such/program', maximumMemoryBytes: 1 << 30 });
    expect(path).toMatchObject({ end: 'not-started', stderr: '/no/such/program: no such executable file' });
  });

  it('passes arguments as they are, with no shell in between', async () => {
    const outcome = await runProcess({
      command: process.execPath,
      args: ['-e', 'console.log(process.argv.slice(1).join("|"))', '$HOME; `id` && "*"', "a'b"],
      cwd: tmpdir(),
      timeoutMs: 20_000,
      maximumOutputBytes: 1000,
    });
    expect(outcome.stdout).toBe('$HOME; `id` && "*"|a\'b\n');
  });

  it('kills a program that takes too long', async () => {
    expect(await run('hang.mjs', [], { timeoutMs: 700 })).toMatchObject({ end: 'timed-out', stdout: 'started\n' });
  });

  it('kills a program whose caller lost interest, before or while it runs', async () => {
    expect(await run('hang.mjs', [], { signal: AbortSignal.abort() })).toMatchObject({ end: 'aborted', stdout: '' });
    expect(await run('hang.mjs', [], { signal: AbortSignal.timeout(700) })).toMatchObject({ end: 'aborted' });
  });

  it('stops a program that writes too much and keeps what fits', async () => {
    const outcome = await run('write-forever.mjs', [], { maximumOutputBytes: 5000 });
    expect(outcome.end).toBe('output-exceeded');
    expect(outcome.stdout).toHaveLength(5000);
  });

  it('leaves a program alone that stays within its memory', async () => {
    const outcome = await run('exit-with.mjs', ['0'], { maximumMemoryBytes: 8 * 1024 ** 3 });
    expect(outcome).toMatchObject({ end: 'exited', exitCode: 0 });
  });
});

describe('memory by polling alone', () => {
  const searchPath = process.env.PATH;
  afterEach(() => {
    process.env.PATH = searchPath;
  });

  it('works on a machine without prlimit', async () => {
    process.env.PATH = '';
    const outcome = await run('take-memory.mjs', ['4096'], { maximumMemoryBytes: 300 << 20 });
    expect(outcome.end).toBe('memory-exceeded');
  });
});

describe('grandchildren', () => {
  it('die with a program that timed out', async () => {
    const outcome = await run('hang-with-grandchild.mjs', [], { timeoutMs: 1500 });
    expect(outcome.end).toBe('timed-out');
    const grandchild = Number(outcome.stdout.trim());
    expect(grandchild).toBeGreaterThan(1);
    await eventually(() => !isRunning(grandchild));
  });

  it('do not outlive a program that ended by itself and left them behind', async () => {
    const outcome = await run('hang-with-grandchild.mjs', ['leave']);
    expect(outcome).toMatchObject({ end: 'exited', exitCode: 0 });
    const grandchild = Number(outcome.stdout.trim());
    expect(grandchild).toBeGreaterThan(1);
    await eventually(() => !isRunning(grandchild));
  });
});

describe('the environment', () => {
  afterEach(() => {
    delete process.env.WARPSMITH_TEST_API_KEY;
  });

  it('holds no secrets of ours unless given', async () => {
    process.env.WARPSMITH_TEST_API_KEY = 'secret';
    const plain = JSON.parse((await run('echo-environment.mjs')).stdout);
    expect(
      Object.keys(plain).filter((name) => !['WARPSMITH_GUARD', 'LANG', 'LC_ALL', 'PATH', 'TMPDIR'].includes(name)),
    ).toEqual([]);
    const given = JSON.parse((await run('echo-environment.mjs', [], { env: { ONLY: 'this' } })).stdout);
    expect(given).toEqual({ ONLY: 'this', WARPSMITH_GUARD: expect.any(String) });
  });
});
