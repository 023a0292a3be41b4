import { createInterface } from 'node:readline';
import { createLeaseFile, type LeaseState, removeLeaseFile, replaceLeaseFile } from './lease-file.ts';
import { minimalEnvironment } from './minimal-environment.ts';
import { runProcess } from './run-process.ts';

/*
 * The process that releases a rented GPU: once, when its parent has ended or at the deadline, however the parent fares. The
 * parent holds the other end of stdin. It says there on what terms, and later that its work has ended; if it is killed, stdin
 * ends. This process has the parent's whole environment, because release commands find their keys there.
 */

/** The first line on stdin. */
export interface LeaseTerms {
  /** Whose end is waited for: the process that holds stdin. */
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

/** A later line: the work ended, and the machine had been idle for so long before. */
export interface LeaseEnded {
  readonly idleMs: number;
}

/** A line on stdout. */
export type LeaseMessage =
  | { readonly kind: 'held'; readonly deadlineAtMs: number | null }
  /** Another process has the lease of this machine. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'waiting'; readonly releaseAtMs: number }
  | { readonly kind: 'released'; readonly failed: string | null };

const MAXIMUM_OUTPUT_BYTES = 1 << 20;
const SHOWN_CHARACTERS = 400;
/** A killed parent needs a moment until it is gone, and its children with it. */
const AFTER_KILL_MS = 1000;

let lease: Lease | undefined;

const tell = (message: LeaseMessage): void => void process.stdout.write(`${JSON.stringify(message)}\n`);

class Lease {
  readonly #terms: LeaseTerms;
  readonly #deadlineAtMs: number | null;
  #state: LeaseState;
  #timer: NodeJS.Timeout | undefined;
  #isReleased = false;
  #parentIsThere = true;

  constructor(terms: LeaseTerms) {
    const { parent, command, deadlineMs, graceMs, file } = terms;
    this.#terms = terms;
    this.#deadlineAtMs = deadlineMs === null ? null : Date.now() + deadlineMs;
    const about = { pid: process.pid, command: parent, executable: command[0]! };
    this.#state = { ...about, deadlineAtMs: this.#deadlineAtMs, releaseAtMs: null, failed: null };
    createLeaseFile(file, this.#state);
    if (deadlineMs === null) return;
    setTimeout(() => this.#signal('SIGINT'), Math.max(0, deadlineMs - graceMs));
    setTimeout(() => this.#atDeadline(), deadlineMs);
  }

  /** The work has ended: the only thing that is still waited for is time. */
  ended({ idleMs }: LeaseEnded): void {
    if (this.#timer) return;
    const waitMs = Math.max(0, this.#terms.afterMs - idleMs);
    const releaseAtMs = Math.min(Date.now() + waitMs, this.#deadlineAtMs ?? Number.POSITIVE_INFINITY);
    this.#state = { ...this.#state, releaseAtMs };
    replaceLeaseFile(this.#terms.file, this.#state);
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

  /** Only while it holds stdin: afterwards its number may be another's. */
  #signal(signal: 'SIGINT' | 'SIGKILL'): void {
    if (!this.#parentIsThere || this.#timer) return;
    try {
      process.kill(this.#terms.parent, signal);
    } catch {
      // It has just ended.
    }
  }

  async #release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const failed = await this.#run();
    if (failed === null) removeLeaseFile(this.#terms.file);
    // Where the parent is gone, `doctor` tells it. What the command printed may hold a key, and stays out of the file.
    else replaceLeaseFile(this.#terms.file, { ...this.#state, failed: failed.how });
    tell({ kind: 'released', failed: failed === null ? null : `${failed.how}${failed.said && `: ${failed.said}`}` });
    process.stdout.end(() => process.exit());
    setTimeout(() => process.exit(), AFTER_KILL_MS);
  }

  async #run(): Promise<{ how: string; said: string } | null> {
    const { command, commandTimeoutMs } = this.#terms;
    const { end, exitCode, signal, stderr } = await runProcess({
      command: command[0]!,
      args: command.slice(1),
      cwd: process.cwd(),
      env: { ...minimalEnvironment(), ...definedIn(process.env) },
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

const definedIn = (environment: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined));

function hear(line: string): void {
  if (lease) return lease.ended(JSON.parse(line) as LeaseEnded);
  const terms = JSON.parse(line) as LeaseTerms;
  try {
    lease = new Lease(terms);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    tell({ kind: 'refused' });
    process.stdout.end(() => process.exit());
    return;
  }
  tell({ kind: 'held', deadlineAtMs: terms.deadlineMs === null ? null : Date.now() + terms.deadlineMs });
}

// A closing terminal, or a signal to all of the parent's processes, must not end the lease.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
// The parent may be gone.
process.stdout.on('error', () => {});
createInterface({ input: process.stdin })
  .on('line', hear)
  .on('close', () => lease?.parentEnded());
