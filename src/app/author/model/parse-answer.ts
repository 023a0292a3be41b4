import { WarpsmithError } from '../../../core/errors.ts';
import type { Edit } from '../apply-edits.ts';

/** What an answer says, before anything of it is believed. */
export interface ParsedAnswer {
  readonly hypothesis: string;
  readonly levers: readonly string[];
  readonly predictedRatio: number | null;
  readonly files: Readonly<Record<string, string>>;
  readonly edits: readonly Edit[];
}

/** More is more than one idea, of which nobody can tell which helped. */
export const MOST_LEVERS = 2;
const LONGEST_HYPOTHESIS = 600;
const LONGEST_LEVER = 120;
/** Hoped ratios beyond these are no predictions. */
const RATIOS = { least: 0.01, most: 10_000 } as const;

/** What an author may say. Texts of files lie between tags on lines of their own and need no escapes. */
const FIELDS = ['hypothesis', 'levers', 'predicted_ratio'] as const;
type Field = (typeof FIELDS)[number];

const OPEN = '<answer>';
const CLOSE = '</answer>';
const TAG = /<(\w+)(?: file="([^"\n]{1,200})")?>/y;

/**
 * The answer in a model's text; prose around it does not count.
 *
 * @throws WarpsmithError `no-answer`, `truncated-answer`, `malformed-answer`, `unknown-field`, `too-many-levers`, `bad-prediction`,
 * `empty-answer`.
 */
export function parseAnswer(text: string, isComplete: boolean): ParsedAnswer {
  const start = text.indexOf(OPEN);
  if (start < 0) throw isComplete ? noAnswer(text) : truncated(text);
  const end = text.lastIndexOf(CLOSE);
  if (end < start) throw truncated(text);
  if (text.indexOf(OPEN, start + 1) >= 0) throw malformed('a second <answer>', 'one answer');
  return readBody(text.slice(start + OPEN.length, end));
}

function readBody(body: string): ParsedAnswer {
  const fields = new Map<Field, string>();
  const files = new Map<string, string>();
  const edits: Edit[] = [];
  let at = 0;
  for (;;) {
    at += /^\s*/.exec(body.slice(at))![0].length;
    if (at >= body.length) break;
    TAG.lastIndex = at;
    const tag = TAG.exec(body);
    if (!tag) throw malformed(`“${excerpt(body.slice(at))}”`, 'nothing between the parts of an answer');
    const [whole, name = '', file] = tag;
    const { inner, after } = contentOf(body, at + whole.length, name);
    at = after;
    if (name === 'file') putOnce(files, named(file, name), inner);
    else if (name === 'edit') edits.push(readEdit(named(file, name), inner));
    else if (isField(name)) putOnce(fields, name, inner);
    else throw unknownField(name);
  }
  if (files.size === 0 && edits.length === 0) throw empty();
  return {
    hypothesis: plain(fields.get('hypothesis') ?? '').slice(0, LONGEST_HYPOTHESIS),
    levers: leversOf(fields.get('levers') ?? ''),
    predictedRatio: ratioOf(fields.get('predicted_ratio')),
    files: Object.fromEntries(files),
    edits,
  };
}

const isField = (name: string): name is Field => (FIELDS as readonly string[]).includes(name);

function putOnce<K>(into: Map<K, string>, key: K, text: string): void {
  if (into.has(key)) throw malformed(`${String(key)} twice`, 'each file and each field once');
  into.set(key, text);
}

/** The text up to the closing tag. Of files and edits without the line feeds beside the tags. */
function contentOf(body: string, from: number, name: string): { inner: string; after: number } {
  const close = `</${name}>`;
  const end = body.indexOf(close, from);
  if (end < 0) throw malformed(`<${name}> without ${close}`, `${close} behind it`);
  return { inner: unwrapped(body.slice(from, end)), after: end + close.length };
}

const unwrapped = (text: string): string => text.replace(/^[ \t]*\r?\n/, '').replace(/\r?\n[ \t]*$/, '');

const EDIT = /^\s*<search>([\s\S]*?)<\/search>\s*<replace>([\s\S]*?)<\/replace>\s*$/;

function readEdit(file: string, inner: string): Edit {
  const [, search, replace] = EDIT.exec(inner) ?? [];
  if (search === undefined || replace === undefined) {
    throw malformed(
      `an edit of ${file} with other contents`,
      '<search>…</search> and <replace>…</replace>, in this order',
    );
  }
  return { file, search: unwrapped(search), replace: unwrapped(replace) };
}

function named(file: string | undefined, tag: string): string {
  if (file === undefined) throw malformed(`<${tag}> without a file`, `<${tag} file="kernel.cu">`);
  return file;
}

const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

function leversOf(text: string): string[] {
  const levers = text
    .split(/[\n;]/)
    .map((lever) => plain(lever.replace(/^\s*[-*]\s*/, '')).slice(0, LONGEST_LEVER))
    .filter((lever) => lever !== '');
  if (levers.length <= MOST_LEVERS) return levers;
  throw refused(
    'too-many-levers',
    'One kernel changes at most two things.',
    `${levers.length} levers`,
    `at most ${MOST_LEVERS}`,
  );
}

function ratioOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text.trim().replace(/[×x]$/, ''));
  if (text.trim() !== '' && value >= RATIOS.least && value <= RATIOS.most) return value;
  const expected = `old time ÷ new time as a number from ${RATIOS.least} to ${RATIOS.most}`;
  throw refused('bad-prediction', 'The predicted ratio is no ratio.', excerpt(text), expected);
}

const LONGEST_EXCERPT = 80;
const excerpt = (text: string): string => plain(text).slice(0, LONGEST_EXCERPT);

function refused(code: string, message: string, received: string, expected: string): WarpsmithError {
  return new WarpsmithError({ code, message, received, expected, hint: 'See the form of an answer.' });
}

const noAnswer = (text: string): WarpsmithError =>
  refused('no-answer', 'The text holds no answer.', `“${excerpt(text)}”`, `${OPEN} … ${CLOSE} with files or edits`);

const truncated = (text: string): WarpsmithError =>
  refused(
    'truncated-answer',
    'The answer breaks off.',
    `${text.length} characters`,
    `an answer up to ${CLOSE}; prefer short edits`,
  );

const malformed = (received: string, expected: string): WarpsmithError =>
  refused('malformed-answer', 'The answer has not the form that it should have.', received, expected);

const unknownField = (name: string): WarpsmithError =>
  refused(
    'unknown-field',
    `An author supplies no <${excerpt(name)}>: times, verdicts, references, tolerances and seeds are the referee's.`,
    `<${excerpt(name)}>`,
    [...FIELDS, 'file', 'edit'].map((field) => `<${field}>`).join(', '),
  );

const empty = (): WarpsmithError =>
  refused('empty-answer', 'The answer changes nothing.', 'neither files nor edits', 'at least one file or edit');
