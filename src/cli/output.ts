import { styleText } from 'node:util';
import type { WarpsmithError } from '../core/errors.ts';
import type { Document } from '../reports/document.ts';
import { jsonText } from '../reports/plain-text.ts';
import { commandLines, type Paint, printTerminal } from '../reports/print/terminal.ts';
import { TERMINAL_WIDTH, wrapText } from '../reports/print/wrap.ts';

/** The command line writes results to `out` and everything else to `err`. */
export interface Streams {
  out: NodeJS.WriteStream;
  err: NodeJS.WriteStream;
}

/** What writes lines beside the output. */
export const linesTo =
  ({ err }: Streams) =>
  (text: string): void =>
    void err.write(`${text}\n`);

/** Colours on a terminal, none in files and pipes; NO_COLOR and FORCE_COLOR are obeyed. */
export const paintFor =
  (stream: NodeJS.WriteStream): Paint =>
  (style, text) =>
    styleText(style, text, { stream });

/** How a command's result is printed. */
export interface Printing {
  readonly streams: Streams;
  /** One JSON object on stdout instead of text for people. */
  readonly json: boolean;
  /** What is folded, too. */
  readonly verbose: boolean;
}

/** Narrower terminals would break every row. */
const NARROWEST = 40;

const LINE_HANG = 2;

/** Columns of a terminal; undefined for files and pipes. */
const widthOf = (out: NodeJS.WriteStream): number | undefined =>
  out.isTTY ? Math.max(NARROWEST, out.columns || TERMINAL_WIDTH) : undefined;

/** Prints a document as wide as the terminal; in files and pipes, as wide as a usual terminal. */
export function printDocument({ streams: { out }, verbose }: Printing, document: Document): void {
  out.write(printTerminal(document, { paint: paintFor(out), isVerbose: verbose, width: widthOf(out) }));
}

/** Prints lines of prose, wrapped on a terminal; files and pipes get them as they are. */
export function printLines({ out }: Streams, lines: readonly string[]): void {
  const width = widthOf(out) ?? Number.POSITIVE_INFINITY;
  out.write(lines.flatMap((line) => wrapText(line, width, LINE_HANG).map((part) => `${part}\n`)).join(''));
}

/** A command to copy, in lines that a shell joins. */
export function printCommand({ streams: { out } }: Printing, label: string, command: string): void {
  const lines = commandLines(`${label}: ${command}`, widthOf(out) ?? Number.POSITIVE_INFINITY);
  out.write(`${lines.join('\n')}\n`);
}

/** Prints a result as JSON, or as a document for people. */
export function printResult<R extends object>(how: Printing, result: R, document: (result: R) => Document): void {
  if (how.json) printJson(how.streams, result);
  else printDocument(how, document(result));
}

/** Prints one JSON object, the whole of stdout. */
export function printJson({ out }: Streams, value: unknown): void {
  out.write(`${jsonText(value)}\n`);
}

const FIELDS = ['file', 'path', 'received', 'expected', 'hint'] as const;

/** The error as `--json` prints it: every field is there, `null` where it does not apply. */
export function errorJson({ details }: WarpsmithError): object {
  const fields = Object.fromEntries(FIELDS.map((name) => [name, details[name] ?? null]));
  return { schemaVersion: 1, kind: 'error', error: { code: details.code, message: details.message, ...fields } };
}

/** The same error for people. */
export function errorText({ details }: WarpsmithError, paint: Paint): string {
  const lines = [`${paint('red', 'error')} ${paint('dim', `[${details.code}]`)} ${details.message}`];
  for (const name of FIELDS) {
    const value = details[name];
    if (value !== undefined) lines.push(`  ${paint('dim', `${name}:`.padEnd(9))} ${value}`);
  }
  return `${lines.join('\n')}\n`;
}
