import type { ChildProcess } from 'node:child_process';
import { type GuardedSpawnOptions, spawnGuarded } from './guard.ts';
import { killGroup } from './process-group.ts';

/** How a child ended, as the system tells it. */
export interface ChildEnd {
  /** It was never started. */
  readonly error?: Error;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The last that it wrote to stderr. */
  readonly stderr: string;
}

const STDERR_TAIL_BYTES = 8192;

interface Handle {
  ref?(): void;
  unref?(): void;
}

/**
 * A child in its own process group that answers requests as long as it is needed. While idle it does not keep this process
 * alive, and it is killed when this process ends.
 */
export class LongLivedChild {
  readonly child: ChildProcess;
  readonly #ended: Promise<void>;
  #stderr = Buffer.alloc(0);
  #isRunning = true;
  #isClosing = false;

  /** @param onEnd - called once. */
  constructor(command: string, args: readonly string[], options: GuardedSpawnOptions, onEnd: (end: ChildEnd) => void) {
    this.child = spawnGuarded(command, args, options);
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr = Buffer.concat([this.#stderr, chunk]).subarray(-STDERR_TAIL_BYTES);
    });
    this.#ended = new Promise((resolve) => {
      const finish = (end: Omit<ChildEnd, 'stderr'>): void => {
        if (this.#isRunning) {
          this.#isRunning = false;
          onEnd({ ...end, stderr: this.#stderr.toString('utf8') });
        }
        resolve();
      };
      this.child.once('error', (error) => finish({ error, exitCode: null, signal: null }));
      this.child.once('close', (exitCode, signal) => finish({ exitCode, signal }));
    });
    this.keepAlive(false);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Kills the process group. */
  kill(): void {
    if (this.pid !== undefined && this.#isRunning) killGroup(this.pid);
  }

  /** Kills the process group and waits until it is gone. */
  async close(): Promise<void> {
    this.keepAlive(true);
    this.#isClosing = true;
    this.kill();
    await this.#ended;
  }

  /** An idle child must not keep a finished program from ending; one that is waited for must. */
  keepAlive(needed: boolean): void {
    if (this.#isClosing) return;
    const { child } = this;
    const handles = [child, child.channel, child.stdin, child.stdout, child.stderr] as (Handle | null | undefined)[];
    for (const handle of handles) handle?.[needed ? 'ref' : 'unref']?.();
  }
}
