import { PtxSyntaxError } from './errors.ts';
import { type LexedPtx, lexPtx, lineAt, type Token } from './lexer.ts';

/** A cursor over the tokens of one PTX text, with the checks that the grammar's rules share. */
export class TokenStream {
  readonly tokens: readonly Token[];
  readonly inlineComments: LexedPtx['inlineComments'];
  private readonly text: string;
  private position = 0;

  /** @throws PtxSyntaxError when the text does not split into tokens. */
  constructor(text: string) {
    const lexed = lexPtx(text);
    this.text = text;
    this.tokens = lexed.tokens;
    this.inlineComments = lexed.inlineComments;
  }

  peek(ahead = 0): Token {
    return this.tokens[Math.min(this.position + ahead, this.tokens.length - 1)]!;
  }

  next(): Token {
    const token = this.peek();
    if (token.kind !== 'end') this.position++;
    return token;
  }

  /** Index of the next token in `tokens`. */
  get index(): number {
    return this.position;
  }

  /** True if the next token is the punctuation, word or directive `text`. */
  at(text: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.text === text && token.kind !== 'string' && token.kind !== 'end';
  }

  /** Consumes `text` if it is next. */
  accept(text: string): boolean {
    if (!this.at(text)) return false;
    this.position++;
    return true;
  }

  /** @throws PtxSyntaxError unless `text` is next. */
  expect(text: string): Token {
    if (!this.at(text)) throw this.error(`expected \`${text}\``);
    return this.next();
  }

  /** @throws PtxSyntaxError unless a token of `kind` is next. */
  expectKind(kind: Token['kind'], what: string): Token {
    if (this.peek().kind !== kind) throw this.error(`expected ${what}`);
    return this.next();
  }

  /** Consumes the rest of the current line's tokens, if the next token is still on `line`. */
  restOfLine(line: number): Token[] {
    const rest: Token[] = [];
    while (this.peek().kind !== 'end' && this.peek().line === line) rest.push(this.next());
    return rest;
  }

  /** Skips a balanced `{ … }`. */
  skipBraces(): void {
    const opening = this.expect('{');
    for (let depth = 1; depth > 0; ) {
      const token = this.next();
      if (token.kind === 'end') throw this.errorAt('`{` is never closed', opening.line);
      if (token.kind !== 'punctuation') continue;
      if (token.text === '{') depth++;
      else if (token.text === '}') depth--;
    }
  }

  /** An error at the next token. */
  error(message: string): PtxSyntaxError {
    return this.errorAt(`${message}, found \`${this.peek().text}\``, this.peek().line);
  }

  errorAt(message: string, line: number): PtxSyntaxError {
    return new PtxSyntaxError(message, line, lineAt(this.text, line));
  }
}
