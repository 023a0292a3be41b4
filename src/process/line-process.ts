import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { spawnGuarded } from './guard.ts';
import { type LineMessage, MessageReader, writeMessage } from './line-messages.ts';
import { killGroup } from './process-group.ts';

export interface LineProcessOptions {
  /** Absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment of the child. */
  readonly env: Readonly<Record<string, string>>;
  /** Bytes of payload that one answer may bring; no limit when absent. */
  readonly maximumPayloadBytes?: number;
}

/** How a line process ended. */
export interface LineProcessEnd {
  readonly reason: 'not-started' | 'timed-out' | 'exited' | 'signaled' | 'malformed' | 'closed';
  /** One line, for people. */
  readonly description: string;
  /** The last lines it wrote to stderr. */
  readonly stderr: string;
}

export type LineOutcome =
  | { readonly ok: true; readonly message: LineMessage }
  | { readonly ok: false; readonly end: LineProcessEnd };

const STDERR_TAIL_BYTES = 8192;

/**
 * A long-lived program in a process group of its own that answers each line of JSON on stdin with one on stdout, both
 * followed by raw bytes where there are any. One question at a time. It does not keep this process running while it is
 * idle, and it is killed when this process ends.
 */
export class LineProcess {
  readonly pid: number | undefined;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #reader: MessageReader;
  #settle: ((outcome: LineOutcome) => void) | undefined;
  #previous: Promise<unknown> = Promise.resolve();
  #stderr = Buffer.alloc(0);
  #end: LineProcessEnd | undefined;
  /** Why we killed it, if we did. */
  #killedFor: { reason: LineProcessEnd['reason']; description: string } | undefined;
  readonly #closed: Promise<void>;
  #isClosing = false;

  constructor(options: LineProcessOptions) {
    this.#reader = new MessageReader(options.maximumPayloadBytes);
    this.#child = spawnGuarded(options.command, options.args, {
      cwd: options.cwd,
      env: options.env,
      stdio: ['pipe', 'pipe', 'pipe'],
    }) as ChildProcessWithoutNullStreams;
    this.pid = this.#child.pid;
    this.#child.stdin.on('error', () => {}); // A program that has ended reads no more; its end is reported.
    this.#child.stdout.on('data', (chunk: Buffer) => this.#receive(chunk));
    this.#child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = Buffer.concat([this.#stderr, chunk]).subarray(-STDERR_TAIL_BYTES);
    });
    this.#closed = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.#finish('not-started', error.message);
        resolve();
      });
      this.#child.once('close', (exitCode, signal) => {
        if (this.#killedFor) this.#finish(this.#killedFor.reason, this.#killedFor.description);
        else if (signal !== null) this.#finish('signaled', `ended by ${signal}`);
        else this.#finish('exited', `ended with exit code ${exitCode}`);
        resolve();
      });
    });
    this.#keepAlive(false);
  }

  get isRunning(): boolean {
    return this.#end === undefined;
  }

  /** How it ended; undefined while it runs. */
  get end(): LineProcessEnd | undefined {
    return this.#end;
  }

  /** Sends a message and waits for the answer; past the limit the group is killed. Never rejects. */
  exchange(message: LineMessage, limits: { timeoutMs: number }): Promise<LineOutcome> {
    const outcome = this.#previous.then(() => this.#exchangeNow(message, limits.timeoutMs));
    this.#previous = outcome;
    return outcome;
  }

  /** Kills the process group and waits until it is gone. */
  async close(): Promise<void> {
    this.#keepAlive(true);
    this.#isClosing = true;
    this.#killFor('closed', 'closed');
    await this.#closed;
  }

  #exchangeNow(message: LineMessage, timeoutMs: number): Promise<LineOutcome> {
    if (this.#end) return Promise.resolve({ ok: false, end: this.#end });
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#killFor('timed-out', `no answer within ${timeoutMs / 1000} s`);
      }, timeoutMs);
      this.#settle = (outcome) => {
        clearTimeout(timer);
        this.#settle = undefined;
        this.#keepAlive(false);
        resolve(outcome);
      };
      this.#keepAlive(true);
      writeMessage(this.#child.stdin, message);
    });
  }

  #receive(chunk: Buffer): void {
    try {
      for (const message of this.#reader.push(chunk)) {
        if (!this.#settle) throw new Error('an answer that nobody asked for');
        this.#settle({ ok: true, message });
      }
    } catch (error) {
      this.#killFor('malformed', `its answer can't be read: ${(error as Error).message}`);
    }
  }

  #killFor(reason: LineProcessEnd['reason'], description: string): void {
    this.#killedFor ??= { reason, description };
    this.#kill();
  }

  #kill(): void {
    if (this.pid !== undefined && !this.#end) killGroup(this.pid);
  }

  #finish(reason: LineProcessEnd['reason'], description: string): void {
    this.#end ??= { reason, description, stderr: this.#stderr.toString('utf8').trim() };
    this.#settle?.({ ok: false, end: this.#end });
  }

  /** An idle child must not keep a finished program from ending; one that is waited for must. */
  #keepAlive(needed: boolean): void {
    if (this.#isClosing) return;
    const act = needed ? 'ref' : 'unref';
    this.#child[act]();
    for (const pipe of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) {
      (pipe as unknown as Partial<Record<'ref' | 'unref', () => void>>)[act]?.();
    }
  }
}
