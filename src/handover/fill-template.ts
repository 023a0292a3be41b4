import { readFileSync } from 'node:fs';

/** Values for the places of a template, by name. */
export interface Values {
  readonly [name: string]: string | number | boolean | readonly string[] | readonly Values[];
}

const DIRECTIVE = /^@(?<word>include|each|if|else|end)(?: (?<name>\S+))?@$/;
const PLACE = /@(\w+)@/g;

const linesOf = (file: string): string[] =>
  readFileSync(new URL(`./templates/${file}`, import.meta.url), 'utf8')
    .split('\n')
    .slice(0, -1);

/**
 * Fills the places of a file of templates/. Values are inserted as they are.
 *
 *   `@name@`                         text; a list of texts repeats the line, once for each
 *   `@include file@`                 another file of templates/, as it is
 *   `@each name@` … `@end@`          once for each of a list of values, which go before those around it
 *   `@if name@` … `@else@` … `@end@`  the first where the value is true, or a list with something in it
 *
 * @throws Error for a place without a value.
 */
export const fillTemplate = (file: string, values: Values): string => `${filled(linesOf(file), values).join('\n')}\n`;

function filled(lines: readonly string[], values: Values): string[] {
  const text: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const { word, name } = DIRECTIVE.exec(lines[at]!)?.groups ?? {};
    if (word === undefined) text.push(...filledLine(lines[at]!, values));
    else if (word === 'include') text.push(...linesOf(name!));
    else {
      const block = blockAt(lines, at);
      text.push(...(word === 'each' ? repeated : chosen)(block, placed(name!, values), values));
      at = block.end;
    }
  }
  return text;
}

interface Block {
  readonly body: readonly string[];
  readonly otherwise: readonly string[];
  /** Its last line. */
  readonly end: number;
}

function blockAt(lines: readonly string[], start: number): Block {
  let depth = 0;
  let middle: number | undefined;
  for (let at = start; at < lines.length; at++) {
    const word = DIRECTIVE.exec(lines[at]!)?.groups?.word;
    if (word === 'each' || word === 'if') depth++;
    if (word === 'else' && depth === 1) middle = at;
    if (word === 'end' && --depth === 0) {
      return { body: lines.slice(start + 1, middle ?? at), otherwise: lines.slice((middle ?? at) + 1, at), end: at };
    }
  }
  throw new Error(`no end of ${lines[start]}`);
}

const repeated = ({ body }: Block, items: Values[string], values: Values): string[] =>
  (items as readonly Values[]).flatMap((item) => filled(body, { ...values, ...item }));

const chosen = ({ body, otherwise }: Block, value: Values[string], values: Values): string[] =>
  filled((Array.isArray(value) ? value.length > 0 : value) ? body : otherwise, values);

function filledLine(line: string, values: Values): string[] {
  const names = [...line.matchAll(PLACE)].map(([, name]) => name!);
  const list = names.find((name) => Array.isArray(placed(name, values)));
  if (list !== undefined)
    return (values[list] as readonly string[]).flatMap((item) => filledLine(line, { ...values, [list]: item }));
  return [line.replaceAll(PLACE, (_, name: string) => String(placed(name, values))).trimEnd()];
}

function placed(name: string, values: Values): Values[string] {
  const value = values[name];
  if (value === undefined) throw new Error(`no value for @${name}@`);
  return value;
}
