import { type LineMessage, MessageReader, writeMessage } from './line-messages.ts';
import { type ChildEnd, LongLivedChild } from './long-lived-child.ts';

export interface LineProcessOptions {
  /** Absolute path. Never run through a shell. */
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

/**
 * A {@link LongLivedChild} that answers each line of JSON on stdin with one on stdout. Raw bytes may follow either. One
 * request at a time.
 */
export class LineProcess {
  readonly #child: LongLivedChild;
  readonly #reader: MessageReader;
  #settle: ((outcome: LineOutcome) => void) | undefined;
  #previous: Promise<unknown> = Promise.resolve();
  #end: LineProcessEnd | undefined;
  /** Why we killed it, if we did. */
  #killedFor: { reason: LineProcessEnd['reason']; description: string } | undefined;

  constructor({ command, args, cwd, env, maximumPayloadBytes }: LineProcessOptions) {
    this.#reader = new MessageReader(maximumPayloadBytes);
    const options = { cwd, env, stdio: 'pipe' as const };
    this.#child = new LongLivedChild(command, args, options, (end) => this.#finish(end));
    const { stdin, stdout } = this.#child.child;
    stdin?.on('error', () => {}); // A program that has ended reads no more; its end is reported.
    stdout?.on('data', (chunk: Buffer) => this.#receive(chunk));
  }

  get pid(): number | undefined {
    return this.#child.pid;
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
  close(): Promise<void> {
    this.#killedFor ??= { reason: 'closed', description: 'closed' };
    return this.#child.close();
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
        this.#child.keepAlive(false);
        resolve(outcome);
      };
      this.#child.keepAlive(true);
      writeMessage(this.#child.child.stdin!, message);
    });
  }

  #receive(chunk: Buffer): void {
    try {
      for (const message of this.#reader.push(chunk)) {
        if (!this.#settle) throw new Error('an answer without a request');
        this.#settle({ ok: true, message });
      }
    } catch (error) {
      this.#killFor('malformed', `its answer can't be read: ${(error as Error).message}`);
    }
  }

  #killFor(reason: LineProcessEnd['reason'], description: string): void {
    this.#killedFor ??= { reason, description };
    this.#child.kill();
  }

  #finish(end: ChildEnd): void {
    this.#end = { ...(end.error ? notStarted(end.error) : (this.#killedFor ?? endOf(end))), stderr: end.stderr.trim() };
    this.#settle?.({ ok: false, end: this.#end });
  }
}

type WithoutStderr = Omit<LineProcessEnd, 'stderr'>;

const notStarted = ({ message }: Error): WithoutStderr => ({ reason: 'not-started', description: message });

const endOf = ({ exitCode, signal }: ChildEnd): WithoutStderr =>
  signal === null
    ? { reason: 'exited', description: `ended with exit code ${exitCode}` }
    : { reason: 'signaled', description: `ended by ${signal}` };
