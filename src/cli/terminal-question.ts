import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline/promises';
import type { CliContext } from './context.ts';

/** Asks at the terminal, and gives the line that is answered. */
export type AskLine = (question: string) => Promise<string>;

/** Undefined if there is no terminal to ask at. The answer is empty on Ctrl-D. */
export function terminalQuestion({ streams, signal }: CliContext): AskLine | undefined {
  if (!process.stdin.isTTY || !streams.err.isTTY) return undefined;
  return async (question) => {
    // Uses the terminal's own line editing, so that Ctrl-C stays a signal.
    const lines = createInterface({ input: process.stdin, output: streams.err, terminal: false });
    try {
      return await Promise.race([lines.question(question, { signal }), endOfInput(lines)]);
    } finally {
      lines.close();
    }
  };
}

/** Resolves without an answer on Ctrl-D or if the terminal is closed. */
const endOfInput = (lines: Interface): Promise<string> => once(lines, 'close').then(() => '');
