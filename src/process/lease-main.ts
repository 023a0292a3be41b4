import { existsSync } from 'node:fs';
import { createLeaseFile, type LeaseState, removeLeaseFile, replaceLeaseFile } from './lease-file.ts';
import { minimalEnvironment, wholeEnvironment } from './minimal-environment.ts';
import { signalProcess } from './process-group.ts';
import { runProcess } from './run-process.ts';

/*
 * The process that releases a rented GPU: once, when its parent has ended or at the deadline, however the parent fares. The
 * parent holds the other end of the channel. It says there on what terms, and later that its work has ended; if it is killed, the
 * channel ends. This process has the parent's whole environment, because release commands find their keys there.
 */

/** The first message. */
export interface LeaseTerms {
  /** Whose end is waited for: the process at the other end. */
  readonly parent: number;
  /** Executable and arguments. */
  readonly command: readonly string[];
  /** Limit of the command. */
  readonly commandTimeoutMs: number;
  /** From the end of the work to the release. */
  readonly afterMs: number;
  /** From now; `null`: none. */
  readonly deadlineMs: number | null;
  /** The parent is interrupted so long before the deadline, and killed at it. */
  readonly graceMs: number;
  /** Where this process says what it is about to do. */
  readonly file: string;
}

/** A later message: the work ended, and the machine had been idle for so long before. */
export interface LeaseEnded {
  readonly idleMs: number;
}

/** What the parent is told. */
export type LeaseMessage =
  | { readonly kind: 'held' }
  /** Another process has the lease of this machine. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'waiting'; readonly releaseAtMs: number }
  /** The release command starts. */
  | { readonly kind: 'releasing' }
  | { readonly kind: 'released'; readonly failed: string | null };

const MAXIMUM_OUTPUT_BYTES = 1 << 20;
const SHOWN_CHARACTERS = 400;
/** The end of a killed parent is the signal to release. If it does not end, the GPU is released so long after the kill. */
const AFTER_KILL_MS = 1000;

/** Somebody may remove it. */
const folder = process.cwd();
let lease: Lease | undefined;

function tell(message: LeaseMessage, then: () => void = () => {}): void {
  // The parent may be gone.
  if (process.connected) process.send?.(message, undefined, undefined, then);
}

/** Nothing keeps this process any more once its timers are cleared, too. */
function leave(): void {
  if (process.connected) process.disconnect();
}

class Lease {
  readonly #terms: LeaseTerms;
  readonly #deadlineAtMs: number | null;
  #state: LeaseState;
  #timer: NodeJS.Timeout | undefined;
  /** Of the deadline. */
  readonly #deadline: readonly NodeJS.Timeout[];
  #isReleased = false;
  #parentIsThere = true;

  constructor(terms: LeaseTerms) {
    const { parent, command, deadlineMs, graceMs, file } = terms;
    this.#terms = terms;
    this.#deadlineAtMs = deadlineMs === null ? null : Date.now() + deadlineMs;
    const about = { pid: process.pid, command: parent, executable: command[0]! };
    this.#state = { ...about, deadlineAtMs: this.#deadlineAtMs, releaseAtMs: null, failed: null };
    createLeaseFile(file, this.#state);
    this.#deadline =
      deadlineMs === null
        ? []
        : [
            setTimeout(() => this.#signal('SIGINT'), Math.max(0, deadlineMs - graceMs)),
            setTimeout(() => this.#atDeadline(), deadlineMs),
          ];
  }

  /** The work has ended: the only thing that is still waited for is time. */
  ended({ idleMs }: LeaseEnded): void {
    if (this.#timer) return;
    const waitMs = Math.max(0, this.#terms.afterMs - idleMs);
    const releaseAtMs = Math.min(Date.now() + waitMs, this.#deadlineAtMs ?? Number.POSITIVE_INFINITY);
    this.#note({ releaseAtMs });
    this.#timer = setTimeout(() => void this.#release(), releaseAtMs - Date.now());
    tell({ kind: 'waiting', releaseAtMs });
  }

  parentEnded(): void {
    this.#parentIsThere = false;
    this.ended({ idleMs: 0 });
  }

  #atDeadline(): void {
    this.#signal('SIGKILL');
    setTimeout(() => void this.#release(), AFTER_KILL_MS);
  }

  /** Only while it holds the channel: afterwards its number may be another's. */
  #signal(signal: 'SIGINT' | 'SIGKILL'): void {
    if (this.#parentIsThere && !this.#timer) signalProcess(this.#terms.parent, signal);
  }

  async #release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    tell({ kind: 'releasing' });
    const failed = await this.#run().catch((error: Error) => ({ how: 'not-started', said: error.message }));
    // Where the parent is gone, `doctor` tells it. What the command printed may hold a key, and stays out of the file.
    this.#note({ failed: failed?.how ?? null });
    if (failed === null) removeLeaseFile(this.#terms.file);
    for (const timer of this.#deadline) clearTimeout(timer);
    const told = failed === null ? null : `${failed.how}${failed.said && `: ${failed.said}`}`;
    tell({ kind: 'released', failed: told }, leave);
  }

  /** A full disk must not keep a GPU. */
  #note(change: Partial<LeaseState>): void {
    this.#state = { ...this.#state, ...change };
    try {
      replaceLeaseFile(this.#terms.file, this.#state);
    } catch {
      // `doctor` then knows less.
    }
  }

  async #run(): Promise<{ how: string; said: string } | null> {
    const { command, commandTimeoutMs } = this.#terms;
    const { end, exitCode, signal, stderr } = await runProcess({
      command: command[0]!,
      args: command.slice(1),
      cwd: existsSync(folder) ? folder : '/',
      env: { ...minimalEnvironment(), ...wholeEnvironment() },
      timeoutMs: commandTimeoutMs,
      maximumOutputBytes: MAXIMUM_OUTPUT_BYTES,
    });
    if (end === 'exited' && exitCode === 0) return null;
    return {
      how: `${end}${(exitCode ?? signal) ? ` ${exitCode ?? signal}` : ''}`,
      said: stderr.trim().slice(-SHOWN_CHARACTERS),
    };
  }
}

function hear(message: LeaseTerms | LeaseEnded): void {
  if (!('command' in message)) return lease?.ended(message);
  try {
    lease = new Lease(message);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    tell({ kind: 'refused' }, leave);
    return;
  }
  tell({ kind: 'held' });
}

// A closing terminal, or a signal to all of the parent's processes, must not end the lease.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('message', hear);
process.on('disconnect', () => lease?.parentEnded());
