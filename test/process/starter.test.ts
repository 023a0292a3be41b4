import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { ProcessRequest } from '../../src/process/run-here.ts';
import { runProcess } from '../../src/process/run-process.ts';
import { isStarterWorthwhile, runByStarter } from '../../src/process/starter.ts';
import { eventually, fixture, isRunning } from './processes.ts';

const request = (name: string, args: string[] = [], options: Partial<ProcessRequest> = {}): ProcessRequest => ({
  command: process.execPath,
  args: [fixture(name), ...args],
  cwd: tmpdir(),
  timeoutMs: 20_000,
  maximumOutputBytes: 1 << 20,
  ...options,
});
const run = (...of: Parameters<typeof request>) => runByStarter(request(...of));

/** Processes that this one has started, with this in their command lines. */
const childrenWith = (text: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        return parent === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        return false;
      }
    });

describe('a program that a small process starts', () => {
  it('tells what it tells here: its end, its output, what it reads, and its environment', async () => {
    expect(await run('exit-with.mjs', ['3'])).toEqual({
      ...{ end: 'exited', exitCode: 3, stdout: 'out', stderr: 'err', elapsedMs: expect.any(Number) },
    });
    expect(await run('echo-input.mjs', [], { stdin: Buffer.from('héllo') })).toMatchObject({ stdout: 'héllo' });
    expect(await run('exit-with.mjs', [], { command: 'no-such-program' })).toMatchObject({ end: 'not-started' });
    const own = { ...(await run('echo-environment.mjs')), elapsedMs: 0 };
    expect(own.stdout).toContain('WARPSMITH_GUARD');
    expect(own).toEqual({ ...(await runProcess(request('echo-environment.mjs'))), elapsedMs: 0 });
  });

  it('goes on beside others, until its caller aborts it or its time is over', async () => {
    const caller = new AbortController();
    const aborted = run('hang.mjs', [], { signal: caller.signal });
    const late = run('hang.mjs', [], { timeoutMs: 700 });
    expect(await run('exit-with.mjs', ['0'])).toMatchObject({ end: 'exited', exitCode: 0 });
    expect(await late).toMatchObject({ end: 'timed-out', stdout: 'started\n' });
    caller.abort();
    expect(await aborted).toMatchObject({ end: 'aborted', stdout: 'started\n' });
  });

  it('is unknown if that process is killed; the next one is started by another', async () => {
    const lost = run('hang.mjs');
    const [starter] = childrenWith('starter-main');
    process.kill(starter!, 'SIGKILL');
    expect(await lost).toBeUndefined();
    await eventually(() => !isRunning(starter!));
    expect(await run('exit-with.mjs', ['0'])).toMatchObject({ end: 'exited', exitCode: 0 });
  });
});

it('pays in a large process only, and on Linux', () => {
  expect(isStarterWorthwhile(200 * 1024 ** 2, 'linux')).toBe(false);
  expect(isStarterWorthwhile(800 * 1024 ** 2, 'linux')).toBe(true);
  expect(isStarterWorthwhile(800 * 1024 ** 2, 'darwin')).toBe(false);
});
