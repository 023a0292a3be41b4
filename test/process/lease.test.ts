import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type AskedTerms, Lease } from '../../src/process/lease.ts';
import { describeLease, readLeaseFile } from '../../src/process/lease-file.ts';
import { runCli } from '../cli/run-cli.ts';
import { eventually, fixture, isRunning } from './processes.ts';

/** A user's state, and a release command that writes a line each time it runs. */
function rented() {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-lease-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const log = join(folder, 'released');
  return {
    env: { XDG_STATE_HOME: folder },
    file: join(folder, 'warpsmith', `lease-${hostname()}.json`),
    command: ['sh', '-c', `echo "$KEY" >> ${log}`],
    releases: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []),
  };
}

type Terms = Omit<AskedTerms, 'commandTimeoutMs'>;

async function startParent(
  terms: Terms,
  env: Record<string, string>,
): Promise<{ parent: ChildProcess; said: () => string }> {
  const words = [fixture('lease-parent.ts'), JSON.stringify({ ...terms, commandTimeoutMs: 10_000 })];
  const parent = spawn(process.execPath, words, {
    env: { ...process.env, KEY: 'secret', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void parent.kill('SIGKILL'));
  let said = '';
  parent.stdout!.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await Promise.race([once(parent.stdout!, 'data'), once(parent, 'exit')]);
  return { parent, said: () => said };
}

/** Longer than everything else of these tests: whoever comes twice comes by then. */
const TWICE_MS = 1200;

test('the GPU is released once, with the parent’s environment, though the parent is killed outright', async () => {
  const { env, command, releases, file } = rented();
  const { parent } = await startParent({ command, afterMs: 300, deadlineMs: 1500, graceMs: 0 }, env);
  expect(describeLease(file).said).toMatch(
    /^sh releases the GPUs after process \d+ has ended, at .* at the latest; kill -9/,
  );
  expect(readFileSync(file, 'utf8')).not.toContain('echo');
  parent.kill('SIGKILL');
  await eventually(() => releases().length > 0);
  // The deadline passes, too.
  await sleep(TWICE_MS);
  expect(releases()).toEqual(['secret']);
  expect(existsSync(file)).toBe(false);
});

test('the deadline holds for a parent that hangs: it is interrupted, then killed, then the GPU is released', async () => {
  const { env, command, releases, file } = rented();
  const { parent, said } = await startParent({ command, afterMs: 60_000, deadlineMs: 1000, graceMs: 600 }, env);
  // Nor may a disk that can't be written keep the GPU.
  rmSync(dirname(file), { recursive: true });
  const [, signal] = await once(parent, 'exit');
  expect([signal, said()]).toEqual(['SIGKILL', 'held\ninterrupted\n']);
  await eventually(() => releases().length > 0);
  expect(releases()).toHaveLength(1);
});

test('one command has the lease of a machine; a lease that a killed command left is taken over', async () => {
  const { env, command, releases, file } = rented();
  const terms = { command, afterMs: 60_000, deadlineMs: null, graceMs: 0 };
  const { parent } = await startParent(terms, env);
  const first = readLeaseFile(file)!;
  const words = ['optimize', 'no-such-problem', '--release-command', 'true', '--release-after', '0'];
  const refused = await runCli(words, { env });
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('Another command is to release')]);
  parent.kill('SIGKILL');
  await eventually(() => readLeaseFile(file)?.releaseAtMs !== null);
  const second = await runCli(words, { env });
  expect(second.stderr).toContain('The GPU is released: true exited with 0.');
  expect(second.code).toBe(2);
  await eventually(() => !isRunning(first.pid));
  expect(releases()).toEqual([]);
});

test('a release that fails is told, with its exit code, by the command and by doctor', async () => {
  const { env, file } = rented();
  const command = JSON.stringify(['sh', '-c', 'echo no such pod >&2; exit 4']);
  const words = ['optimize', 'no-such-problem', '--release-command', command, '--release-after', '0'];
  const { code, stderr } = await runCli(words, { env });
  expect(stderr).toMatch(/^The GPU is released when the work has ended, by sh\.\n/);
  expect(stderr).toContain('The GPU is NOT released: sh exited 4: no such pod. Release it by hand.');
  expect(code).toBe(5);
  expect(describeLease(file)).toEqual({
    failed: true,
    said: 'sh was to release the GPUs and failed: exited 4',
    hint: `Release them by hand, then remove ${file}.`,
  });
});

test('Ctrl-C keeps the GPU while the release is waited for', async () => {
  const { env, command, releases, file } = rented();
  const words = [
    'optimize',
    'no-such-problem',
    '--release-command',
    JSON.stringify(command),
    '--release-after',
    '0.05',
  ];
  const { code, stderr } = await runCli(words, { env, interruptAt: 'Ctrl-C keeps it' });
  expect(stderr).toMatch(/The command has failed: .*no-such-problem[\s\S]*Kept: nothing releases the GPU now\./);
  expect(code).toBe(2);
  await sleep(TWICE_MS * 3);
  expect([releases(), existsSync(file)]).toEqual([[], false]);
});

test('a release that has begun is not stopped halfway', async () => {
  const { env, command, releases } = rented();
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const [name, value] of Object.entries({ KEY: 'secret', ...env })) vi.stubEnv(name, value);
  const [shell, flag, once] = command as [string, string, string];
  const slowly = [shell, flag, `${once}; sleep 0.5; ${once}`];
  const terms = { command: slowly, commandTimeoutMs: 10_000, afterMs: 0, deadlineMs: null, graceMs: 0 };
  const lease = await Lease.take(terms, () => {});
  await lease.end({ idleMs: 0 });
  await eventually(() => releases().length > 0);
  expect(lease.keep()).toBe(false);
  expect(await lease.released()).toMatchObject({ failed: null });
  expect(releases()).toEqual(['secret', 'secret']);
});

test.each([
  [['--deadline', '5'], '--deadline needs a command that releases the GPU.'],
  [['--release-command', 'stop pod'], `--release-command can't be "stop pod".`],
  [['--release-command', '[1]'], `--release-command can't be "[1]".`],
  [['--release-after', '-1'], `--release-after can't be "-1".`],
])('%j is refused', async (words, message) => {
  const { code, stderr } = await runCli(['optimize', 'no-such-problem', ...words]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
