import { parentPort } from 'node:worker_threads';
import { type StreamKeys, streamOf } from '../stats/random.ts';

/** One thread's share of a long array. */
export interface FillTask {
  readonly target: SharedArrayBuffer;
  /** Elements, the first one even. */
  readonly from: number;
  readonly to: number;
  readonly keys: StreamKeys;
  readonly mean: number;
  readonly standardDeviation: number;
  /** Counts the threads that have finished. */
  readonly finished: SharedArrayBuffer;
}

const bytes = Float64Array.BYTES_PER_ELEMENT;

parentPort?.on('message', ({ target, from, to, keys, mean, standardDeviation, finished }: FillTask) => {
  streamOf(keys).fillNormal(new Float64Array(target, from * bytes, to - from), mean, standardDeviation, from);
  Atomics.add(new Int32Array(finished), 0, 1);
  Atomics.notify(new Int32Array(finished), 0);
});
