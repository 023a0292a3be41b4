/** Expressions, statements and declarations of the C that host code and reference functions are written in. */

/** A C type. `base` is the name without qualifiers: `int`, `unsigned`, `float`, `std::vector`, … */
export interface CType {
  readonly base: string;
  /** Number of `*`. */
  readonly pointers: number;
  readonly isConst: boolean;
  readonly isReference: boolean;
  /** Of a template: `std::vector<float>` has one. */
  readonly templateArguments: readonly TemplateArgument[];
}

/** A type or a value; a name may be either. */
export type TemplateArgument = { readonly type?: CType; readonly value?: Expression; readonly text: string };

export type Expression =
  | { readonly kind: 'number'; readonly value: number; readonly type: NumberType; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  /** A name with its namespaces: `std::max`. */
  | { readonly kind: 'name'; readonly name: string; readonly templateArguments: readonly TemplateArgument[] }
  | { readonly kind: 'unary'; readonly operator: string; readonly operand: Expression; readonly isPostfix: boolean }
  | { readonly kind: 'binary'; readonly operator: string; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'assignment'; readonly operator: string; readonly target: Expression; readonly value: Expression }
  | {
      readonly kind: 'conditional';
      readonly test: Expression;
      readonly whenTrue: Expression;
      readonly whenFalse: Expression;
    }
  | { readonly kind: 'call'; readonly callee: Expression; readonly arguments: readonly Expression[] }
  | Launch
  | { readonly kind: 'index'; readonly object: Expression; readonly index: Expression }
  | { readonly kind: 'member'; readonly object: Expression; readonly name: string }
  | { readonly kind: 'cast'; readonly type: CType; readonly operand: Expression }
  | { readonly kind: 'size-of'; readonly type?: CType; readonly operand?: Expression }
  | { readonly kind: 'list'; readonly type?: CType; readonly elements: readonly Expression[] }
  | { readonly kind: 'new'; readonly type: CType; readonly count?: Expression };

export type NumberType = 'int' | 'unsigned' | 'float' | 'double';

/** `function<templateArguments><<<configuration>>>(arguments)`. */
export interface Launch {
  readonly kind: 'launch';
  readonly function: string;
  readonly templateArguments: readonly TemplateArgument[];
  /** Grid, block, shared bytes, stream: two to four. */
  readonly configuration: readonly Expression[];
  readonly arguments: readonly Expression[];
  readonly line: number;
}

export interface Declarator {
  readonly name: string;
  readonly type: CType;
  /** Extents of an array, outermost first; undefined where the initialiser says it. */
  readonly extents: readonly (Expression | undefined)[];
  readonly value?: Expression | undefined;
  /** `dim3 grid(4, 5)`. */
  readonly arguments?: readonly Expression[] | undefined;
}

export type Statement = { readonly line: number } & (
  | { readonly kind: 'declaration'; readonly declarators: readonly Declarator[] }
  | { readonly kind: 'expression'; readonly expression: Expression }
  | { readonly kind: 'block'; readonly body: readonly Statement[] }
  | {
      readonly kind: 'if';
      readonly test: Expression;
      readonly whenTrue: Statement;
      readonly whenFalse?: Statement | undefined;
    }
  | {
      readonly kind: 'for';
      readonly start?: Statement | undefined;
      readonly test?: Expression | undefined;
      readonly step?: Expression | undefined;
      readonly body: Statement;
    }
  /** `for (auto& x : values)`: only its body is of use. */
  | { readonly kind: 'for-each'; readonly body: Statement }
  | { readonly kind: 'while'; readonly test: Expression; readonly body: Statement; readonly isDo: boolean }
  | { readonly kind: 'switch'; readonly value: Expression; readonly body: Statement }
  | { readonly kind: 'return'; readonly value?: Expression | undefined }
  | { readonly kind: 'jump'; readonly word: 'break' | 'continue' }
  /** What this parser does not know: a lambda, inline assembly, … */
  | { readonly kind: 'unknown'; readonly text: string }
);

export interface Parameter {
  /** Empty if it has none. */
  readonly name: string;
  readonly type: CType;
}

/** The same expression with names replaced, as a macro does it. */
export function substitute(expression: Expression, replacements: ReadonlyMap<string, Expression>): Expression {
  const walk = (node: Expression): Expression => {
    if (node.kind === 'name') return replacements.get(node.name) ?? node;
    return mapChildren(node, walk);
  };
  return walk(expression);
}

/** A copy with every direct part replaced. */
function mapChildren(node: Expression, replace: (part: Expression) => Expression): Expression {
  const entries = Object.entries(node).map(([key, value]) => {
    if (isExpression(value)) return [key, replace(value)];
    if (Array.isArray(value)) return [key, value.map((part) => (isExpression(part) ? replace(part) : part))];
    return [key, value];
  });
  return Object.fromEntries(entries) as Expression;
}

const isExpression = (value: unknown): value is Expression =>
  typeof value === 'object' && value !== null && typeof (value as { kind?: unknown }).kind === 'string';

/** Direct parts of an expression. */
export const partsOf = (node: Expression): Expression[] =>
  Object.values(node).flatMap((value) =>
    isExpression(value) ? [value] : Array.isArray(value) ? value.filter(isExpression) : [],
  );

/** An expression and all its parts. */
export function* everyPart(node: Expression): Generator<Expression> {
  yield node;
  for (const part of partsOf(node)) yield* everyPart(part);
}

/** What an expression assigns, increments or decrements. */
export function* assignedIn(expression: Expression): Generator<Expression> {
  for (const part of everyPart(expression)) {
    if (part.kind === 'assignment') yield part.target;
    if (part.kind === 'unary' && /^(?:\+\+|--)$/.test(part.operator)) yield part.operand;
  }
}

/** Expressions of a statement and of those in it. */
export function* expressionsIn(statement: Statement): Generator<Expression> {
  switch (statement.kind) {
    case 'declaration':
      for (const { value, arguments: args = [], extents } of statement.declarators) {
        if (value) yield value;
        yield* args;
        for (const extent of extents) if (extent) yield extent;
      }
      return;
    case 'expression':
      yield statement.expression;
      return;
    case 'block':
      for (const one of statement.body) yield* expressionsIn(one);
      return;
    case 'if':
      yield statement.test;
      yield* expressionsIn(statement.whenTrue);
      if (statement.whenFalse) yield* expressionsIn(statement.whenFalse);
      return;
    case 'for':
      if (statement.start) yield* expressionsIn(statement.start);
      if (statement.test) yield statement.test;
      if (statement.step) yield statement.step;
      yield* expressionsIn(statement.body);
      return;
    case 'for-each':
      yield* expressionsIn(statement.body);
      return;
    case 'while':
      yield statement.test;
      yield* expressionsIn(statement.body);
      return;
    case 'switch':
      yield statement.value;
      yield* expressionsIn(statement.body);
      return;
    case 'return':
      if (statement.value) yield statement.value;
      return;
    default:
  }
}
