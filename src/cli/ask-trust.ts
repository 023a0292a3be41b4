import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline/promises';
import type { AskTrust, TrustQuestion } from '../app/loading/trust.ts';
import { plainText } from '../reports/plain-text.ts';
import type { CliContext } from './context.ts';

/** Asks at the terminal whether a problem's host code may run. Undefined if there is no terminal to ask at. */
export function terminalAsks({ streams, signal }: CliContext): AskTrust | undefined {
  if (!process.stdin.isTTY || !streams.err.isTTY) return undefined;
  return async (question) => {
    // Uses the terminal's own line editing, so that Ctrl-C stays a signal.
    const lines = createInterface({ input: process.stdin, output: streams.err, terminal: false });
    try {
      const answer = await Promise.race([lines.question(textOf(question), { signal }), endOfInput(lines)]);
      return /^y(?:es)?$/i.test(answer.trim());
    } finally {
      lines.close();
    }
  };
}

/** Resolves without an answer on Ctrl-D or if the terminal is closed. */
const endOfInput = (lines: Interface): Promise<string> => once(lines, 'close').then(() => '');

const textOf = ({ problem, folder, files, hash, namedBy }: TrustQuestion): string =>
  plainText(
    [
      `Problem ${problem} in ${folder}${namedBy === 'log' ? ', named by the log of a run,' : ''}`,
      `has programs that have not run here before: ${files.join(', ')}.`,
      'reference.ts can only compute; baseline.py, on a GPU, can do what you can.',
      `Run them, now and whenever they are exactly these (${hash.slice(0, 16)})? [y/N] `,
    ].join('\n'),
  );
