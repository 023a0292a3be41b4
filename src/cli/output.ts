import { styleText } from 'node:util';
import type { WarpsmithError } from '../core/errors.ts';
import type { Paint } from '../reports/paint.ts';

/** Where the command line writes: results to `out`, everything else to `err`. */
export interface Streams {
  out: NodeJS.WriteStream;
  err: NodeJS.WriteStream;
}

/** Colours on a terminal, none in files and pipes; NO_COLOR and FORCE_COLOR are obeyed. */
export const paintFor =
  (stream: NodeJS.WriteStream): Paint =>
  (style, text) =>
    styleText(style, text, { stream });

/** One JSON object, as the whole of stdout. */
export function printJson({ out }: Streams, value: unknown): void {
  out.write(`${JSON.stringify(value, null, 2)}\n`);
}

const FIELDS = ['file', 'path', 'received', 'expected', 'hint'] as const;

/** The error as `--json` prints it: every field is there, `null` where it does not apply. */
export function errorJson({ details }: WarpsmithError): object {
  const fields = Object.fromEntries(FIELDS.map((name) => [name, details[name] ?? null]));
  return { schemaVersion: 1, error: { code: details.code, message: details.message, ...fields } };
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
