import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { startWorkerProcess, type WorkerProcess, WorkerProcessEnded } from '../../src/process/worker-process.ts';
import { contentOf, eventually, isRunning } from './processes.ts';

const entry = new URL('./fixtures/worker.ts', import.meta.url);
let worker: WorkerProcess;
const start = (environment?: Record<string, string>) => {
  worker = startWorkerProcess({ entry, ...(environment ? { environment } : {}) });
  return worker;
};

afterEach(() => worker?.close());

const endOf = async (request: Promise<unknown>): Promise<WorkerProcessEnded> => {
  const error = await request.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof WorkerProcessEnded)) throw new Error(`not an end of the process: ${error}`);
  return error;
};

it('carries bytes there and back, 64 MiB too', async () => {
  start();
  const bytes = new Uint8Array(64 << 20).map((_, i) => i * 7);
  expect(Buffer.compare(await worker.request<Uint8Array>({ kind: 'echo', bytes }), bytes)).toBe(0);
});

it('answers requests made at once, each its own', async () => {
  start();
  const asked = Array.from({ length: 20 }, (_, i) => Uint8Array.of(i));
  const answers = await Promise.all(asked.map((bytes) => worker.request<Uint8Array>({ kind: 'echo', bytes })));
  expect(answers.map((bytes) => bytes[0])).toEqual(asked.map((bytes) => bytes[0]));
});

it('passes errors on, and goes on', async () => {
  start();
  await expect(worker.request({ kind: 'throw' })).rejects.toMatchObject({
    name: 'RangeError',
    message: 'out of range',
    code: 'ERR_RANGE',
  });
  expect(await worker.request({ kind: 'pid' })).toBe(worker.pid);
});

it('has a minimal environment', async () => {
  process.env.A_SECRET_OF_THE_TEST = 'x';
  start({ ADDED: 'y' });
  const environment = await worker.request<Record<string, string>>({ kind: 'environment' });
  delete process.env.A_SECRET_OF_THE_TEST;
  expect(environment).not.toHaveProperty('A_SECRET_OF_THE_TEST');
  expect(environment).toMatchObject({ ADDED: 'y', LANG: 'C.UTF-8' });
});

it('is killed at the time limit, however busy, and says so to everyone who waits', async () => {
  start();
  const pid = await worker.request<number>({ kind: 'pid' });
  const spinning = endOf(worker.request({ kind: 'spin' }, { timeoutMs: 150 }));
  const behind = endOf(worker.request({ kind: 'pid' }));
  expect((await spinning).reason).toBe('timed-out');
  expect((await behind).reason).toBe('timed-out');
  await eventually(() => !isRunning(pid));
  expect((await endOf(worker.request({ kind: 'pid' }))).reason).toBe('timed-out');
  expect(worker.isRunning).toBe(false);
});

it('interrupts what nobody waits for any longer, and is killed only if that takes longer than one may be patient', async () => {
  start();
  const pid = await worker.request<number>({ kind: 'pid' });
  const [leaving, leavingAgain] = [new AbortController(), new AbortController()];
  const waiting = worker.request({ kind: 'wait' }, { signal: leaving.signal, patienceMs: 30_000 });
  leaving.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  expect(await worker.request({ kind: 'pid' })).toBe(pid);

  const spinning = worker.request({ kind: 'spin' }, { signal: leavingAgain.signal, patienceMs: 100 });
  const behind = endOf(worker.request({ kind: 'pid' }));
  // What has not begun is left out; this has.
  await sleep(300);
  leavingAgain.abort(new Error('gone'));
  await expect(spinning).rejects.toThrow('gone');
  expect((await behind).reason).toBe('signaled');
});

it('tells how it ended: a signal with what it wrote, or an exit code', async () => {
  start();
  const crashed = await endOf(worker.request({ kind: 'crash' }));
  expect(crashed).toMatchObject({ reason: 'signaled', signal: 'SIGSEGV', stderr: 'about to crash\n' });
  expect(crashed.message).toContain('about to crash');
  start();
  expect(await endOf(worker.request({ kind: 'exit', code: 3 }))).toMatchObject({ reason: 'exited', exitCode: 3 });
});

it('a module that cannot be loaded: its message', async () => {
  worker = startWorkerProcess({ entry: new URL('./fixtures/missing.ts', import.meta.url) });
  const end = await endOf(worker.request({ kind: 'pid' }));
  expect(end.reason).toBe('exited');
  expect(end.stderr).toContain('missing.ts');
});

it('aborting rejects with the reason and ends the process', async () => {
  start();
  const pid = await worker.request<number>({ kind: 'pid' });
  const controller = new AbortController();
  const spinning = worker.request({ kind: 'spin' }, { signal: controller.signal });
  setTimeout(() => controller.abort(new Error('no longer wanted')), 50);
  await expect(spinning).rejects.toThrow('no longer wanted');
  await eventually(() => !isRunning(pid));
});

it('close ends it', async () => {
  start();
  const pid = await worker.request<number>({ kind: 'pid' });
  await worker.close();
  expect(isRunning(pid)).toBe(false);
  await worker.close();
});

it('ends when its parent is killed, and an idle one lets its parent end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-test-'));
  const module = new URL('../../src/process/worker-process.ts', import.meta.url).href;
  const program = (after: string) => `
    import { startWorkerProcess } from ${JSON.stringify(module)};
    import { writeFileSync } from 'node:fs';
    const worker = startWorkerProcess({ entry: new URL(${JSON.stringify(entry.href)}) });
    writeFileSync(process.argv[1], String(await worker.request({ kind: 'pid' })));
    ${after}`;
  for (const [name, after] of [
    ['killed', 'process.kill(process.pid, "SIGKILL")'],
    ['idle', ''],
  ] as const) {
    const file = `${folder}/${name}`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program(after), file], { stdio: 'ignore' });
    await new Promise((resolve) => parent.once('exit', resolve));
    const pid = Number(await contentOf(file));
    await eventually(() => !isRunning(pid));
  }
  rmSync(folder, { recursive: true });
});

it('is waited for until it has ended, even when an answer comes in while it is being closed', async () => {
  const module = new URL('../../src/process/worker-process.ts', import.meta.url).href;
  const program = `
    import { startWorkerProcess } from ${JSON.stringify(module)};
    const worker = startWorkerProcess({ entry: new URL(${JSON.stringify(entry.href)}) });
    await worker.request({ kind: 'pid' });
    worker.request({ kind: 'pid' });
    // The answer is here before anybody looks.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    await worker.close();
    process.stdout.write('closed');`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let written = '';
  parent.stdout.on('data', (chunk: Buffer) => {
    written += chunk;
  });
  const exitCode = await new Promise((resolve) => parent.once('close', resolve));
  expect({ exitCode, written }).toEqual({ exitCode: 0, written: 'closed' });
});
