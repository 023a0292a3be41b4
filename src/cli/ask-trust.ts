import type { AskTrust, TrustQuestion } from '../app/loading/trust.ts';
import { plainText } from '../reports/plain-text.ts';
import type { CliContext } from './context.ts';
import { terminalQuestion } from './terminal-question.ts';

/** Asks at the terminal whether a problem's host code may run. Undefined if there is no terminal to ask at. */
export function terminalAsks(context: CliContext): AskTrust | undefined {
  const ask = terminalQuestion(context);
  return ask && (async (question) => /^y(?:es)?$/i.test((await ask(textOf(question))).trim()));
}

const textOf = ({ problem, folder, files, hash, namedBy }: TrustQuestion): string =>
  plainText(
    [
      `Problem ${problem} in ${folder}${namedBy === 'log' ? ', named by the log of a run,' : ''}`,
      `has programs that have not run here before: ${files.join(', ')}.`,
      'A reference can only compute; baseline.py, on a GPU, can do what you can.',
      `Run them, now and whenever they are exactly these (${hash.slice(0, 16)})? [y/N] `,
    ].join('\n'),
  );
