import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import { entryFile } from './entry-file.ts';
import { withoutGuardMark } from './guard.ts';
import { isHeld, type LeaseState, leasePath, readLeaseFile, removeLeaseFile } from './lease-file.ts';
import type { LeaseEnded, LeaseMessage, LeaseTerms } from './lease-main.ts';

const ENTRY = entryFile(new URL('./lease-main.ts', import.meta.url));

/** How a release ended: `failed` says what the command did instead of exiting with 0. */
export interface Release {
  readonly failed: string | null;
}

/** The terms as a command chooses them. */
export type AskedTerms = Omit<LeaseTerms, 'file' | 'parent'>;

type Kind = LeaseMessage['kind'];

/** A rented GPU's time with this command. A process of its own releases the GPU, which outlives whatever happens to this one. */
export class Lease {
  readonly #child: ChildProcess;
  readonly #file: string;
  readonly #heard = new Map<Kind, LeaseMessage>();
  readonly #waiting = new Map<Kind, (message: LeaseMessage | undefined) => void>();
  #isGone = false;

  private constructor(child: ChildProcess, file: string, onLost: () => void) {
    this.#child = child;
    this.#file = file;
    child.on('message', (message: LeaseMessage) => this.#hear(message));
    const gone = () => {
      if (this.#isGone) return;
      this.#isGone = true;
      for (const tell of this.#waiting.values()) tell(undefined);
      if (this.#heard.has('held') && !this.#heard.has('released')) onLost();
    };
    child.once('error', gone);
    // Comes after every message, however it ends.
    child.once('disconnect', gone);
    // It is waited for only where somebody asks.
    child.unref();
    this.#holdParent(false);
  }

  /**
   * @param onLost called if the process that is to release the GPU is ended by somebody else.
   * @throws WarpsmithError `lease-held` if another command is to release this machine; `no-lease`.
   */
  static async take(terms: AskedTerms, onLost: () => void): Promise<Lease> {
    const file = leasePath();
    takeOver(file);
    const child = spawn(process.execPath, [fileURLToPath(ENTRY)], {
      // Release commands find their keys there. Another command's guard must not end it.
      env: withoutGuardMark(process.env),
      detached: true,
      shell: false,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const lease = new Lease(child, file, onLost);
    lease.#say({ ...terms, file, parent: process.pid } satisfies LeaseTerms);
    const answer = await lease.#next('held', 'refused');
    if (answer?.kind === 'held') return lease;
    throw answer ? leaseHeld(readLeaseFile(file)) : noLease(file);
  }

  /** The work has ended. @returns when the GPU is released, in ms since 1970; undefined if nothing is there to release it. */
  async end(ended: LeaseEnded): Promise<number | undefined> {
    this.#say(ended);
    const answer = await this.#next('waiting');
    return answer?.kind === 'waiting' ? answer.releaseAtMs : undefined;
  }

  /** Waits for the release. @returns undefined if it will not come. */
  async released(): Promise<Release | undefined> {
    const answer = await this.#next('released');
    return answer?.kind === 'released' ? answer : undefined;
  }

  /**
   * Ends the lease without a release. At once: this process may be about to exit.
   *
   * @returns false if the release command has started: what it has done by then is unknown, so that it goes on.
   */
  keep(): boolean {
    if (this.#heard.has('releasing')) return false;
    this.#isGone = true;
    this.#child.kill('SIGKILL');
    removeLeaseFile(this.#file);
    for (const tell of this.#waiting.values()) tell(undefined);
    return true;
  }

  #say(message: LeaseTerms | LeaseEnded): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  #hear(message: LeaseMessage): void {
    this.#heard.set(message.kind, message);
    this.#waiting.get(message.kind)?.(message);
  }

  async #next(...kinds: Kind[]): Promise<LeaseMessage | undefined> {
    const heard = kinds.map((kind) => this.#heard.get(kind)).find(Boolean);
    if (heard || this.#isGone) return heard;
    this.#holdParent(true);
    try {
      return await new Promise((resolve) => {
        for (const kind of kinds) this.#waiting.set(kind, resolve);
      });
    } finally {
      this.#holdParent(false);
    }
  }

  /** Whether this process stays for what the other says. */
  #holdParent(holds: boolean): void {
    if (holds) this.#child.channel?.ref();
    else this.#child.channel?.unref();
  }
}

/** A command that was killed may have left a lease that still waits: whoever works here next takes it over. */
function takeOver(file: string): void {
  const state = readLeaseFile(file);
  if (!state) return;
  if (isHeld(state)) {
    if (isRunning(state.command)) throw leaseHeld(state);
    process.kill(state.pid, 'SIGKILL');
  }
  removeLeaseFile(file);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const leaseHeld = (state: LeaseState | undefined): WarpsmithError =>
  new WarpsmithError({
    code: 'lease-held',
    message: 'Another command is to release the GPUs of this machine, and would do so under this one.',
    path: '--release-command',
    received: state === undefined ? 'another command' : `process ${state.command}`,
    expected: 'one command with --release-command at a time',
    hint: 'Wait for its end, or give one command all GPUs: --device cuda:all.',
  });

const noLease = (file: string): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'no-lease',
      message: 'The process that is to release the GPU does not start.',
      file,
      received: 'its end',
      expected: 'a folder that this user may write',
      hint: 'Make the folder writable, or name another with XDG_STATE_HOME.',
    },
    EXIT.deviceOrToolMissing,
  );
