import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { createTaskThreads, type TaskThreads, ThreadLost } from '../../src/process/task-threads.ts';
import type { TestTasks } from './fixtures/task-thread.ts';

const entry = new URL('./fixtures/task-thread.ts', import.meta.url);
let threads: TaskThreads<TestTasks>;
const start = (count: number) => {
  threads = createTaskThreads<TestTasks>(entry, count);
};
afterEach(() => threads?.close());

it('answers each request with its own', async () => {
  start(2);
  const asked = [1, 2, 3, 4, 5];
  expect(await Promise.all(asked.map((value) => threads.ask('double', value)))).toEqual([2, 4, 6, 8, 10]);
});

it('says so to all that wait for a thread that ends; others go on until none is left', async () => {
  start(2);
  const lost = [threads.ask('exit', null), threads.ask('double', 1), threads.ask('double', 2)];
  const outcomes = await Promise.allSettled(lost);
  expect(outcomes[0]).toMatchObject({ status: 'rejected', reason: expect.any(ThreadLost) });
  expect(outcomes[1]).toMatchObject({ value: 2 });
  expect(outcomes[2]).toMatchObject({ status: 'rejected', reason: expect.any(ThreadLost) });
  expect(await threads.ask('double', 3)).toBe(6);
  await expect(threads.ask('exit', null)).rejects.toThrow(ThreadLost);
  await expect(threads.ask('double', 4)).rejects.toThrow('all threads ended');
});

it('what can not be sent keeps no process alive, and takes no thread', async () => {
  const script = fileURLToPath(new URL('./fixtures/ask-unsendable.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 20_000 });
  expect(stdout).toBe('DataCloneError\n42\n');
});
