import { suggestName } from '../nearest-name.ts';
import { rememberedAt } from '../once-for.ts';
import { type ExpressionErrorCode, type ExpressionPlace, expressionError } from './expression-error.ts';
import { EXPRESSION_FUNCTIONS } from './functions.ts';
import { BINARY_OPERATORS, UNARY_OPERATORS } from './operators.ts';
import { parseExpression } from './parser.ts';
import { childrenOf, type Expression, type ExpressionNode } from './syntax-tree.ts';

export type ExpressionScope = Readonly<Record<string, number>>;

/** Parsed expressions by text; a problem and its kernels have a few hundred. */
const parsed = new Map<string, ExpressionNode>();
const MAXIMUM_CACHED = 10_000;

/** Parses with a cache. @throws WarpsmithError as `parseExpression`. */
const cachedParse = (text: string, place?: ExpressionPlace): ExpressionNode =>
  rememberedAt(parsed, text, () => parseExpression(text, place), MAXIMUM_CACHED);

/**
 * The finite value of an expression. Names are looked up literally, dots included.
 *
 * @throws WarpsmithError `expression-syntax`, `unknown-function`, `unknown-name`, `division-by-zero`, `not-finite`,
 * `not-an-integer` (operand of a bit operator) or `negative-shift`.
 */
export function evaluateExpression(expression: Expression, scope: ExpressionScope, where?: ExpressionPlace): number {
  if (typeof expression === 'number') {
    if (Number.isFinite(expression)) return expression;
    throw expressionError(
      'not-finite',
      { message: 'Not a finite number', text: String(expression), column: 1, expected: 'a finite number' },
      where,
    );
  }
  return new Evaluation(expression, scope, where).value(cachedParse(expression, where));
}

/**
 * The value of an expression without rounding: `ceilDiv` divides, `ceil` and `floor` do nothing. For a grid's extent, this
 * is the number of tiles that the axis fills without padding.
 *
 * @throws WarpsmithError as `evaluateExpression`.
 */
export const evaluateUnrounded = (expression: Expression, scope: ExpressionScope): number =>
  typeof expression === 'number'
    ? evaluateExpression(expression, scope)
    : new Evaluation(expression, scope, undefined, UNROUNDED).value(cachedParse(expression));

const UNROUNDED: Readonly<Record<string, (...values: number[]) => number>> = {
  ceilDiv: (dividend, divisor) => dividend! / divisor!,
  ceil: (value) => value!,
  floor: (value) => value!,
};

/** Names an expression reads, each once, in order of appearance. @throws WarpsmithError as `parseExpression`. */
export function namesInExpression(expression: Expression, where?: ExpressionPlace): string[] {
  const names = new Set<string>();
  const visit = (node: ExpressionNode): void => {
    if (node.kind === 'name') names.add(node.name);
    for (const child of childrenOf(node)) visit(child);
  };
  if (typeof expression === 'string') visit(cachedParse(expression, where));
  return [...names];
}

/** The names that an expression reads, with their values: `['N = 8', 'TILE = 64']`. */
export const namedValues = (expression: Expression, scope: ExpressionScope): string[] =>
  namesInExpression(expression).map((name) => `${name} = ${scope[name]}`);

/**
 * Checks that an expression parses and reads only known names, without values for them.
 *
 * @throws WarpsmithError `expression-syntax`, `unknown-function` or `unknown-name`.
 */
export function checkExpression(expression: Expression, names: Iterable<string>, where?: ExpressionPlace): void {
  const known = new Set(names);
  const visit = (node: ExpressionNode): void => {
    if (node.kind === 'name' && !known.has(node.name)) throw unknownName(node, String(expression), known, where);
    for (const child of childrenOf(node)) visit(child);
  };
  if (typeof expression === 'string') visit(cachedParse(expression, where));
}

function unknownName(
  node: { name: string; column: number },
  text: string,
  names: Iterable<string>,
  where?: ExpressionPlace,
): Error {
  const known = [...names];
  return expressionError(
    'unknown-name',
    {
      message: `Unknown name \`${node.name}\``,
      text,
      column: node.column,
      expected: known.length === 0 ? 'no names' : `one of ${known.join(', ')}`,
      hint: suggestName(node.name, known),
    },
    where,
  );
}

/**
 * Whether an expression may be other than 0, or 0, where only some of its names have values: `WIDTH == 2 && N % 2 == 0` may be 0 only if WIDTH is 4.
 *
 * @throws WarpsmithError as `evaluateExpression`, of parts whose names all have values.
 */
export function canBe(wanted: boolean, expression: Expression, known: ExpressionScope): boolean {
  if (typeof expression === 'number') return (expression !== 0) === wanted;
  const evaluation = new Evaluation(expression, known, undefined);
  const isKnown = (node: ExpressionNode): boolean =>
    node.kind === 'name' ? Object.hasOwn(known, node.name) : childrenOf(node).every(isKnown);
  const visit = (node: ExpressionNode, as: boolean): boolean => {
    if (node.kind === 'unary' && node.operator === '!') return visit(node.operand, !as);
    if (node.kind === 'binary' && (node.operator === '&&' || node.operator === '||')) {
      const needsBoth = (node.operator === '&&') === as;
      return needsBoth ? visit(node.left, as) && visit(node.right, as) : visit(node.left, as) || visit(node.right, as);
    }
    return !isKnown(node) || (evaluation.value(node) !== 0) === as;
  };
  return visit(cachedParse(expression), wanted);
}

/** A part of an expression that may come out in several ways, and the way that it came out. */
export interface ObservedChoice {
  readonly place: ExpressionPlace | undefined;
  readonly node: ExpressionNode;
  /** `true` or `false`, or the number of the argument that a minimum or maximum takes, from 0. */
  readonly way: string;
}

type Observer = (choice: ObservedChoice) => void;

/** Set while {@link observingChoices} works; nothing is awaited meanwhile. */
let observer: Observer | undefined;

/**
 * Tells `observe` of every condition, minimum and maximum that is evaluated while `work` runs, in whatever expression: a list of places where
 * expressions stand would miss the next one.
 */
export function observingChoices<T>(observe: Observer, work: () => T): T {
  const before = observer;
  observer = observe;
  try {
    return work();
  } finally {
    observer = before;
  }
}

const CONDITIONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=', '&&', '||']);

class Evaluation {
  readonly #text: string;
  readonly #scope: ExpressionScope;
  readonly #where: ExpressionPlace | undefined;
  /** Functions that are other than the language's. */
  readonly #instead: Readonly<Record<string, (...values: number[]) => number>>;

  constructor(
    text: string,
    scope: ExpressionScope,
    where: ExpressionPlace | undefined,
    instead: Readonly<Record<string, (...values: number[]) => number>> = {},
  ) {
    this.#instead = instead;
    this.#text = text;
    this.#scope = scope;
    this.#where = where;
  }

  value(node: ExpressionNode): number {
    const value = this.#compute(node);
    if (Number.isFinite(value)) return value;
    throw this.#error('not-finite', node, `The value is ${value}`, 'a finite value');
  }

  #compute(node: ExpressionNode): number {
    switch (node.kind) {
      case 'number':
        return node.value;
      case 'name':
        if (Object.hasOwn(this.#scope, node.name)) return this.#scope[node.name]!;
        throw unknownName(node, this.#text, Object.keys(this.#scope), this.#where);
      case 'conditional':
        return this.value(this.#truth(node.condition) ? node.whenTrue : node.whenFalse);
      case 'unary':
        return this.#unary(node);
      case 'binary':
        return this.#binary(node);
      case 'call':
        return this.#call(node);
    }
  }

  /** Whether a node holds where a condition is asked for, of a number such as a flag, too. */
  #truth(node: ExpressionNode): boolean {
    const holds = this.value(node) !== 0;
    const isTold = node.kind === 'binary' && CONDITIONS.has(node.operator);
    if (!isTold) this.#tell(node, String(holds));
    return holds;
  }

  #tell(node: ExpressionNode, way: string): void {
    observer?.({ place: this.#where, node, way });
  }

  #unary(node: ExpressionNode & { kind: 'unary' }): number {
    const operator = UNARY_OPERATORS.get(node.operator)!;
    const operand = node.operator === '!' ? Number(this.#truth(node.operand)) : this.value(node.operand);
    if (operator.integer) this.#requireInteger(node, operand);
    return operator.apply(operand);
  }

  #binary(node: ExpressionNode & { kind: 'binary' }): number {
    const operator = BINARY_OPERATORS.get(node.operator)!;
    if (node.operator === '&&' || node.operator === '||') return this.#logical(node);
    const left = this.value(node.left);
    const right = this.value(node.right);
    if (operator.divides && right === 0) throw this.#divisionByZero(node);
    if (operator.integer) {
      this.#requireInteger(node, left);
      this.#requireInteger(node, right);
    }
    if (operator.shifts && right < 0) {
      const message = `\`${node.operator}\` got a negative count, ${right}`;
      throw this.#error('negative-shift', node, message, 'a count of at least 0');
    }
    const value = operator.apply(left, right);
    if (CONDITIONS.has(node.operator)) this.#tell(node, String(value !== 0));
    return value;
  }

  #logical(node: ExpressionNode & { kind: 'binary' }): number {
    const isAnd = node.operator === '&&';
    const left = this.#truth(node.left);
    const holds = left === isAnd ? this.#truth(node.right) : left;
    this.#tell(node, String(holds));
    return Number(holds);
  }

  #call(node: ExpressionNode & { kind: 'call' }): number {
    const fn = EXPRESSION_FUNCTIONS.get(node.functionName)!;
    const values = node.arguments.map((argument) => this.value(argument));
    if (fn.divisor !== undefined && values[fn.divisor] === 0) throw this.#divisionByZero(node);
    const value = (this.#instead[node.functionName] ?? fn.apply)(...values);
    if (fn.chooses && observer)
      for (const [index, one] of values.entries()) if (one === value) this.#tell(node, String(index));
    return value;
  }

  #requireInteger(node: { operator: string; column: number }, value: number): void {
    if (Number.isSafeInteger(value)) return;
    const message = `\`${node.operator}\` got ${value}, which is not an integer`;
    throw this.#error('not-an-integer', node, message, 'integer operands');
  }

  #divisionByZero(node: { column: number }): Error {
    const values = namedValues(this.#text, this.#scope).join(', ');
    return this.#error(
      'division-by-zero',
      node,
      'Division by zero',
      'a divisor that is not zero',
      values === '' ? undefined : `Here ${values}.`,
    );
  }

  #error(code: ExpressionErrorCode, node: { column: number }, message: string, expected: string, hint?: string): Error {
    return expressionError(code, { message, text: this.#text, column: node.column, expected, hint }, this.#where);
  }
}
