import { WarpsmithError } from '../../core/errors.ts';

/** A change of one place, found by its text. */
export interface Edit {
  readonly file: string;
  /** Text that occurs exactly once in the file. */
  readonly search: string;
  readonly replace: string;
}

/**
 * Files after the edits, one after the other. A place is found by its text, never by a line number, which authors miscount.
 *
 * @throws WarpsmithError `unknown-file`, `empty-search`, `no-match` with the nearest text, or `ambiguous-match` with the lines.
 */
export function applyEdits(
  files: Readonly<Record<string, string>>,
  edits: readonly Edit[],
): Readonly<Record<string, string>> {
  const edited = new Map(Object.entries(files));
  for (const [index, edit] of edits.entries()) {
    const text = edited.get(edit.file);
    const path = `edits[${index}]`;
    if (text === undefined) throw unknownFile(edit, path, [...edited.keys()]);
    edited.set(edit.file, applyOne(text, edit, path));
  }
  return Object.fromEntries(edited);
}

function applyOne(text: string, { file, search, replace }: Edit, path: string): string {
  if (search === '') throw emptySearch(file, path);
  const first = text.indexOf(search);
  if (first < 0) throw noMatch({ file, search, text }, path);
  if (text.indexOf(search, first + 1) >= 0) throw ambiguous({ file, search, text }, path);
  return text.slice(0, first) + replace + text.slice(first + search.length);
}

const unknownFile = ({ file }: Edit, path: string, known: readonly string[]): WarpsmithError =>
  new WarpsmithError({
    code: 'unknown-file',
    message: `The parent has no file ${file}.`,
    path: `${path}.file`,
    received: file,
    expected: `one of ${known.join(', ')}`,
    hint: 'Give new files whole, in `files`, and list them in kernel.json.',
  });

const emptySearch = (file: string, path: string): WarpsmithError =>
  new WarpsmithError({
    code: 'empty-search',
    message: 'An edit needs a text to search for.',
    file,
    path: `${path}.search`,
    received: 'an empty text',
    expected: 'a text that occurs exactly once in the file',
    hint: 'Give the whole file in `files` to replace it.',
  });

interface Missed {
  readonly file: string;
  readonly search: string;
  readonly text: string;
}

/** Of the text sought, in messages. */
const LONGEST_SHOWN = 160;

const shown = (text: string): string =>
  JSON.stringify(text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}…`);

function noMatch({ file, search, text }: Missed, path: string): WarpsmithError {
  const nearest = nearestText(text, search);
  return new WarpsmithError({
    code: 'no-match',
    message: `The text of ${path} does not occur in ${file}.`,
    file,
    path: `${path}.search`,
    received: shown(search),
    expected: nearest
      ? `nearest, at line ${nearest.line}:\n${nearest.text}`
      : 'a text of the file, white space included',
    hint: 'Copy the text as it stands in the file; `kernels` shows it.',
  });
}

function ambiguous({ file, search, text }: Missed, path: string): WarpsmithError {
  const lines: number[] = [];
  for (let at = text.indexOf(search); at >= 0; at = text.indexOf(search, at + 1)) lines.push(lineAt(text, at));
  return new WarpsmithError({
    code: 'ambiguous-match',
    message: `The text of ${path} occurs ${lines.length} times in ${file}.`,
    file,
    path: `${path}.search`,
    received: `${shown(search)} at lines ${lines.slice(0, 8).join(', ')}${lines.length > 8 ? ', …' : ''}`,
    expected: 'a text that occurs exactly once',
    hint: 'Add the line before or after it to the text.',
  });
}

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

/** Lines shown of the nearest text. */
const MOST_LINES = 8;
/** Share of words in common below which nothing is near. */
const LEAST_ALIKE = 0.3;
const WORDS = /\w+|[^\s\w]/g;

/** The lines of a text that have most words in common with the sought ones. */
function nearestText(text: string, search: string): { line: number; text: string } | undefined {
  const lines = text.split('\n');
  const wanted = search.split('\n').slice(0, MOST_LINES);
  const goal = wordsOf(wanted.join('\n'));
  let best = { score: 0, at: 0 };
  for (let at = 0; at < lines.length; at++) {
    const score = alikeness(goal, wordsOf(lines.slice(at, at + wanted.length).join('\n')));
    if (score > best.score) best = { score, at };
  }
  if (!(best.score >= LEAST_ALIKE)) return undefined;
  return { line: best.at + 1, text: lines.slice(best.at, best.at + wanted.length).join('\n') };
}

function wordsOf(text: string): ReadonlyMap<string, number> {
  const words = new Map<string, number>();
  for (const [word] of text.matchAll(WORDS)) words.set(word, (words.get(word) ?? 0) + 1);
  return words;
}

/** Words in common ÷ all words of both, 0…1. */
function alikeness(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number {
  let [common, total] = [0, 0];
  for (const word of new Set([...a.keys(), ...b.keys()])) {
    const [left, right] = [a.get(word) ?? 0, b.get(word) ?? 0];
    common += Math.min(left, right);
    total += Math.max(left, right);
  }
  return total === 0 ? 0 : common / total;
}
