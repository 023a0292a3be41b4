import { type ExpressionPlace, expressionError } from './expression-error.ts';

export interface Token {
  readonly kind: 'number' | 'name' | 'symbol' | 'end';
  readonly text: string;
  /** From 1. */
  readonly column: number;
}

/** Longer than anyone writes; bounds the depth of the tree. */
const MAXIMUM_LENGTH = 2_000;
const WHITESPACE = /\s*/y;
// Order matters: hex before decimal, longer symbols before their prefixes.
const TOKEN =
  /(?<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|(?<symbol><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>!~&|^?:(),])/y;

/**
 * Splits an expression into tokens; the last one is of kind `end`.
 *
 * @throws WarpsmithError `expression-syntax` at a character that starts no token.
 */
export function tokenize(text: string, place?: ExpressionPlace): Token[] {
  if (text.length > MAXIMUM_LENGTH) throw tooLong(text, place);
  const tokens: Token[] = [];
  let position = skipWhitespace(text, 0);
  while (position < text.length) {
    const column = position + 1;
    TOKEN.lastIndex = position;
    const groups = TOKEN.exec(text)?.groups;
    if (!groups) throw unexpectedCharacter(text, position, place);
    const kind = groups.number !== undefined ? 'number' : groups.name !== undefined ? 'name' : 'symbol';
    position = TOKEN.lastIndex;
    if (kind === 'number' && /\w/.test(text[position] ?? '')) throw malformedNumber(text, column, place);
    tokens.push({ kind, text: text.slice(column - 1, position), column });
    position = skipWhitespace(text, position);
  }
  tokens.push({ kind: 'end', text: '', column: text.length + 1 });
  return tokens;
}

function skipWhitespace(text: string, position: number): number {
  WHITESPACE.lastIndex = position;
  WHITESPACE.exec(text);
  return WHITESPACE.lastIndex;
}

const tooLong = (text: string, place?: ExpressionPlace): Error =>
  expressionError(
    'expression-syntax',
    {
      message: `The expression has ${text.length} characters`,
      text: `${text.slice(0, 40)}…`,
      column: MAXIMUM_LENGTH + 1,
      expected: `at most ${MAXIMUM_LENGTH} characters`,
    },
    place,
  );

function unexpectedCharacter(text: string, position: number, place?: ExpressionPlace): Error {
  const character = String.fromCodePoint(text.codePointAt(position)!);
  return expressionError(
    'expression-syntax',
    {
      message: `Unexpected character \`${character}\``,
      text,
      column: position + 1,
      expected: 'numbers, names, operators, parentheses and functions',
      hint: character === '=' ? 'Comparison is written `==`.' : undefined,
    },
    place,
  );
}

const malformedNumber = (text: string, column: number, place?: ExpressionPlace): Error =>
  expressionError(
    'expression-syntax',
    {
      message: 'Malformed number',
      text,
      column,
      expected: 'a number such as 64, 0.5, 1e-3 or 0x40',
      hint: 'Products need a `*`: `2 * S`, not `2S`.',
    },
    place,
  );
