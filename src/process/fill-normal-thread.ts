import { workerData } from 'node:worker_threads';
import { streamOf } from '../stats/random.ts';
import type { FillTask } from './fill-normal.ts';

const { target, from, to, keys, mean, standardDeviation, finished } = workerData as FillTask;
const bytes = Float64Array.BYTES_PER_ELEMENT;
streamOf(keys).fillNormal(new Float64Array(target, from * bytes, to - from), mean, standardDeviation, from);
Atomics.add(new Int32Array(finished), 0, 1);
Atomics.notify(new Int32Array(finished), 0);
