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

/**
 * One expression per kind of token. A word is an identifier, a register, a special register (`%tid.x`) or a whole
 * opcode (`ld.shared::cta.v4.f32`); a directive is one dotted name.
 */
const TOKENS = {
  word: /[A-Za-z_$%][\w$]*(?:(?:\.|::)\w+)*/y,
  directive: /\.[A-Za-z_]\w*/y,
  number:
    /0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+U?/y,
  string: /"(?:[^"\\\n]|\\.)*"/y,
  punctuation: /<<|>>|[{}()[\],;:<>=@!|+\-*/~&^?]/y,
} as const;
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//y;

/** Which kind begins with a character, by its code: to try them one after the other takes three times as long. */
const KINDS = Array.from({ length: 128 }, (_, code): keyof typeof TOKENS => {
  const character = String.fromCharCode(code);
  if (/[\w$%]/.test(character)) return /\d/.test(character) ? 'number' : 'word';
  return character === '.' ? 'directive' : character === '"' ? 'string' : 'punctuation';
});

const [SPACE, TAB, RETURN, NEWLINE, SLASH] = [0x20, 0x09, 0x0d, 0x0a, 0x2f];

/** End of what a sticky expression matches here; `start` if it does not match. */
function endOf(expression: RegExp, text: string, start: number): number {
  expression.lastIndex = start;
  return expression.test(text) ? expression.lastIndex : start;
}

function countNewlines(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
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
    const code = text.charCodeAt(start);
    if (code === SPACE || code === TAB || code === RETURN || code === NEWLINE) {
      if (code === NEWLINE) line++;
      start++;
      continue;
    }
    const kind = KINDS[code] ?? 'punctuation';
    const commentEnd = code === SLASH ? endOf(COMMENT, text, start) : start;
    const end = commentEnd > start ? commentEnd : endOf(TOKENS[kind], text, start);
    if (end === start)
      throw new PtxSyntaxError(`unexpected character ${JSON.stringify(text[start])}`, line, lineAt(text, line));
    if (commentEnd === start) {
      const quotes = Number(kind === 'string');
      tokens.push({ kind, text: text.slice(start + quotes, end - quotes), line });
    } else {
      const comment = text.slice(start + 2, end);
      // One that ends with its line has no line ends in it.
      line += countNewlines(comment);
      if (text.charCodeAt(start + 1) === SLASH && comment.includes(' @[ ')) inlineComments.set(line, comment);
    }
    start = end;
  }
  tokens.push({ kind: 'end', text: 'end of file', line });
  return { tokens, inlineComments };
}

/** Text of line `line` (from 1). */
export const lineAt = (text: string, line: number): string => text.split('\n', line)[line - 1] ?? '';
