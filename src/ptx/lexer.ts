import { PtxSyntaxError } from './errors.ts';

export type TokenKind = 'word' | 'directive' | 'number' | 'string' | 'punctuation' | 'end';

export interface Token {
  kind: TokenKind;
  /** As written; a string without its quotes. */
  text: string;
  /** From 1. */
  line: number;
}

export interface LexedPtx {
  readonly tokens: readonly Token[];
  /** Text after `//` of every line that has an inlined-at comment (`… @[ … ]`), by line. clang writes call chains only there. */
  readonly inlineComments: ReadonlyMap<number, string>;
}

/** `0f3f800000`, `0d…`, `0x1FU`, `0b101`, `1.5e-3`, `12`. */
const NUMBER =
  /0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+U?/y;
const STRING = /"(?:[^"\\\n]|\\.)*"/y;

/** What a character may be: part of a name, begin a word (`$` and `%`, too), a digit, white space, punctuation. */
const PART = { name: 1, begin: 2, digit: 4, space: 8, punctuation: 16 } as const;
const ASCII = 128;
const PARTS = new Uint8Array(ASCII);
for (const [characters, parts] of [
  ['ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_', PART.name | PART.begin],
  ['0123456789', PART.name | PART.digit],
  ['$', PART.begin],
  ['%', PART.begin | PART.punctuation],
  [' \t\r\n', PART.space],
  ['<>{}()[],;:=@!|+-*/~&^?', PART.punctuation],
] as const)
  for (const character of characters) PARTS[character.charCodeAt(0)] = parts;

/** Of what lies beyond the text, or is not ASCII, none. */
function partsAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < ASCII ? PARTS[code]! : 0;
}

const isAt = (text: string, at: number, parts: number): boolean => (partsAt(text, at) & parts) !== 0;

const codeOf = (character: string): number => character.charCodeAt(0);
const [NEWLINE, QUOTE, DOLLAR, STAR] = [codeOf('\n'), codeOf('"'), codeOf('$'), codeOf('*')];
const [DOT, SLASH, COLON, LESS, GREATER] = [codeOf('.'), codeOf('/'), codeOf(':'), codeOf('<'), codeOf('>')];

/** End of the letters, digits and underscores from here on. */
function endOfName(text: string, start: number): number {
  let at = start;
  while (isAt(text, at, PART.name)) at++;
  return at;
}

/** End of an identifier, a register, a special register (`%tid.x`) or a whole opcode (`ld.shared::cta.v4.f32`) that begins here. */
function endOfWord(text: string, start: number): number {
  let at = endOfName(text, start + 1);
  while (text.charCodeAt(at) === DOLLAR) at = endOfName(text, at + 1);
  for (;;) {
    const code = text.charCodeAt(at);
    const next = code === DOT ? at + 1 : code === COLON && text.charCodeAt(at + 1) === COLON ? at + 2 : at;
    if (next === at || !isAt(text, next, PART.name)) return at;
    at = endOfName(text, next);
  }
}

/** End of what a sticky expression matches here; `start` if it does not match. */
function endOf(expression: RegExp, text: string, start: number): number {
  expression.lastIndex = start;
  return expression.test(text) ? expression.lastIndex : start;
}

/** End of the comment that begins here; `start` if none does. */
function endOfComment(text: string, start: number): number {
  const second = text.charCodeAt(start + 1);
  if (second === SLASH) return endOfLine(text, start);
  if (second !== STAR) return start;
  const end = text.indexOf('*/', start + 2);
  return end < 0 ? start : end + 2;
}

function endOfLine(text: string, start: number): number {
  const end = text.indexOf('\n', start);
  return end < 0 ? text.length : end;
}

/** `<<` and `>>`, or one character. */
function endOfPunctuation(text: string, start: number): number {
  const code = text.charCodeAt(start);
  return start + ((code === LESS || code === GREATER) && text.charCodeAt(start + 1) === code ? 2 : 1);
}

function countNewlines(text: string, start: number, end: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', start); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

/** The last text's tokens, for as long as memory suffices: what a compiler made is screened and parsed one after the other. */
let last: { readonly text: string; readonly lexed: WeakRef<LexedPtx> } | undefined;

/** Splits PTX text into tokens. @throws PtxSyntaxError on a character no token starts with. */
export function lexPtx(text: string): LexedPtx {
  const known = last?.text === text ? last.lexed.deref() : undefined;
  if (known) return known;
  const lexed = lex(text);
  last = { text, lexed: new WeakRef(lexed) };
  return lexed;
}

function lex(text: string): LexedPtx {
  const tokens: Token[] = [];
  const inlineComments = new Map<number, string>();
  let line = 1;
  for (let start = 0; start < text.length; ) {
    if (isAt(text, start, PART.space)) {
      if (text.charCodeAt(start++) === NEWLINE) line++;
      continue;
    }
    const commentEnd = text.charCodeAt(start) === SLASH ? endOfComment(text, start) : start;
    if (commentEnd === start) {
      const { kind, end } = tokenAt(text, start, line);
      const quotes = kind === 'string' ? 1 : 0;
      tokens.push({ kind, text: text.slice(start + quotes, end - quotes), line });
      start = end;
      continue;
    }
    const comment = text.slice(start + 2, commentEnd);
    if (text.charCodeAt(start + 1) === STAR) line += countNewlines(text, start, commentEnd);
    else if (comment.includes(' @[ ')) inlineComments.set(line, comment);
    start = commentEnd;
  }
  tokens.push({ kind: 'end', text: 'end of file', line });
  return { tokens, inlineComments };
}

/** The token that begins here. */
function tokenAt(text: string, start: number, line: number): { kind: TokenKind; end: number } {
  const parts = partsAt(text, start);
  if ((parts & PART.begin) !== 0) return { kind: 'word', end: endOfWord(text, start) };
  if ((parts & PART.punctuation) !== 0) return { kind: 'punctuation', end: endOfPunctuation(text, start) };
  if ((parts & PART.digit) !== 0) return { kind: 'number', end: endOf(NUMBER, text, start) };
  const code = text.charCodeAt(start);
  if (code === DOT && isAt(text, start + 1, PART.begin) && isAt(text, start + 1, PART.name))
    return { kind: 'directive', end: endOfName(text, start + 2) };
  const end = code === QUOTE ? endOf(STRING, text, start) : start;
  if (end > start) return { kind: 'string', end };
  throw new PtxSyntaxError(`unexpected character ${JSON.stringify(text[start])}`, line, lineAt(text, line));
}

/** Text of line `line` (from 1). */
export const lineAt = (text: string, line: number): string => text.split('\n', line)[line - 1] ?? '';
