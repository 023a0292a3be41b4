import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { fillNormal } from '../../src/process/fill-normal.ts';
import { createStream } from '../../src/stats/random.ts';

it('draws the same values with any number of threads', () => {
  const stream = createStream('threads');
  const count = 2 ** 22 + 3;
  const draw = (threads: number) => Buffer.from(fillNormal(stream, count, 3, 0.5, threads).buffer);
  const here = draw(1);
  for (const threads of [2, 3]) expect(draw(threads).equals(here)).toBe(true);
  expect(here.readDoubleLE(8 * (count - 1))).toBe(3 + 0.5 * stream.normal(count - 1));
});

it('starts no threads in a thread, unless it is told to', async () => {
  const thread = new Worker(new URL('./fixtures/drawing-thread.ts', import.meta.url));
  try {
    const startedFor = async (threads: number | undefined): Promise<number> => {
      thread.postMessage(threads);
      const [started] = await once(thread, 'message');
      return started;
    };
    expect(await startedFor(undefined)).toBe(0);
    expect(await startedFor(3)).toBe(3);
  } finally {
    await thread.terminate();
  }
});
