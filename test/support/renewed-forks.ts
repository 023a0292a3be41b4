import { ForksPoolWorker, type PoolRunnerInitializer, type PoolTask, type WorkerRequest } from 'vitest/node';

/**
 * Test files that one process runs, one after the other: the first one loads the modules, and V8 compiles what all of them
 * run. V8 fails a check on its code pages (`jit_page.has_value()`) once a process has compiled and dropped very many
 * WebAssembly modules; none of six files failed.
 */
const MOST_FILES = 6;

class RenewedFork extends ForksPoolWorker {
  override readonly name = RENEWED_FORKS.name;
  #files = 0;

  override send(message: WorkerRequest): void {
    if (message.type === 'run') this.#files += message.context.files.length;
    super.send(message);
  }

  canReuse(_task: PoolTask): boolean {
    return this.#files < MOST_FILES;
  }
}

/** Processes that run a few test files each. */
export const RENEWED_FORKS: PoolRunnerInitializer = {
  name: 'renewed-forks',
  createPoolWorker: (options) => new RenewedFork(options),
};
