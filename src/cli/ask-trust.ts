import { createInterface } from 'node:readline/promises';
import type { AskTrust, TrustQuestion } from '../app/loading/trust.ts';
import { plainText } from '../reports/plain-text.ts';
import type { CliContext } from './context.ts';

/** How to find out whether a problem's host code may run: `--trust` says so, else a terminal is asked, else nobody can be. */
export function askTrust({ trust }: { trust?: boolean }, { streams, signal }: CliContext): { askTrust?: AskTrust } {
  if (trust) return { askTrust: async () => true };
  if (!process.stdin.isTTY || !streams.err.isTTY) return {};
  return {
    async askTrust(question) {
      const terminal = createInterface({ input: process.stdin, output: streams.err });
      try {
        return /^y(?:es)?$/i.test((await terminal.question(textOf(question), { signal })).trim());
      } finally {
        terminal.close();
      }
    },
  };
}

const textOf = ({ problem, folder, files, hash, namedBy }: TrustQuestion): string =>
  plainText(
    [
      `Problem ${problem} in ${folder}${namedBy === 'log' ? ', which the log of a run names,' : ''}`,
      `brings programs that have not run here before: ${files.join(', ')}.`,
      'reference.ts can only compute; baseline.py, on a GPU, can do what you can.',
      `Run them, now and whenever they are exactly these (${hash.slice(0, 16)})? [y/N] `,
    ].join('\n'),
  );
