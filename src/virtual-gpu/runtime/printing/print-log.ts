import { MOST_PRINTED_LINES } from '../../../core/join-printed.ts';

/** A line that a thread printed, by one call of printf or several. */
export interface ThreadLine {
  readonly cta: number;
  readonly thread: number;
  readonly text: string;
  readonly calls: number;
}

/** What the threads of a cluster of CTAs printed. */
export interface ClusterPrint {
  readonly lines: readonly ThreadLine[];
  /** Calls of printf, also those whose text is not in `lines`. */
  readonly calls: number;
}

/** Of a line. */
const MOST_CHARACTERS = 400;

/** What the CTAs of one launch print on one thread of the host. */
export class PrintLog {
  #kept = 0;
  #lines: ThreadLine[] = [];
  #calls = 0;
  /** By CTA and thread: what has no end of line yet. */
  readonly #open = new Map<string, ThreadLine>();

  /** A launch begins. */
  begin(): void {
    this.#kept = 0;
    this.#forget();
  }

  /** Whether more text is worth making. */
  get takesText(): boolean {
    return this.#kept < MOST_PRINTED_LINES;
  }

  /** @param text undefined where it is not worth making. */
  add(cta: number, thread: number, text: string | undefined): void {
    this.#calls++;
    if (text === undefined) return;
    const key = `${cta}:${thread}`;
    const open = this.#open.get(key);
    const pieces = ((open?.text ?? '') + text).split('\n');
    const rest = shortened(pieces.pop()!);
    let calls = (open?.calls ?? 0) + 1;
    for (const piece of pieces) {
      this.#close({ cta, thread, text: shortened(piece), calls });
      calls = 0;
    }
    if (rest === '') this.#open.delete(key);
    else this.#open.set(key, { cta, thread, text: rest, calls });
  }

  /** A cluster ends, or is stopped. */
  take(): ClusterPrint | undefined {
    if (this.#calls === 0) return undefined;
    const open = [...this.#open.values()].sort((a, b) => a.cta - b.cta || a.thread - b.thread);
    for (const line of open) this.#close(line);
    const printed = { lines: this.#lines, calls: this.#calls };
    this.#forget();
    return printed;
  }

  #close(line: ThreadLine): void {
    if (!this.takesText) return;
    this.#kept++;
    this.#lines.push(line);
  }

  #forget(): void {
    this.#lines = [];
    this.#calls = 0;
    this.#open.clear();
  }
}

const shortened = (text: string): string =>
  text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS - 1)}…` : text;
