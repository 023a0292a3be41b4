import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { RandomStream } from '../stats/random.ts';
import { entryFile } from './entry-file.ts';
import type { FillTask } from './fill-normal-thread.ts';

/** Elements from which threads pay: starting them takes 50 ms, drawing so many takes 200. */
const LEAST_SHARED = 2 ** 22;
/** Memory bandwidth is the limit beyond. */
const MOST_THREADS = 16;
/** Longest wait for threads; each draws 30 million values a second. */
const PATIENCE_MS = 60_000;

const THREAD_URL = entryFile(new URL('./fill-normal-thread.ts', import.meta.url));

/**
 * `count` values `mean + standardDeviation · normal(i)` of a stream. Long arrays are drawn by several threads, while this one
 * waits: a value depends on its index only, so the result is the same for any number of threads.
 */
export function fillNormal(
  stream: RandomStream,
  count: number,
  mean: number,
  standardDeviation: number,
  threads = Math.min(MOST_THREADS, availableParallelism()),
): Float64Array {
  const drawHere = () => {
    const values = new Float64Array(count);
    stream.fillNormal(values, mean, standardDeviation);
    return values;
  };
  if (count < LEAST_SHARED || threads < 2) return drawHere();
  return drawInThreads(stream, count, mean, standardDeviation, threads) ?? drawHere();
}

/** `undefined` if a thread can't be had or does not answer. */
function drawInThreads(
  { keys }: RandomStream,
  count: number,
  mean: number,
  standardDeviation: number,
  threads: number,
): Float64Array | undefined {
  const target = new SharedArrayBuffer(count * Float64Array.BYTES_PER_ELEMENT);
  const finished = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const share = 2 * Math.ceil(count / threads / 2);
  const workers: Worker[] = [];
  try {
    for (let from = 0; from < count; from += share) {
      const to = Math.min(count, from + share);
      const task: FillTask = { target, from, to, keys, mean, standardDeviation, finished };
      const worker = new Worker(THREAD_URL, { workerData: task });
      worker.on('error', () => {}); // The wait below notices.
      workers.push(worker);
    }
    return allFinish(new Int32Array(finished), workers.length) ? new Float64Array(target) : undefined;
  } finally {
    for (const worker of workers) void worker.terminate();
  }
}

function allFinish(finished: Int32Array, count: number): boolean {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const now = Atomics.load(finished, 0);
    if (now >= count) return true;
    if (Atomics.wait(finished, 0, now, until - performance.now()) === 'timed-out') return false;
  }
}
