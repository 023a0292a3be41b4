import { availableParallelism } from 'node:os';
import { entryFile } from '../../../process/entry-file.ts';
import { createTaskThreads, type TaskThreads } from '../../../process/task-threads.ts';
import type { OracleTasks } from './oracle-thread.ts';

/** Threads that work on checks beside the main one. */
export type OracleThreads = TaskThreads<OracleTasks>;

/** As many as checks are worked out ahead: none on a machine with few cores. */
const THREADS = Math.min(8, Math.floor(availableParallelism() / 4));

/** Undefined where the machine has too few cores for them. */
export const createOracleThreads = (count = THREADS): OracleThreads | undefined =>
  count < 1
    ? undefined
    : createTaskThreads<OracleTasks>(entryFile(new URL('./oracle-thread.ts', import.meta.url)), count);
