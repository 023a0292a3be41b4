import { WarpsmithError } from '../core/errors.ts';

/** A token of CUDA C++. A preprocessor directive is one token, with its continuation lines. */
export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'character' | 'punctuator' | 'directive';
  readonly text: string;
  /** Offsets in the text: `end` is behind the last character. */
  readonly start: number;
  readonly end: number;
  /** From 1. */
  readonly line: number;
}

/** Longest first: a shorter one may begin a longer one. */
const PUNCTUATORS = '<<< >>> <<= >>= ... ->* :: -> ++ -- << >> <= >= == != && || += -= *= /= %= &= |= ^='.split(' ');

const NAME = /[A-Za-z_]\w*/y;
const NUMBER = /(?:0[xX][\da-fA-F']+[uUlLzZ]*|0[bB][01']+[uUlLzZ]*|\.?\d(?:[eEpP][+-]|[\w.']|(?<=\d)')*)/y;
const RAW_STRING = /(?:u8|[uUL])?R"([^\s()\\]{0,16})\([\s\S]*?\)\1"/y;
const STRING = /(?:u8|[uUL])?"(?:\\[\s\S]|[^"\\\n])*"/y;
const CHARACTER = /(?:u8|[uUL])?'(?:\\[\s\S]|[^'\\\n])*'/y;
const SPACE = /(?:\s|\\\r?\n)+/y;
const COMMENT = /\/\/(?:\\\r?\n|[^\n])*|\/\*[\s\S]*?\*\//y;

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** Literals before names: `R"(` and `u8"` begin like names. */
const LITERALS: readonly (readonly [Token['kind'], RegExp])[] = [
  ['string', RAW_STRING],
  ['string', STRING],
  ['character', CHARACTER],
  ['name', NAME],
  ['number', NUMBER],
];

/**
 * The tokens of a CUDA C++ text, without comments.
 *
 * @param file for messages.
 * @throws WarpsmithError `unreadable-source` at a comment or literal that does not end.
 */
export function tokenize(text: string, file: string): Token[] {
  const tokens: Token[] = [];
  const lineOf = lineCounter(text);
  let at = 0;
  let isLineStart = true;
  while (at < text.length) {
    const blank = matchAt(SPACE, text, at);
    if (blank !== undefined) {
      isLineStart ||= /(?<!\\)\r?\n|^\r?\n/.test(blank.replaceAll(/\\\r?\n/g, ''));
      at += blank.length;
      continue;
    }
    const comment = matchAt(COMMENT, text, at);
    if (comment !== undefined) {
      at += comment.length;
      continue;
    }
    const token = isLineStart && text[at] === '#' ? directiveAt(text, at) : tokenAt(text, at);
    if (token === undefined) throw unreadable(text, at, lineOf(at), file);
    tokens.push({ ...token, start: at, end: at + token.text.length, line: lineOf(at) });
    at += token.text.length;
    isLineStart = false;
  }
  return tokens;
}

type Lexeme = Pick<Token, 'kind' | 'text'>;

function tokenAt(text: string, at: number): Lexeme | undefined {
  for (const [kind, pattern] of LITERALS) {
    const found = matchAt(pattern, text, at);
    if (found !== undefined) return { kind, text: found };
  }
  if (text[at] === '"' || text[at] === "'" || text.startsWith('/*', at)) return undefined;
  const long = PUNCTUATORS.find((punctuator) => text.startsWith(punctuator, at));
  return { kind: 'punctuator', text: long ?? text[at]! };
}

/** To the end of the logical line; a block comment in it may hold line breaks. */
function directiveAt(text: string, from: number): Lexeme {
  let at = from;
  while (at < text.length && text[at] !== '\n') {
    const skipped =
      matchAt(COMMENT, text, at) ??
      matchAt(STRING, text, at) ??
      /^\\\r?\n/.exec(text.slice(at, at + 3))?.[0] ??
      text[at]!;
    at += skipped.length;
  }
  return { kind: 'directive', text: text.slice(from, at).trimEnd() };
}

/** For offsets that only grow. */
function lineCounter(text: string): (offset: number) => number {
  let line = 1;
  let counted = 0;
  return (offset) => {
    for (; counted < offset; counted++) if (text[counted] === '\n') line++;
    return line;
  };
}

const unreadable = (text: string, at: number, line: number, file: string): WarpsmithError =>
  new WarpsmithError({
    code: 'unreadable-source',
    message: `${file} has a comment or literal that does not end.`,
    file,
    path: `line ${line}`,
    received: text.slice(at, at + 40).split('\n')[0]!,
    expected: 'a file that a C++ compiler reads',
    hint: 'Compile it with nvcc first.',
  });
