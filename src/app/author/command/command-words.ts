import { WarpsmithError } from '../../../core/errors.ts';
import { parseJson } from '../../../core/json/parse-json.ts';

/** What a shell would do something with. Nothing here does. */
const OF_SHELLS = /[|&;<>()`$*?~]/;
/** Words that look like secrets: they would be logged with the command. */
const SECRET = /\b(?:sk|pk|ghp|gho|xox[bp])[-_][\w-]{12,}|(?:api[-_]?key|token|secret|password)=\S/i;

/**
 * The words of a command: a JSON array of texts, or words between blanks with '…', "…" and \ as a shell takes them. No shell ever sees
 * it: what only a shell understands is refused.
 *
 * @throws WarpsmithError `bad-command`, `key-in-command`.
 */
export function commandWords(text: string): readonly string[] {
  const words = text.trimStart().startsWith('[') ? jsonWords(text) : splitWords(text);
  if ((words[0] ?? '') === '') throw bad('no program', 'a program and its arguments');
  const secret = words.find((word) => SECRET.test(word));
  if (secret !== undefined) throw keyInCommand();
  return words;
}

function jsonWords(text: string): readonly string[] {
  const value = parseJson(text, '--author');
  if (Array.isArray(value) && value.every((word) => typeof word === 'string')) return value;
  throw bad('something else', 'a JSON array of texts');
}

/** A blank, a quoted part, an escaped character, or a run of others. */
const PIECE = /\s+|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|[^\s'"\\]+/y;

function splitWords(text: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  PIECE.lastIndex = 0;
  while (PIECE.lastIndex < text.length) {
    const at = PIECE.lastIndex;
    const piece = PIECE.exec(text);
    if (!piece) throw bad(`an open quote or escape at character ${at + 1}`, 'quotes in pairs');
    const [whole, single, double, escaped] = piece;
    if (/^\s/.test(whole)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    const isBare = single === undefined && double === undefined && escaped === undefined;
    const shell = isBare ? OF_SHELLS.exec(whole)?.[0] : /[$`]/.exec(double ?? '')?.[0];
    if (shell !== undefined) throw bad(`${shell} outside of '…'`, 'words: no shell runs the command');
    word = (word ?? '') + (single ?? double?.replaceAll(/\\(["\\])/g, '$1') ?? escaped ?? whole);
  }
  return word === undefined ? words : [...words, word];
}

/** The text is not repeated: it might hold a secret. */
const bad = (received: string, expected: string): WarpsmithError =>
  new WarpsmithError({
    code: 'bad-command',
    message: "The author's command can't be read.",
    path: '--author',
    received,
    expected,
    hint: `Write a script for what needs a shell, or give a JSON array: --author '["my-agent", "--quiet"]'.`,
  });

const keyInCommand = (): WarpsmithError =>
  new WarpsmithError({
    code: 'key-in-command',
    message: 'The command seems to hold a key, and commands are logged.',
    path: '--author',
    received: 'a word that looks like a key',
    expected: 'keys in the environment only',
    hint: 'Put it in an environment variable, and name that with --agent-env.',
  });
