import { WarpsmithError } from '../errors.ts';

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

const MAXIMUM_DEPTH = 100;
const WHITESPACE = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids control characters inside strings.
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const LITERALS = new Map<string, JsonValue>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/**
 * Parses JSON written by a person. Unlike `JSON.parse` it always gives the line and column of a mistake, and refuses
 * duplicate keys, of which `JSON.parse` silently drops the first.
 *
 * @throws WarpsmithError `invalid-json` with `path` = `line:column`.
 */
export const parseJson = (text: string, file: string): JsonValue => new JsonParser(text, file).parse();

/** The value that a program wrote as JSON; undefined if the text is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

class JsonParser {
  readonly #text: string;
  readonly #file: string;
  #position = 0;
  #depth = 0;

  constructor(text: string, file: string) {
    this.#text = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
    this.#file = file;
  }

  parse(): JsonValue {
    const value = this.#value();
    this.#skipWhitespace();
    if (this.#position < this.#text.length) throw this.#unexpected('the end of the file');
    return value;
  }

  #value(): JsonValue {
    this.#skipWhitespace();
    const next = this.#text[this.#position];
    if (next === '{') return this.#nested(() => this.#object());
    if (next === '[') return this.#nested(() => this.#array());
    if (next === '"') return this.#string('a string');
    for (const [spelling, value] of LITERALS) if (this.#acceptText(spelling)) return value;
    const number = this.#match(NUMBER);
    if (number === undefined) throw this.#unexpected('a value');
    return Number(number);
  }

  #nested(parse: () => JsonValue): JsonValue {
    if (++this.#depth > MAXIMUM_DEPTH) throw this.#unexpected(`at most ${MAXIMUM_DEPTH} levels of nesting`);
    this.#position++;
    const value = parse();
    this.#depth--;
    return value;
  }

  #object(): JsonValue {
    const object: { [key: string]: JsonValue } = {};
    if (this.#accept('}')) return object;
    do {
      this.#skipWhitespace();
      const start = this.#position;
      const key = this.#string('a key in double quotes');
      if (Object.hasOwn(object, key) || key === '__proto__') throw this.#refusedKey(key, start);
      if (!this.#accept(':')) throw this.#unexpected('`:`');
      object[key] = this.#value();
    } while (this.#accept(','));
    if (!this.#accept('}')) throw this.#unexpected('`,` or `}`');
    return object;
  }

  #array(): JsonValue {
    const array: JsonValue[] = [];
    if (this.#accept(']')) return array;
    do array.push(this.#value());
    while (this.#accept(','));
    if (!this.#accept(']')) throw this.#unexpected('`,` or `]`');
    return array;
  }

  #string(expected: string): string {
    const literal = this.#match(STRING);
    if (literal === undefined) throw this.#unexpected(expected);
    return JSON.parse(literal) as string;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#position += found.length;
    return found;
  }

  #skipWhitespace(): void {
    this.#match(WHITESPACE);
  }

  #accept(symbol: string): boolean {
    this.#skipWhitespace();
    return this.#acceptText(symbol);
  }

  #acceptText(text: string): boolean {
    const accepted = this.#text.startsWith(text, this.#position);
    if (accepted) this.#position += text.length;
    return accepted;
  }

  #refusedKey(key: string, position: number): Error {
    const hint = 'Remove one of the two: the first would be ignored.';
    return this.#error(`The key \`${key}\` is given twice`, position, {
      received: key,
      expected: 'each key once',
      hint,
    });
  }

  #unexpected(expected: string): Error {
    const rest = this.#text.slice(this.#position);
    const received = rest === '' ? 'the end of the file' : (/^[\w$.+-]+|^./su.exec(rest)?.[0] ?? rest[0]!).slice(0, 40);
    const known = JSON_HINTS.find(([pattern]) => pattern.test(rest) || pattern.test(this.#before() + rest));
    return this.#error('Not valid JSON', this.#position, { received, expected, hint: known?.[1] ?? DEFAULT_HINT });
  }

  /** The last character before the mistake that is not blank. */
  #before(): string {
    return this.#text.slice(0, this.#position).trimEnd().slice(-1);
  }

  #error(message: string, position: number, details: { received: string; expected: string; hint: string }): Error {
    const lines = this.#text.slice(0, position).split('\n');
    const path = `${lines.length}:${lines.at(-1)!.length + 1}`;
    return new WarpsmithError({
      code: 'invalid-json',
      message: `${message} (line ${lines.length}, column ${lines.at(-1)!.length + 1}).`,
      file: this.#file,
      path,
      ...details,
    });
  }
}

const DEFAULT_HINT = 'Look for a missing comma, quote or bracket just before this place.';
/** The usual slips, by what stands at the mistake. */
const JSON_HINTS: readonly (readonly [RegExp, string])[] = [
  [/^,\s*[}\]]/, 'Remove the comma before the closing bracket.'],
  [/^\/[/*]/, 'JSON has no comments; use the `description` fields.'],
  [/^'/, 'JSON strings stand in double quotes.'],
];
