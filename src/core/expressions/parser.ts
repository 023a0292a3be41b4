import { nearestName, suggestName } from '../nearest-name.ts';
import { type ExpressionPlace, expressionError } from './expression-error.ts';
import { EXPRESSION_FUNCTIONS } from './functions.ts';
import { type Token, tokenize } from './lexer.ts';
import { BINARY_OPERATORS, UNARY_OPERATORS } from './operators.ts';
import type { ExpressionNode } from './syntax-tree.ts';

/** Deeper nesting than anyone writes, shallower than the stack. */
const MAXIMUM_DEPTH = 200;

/**
 * Parses the text of an expression by precedence climbing; operators bind as in C++.
 *
 * @throws WarpsmithError `expression-syntax` or `unknown-function`, with the column.
 */
export const parseExpression = (text: string, place?: ExpressionPlace): ExpressionNode =>
  new Parser(text, place).parse();

class Parser {
  readonly #text: string;
  readonly #place: ExpressionPlace | undefined;
  readonly #tokens: Token[];
  #position = 0;
  #depth = 0;

  constructor(text: string, place: ExpressionPlace | undefined) {
    this.#text = text;
    this.#place = place;
    this.#tokens = tokenize(text, place);
  }

  parse(): ExpressionNode {
    const node = this.#conditional();
    const rest = this.#peek();
    if (rest.kind !== 'end') throw this.#unexpected(rest, 'an operator or the end');
    return node;
  }

  #conditional(): ExpressionNode {
    this.#enter();
    const condition = this.#binary(1);
    let node = condition;
    if (this.#accept('?')) {
      const whenTrue = this.#conditional();
      this.#expect(':', 'the `:` of `condition ? a : b`');
      node = { kind: 'conditional', condition, whenTrue, whenFalse: this.#conditional(), column: condition.column };
    }
    this.#depth--;
    return node;
  }

  #binary(minimumPrecedence: number): ExpressionNode {
    let left = this.#unary();
    for (;;) {
      const token = this.#peek();
      const operator = token.kind === 'symbol' ? BINARY_OPERATORS.get(token.text) : undefined;
      if (!operator || operator.precedence < minimumPrecedence) return left;
      this.#position++;
      const right = this.#binary(operator.precedence + 1);
      left = { kind: 'binary', operator: token.text, left, right, column: token.column };
    }
  }

  #unary(): ExpressionNode {
    const token = this.#peek();
    if (token.kind !== 'symbol' || !UNARY_OPERATORS.has(token.text)) return this.#primary();
    this.#enter();
    this.#position++;
    const node: ExpressionNode = { kind: 'unary', operator: token.text, operand: this.#unary(), column: token.column };
    this.#depth--;
    return node;
  }

  #primary(): ExpressionNode {
    const token = this.#peek();
    this.#position++;
    if (token.kind === 'number') return { kind: 'number', value: Number(token.text), column: token.column };
    if (token.kind === 'name') {
      return this.#accept('(') ? this.#call(token) : { kind: 'name', name: token.text, column: token.column };
    }
    if (token.kind === 'symbol' && token.text === '(') {
      const node = this.#conditional();
      this.#expect(')', '`)`');
      return node;
    }
    throw this.#unexpected(token, 'a number, a name or `(`');
  }

  #call(name: Token): ExpressionNode {
    const values: ExpressionNode[] = [];
    if (!this.#accept(')')) {
      do values.push(this.#conditional());
      while (this.#accept(','));
      this.#expect(')', '`,` or `)`');
    }
    this.#checkCall(name, values.length);
    return { kind: 'call', functionName: name.text, arguments: values, column: name.column };
  }

  #checkCall(name: Token, argumentCount: number): void {
    const known = EXPRESSION_FUNCTIONS.get(name.text);
    if (!known) {
      const usages = [...EXPRESSION_FUNCTIONS.values()].map((fn) => fn.usage).join(', ');
      const isNear = nearestName(name.text, EXPRESSION_FUNCTIONS.keys()) !== undefined;
      throw expressionError(
        'unknown-function',
        {
          message: `Unknown function \`${name.text}\``,
          text: this.#text,
          column: name.column,
          expected: usages,
          hint: isNear ? suggestName(name.text, EXPRESSION_FUNCTIONS.keys()) : undefined,
        },
        this.#place,
      );
    }
    if (argumentCount >= known.minimumArity && argumentCount <= known.maximumArity) return;
    throw this.#error(
      name,
      `\`${name.text}\` got ${argumentCount} argument${argumentCount === 1 ? '' : 's'}`,
      known.usage,
    );
  }

  #peek(): Token {
    return this.#tokens[this.#position] ?? this.#tokens.at(-1)!;
  }

  #accept(symbol: string): boolean {
    const token = this.#peek();
    const accepted = token.kind === 'symbol' && token.text === symbol;
    if (accepted) this.#position++;
    return accepted;
  }

  #expect(symbol: string, expected: string): void {
    if (!this.#accept(symbol)) throw this.#unexpected(this.#peek(), expected);
  }

  #enter(): void {
    if (++this.#depth > MAXIMUM_DEPTH) {
      throw this.#error(this.#peek(), 'Nested too deeply', `at most ${MAXIMUM_DEPTH} levels of nesting`);
    }
  }

  #unexpected(token: Token, expected: string): Error {
    const message = token.kind === 'end' ? 'The expression ends too early' : `Unexpected \`${token.text}\``;
    return this.#error(token, message, expected);
  }

  #error(token: Token, message: string, expected: string): Error {
    return expressionError(
      'expression-syntax',
      { message, text: this.#text, column: token.column, expected },
      this.#place,
    );
  }
}
