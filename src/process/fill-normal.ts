import { availableParallelism } from 'node:os';
import { isMainThread, Worker } from 'node:worker_threads';
import type { RandomStream } from '../stats/random.ts';
import { entryFile } from './entry-file.ts';
import type { FillTask } from './fill-normal-thread.ts';

/** Elements from which threads pay, if they have to be started (50 ms) and if they wait for work (0.1 ms). */
const LEAST_FOR_NEW_THREADS = 2 ** 22;
const LEAST_FOR_WAITING_THREADS = 2 ** 18;
/** Memory bandwidth is the limit beyond. */
const MOST_THREADS = 16;
/** A thread that draws may be one of several, and threads of each would be more than there are cores. */
const DEFAULT_THREADS = isMainThread ? Math.min(MOST_THREADS, availableParallelism()) : 1;
/** Longest wait for threads; each draws 30 million values a second. */
const PATIENCE_MS = 60_000;

const THREAD_URL = entryFile(new URL('./fill-normal-thread.ts', import.meta.url));

/** Threads that wait for work. They never keep the process alive. */
const team: Worker[] = [];

/**
 * `count` values `mean + standardDeviation · normal(i)` of a stream. For the main thread several threads draw long arrays, while it
 * waits: a value depends on its index only, so the result is the same for any number of threads.
 */
export function fillNormal(
  stream: RandomStream,
  count: number,
  mean: number,
  standardDeviation: number,
  threads = DEFAULT_THREADS,
): Float64Array {
  const drawHere = () => {
    const values = new Float64Array(count);
    stream.fillNormal(values, mean, standardDeviation);
    return values;
  };
  const least = team.length < threads ? LEAST_FOR_NEW_THREADS : LEAST_FOR_WAITING_THREADS;
  if (count < least || threads < 2) return drawHere();
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
  let asked = 0;
  for (let from = 0; from < count; from += share) {
    const to = Math.min(count, from + share);
    const task: FillTask = { target, from, to, keys, mean, standardDeviation, finished };
    threadOf(asked++).postMessage(task);
  }
  if (allFinish(new Int32Array(finished), asked)) return new Float64Array(target);
  for (const thread of team.splice(0)) void thread.terminate();
  return undefined;
}

function threadOf(index: number): Worker {
  const waiting = team[index];
  if (waiting) return waiting;
  const thread = new Worker(THREAD_URL);
  thread.unref();
  const leave = () => {
    const at = team.indexOf(thread);
    if (at >= 0) team.splice(at, 1);
  };
  thread.on('error', leave); // The wait for it notices.
  thread.on('exit', leave);
  team.push(thread);
  return thread;
}

function allFinish(finished: Int32Array, count: number): boolean {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const now = Atomics.load(finished, 0);
    if (now >= count) return true;
    if (Atomics.wait(finished, 0, now, until - performance.now()) === 'timed-out') return false;
  }
}
