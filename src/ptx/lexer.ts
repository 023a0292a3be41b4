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
 * One alternative per kind of token. A word is an identifier, a register, a special register (`%tid.x`) or a whole
 * opcode (`ld.shared::cta.v4.f32`); a directive is one dotted name.
 */
const TOKEN =
  /\/\/([^\n]*)|\/\*([\s\S]*?)\*\/|([A-Za-z_$%][\w$]*(?:(?:\.|::)[A-Za-z0-9_]+)*)|(\.[A-Za-z_]\w*)|(0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+U?)|"((?:[^"\\\n]|\\.)*)"|(<<|>>|[{}()[\],;:<>=@!|+\-*/~%&^?])/y;

const [SPACE, TAB, RETURN, NEWLINE] = [0x20, 0x09, 0x0d, 0x0a];

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
    // Half of all matches would be white space.
    if (code === SPACE || code === TAB || code === RETURN || code === NEWLINE) {
      if (code === NEWLINE) line++;
      start++;
      continue;
    }
    TOKEN.lastIndex = start;
    const match = TOKEN.exec(text);
    if (!match)
      throw new PtxSyntaxError(`unexpected character ${JSON.stringify(text[start])}`, line, lineAt(text, line));
    start = TOKEN.lastIndex;
    const [whole, lineComment, blockComment, word, directive, number, string] = match;
    if (word !== undefined) tokens.push({ kind: 'word', text: word, line });
    else if (blockComment !== undefined) line += countNewlines(whole);
    else if (lineComment !== undefined) {
      if (lineComment.includes(' @[ ')) inlineComments.set(line, lineComment);
    } else if (directive !== undefined) tokens.push({ kind: 'directive', text: directive, line });
    else if (number !== undefined) tokens.push({ kind: 'number', text: number, line });
    else if (string !== undefined) tokens.push({ kind: 'string', text: string, line });
    else tokens.push({ kind: 'punctuation', text: whole, line });
  }
  tokens.push({ kind: 'end', text: 'end of file', line });
  return { tokens, inlineComments };
}

/** Text of line `line` (from 1). */
export const lineAt = (text: string, line: number): string => text.split('\n', line)[line - 1] ?? '';
