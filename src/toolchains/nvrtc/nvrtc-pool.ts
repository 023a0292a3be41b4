import { availableParallelism } from 'node:os';
import { type NvrtcEnd, type NvrtcLimits, NvrtcProcess } from './nvrtc-process.ts';
import type { NvrtcDescription, NvrtcProgram } from './protocol.ts';

/** A process takes some 300 MB and one core while it compiles. */
const MOST_PROCESSES = 8;

/** Processes that compile side by side; each is started when all before it are busy. */
export class NvrtcPool {
  readonly #processes: { process: NvrtcProcess; waiting: number }[];

  constructor(libraryPath: string, entry?: URL) {
    const count = Math.max(1, Math.min(MOST_PROCESSES, Math.floor(availableParallelism() / 2)));
    this.#processes = Array.from({ length: count }, () => ({
      process: new NvrtcProcess(libraryPath, entry),
      waiting: 0,
    }));
  }

  /** As {@link NvrtcProcess.describe}. */
  describe(timeoutMs: number): Promise<NvrtcDescription> {
    return this.#processes[0]!.process.describe(timeoutMs);
  }

  /** As {@link NvrtcProcess.compile}, in the process with the least to do. */
  async compile(program: NvrtcProgram, limits: NvrtcLimits, signal: AbortSignal | undefined): Promise<NvrtcEnd> {
    const idlest = this.#processes.reduce((best, other) => (other.waiting < best.waiting ? other : best));
    idlest.waiting += 1;
    try {
      return await idlest.process.compile(program, limits, signal);
    } finally {
      idlest.waiting -= 1;
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map(({ process }) => process.close()));
  }
}
