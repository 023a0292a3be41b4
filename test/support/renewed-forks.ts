import { readFileSync } from 'node:fs';
import { ForksPoolWorker, type PoolRunnerInitializer, type PoolTask, type WorkerRequest } from 'vitest/node';
import { SAMPLE_VARIABLE } from './sampling/find-turn.ts';

/**
 * Test files that one process runs, one after the other: the first one loads the modules, and V8 compiles what all of them
 * run. V8 fails a check on its code pages (`jit_page.has_value()`) once a process has compiled and dropped very many
 * WebAssembly modules: fewer files where all members of matrices run. Of samples, a hundred files in one process did not fail.
 */
const MOST_FILES = process.env[SAMPLE_VARIABLE] === 'all' ? 6 : 12;

/**
 * A process that is smaller, in bytes, runs more files: it has compiled two kernels at most, by a count of 115 files, and starts others
 * cheaply. Those that had run kernels took 200 MB to 1 GB.
 */
const SMALL = 256e6;

/** Resident memory in bytes; unlimited where the system doesn't tell it as Linux does. */
function residentMemory(pid: number | undefined): number {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? Number.POSITIVE_INFINITY : Number(kilobytes) * 1024;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

class RenewedFork extends ForksPoolWorker {
  override readonly name = RENEWED_FORKS.name;
  #files = 0;

  override send(message: WorkerRequest): void {
    if (message.type === 'run') this.#files += message.context.files.length;
    super.send(message);
  }

  canReuse(_task: PoolTask): boolean {
    return this.#files < MOST_FILES || residentMemory(Reflect.get(this, '_fork')?.pid) < SMALL;
  }
}

/** Processes that run a few test files each. */
export const RENEWED_FORKS: PoolRunnerInitializer = {
  name: 'renewed-forks',
  createPoolWorker: (options) => new RenewedFork(options),
};
