import type { CType, Declarator, Expression, NumberType, Parameter, Statement, TemplateArgument } from './syntax.ts';
import type { Token } from './tokens.ts';

/** What this parser can't read. Statements catch it and become `unknown`. */
class SyntaxProblem extends Error {}

const BUILT_IN_TYPES = new Set('void bool char short int long float double signed unsigned auto wchar_t'.split(' '));

/** Types by name, which may stand in a cast: `(half)x`. */
const KNOWN_TYPES = new Set([
  ...['size_t', 'ssize_t', 'ptrdiff_t', 'intptr_t', 'uintptr_t', 'uint', 'uchar', 'ushort', 'ulong', 'half', 'half2'],
  ...['__half', '__half2', '__nv_bfloat16', '__nv_bfloat162', 'nv_bfloat16', 'dim3', 'cudaError_t', 'cudaStream_t'],
  ...[8, 16, 32, 64].flatMap((bits) => [`int${bits}_t`, `uint${bits}_t`]),
  ...['char', 'uchar', 'short', 'ushort', 'int', 'uint', 'float', 'double'].flatMap((scalar) =>
    [1, 2, 3, 4].map((width) => `${scalar}${width}`),
  ),
]);

const QUALIFIERS = new Set(
  (
    'const volatile static inline constexpr extern register struct enum typename mutable thread_local unsigned signed ' +
    '__restrict__ __restrict restrict __forceinline__ __inline__ __noinline__ __shared__ __constant__ __device__ ' +
    '__host__ __global__'
  ).split(' '),
);
const POINTER_QUALIFIERS = new Set(['const', 'volatile', '__restrict__', '__restrict', 'restrict']);

/** C's binary operators by how tight they bind, loosest first. */
const LEVELS = ['||', '&&', '|', '^', '&', '== !=', '< > <= >=', '<< >>', '+ -', '* / %'];

/** Of C's binary operators: larger binds tighter. */
export const PRECEDENCE: Readonly<Record<string, number>> = Object.fromEntries(
  LEVELS.flatMap((operators, level) => operators.split(' ').map((operator) => [operator, level + 1])),
);
const ASSIGNMENTS = new Set(['=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>=']);
const UNARY = new Set(['-', '+', '!', '~', '*', '&', '++', '--']);
const CASTS = new Set(['static_cast', 'reinterpret_cast', 'const_cast']);
const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** Index of the token behind the bracket that closes the one at `open`; the end if none does. */
export function behindBracket(tokens: readonly Token[], open: number): number {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    const { kind, text } = tokens[at]!;
    if (kind !== 'punctuator') continue;
    if (text in CLOSING) depth++;
    if ((text === ')' || text === ']' || text === '}') && --depth === 0) return at + 1;
  }
  return tokens.length;
}

/** Index behind the `>` that closes the `<` at `open`, or undefined if it is a comparison. */
export function behindAngle(tokens: readonly Token[], open: number): number | undefined {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    const { kind, text } = tokens[at]!;
    if (kind !== 'punctuator') continue;
    if (text === '(' || text === '[') at = behindBracket(tokens, at) - 1;
    else if (text === '<') depth++;
    else if (/^>+$/.test(text)) {
      depth -= text.length;
      if (depth <= 0) return depth === 0 ? at + 1 : undefined;
    } else if (/^(?:[;{}]|&&|\|\||<<<|=)$/.test(text)) return undefined;
  }
  return undefined;
}

/** Splits at commas outside of all brackets. */
export function splitAtCommas(tokens: readonly Token[]): Token[][] {
  const parts: Token[][] = [[]];
  for (let at = 0; at < tokens.length; ) {
    const { kind, text } = tokens[at]!;
    let end = at + 1;
    if (kind === 'punctuator' && text in CLOSING) end = behindBracket(tokens, at);
    else if (text === '<' && tokens[at - 1]?.kind === 'name') end = behindAngle(tokens, at) ?? end;
    if (kind === 'punctuator' && text === ',') parts.push([]);
    else parts.at(-1)!.push(...tokens.slice(at, end));
    at = end;
  }
  return parts.length === 1 && parts[0]!.length === 0 ? [] : parts;
}

const textOf = (tokens: readonly Token[]): string =>
  tokens.reduce((text, token, i) => {
    const before = tokens[i - 1];
    const spaced = before !== undefined && /\w$/.test(before.text) && /^\w/.test(token.text);
    return `${text}${spaced || before?.text === ',' ? ' ' : ''}${token.text}`;
  }, '');

/** The expression that a macro stands for; undefined if it is no expression. */
export function parseExpression(tokens: readonly Token[]): Expression | undefined {
  const parser = new Parser(tokens);
  try {
    const expression = parser.expression();
    return parser.isAtEnd ? expression : undefined;
  } catch (error) {
    if (error instanceof SyntaxProblem) return undefined;
    throw error;
  }
}

/** The statements between the braces of a function. Directives among them are skipped. */
export const parseBody = (tokens: readonly Token[]): Statement[] =>
  new Parser(tokens.filter(({ kind }) => kind !== 'directive')).statements();

/** A function's parameters, from the tokens between its parentheses. */
export function parseParameters(tokens: readonly Token[]): Parameter[] {
  const parts = splitAtCommas(tokens);
  if (parts.length === 1 && parts[0]!.length === 1 && parts[0]![0]!.text === 'void') return [];
  return parts.map((part) => new Parser(part).parameter());
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  get #text(): string {
    return this.#tokens[this.#at]?.text ?? '';
  }

  #peek(ahead: number): Token | undefined {
    return this.#tokens[this.#at + ahead];
  }

  get #next(): Token {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new SyntaxProblem('ends early');
    return token;
  }

  #takes(text: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.text !== text || token.kind === 'string') return false;
    this.#at++;
    return true;
  }

  #need(text: string): void {
    if (!this.#takes(text)) throw new SyntaxProblem(`expected ${text}, got ${this.#text}`);
  }

  parameter(): Parameter {
    try {
      const base = this.#typeSpecifier();
      const { name, type, extents } = this.#declarator(base);
      return { name, type: { ...type, pointers: type.pointers + extents.length } };
    } catch (error) {
      if (!(error instanceof SyntaxProblem)) throw error;
      const type = {
        base: textOf(this.#tokens),
        pointers: 0,
        isConst: false,
        isReference: false,
        templateArguments: [],
      };
      return { name: '', type };
    }
  }

  statements(): Statement[] {
    const statements: Statement[] = [];
    while (!this.isAtEnd) statements.push(this.#statement());
    return statements;
  }

  #statement(): Statement {
    const start = this.#at;
    const { line } = this.#next;
    try {
      return { line, ...this.#known() };
    } catch (error) {
      if (!(error instanceof SyntaxProblem)) throw error;
      this.#at = start;
      return { line, kind: 'unknown', text: this.#skipStatement() };
    }
  }

  /** Up to the `;` or the block that ends it. */
  #skipStatement(): string {
    const start = this.#at;
    while (!this.isAtEnd) {
      const text = this.#text;
      if (Object.hasOwn(CLOSING, text)) {
        this.#at = behindBracket(this.#tokens, this.#at);
        if (text === '{' && this.#text !== ';' && this.#text !== ')' && this.#text !== ',') break;
        continue;
      }
      this.#at++;
      if (text === ';') break;
    }
    return textOf(this.#tokens.slice(start, this.#at));
  }

  #known(): BareStatement {
    const { kind, text } = this.#next;
    if (kind === 'name') {
      this.#at++;
      const statement = this.#keyword(text);
      if (statement !== undefined) return statement;
      this.#at--;
    }
    if (this.#text === '{') return this.#block();
    if (this.#takes(';')) return { kind: 'block', body: [] };
    if (this.#startsDeclaration()) return this.#declaration();
    const expression = this.#commaExpression();
    this.#need(';');
    return { kind: 'expression', expression };
  }

  /** A statement that begins with a keyword, from behind it; undefined if the word is none. */
  #keyword(word: string): BareStatement | undefined {
    switch (word) {
      case 'if': {
        this.#takes('constexpr');
        const test = this.#parenthesised();
        const whenTrue = this.#statement();
        return { kind: 'if', test, whenTrue, whenFalse: this.#takes('else') ? this.#statement() : undefined };
      }
      case 'for':
        return this.#for();
      case 'while':
        return { kind: 'while', test: this.#parenthesised(), body: this.#statement(), isDo: false };
      case 'do': {
        const body = this.#statement();
        this.#need('while');
        const test = this.#parenthesised();
        this.#need(';');
        return { kind: 'while', test, body, isDo: true };
      }
      case 'switch':
        return { kind: 'switch', value: this.#parenthesised(), body: this.#statement() };
      // Labels say nothing here: all cases are walked.
      case 'case':
        this.#commaExpression();
        this.#need(':');
        return { kind: 'block', body: [] };
      case 'default':
        this.#need(':');
        return { kind: 'block', body: [] };
      case 'return':
        return { kind: 'return', value: this.#upTo(';') };
      case 'break':
      case 'continue':
        this.#need(';');
        return { kind: 'jump', word };
      default:
        return undefined;
    }
  }

  #for(): BareStatement {
    if (this.#isForEach()) {
      this.#at = behindBracket(this.#tokens, this.#at);
      return { kind: 'for-each', body: this.#statement() };
    }
    this.#need('(');
    const start = this.#takes(';') ? undefined : { line: this.#next.line, ...this.#known() };
    const test = this.#upTo(';');
    return { kind: 'for', start, test, step: this.#upTo(')'), body: this.#statement() };
  }

  #parenthesised(): Expression {
    this.#need('(');
    const expression = this.#commaExpression();
    this.#need(')');
    return expression;
  }

  /** The expression before `end`, if there is one. */
  #upTo(end: string): Expression | undefined {
    const expression = this.#text === end ? undefined : this.#commaExpression();
    this.#need(end);
    return expression;
  }

  #isForEach(): boolean {
    const inside = this.#tokens.slice(this.#at + 1, behindBracket(this.#tokens, this.#at) - 1);
    return inside.some(({ text }) => text === ':') && !inside.some(({ text }) => text === ';');
  }

  #block(): BareStatement {
    const end = behindBracket(this.#tokens, this.#at);
    const body = new Parser(this.#tokens.slice(this.#at + 1, end - 1)).statements();
    this.#at = end;
    return { kind: 'block', body };
  }

  /** `type name`: whether a type is followed by the name that it declares. */
  #startsDeclaration(): boolean {
    const first = this.#tokens[this.#at]!;
    if (first.kind !== 'name') return false;
    if (QUALIFIERS.has(first.text) || BUILT_IN_TYPES.has(first.text)) {
      // `float(x)` and `int{3}` are expressions.
      return this.#peek(1)?.text !== '(' || QUALIFIERS.has(first.text);
    }
    const behind = this.#behindName(this.#at);
    let at = behind;
    while (/^(?:\*|&|const|__restrict__|__restrict)$/.test(this.#tokens[at]?.text ?? '')) at++;
    const name = this.#tokens[at];
    const next = this.#tokens[at + 1]?.text ?? '';
    return name?.kind === 'name' && /^(?:[=;([{,:])$/.test(next);
  }

  /** Index behind a name with its namespaces and template arguments. */
  #behindName(from: number): number {
    let at = from;
    if (this.#tokens[at]?.text === '::') at++;
    while (this.#tokens[at]?.kind === 'name') {
      at++;
      if (this.#tokens[at]?.text === '<') at = behindAngle(this.#tokens, at) ?? at;
      if (this.#tokens[at]?.text !== '::') break;
      at++;
    }
    return at;
  }

  #typeSpecifier(): CType {
    const words: string[] = [];
    let isConst = false;
    let templateArguments: readonly TemplateArgument[] = [];
    for (let token = this.#tokens[this.#at]; token?.kind === 'name'; token = this.#tokens[this.#at]) {
      const { text } = token;
      if (text === 'alignas' || text === '__align__' || text === '__launch_bounds__' || text === '__attribute__') {
        this.#at = behindBracket(this.#tokens, this.#at + 1);
        continue;
      }
      const isArithmetic = BUILT_IN_TYPES.has(text);
      if (!isArithmetic && QUALIFIERS.has(text)) {
        isConst ||= text === 'const' || text === 'constexpr';
        this.#at++;
        continue;
      }
      if (!isArithmetic) {
        if (words.length > 0) break;
        const name = this.#name();
        words.push(name.name);
        templateArguments = name.templateArguments;
        continue;
      }
      words.push(text);
      this.#at++;
    }
    if (words.length === 0) throw new SyntaxProblem('no type');
    return { base: canonicalType(words), pointers: 0, isConst, isReference: false, templateArguments };
  }

  #declarator(base: CType): Declarator {
    let pointers = 0;
    let isReference = false;
    for (; ; this.#at++) {
      if (this.#text === '*') pointers++;
      else if (this.#text === '&' || this.#text === '&&') isReference = true;
      else if (!POINTER_QUALIFIERS.has(this.#text)) break;
    }
    const named = this.#tokens[this.#at];
    const name = named?.kind === 'name' ? named.text : '';
    if (name !== '') this.#at++;
    const extents: (Expression | undefined)[] = [];
    while (this.#takes('[')) {
      extents.push(this.#text === ']' ? undefined : this.expression());
      this.#need(']');
    }
    return { name, type: { ...base, pointers, isReference }, extents };
  }

  #declaration(): BareStatement {
    const base = this.#typeSpecifier();
    const declarators: Declarator[] = [];
    do {
      const declarator = this.#declarator(base);
      if (declarator.name === '') throw new SyntaxProblem('a declaration without a name');
      declarators.push({ ...declarator, ...this.#initialiser() });
    } while (this.#takes(','));
    this.#need(';');
    return { kind: 'declaration', declarators };
  }

  #initialiser(): Pick<Declarator, 'value' | 'arguments'> {
    if (this.#takes('=')) return { value: this.expression() };
    if (this.#text === '(') return { arguments: this.#argumentsIn('(') };
    if (this.#text === '{') return { arguments: this.#argumentsIn('{') };
    return {};
  }

  #argumentsIn(open: string): Expression[] {
    this.#need(open);
    const found: Expression[] = [];
    const close = CLOSING[open]!;
    while (this.#text !== close) {
      found.push(this.expression());
      if (!this.#takes(',')) break;
    }
    this.#need(close);
    return found;
  }

  #commaExpression(): Expression {
    let left = this.expression();
    while (this.#takes(',')) left = { kind: 'binary', operator: ',', left, right: this.expression() };
    return left;
  }

  /** Without commas. */
  expression(): Expression {
    const left = this.#conditional();
    const operator = this.#text;
    if (!ASSIGNMENTS.has(operator)) return left;
    this.#at++;
    return { kind: 'assignment', operator, target: left, value: this.expression() };
  }

  #conditional(): Expression {
    const test = this.#binary(1);
    if (!this.#takes('?')) return test;
    const whenTrue = this.#commaExpression();
    this.#need(':');
    return { kind: 'conditional', test, whenTrue, whenFalse: this.expression() };
  }

  #binary(least: number): Expression {
    let left = this.#unary();
    for (;;) {
      const operator = this.#text;
      const precedence = this.#tokens[this.#at]?.kind === 'punctuator' ? (PRECEDENCE[operator] ?? 0) : 0;
      if (precedence < least) return left;
      this.#at++;
      left = { kind: 'binary', operator, left, right: this.#binary(precedence + 1) };
    }
  }

  #unary(): Expression {
    const token = this.#next;
    if (token.kind === 'punctuator' && UNARY.has(token.text)) {
      this.#at++;
      return { kind: 'unary', operator: token.text, operand: this.#unary(), isPostfix: false };
    }
    if (token.text === 'sizeof') return this.#sizeOf();
    if (token.text === 'new') return this.#new();
    const type = token.text === '(' ? this.#castType() : undefined;
    if (type !== undefined) return { kind: 'cast', type, operand: this.#unary() };
    return this.#postfix(this.#primary());
  }

  /** `(type)` before an operand; nothing is consumed otherwise. */
  #castType(): CType | undefined {
    const end = behindBracket(this.#tokens, this.#at);
    const inside = this.#tokens.slice(this.#at + 1, end - 1);
    const next = this.#tokens[end];
    if (inside[0]?.kind !== 'name' || next === undefined) return undefined;
    if (next.kind === 'punctuator' && !/^[-(~!*&+]$/.test(next.text)) return undefined;
    const parser = new Parser(inside);
    const type = parser.#wholeType();
    if (type === undefined) return undefined;
    const isType = type.pointers > 0 || isKnownType(type.base);
    const followsOperand = next.kind === 'name' || next.kind === 'number';
    if (!isType && !(followsOperand && inside.length === 1)) return undefined;
    this.#at = end;
    return type;
  }

  /** The type that all tokens make. */
  #wholeType(): CType | undefined {
    try {
      const { name, type } = this.#declarator(this.#typeSpecifier());
      return name === '' && this.isAtEnd ? type : undefined;
    } catch (error) {
      if (error instanceof SyntaxProblem) return undefined;
      throw error;
    }
  }

  #sizeOf(): Expression {
    this.#at++;
    if (this.#text !== '(') return { kind: 'size-of', operand: this.#unary() };
    const end = behindBracket(this.#tokens, this.#at);
    const inside = this.#tokens.slice(this.#at + 1, end - 1);
    this.#at = end;
    const type = new Parser(inside).#wholeType();
    if (type !== undefined) return { kind: 'size-of', type };
    const operand = parseExpression(inside);
    if (operand === undefined) throw new SyntaxProblem('sizeof');
    return { kind: 'size-of', operand };
  }

  #new(): Expression {
    this.#at++;
    const type = this.#typeSpecifier();
    if (this.#takes('[')) {
      const count = this.expression();
      this.#need(']');
      if (this.#text === '(' || this.#text === '{') this.#argumentsIn(this.#text);
      return { kind: 'new', type, count };
    }
    if (this.#text === '(' || this.#text === '{') this.#argumentsIn(this.#text);
    return { kind: 'new', type };
  }

  #name(): Extract<Expression, { kind: 'name' }> {
    this.#takes('::');
    let name = '';
    let templateArguments: readonly TemplateArgument[] = [];
    for (;;) {
      const token = this.#tokens[this.#at];
      if (token?.kind !== 'name') throw new SyntaxProblem('no name');
      this.#at++;
      name += token.text;
      templateArguments = [];
      const behind = this.#text === '<' ? this.#behindTemplateArguments() : undefined;
      if (behind !== undefined) {
        templateArguments = splitAtCommas(this.#tokens.slice(this.#at + 1, behind - 1)).map(templateArgument);
        this.#at = behind;
      }
      if (!this.#takes('::')) break;
      name += '::';
    }
    return { kind: 'name', name, templateArguments };
  }

  /** A `<` after a name opens template arguments if what follows their `>` can follow a template's name. */
  #behindTemplateArguments(): number | undefined {
    const behind = behindAngle(this.#tokens, this.#at);
    if (behind === undefined) return undefined;
    const next = this.#tokens[behind];
    const inside = this.#tokens.slice(this.#at + 1, behind - 1);
    const isPlain = inside.every(({ kind, text }) => kind !== 'string' && !/^(?:\?|==|!=|;)$/.test(text));
    if (!isPlain) return undefined;
    if (next === undefined) return behind;
    return /^(?:\(|<<<|::|\{|\*|&|>|,|\))$/.test(next.text) || next.kind === 'name' ? behind : undefined;
  }

  #primary(): Expression {
    const token = this.#tokens[this.#at]!;
    if (token.kind === 'number') {
      this.#at++;
      return numberOf(token.text);
    }
    if (token.kind === 'character') {
      this.#at++;
      return { kind: 'text', text: token.text };
    }
    if (token.kind === 'string') {
      let text = '';
      for (; this.#tokens[this.#at]?.kind === 'string'; this.#at++) text += this.#text;
      return { kind: 'text', text };
    }
    if (token.text === '(') return this.#parenthesised();
    if (token.text === '{') return { kind: 'list', elements: this.#argumentsIn('{') };
    if (token.kind === 'name' || token.text === '::') return this.#nameOrCast();
    throw new SyntaxProblem(`no expression begins with ${token.text}`);
  }

  #nameOrCast(): Expression {
    const first = this.#text;
    if (CASTS.has(first) && this.#peek(1)?.text === '<') {
      const behind = behindAngle(this.#tokens, this.#at + 1);
      if (behind === undefined) throw new SyntaxProblem('a cast without a type');
      const type = new Parser(this.#tokens.slice(this.#at + 2, behind - 1)).#wholeType();
      this.#at = behind;
      const [operand] = this.#argumentsIn('(');
      if (type === undefined || operand === undefined) throw new SyntaxProblem('a cast without a type');
      return { kind: 'cast', type, operand };
    }
    if (BUILT_IN_TYPES.has(first)) {
      const type = this.#typeSpecifier();
      if (this.#text !== '(' && this.#text !== '{') throw new SyntaxProblem('a type alone');
      const [operand = numberOf('0')] = this.#argumentsIn(this.#text);
      return { kind: 'cast', type, operand };
    }
    const name = this.#name();
    if (this.#text !== '{' || !/^(?:dim3|u?int[1-4]|float[1-4]|double[1-4])$/.test(name.name)) return name;
    const type = { base: name.name, pointers: 0, isConst: false, isReference: false, templateArguments: [] };
    return { kind: 'list', type, elements: this.#argumentsIn('{') };
  }

  #postfix(start: Expression): Expression {
    let left = start;
    for (;;) {
      const { text, line } = this.#tokens[this.#at] ?? { text: '', line: 0 };
      if (text === '(') left = { kind: 'call', callee: left, arguments: this.#argumentsIn('(') };
      else if (text === '[') {
        this.#at++;
        left = { kind: 'index', object: left, index: this.#commaExpression() };
        this.#need(']');
      } else if (text === '.' || text === '->') {
        this.#at++;
        left = { kind: 'member', object: left, name: this.#name().name };
      } else if (text === '++' || text === '--') {
        this.#at++;
        left = { kind: 'unary', operator: text, operand: left, isPostfix: true };
      } else if (text === '<<<') left = this.#launch(left, line);
      else return left;
    }
  }

  #launch(callee: Expression, line: number): Expression {
    if (callee.kind !== 'name') throw new SyntaxProblem('a launch of no function');
    this.#need('<<<');
    const configuration = [this.expression()];
    while (this.#takes(',')) configuration.push(this.expression());
    this.#need('>>>');
    const { name, templateArguments } = callee;
    return {
      kind: 'launch',
      function: name,
      templateArguments,
      configuration,
      arguments: this.#argumentsIn('('),
      line,
    };
  }
}

type WithoutLine<T> = T extends unknown ? Omit<T, 'line'> : never;

type BareStatement = WithoutLine<Statement>;

const isKnownType = (base: string): boolean =>
  KNOWN_TYPES.has(base) || base.split(' ').every((word) => BUILT_IN_TYPES.has(word));

/** `long unsigned int` is `unsigned long`. */
function canonicalType(words: readonly string[]): string {
  if (words.length === 1 && words[0] !== 'signed' && words[0] !== 'unsigned') return words[0]!;
  const isUnsigned = words.includes('unsigned');
  const longs = words.filter((word) => word === 'long').length;
  const rest = ['double', 'char', 'short'].find((word) => words.includes(word));
  const size = rest ?? (longs > 1 ? 'long long' : longs === 1 ? 'long' : 'int');
  return isUnsigned ? `unsigned ${size}` : size;
}

function templateArgument(tokens: readonly Token[]): TemplateArgument {
  const text = textOf(tokens);
  const value = parseExpression(tokens);
  const parameter = parseParameters(tokens)[0];
  const type = parameter !== undefined && parameter.name === '' ? parameter.type : undefined;
  return { text, value, type };
}

function numberOf(text: string): Expression {
  const digits = text.replaceAll("'", '');
  const isHex = /^0[xX]/.test(digits);
  const isFloating = !isHex && /[.eE]/.test(digits);
  if (isFloating || (!isHex && /[fF]$/.test(digits))) {
    const isSingle = /[fF]$/.test(digits);
    const value = Number(digits.replace(/[fFlL]+$/, ''));
    return { kind: 'number', value, type: isSingle ? 'float' : 'double', text };
  }
  const plain = digits.replace(/[uUlLzZ]+$/, '');
  const value = /^0[0-7]+$/.test(plain) ? Number.parseInt(plain, 8) : Number(plain);
  const type: NumberType = /[uU]/.test(digits.slice(plain.length)) ? 'unsigned' : 'int';
  return { kind: 'number', value, type, text };
}
