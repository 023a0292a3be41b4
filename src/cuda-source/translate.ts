import { type Amount, combineAmounts, constant, replaceRoots, root, rootsOf } from './amounts.ts';
import type { Item } from './items.ts';
import { type CudaSource, expandMacro, isKernel, resolveAlias, statementsOf, tearsMacro } from './source.ts';
import {
  assignedIn,
  type CType,
  type Declarator,
  type Expression,
  everyPart,
  expressionsIn,
  type Statement,
} from './syntax.ts';
import { dtypeOf, sizeOfType } from './types.ts';

/** A C function over arrays as TypeScript over Float64Arrays, with what its loops say about its work. */
export interface Translation {
  /** TypeScript functions; the first of them is the translated one. It takes the same arguments, and `round` last. */
  readonly text: string;
  readonly name: string;
  /** Floating-point operations of one call, in the parameters' names. */
  readonly flop: Amount;
  /** Length of the longest sum, likewise. */
  readonly terms: Amount;
  /** Whether it calls functions such as `exp`, whose fp32 versions err by themselves. */
  readonly isTranscendental: boolean;
  /** What each array parameter is used for. */
  readonly arrays: ReadonlyMap<string, ArrayUse>;
}

export interface ArrayUse {
  isRead: boolean;
  isWritten: boolean;
  /** Elements of which each is read in every call, as far as loops show; undefined if they do not. */
  dense?: Amount | undefined;
}

/** What the subset lacks, with its line in the file. */
export interface Untranslated {
  readonly reason: string;
  readonly line: number;
}

/** Thrown within this module only. */
class OutsideSubset extends Error {
  readonly line: number;
  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

/**
 * Translates a host function of plain C: loops, conditions, arithmetic, arrays, calls of `math.h` and of other such functions.
 * Arithmetic becomes float64, integer division stays whole.
 *
 * @param isConstant the value of a name that the file defines once and for all.
 */
export function translateFunction(
  source: CudaSource,
  item: Item,
  numberOf: (name: string) => number | undefined,
): Translation | Untranslated {
  const unit = new Unit(source, numberOf);
  try {
    const main = unit.translate(item);
    return {
      text: unit.text(),
      name: main.name,
      flop: main.flop,
      terms: main.terms,
      isTranscendental: unit.isTranscendental,
      arrays: main.arrays,
    };
  } catch (error) {
    if (!(error instanceof OutsideSubset)) throw error;
    return { reason: error.message, line: error.line };
  }
}

/** Functions of math.h and of CUDA, with and without `f`, `std::` and `__`. */
const MATH: Readonly<Record<string, (...texts: string[]) => string>> = {
  ...Object.fromEntries(
    (
      'exp log log2 log10 log1p expm1 sqrt cbrt sin cos tan tanh sinh cosh asin acos atan asinh acosh atanh ' +
      'floor ceil trunc hypot atan2 pow'
    )
      .split(' ')
      .map((name) => [name, (...texts: string[]) => `Math.${name}(${texts.join(', ')})`]),
  ),
  fabs: (x) => `Math.abs(${x})`,
  abs: (x) => `Math.abs(${x})`,
  fmax: (a, b) => `Math.max(${a}, ${b})`,
  fmin: (a, b) => `Math.min(${a}, ${b})`,
  max: (a, b) => `Math.max(${a}, ${b})`,
  min: (a, b) => `Math.min(${a}, ${b})`,
  rsqrt: (x) => `1 / Math.sqrt(${x})`,
  exp2: (x) => `2 ** (${x})`,
  fma: (a, b, c) => `(${a}) * (${b}) + (${c})`,
  fmod: (a, b) => `(${a}) % (${b})`,
  erf: (x) => `erf(${x})`,
};
/** Results of these are not atoms of an expression. */
const COMPOUND_MATH = /^(?:rsqrt|exp2|fma|fmod)$/;
const WHOLE_WHEN_ARGUMENTS_ARE = /^(?:max|min|abs)$/;
/** Correctly rounded in fp32, or exact. */
const EXACT_MATH = /^(?:fabs|abs|fmax|fmin|max|min|fma|sqrt|floor|ceil|trunc|fmod)$/;
/** Conversions that are the identity in float64. */
const CONVERSIONS = /^__(?:float2half|half2float|float2bfloat16|bfloat162float)(?:_r[nzud])?$/;

const NAMED_VALUES = new Map(
  Object.entries<string>({
    FLT_MAX: '3.4028234663852886e38',
    FLT_MIN: '1.1754943508222875e-38',
    FLT_EPSILON: '1.1920928955078125e-7',
    DBL_MAX: 'Number.MAX_VALUE',
    INFINITY: 'Infinity',
    HUGE_VALF: 'Infinity',
    NAN: 'NaN',
    M_PI: 'Math.PI',
    CUDART_PI_F: 'Math.PI',
    M_SQRT1_2: 'Math.SQRT1_2',
    M_SQRT2: 'Math.SQRT2',
    M_2_SQRTPI: '1.1283791670955126',
    INT_MAX: '2147483647',
    INT_MIN: '-2147483648',
    true: 'true',
    false: 'false',
  }),
);

/** `std::numeric_limits<float>::max()` */
const FLOAT_LIMITS = new Map(
  Object.entries<string>({
    max: '3.4028234663852886e38',
    lowest: '-3.4028234663852886e38',
    infinity: 'Infinity',
    epsilon: '1.1920928955078125e-7',
  }),
);

/** Calls that only print or check. */
const IGNORED_CALLS = /^(?:printf|fprintf|assert|free|fflush|puts)$/;

const ERF = `/** The error function to float64: its Taylor series, and the continued fraction of its complement beyond 2.5. */
function erf(x: number): number {
  const z = Math.abs(x);
  if (z < 2.5) {
    let term = x;
    let sum = x;
    for (let n = 1; n < 80; n++) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return (sum * 2) / Math.sqrt(Math.PI);
  }
  let fraction = 0;
  for (let n = 80; n > 0; n--) fraction = n / 2 / (z + fraction);
  return Math.sign(x) * (1 - Math.exp(-z * z) / Math.sqrt(Math.PI) / (z + fraction));
}`;

/** Words that TypeScript has taken, and names that the generated module uses. */
const TAKEN = new Set(
  (
    'in let var function of arguments eval export import delete typeof instanceof yield await async with super class ' +
    'extends const enum new this null undefined interface package private public protected static implements debugger ' +
    'finally throw try catch void default round reference inputs dimensions Math Number Float64Array erf Infinity NaN'
  ).split(' '),
);

/** A C name as TypeScript has it. */
export const scriptName = (name: string): string => (TAKEN.has(name) ? `${name}_` : name.replaceAll('::', '_'));

interface Translated extends Omit<Translation, 'isTranscendental'> {
  /** Whether it takes `round`. */
  readonly rounds: boolean;
  readonly result: Kind;
}

/** What a value is, as far as its arithmetic goes. */
type Kind = 'int' | 'unsigned' | 'wide' | 'float' | 'bool' | 'array';

class Unit {
  readonly source: CudaSource;
  readonly numberOf: (name: string) => number | undefined;
  readonly #functions = new Map<string, Translated | undefined>();
  usesErf = false;
  isTranscendental = false;

  constructor(source: CudaSource, numberOf: (name: string) => number | undefined) {
    this.source = source;
    this.numberOf = numberOf;
  }

  translate(item: Item): Translated {
    const known = this.#functions.get(item.name);
    if (known) return known;
    const line = item.tokens[0]!.line;
    if (this.#functions.has(item.name)) throw new OutsideSubset(`${item.name} calls itself`, line);
    this.#functions.set(item.name, undefined);
    const translated = new FunctionTranslator(this, item).run();
    this.#functions.delete(item.name);
    this.#functions.set(item.name, translated);
    return translated;
  }

  text(): string {
    const functions = [...this.#functions.values()].reverse().map((one) => one!.text);
    return [...functions, ...(this.usesErf ? [ERF] : [])].join('\n\n');
  }
}

interface Variable {
  readonly script: string;
  readonly kind: Kind;
  /** Of an array's elements. */
  readonly element?: Kind;
  /** Of an array with several extents: the texts of those behind the first. */
  readonly strides?: readonly string[];
  /** Name of the parameter that it is, or points into. */
  readonly parameter?: string;
  /** Number of enclosing loops where it was declared. */
  readonly depth: number;
  /** Bytes of an element in C. */
  readonly elementBytes?: number;
  /** Its value, of a loop's counter or a number that follows from parameters. */
  amount?: Amount | undefined;
}

interface Loop {
  readonly counter: string | undefined;
  readonly script: string;
  /** Times that its body runs; undefined where its head does not say. */
  readonly count: Amount | undefined;
  readonly from: Amount | undefined;
}

interface Code {
  readonly text: string;
  readonly kind: Kind;
  /** Whether it binds tighter than any operator. */
  readonly isAtom: boolean;
}

const atom = (text: string, kind: Kind): Code => ({ text, kind, isAtom: true });
const compound = (text: string, kind: Kind): Code => ({ text, kind, isAtom: false });
const wrapped = ({ text, isAtom }: Code): string => (isAtom ? text : `(${text})`);
const isWhole = (kind: Kind): boolean => kind === 'int' || kind === 'unsigned' || kind === 'wide' || kind === 'bool';
/** As a value of that kind, but for the wrapping of unsigned numbers. */
const converted = (code: Code, kind: Kind): string =>
  isWhole(kind) && code.kind === 'float' ? `Math.trunc(${code.text})` : numeric(code, kind);
/** As an operand that is true or false. */
const truth = (code: Code): string => (code.kind === 'bool' ? wrapped(code) : `${wrapped(code)} !== 0`);

class FunctionTranslator {
  readonly #unit: Unit;
  readonly #item: Item;
  readonly #arrays = new Map<string, ArrayUse>();
  #scopes: Map<string, Variable>[] = [new Map()];
  #loops: Loop[] = [];
  #conditions = 0;
  #line: number;
  #flop: Amount = constant(0);
  #terms: Amount = constant(1);
  #rounds = false;
  #result: Kind = 'float';
  /** Variables of the function that more than one statement assigns. */
  readonly #reassigned: ReadonlySet<string>;

  constructor(unit: Unit, item: Item) {
    this.#unit = unit;
    this.#item = item;
    this.#line = item.tokens[0]!.line;
    this.#reassigned = assignedNames(statementsOf(item));
  }

  run(): Translated {
    const item = this.#item;
    const parameters = item.function!.parameters.map(({ name, type }) => this.#parameter(name, type));
    const head = item.tokens.slice(
      0,
      item.tokens.findIndex(({ text }) => text === item.name),
    );
    const isVoid = head.some(({ text }) => text === 'void') && head.every(({ text }) => text !== '*');
    this.#result = head.some(({ text }) => text === 'bool')
      ? 'bool'
      : head.some(({ text }) => /^(?:float|double|half|auto|T|scalar_t)$/.test(text))
        ? 'float'
        : 'int';
    const body = statementsOf(item).flatMap((statement) => this.#statement(statement));
    const name = scriptName(item.name);
    if (this.#rounds) parameters.push('round: (value: number) => number');
    const returned = isVoid ? 'void' : this.#result === 'bool' ? 'boolean' : 'number';
    const text = [`function ${name}(${parameters.join(', ')}): ${returned} {`, ...indented(body), '}'].join('\n');
    const work = { flop: this.#flop, terms: this.#terms };
    return { name, text, ...work, arrays: this.#arrays, rounds: this.#rounds, result: this.#result };
  }

  #parameter(name: string, type: CType): string {
    if (name === '') throw this.#outside('a parameter without a name');
    const script = scriptName(name);
    const element = elementType(type);
    if (element !== undefined) {
      this.#scopes[0]!.set(name, { script, ...this.#arrayOf(element), parameter: name });
      this.#arrays.set(name, { isRead: false, isWritten: false });
      return `${script}: Float64Array`;
    }
    if (type.isReference ? !type.isConst : type.pointers > 0)
      throw this.#outside(`a parameter of type ${type.base}${'*'.repeat(type.pointers)}`);
    const kind = this.#kindOf(type);
    this.#scopes[0]!.set(name, { script, kind, depth: 0, amount: root(name, kind === 'float') });
    return `${script}: number`;
  }

  /** What is known of an array of such elements that is declared here. */
  #arrayOf(element: CType): Omit<Variable, 'script'> {
    const [kind, elementBytes] = [this.#kindOf(element), sizeOfType(element)];
    return { kind: 'array', element: kind, elementBytes, depth: this.#loops.length };
  }

  #outside(reason: string): OutsideSubset {
    return new OutsideSubset(reason, this.#line);
  }

  #kindOf(written: CType): Kind {
    const { templateParameters } = this.#item;
    const type = resolveAlias(this.#unit.source, written);
    if (templateParameters.includes(type.base)) return 'float';
    const dtype = dtypeOf(type);
    if (type.base === 'bool') return 'bool';
    if (dtype === undefined) {
      if (type.base === 'auto' && type.pointers === 0) return 'float';
      throw this.#outside(`the type ${type.base}${'*'.repeat(type.pointers)}`);
    }
    if (/^(?:f|bf)/.test(dtype)) return 'float';
    return dtype === 'u32' ? 'unsigned' : /64$/.test(dtype) ? 'wide' : 'int';
  }

  #find(name: string): Variable | undefined {
    return this.#scopes.findLast((scope) => scope.has(name))?.get(name);
  }

  #inScope<T>(run: () => T): T {
    this.#scopes.push(new Map());
    try {
      return run();
    } finally {
      this.#scopes.pop();
    }
  }

  #statement(statement: Statement): string[] {
    this.#line = statement.line;
    switch (statement.kind) {
      case 'declaration':
        return statement.declarators.flatMap((declarator) => this.#declare(declarator));
      case 'expression':
        return this.#expressionStatement(statement.expression);
      case 'block':
        if (statement.body.length === 0) return [];
        return ['{', ...indented(this.#block(statement)), '}'];
      case 'if':
        return this.#if(statement);
      case 'for':
        return this.#for(statement);
      case 'while':
        return this.#while(statement);
      case 'return':
        if (statement.value === undefined) return ['return;'];
        return [`return ${this.#returned(statement.value)};`];
      case 'jump':
        this.#conditions++;
        return [`${statement.word};`];
      case 'unknown':
        if (/^(?:#pragma|assert)/.test(statement.text)) return [];
        throw this.#outside(`\`${shortened(statement.text)}\``);
      default:
        throw this.#outside(`a ${statement.kind} statement`);
    }
  }

  #returned(value: Expression): string {
    return this.#result === 'bool' ? this.#test(value) : converted(this.#expression(value), this.#result);
  }

  /** Its statements without braces of its own. */
  #block(statement: Statement): string[] {
    if (statement.kind !== 'block') return this.#inScope(() => this.#statement(statement));
    return this.#inScope(() => statement.body.flatMap((one) => this.#statement(one)));
  }

  #if({ test, whenTrue, whenFalse }: Extract<Statement, { kind: 'if' }>): string[] {
    const head = `if (${this.#test(test)}) {`;
    this.#conditions++;
    const lines = [head, ...indented(this.#block(whenTrue))];
    if (whenFalse) {
      const other = whenFalse.kind === 'if' ? this.#if(whenFalse) : undefined;
      if (other) lines.push(`} else ${other[0]!}`, ...other.slice(1, -1));
      else lines.push('} else {', ...indented(this.#block(whenFalse)));
    }
    // A jump in a branch makes all that follows conditional.
    if (!jumps(whenTrue) && !(whenFalse && jumps(whenFalse))) this.#conditions--;
    return [...lines, '}'];
  }

  #for({ start, test, step, body }: Extract<Statement, { kind: 'for' }>): string[] {
    return this.#inScope(() => {
      const declared = start?.kind === 'declaration' ? start.declarators : undefined;
      const first = declared
        ? `let ${declared.map((one) => this.#counter(one)).join(', ')}`
        : start?.kind === 'expression'
          ? this.#effect(start.expression)
          : '';
      const loop = this.#loopOf(declared?.[0], start, test, step);
      const condition = test ? this.#test(test) : '';
      this.#loops.push(loop);
      const counter = loop.counter === undefined ? undefined : this.#find(loop.counter);
      if (counter) counter.amount = root(loop.script);
      const next = step ? this.#effect(step) : '';
      const lines = this.#block(body);
      this.#loops.pop();
      return [`for (${first}; ${condition}; ${next}) {`, ...indented(lines), '}'];
    });
  }

  #counter({ name, type, value }: Declarator): string {
    const kind = this.#kindOf(type);
    const code = value ? this.#expression(value) : atom('0', 'int');
    const script = scriptName(name);
    this.#scopes.at(-1)!.set(name, { script, kind, depth: this.#loops.length });
    return `${script} = ${converted(code, kind)}`;
  }

  #loopOf(
    declared: Declarator | undefined,
    start: Statement | undefined,
    test: Expression | undefined,
    step: Expression | undefined,
  ): Loop {
    const assigned =
      start?.kind === 'expression' && start.expression.kind === 'assignment' && start.expression.target.kind === 'name'
        ? { name: start.expression.target.name, value: start.expression.value }
        : undefined;
    const counter = declared?.name ?? assigned?.name;
    const script = (counter === undefined ? undefined : this.#find(counter)?.script) ?? 'loop';
    const none: Loop = { counter, script, count: undefined, from: undefined };
    const first = declared?.value ?? assigned?.value;
    if (counter === undefined || first === undefined || test?.kind !== 'binary') return none;
    if (test.left.kind !== 'name' || test.left.name !== counter) return none;
    const by = stepOf(step, counter);
    const [from, to] = [this.#amount(first), this.#amount(test.right)];
    const stride = by && this.#amount(by);
    if (!from || !to || !stride || !/^<=?$/.test(test.operator)) return none;
    const end = test.operator === '<=' ? combineAmounts('+', to, constant(1)) : to;
    const length = combineAmounts('-', end, from);
    const count = stride.kind === 'constant' && stride.value === 1 ? length : combineAmounts('ceilDiv', length, stride);
    return { counter, script, count, from };
  }

  #while({ test, body, isDo }: Extract<Statement, { kind: 'while' }>): string[] {
    const condition = this.#test(test);
    this.#loops.push({ counter: undefined, script: 'loop', count: undefined, from: undefined });
    this.#conditions++;
    const lines = indented(this.#block(body));
    this.#conditions--;
    this.#loops.pop();
    return isDo ? ['do {', ...lines, `} while (${condition});`] : [`while (${condition}) {`, ...lines, '}'];
  }

  #declare(declarator: Declarator): string[] {
    const { name, type, extents, value, arguments: args } = declarator;
    const script = scriptName(name);
    const scope = this.#scopes.at(-1)!;
    if (extents.length > 0) return [this.#declareArray(declarator, script)];
    const vector = /(?:^|::)vector$/.test(type.base) ? type.templateArguments[0]?.type : undefined;
    if (vector) {
      const [count, filled] = (args ?? []).map((argument) => this.#expression(argument));
      scope.set(name, { script, ...this.#arrayOf(vector) });
      const fill = filled ? `.fill(${filled.text})` : '';
      return [`const ${script} = new Float64Array(${count?.text ?? '0'})${fill};`];
    }
    if (type.pointers > 0 || (type.isReference && type.base === 'auto'))
      return [this.#declarePointer(declarator, script)];
    if (type.isReference) throw this.#outside(`a reference, ${name}`);
    const initial = value ?? (args?.length === 1 ? args[0] : undefined);
    const code = initial && this.#expression(initial);
    const kind = type.base === 'auto' && code ? code.kind : this.#kindOf(type);
    const amount = initial && !this.#reassigned.has(name) ? this.#amount(initial) : undefined;
    scope.set(name, { script, kind, depth: this.#loops.length, amount });
    const isFixed = code !== undefined && !this.#reassigned.has(name);
    const text = code === undefined ? '0' : this.#stored(code, kind);
    return [`${isFixed ? 'const' : 'let'} ${script} = ${text};`];
  }

  #declareArray({ name, type, extents, value, arguments: args }: Declarator, script: string): string {
    const array = this.#arrayOf({ ...type, pointers: 0 });
    const elements = value?.kind === 'list' ? value.elements : args;
    const counts = extents.map((extent) =>
      extent ? this.#expression(extent) : atom(String(elements?.length ?? 0), 'int'),
    );
    this.#scopes.at(-1)!.set(name, { script, ...array, strides: counts.slice(1).map(wrapped) });
    const size = counts.map(wrapped).join(' * ');
    const isZero = elements === undefined || elements.every((one) => one.kind === 'number' && one.value === 0);
    if (isZero) return `const ${script} = new Float64Array(${size});`;
    if (extents.length > 1) throw this.#outside(`the initial values of ${name}`);
    return `const ${script} = Float64Array.of(${elements.map((one) => this.#expression(one).text).join(', ')});`;
  }

  /** `const float* row = x + r * columns;`, `float* t = (float*)malloc(bytes);` */
  #declarePointer({ name, type, value }: Declarator, script: string): string {
    const element = { ...type, pointers: 0 };
    if (value === undefined || type.pointers > 1) throw this.#outside(`the pointer ${name}`);
    if (this.#reassigned.has(name)) throw this.#outside(`the pointer ${name}, which moves`);
    const made = this.#allocation(value, element);
    if (made !== undefined) {
      this.#scopes.at(-1)!.set(name, { script, ...this.#arrayOf(element) });
      return `const ${script} = ${made};`;
    }
    const { text, variable } = this.#place(value);
    const { kind, element: held, parameter, elementBytes } = variable;
    const depth = this.#loops.length;
    this.#scopes.at(-1)!.set(name, { script, kind, element: held!, parameter: parameter!, elementBytes, depth });
    return `const ${script} = ${text};`;
  }

  #allocation(value: Expression, element: CType): string | undefined {
    const inner = value.kind === 'cast' ? value.operand : value;
    if (inner.kind === 'new' && inner.count) return `new Float64Array(${this.#expression(inner.count).text})`;
    if (inner.kind !== 'call' || inner.callee.kind !== 'name') return undefined;
    const name = inner.callee.name.replace(/^std::/, '');
    const [first] = inner.arguments;
    const size = sizeOfType(element);
    if (name === 'calloc') return `new Float64Array(${this.#expression(first!).text})`;
    if (name !== 'malloc' || size === undefined) return undefined;
    return `new Float64Array(${wrapped(this.#expression(first!))} / ${size})`;
  }

  /** An array from an element on. */
  #place(node: Expression): { text: string; variable: Variable } {
    if (node.kind === 'cast') return this.#place(node.operand);
    if (node.kind === 'name') {
      const variable = this.#find(node.name);
      if (variable?.kind === 'array') return { text: variable.script, variable };
    }
    if (node.kind === 'unary' && node.operator === '&' && node.operand.kind === 'index') {
      const { object, index } = node.operand;
      const { text, variable } = this.#place(object);
      return { text: `${text}.subarray(${this.#expression(index).text})`, variable };
    }
    if (node.kind === 'binary' && node.operator === '+') {
      const { text, variable } = this.#place(node.left);
      return { text: `${text}.subarray(${this.#expression(node.right).text})`, variable };
    }
    if (node.kind === 'call' && node.callee.kind === 'member' && node.callee.name === 'data')
      return this.#place(node.callee.object);
    throw this.#outside('pointer arithmetic of this kind');
  }

  #expressionStatement(expression: Expression): string[] {
    if (expression.kind === 'call' && expression.callee.kind === 'name') {
      const name = expression.callee.name.replace(/^std::/, '');
      if (IGNORED_CALLS.test(name)) return [];
      if (name === 'memset') return [this.#memset(expression.arguments)];
      if (name === 'memcpy') return [this.#memcpy(expression.arguments)];
    }
    return [`${this.#effect(expression)};`];
  }

  #memset([target, value]: readonly Expression[]): string {
    const { text, variable } = this.#place(target!);
    if (value?.kind !== 'number' || value.value !== 0) throw this.#outside('memset to another value than 0');
    this.#use(variable, 'isWritten');
    return `${text}.fill(0);`;
  }

  #memcpy([target, from, bytes]: readonly Expression[]): string {
    const [to, origin] = [this.#place(target!), this.#place(from!)];
    const size = to.variable.elementBytes;
    if (size === undefined) throw this.#outside('memcpy');
    this.#use(to.variable, 'isWritten');
    this.#use(origin.variable, 'isRead');
    return `${to.text}.set(${origin.text}.subarray(0, ${wrapped(this.#expression(bytes!))} / ${size}));`;
  }

  /** An expression for its effect. */
  #effect(node: Expression): string {
    if (node.kind === 'unary' && /^(?:\+\+|--)$/.test(node.operator))
      return `${this.#target(node.operand).text}${node.operator}`;
    if (node.kind === 'binary' && node.operator === ',')
      return `${this.#effect(node.left)}, ${this.#effect(node.right)}`;
    if (node.kind === 'assignment') return this.#assignment(node);
    return this.#expression(node).text;
  }

  #assignment({ operator, target: to, value }: Extract<Expression, { kind: 'assignment' }>): string {
    if (operator !== '=' && hasEffects(to)) throw this.#outside('an index that changes in an assignment');
    const isSum = operator === '+=' || operator === '-=' || (operator === '=' && addsTo(to, value));
    if (isSum) this.#noteSum(to);
    const plain: Expression =
      operator === '=' ? value : { kind: 'binary', operator: operator.slice(0, -1), left: to, right: value };
    const target = this.#target(to);
    const code = this.#expression(plain);
    return `${target.text} = ${this.#stored(code, target.kind)}`;
  }

  /** The same text again, without counting its work twice. */
  #expressionQuietly(node: Expression): Code {
    const [flop, terms] = [this.#flop, this.#terms];
    const code = this.#expression(node);
    [this.#flop, this.#terms] = [flop, terms];
    return code;
  }

  #coerced(code: Code, kind: Kind): string {
    if (kind === 'unsigned' && code.kind !== 'unsigned')
      return `${wrapped(code.kind === 'float' ? atom(`Math.trunc(${code.text})`, 'int') : code)} >>> 0`;
    return converted(code, kind);
  }

  /** As a variable or element of that kind holds it. */
  #stored(code: Code, kind: Kind): string {
    if (kind !== 'float' || code.kind !== 'float' || /^-?[\d.]+(?:e[-+]?\d+)?$/.test(code.text))
      return this.#coerced(code, kind);
    this.#rounds = true;
    return `round(${code.text})`;
  }

  #target(node: Expression): Code {
    if (node.kind === 'name') {
      const variable = this.#find(node.name);
      if (variable === undefined || variable.kind === 'array') throw this.#outside(`an assignment to ${node.name}`);
      return atom(variable.script, variable.kind);
    }
    if (node.kind === 'index' || (node.kind === 'unary' && node.operator === '*'))
      return this.#element(node, 'isWritten');
    throw this.#outside('an assignment to something else than a variable or an element');
  }

  #use(variable: Variable, how: 'isRead' | 'isWritten'): void {
    const use = variable.parameter === undefined ? undefined : this.#arrays.get(variable.parameter);
    if (use) use[how] = true;
  }

  #element(node: Expression, how: 'isRead' | 'isWritten'): Code {
    const { array, indices } = elementPath(node);
    const { text, variable } = this.#place(array);
    const strides = variable.strides ?? [];
    if (indices.length !== strides.length + 1) throw this.#outside('an array with a part of its indices');
    this.#use(variable, how);
    if (how === 'isRead') this.#noteDense(variable, array, indices);
    const [first, ...rest] = indices.map((index) => this.#wholeExpression(index));
    const flat = rest.reduce<Code>(
      (all, index, axis) => compound(`${wrapped(all)} * ${strides[axis]} + ${wrapped(index)}`, 'int'),
      first!,
    );
    return atom(`${text}[${flat.text}]${how === 'isRead' ? '!' : ''}`, variable.element!);
  }

  #wholeExpression(node: Expression): Code {
    const code = this.#expression(node);
    if (code.kind === 'float') throw this.#outside('an index that is no integer');
    return code;
  }

  /** `x[r * columns + c]` within loops over r and c reads every element once if their counts multiply to its size. */
  #noteDense(variable: Variable, array: Expression, indices: readonly Expression[]): void {
    const use = variable.parameter === undefined ? undefined : this.#arrays.get(variable.parameter);
    if (!use || this.#conditions > 0 || array.kind !== 'name' || indices.length !== 1) return;
    const index = this.#amount(indices[0]!);
    if (index === undefined) return;
    const names = new Set(rootsOf(index));
    const loops = this.#loops.filter(({ script }) => names.has(script));
    if (loops.length === 0 || loops.some(({ count, from }) => !count || from?.kind !== 'constant' || from.value !== 0))
      return;
    use.dense ??= loops.reduce<Amount>((all, { count }) => combineAmounts('*', all, count!), constant(1));
  }

  #noteSum(target: Expression): void {
    const own = target.kind === 'name' ? (this.#find(target.name)?.depth ?? 0) : 0;
    const inIndex = target.kind === 'name' ? new Set<string>() : new Set(namesOf(target));
    const loops = this.#loops.slice(own).filter(({ counter }) => counter === undefined || !inIndex.has(counter));
    const count = this.#product(loops, 1);
    if (count) this.#terms = this.#largest(this.#terms, count);
  }

  #largest(a: Amount, b: Amount): Amount {
    const parts = (amount: Amount) =>
      amount.kind === 'operation' && amount.operator === 'max' ? amount.operands : [amount];
    const all = new Map([...parts(a), ...parts(b)].map((part) => [JSON.stringify(part), part]));
    const open = [...all.values()].filter(({ kind }) => kind !== 'constant');
    if (open.length > 1) return { kind: 'operation', operator: 'max', operands: open };
    return open[0] ?? (a.kind === 'constant' && b.kind === 'constant' && a.value > b.value ? a : b);
  }

  /** Times that the body of these loops runs. A counter of another loop in a bound stands for `share` of that loop's length. */
  #product(loops: readonly Loop[], share: number): Amount | undefined {
    const means = new Map(this.#loops.map(({ script, count }) => [script, count] as const));
    const settle = (amount: Amount, left = 8): Amount | undefined => {
      if (left === 0) return undefined;
      let isKnown = true;
      const settled = replaceRoots(amount, (name) => {
        if (!means.has(name)) return undefined;
        const count = means.get(name);
        const inner = count && settle(count, left - 1);
        if (!inner) isKnown = false;
        return inner && (share === 1 ? inner : combineAmounts('//', inner, constant(1 / share)));
      });
      return isKnown ? settled : undefined;
    };
    return loops.reduce<Amount | undefined>((all, { count }) => {
      const settled = count && settle(count);
      return all && settled && combineAmounts('*', all, settled);
    }, constant(1));
  }

  /** Adds work that is done each time that this place is come to. */
  #work(flop: Amount): void {
    const times = this.#product(this.#loops, 0.5);
    if (times) this.#flop = addWork(this.#flop, combineAmounts('*', flop, times));
  }

  /** A whole number as a formula of parameters and loop counters; undefined if it is none. */
  #amount(node: Expression): Amount | undefined {
    switch (node.kind) {
      case 'number':
        return constant(node.value);
      case 'name': {
        const variable = this.#find(node.name);
        if (variable) return variable.amount;
        const macro = this.#unit.source.macros.get(node.name);
        const value = this.#unit.numberOf(node.name);
        if (value !== undefined) return root(node.name);
        return macro?.expression && !macro.parameters ? this.#amount(macro.expression) : undefined;
      }
      case 'cast':
        return this.#amount(node.operand);
      case 'binary': {
        const [left, right] = [this.#amount(node.left), this.#amount(node.right)];
        return left && right && /^[-+*/%]$/.test(node.operator)
          ? combineAmounts(node.operator as '+', left, right)
          : undefined;
      }
      case 'call': {
        const inlined = this.#inlined(node);
        return inlined && this.#amount(inlined);
      }
      default:
        return undefined;
    }
  }

  #inlined(node: Extract<Expression, { kind: 'call' }>): Expression | undefined {
    if (node.callee.kind !== 'name') return undefined;
    const macro = this.#unit.source.macros.get(node.callee.name);
    if (!macro?.expression || !macro.parameters) return undefined;
    const expanded = expandMacro(macro, node.arguments);
    if (expanded === undefined) throw this.#outside(`the macro ${macro.name}, whose parts lack parentheses`);
    return expanded;
  }

  #test(node: Expression): string {
    const code = this.#expression(node);
    return code.kind === 'bool' ? code.text : `${wrapped(code)} !== 0`;
  }

  #expression(node: Expression): Code {
    switch (node.kind) {
      case 'number':
        return numberCode(node);
      case 'name':
        return this.#name(node.name);
      case 'unary':
        return this.#unary(node);
      case 'binary':
        return this.#binary(node);
      case 'conditional':
        return this.#conditional(node);
      case 'index':
        return this.#element(node, 'isRead');
      case 'cast':
        return this.#cast(node);
      case 'call':
        return this.#call(node);
      case 'assignment':
        return compound(this.#assignment(node), 'float');
      case 'size-of': {
        const size = node.type && sizeOfType(node.type);
        if (size === undefined) throw this.#outside('sizeof of this');
        return atom(String(size), 'wide');
      }
      case 'member':
        throw this.#outside(`a member, .${node.name}`);
      default:
        throw this.#outside(`an expression of the kind ${node.kind}`);
    }
  }

  #name(name: string): Code {
    const variable = this.#find(name);
    if (variable?.kind === 'array') throw this.#outside(`the array ${name} as a value`);
    if (variable) return atom(variable.script, variable.kind);
    const named = NAMED_VALUES.get(name);
    if (named !== undefined)
      return atom(named, /^(?:true|false)$/.test(name) ? 'bool' : /^INT/.test(name) ? 'int' : 'float');
    const macro = this.#unit.source.macros.get(name);
    const value = this.#unit.numberOf(name);
    if (value !== undefined) {
      const isFloating = macro?.expression
        ? this.#expressionQuietly(macro.expression).kind === 'float'
        : !Number.isInteger(value);
      return atom(value < 0 ? `(${value})` : String(value), isFloating ? 'float' : 'int');
    }
    if (macro?.expression && !macro.parameters) {
      const inner = this.#expression(macro.expression);
      return inner.isAtom ? inner : atom(`(${inner.text})`, inner.kind);
    }
    throw this.#outside(`the name ${name}`);
  }

  #unary(node: Extract<Expression, { kind: 'unary' }>): Code {
    const { operator, operand, isPostfix } = node;
    if (operator === '*') return this.#element(node, 'isRead');
    if (operator === '++' || operator === '--') {
      const target = this.#target(operand);
      return compound(isPostfix ? `${target.text}${operator}` : `${operator}${target.text}`, target.kind);
    }
    if (operator === '!') return compound(`!(${this.#test(operand)})`, 'bool');
    const code = this.#expression(operand);
    if (operator === '+') return code;
    if (operator === '-') return compound(`-${wrapped(code)}`, code.kind);
    if (operator === '~' && code.kind !== 'float')
      return compound(code.kind === 'unsigned' ? `~${wrapped(code)} >>> 0` : `~${wrapped(code)}`, code.kind);
    throw this.#outside(`the operator ${operator}`);
  }

  #binary({ operator, left: l, right: r }: Extract<Expression, { kind: 'binary' }>): Code {
    if (operator === '&&' || operator === '||') {
      const parts = [l, r].map((part) => truth(this.#expression(part)));
      return compound(parts.join(` ${operator} `), 'bool');
    }
    if (tearsMacro(this.#unit.source, operator, l, r)) throw this.#outside('a macro that lacks parentheses');
    const [left, right] = [this.#expression(l), this.#expression(r)];
    const kind = joined(left.kind, right.kind);
    const plain = `${this.#operand(left, operator, true)} ${operator} ${this.#operand(right, operator, false)}`;
    if (/^(?:<|<=|>|>=)$/.test(operator)) return compound(plain, 'bool');
    if (operator === '==' || operator === '!=')
      return compound(plain.replace(` ${operator} `, ` ${operator}= `), 'bool');
    if (/^[-+*/]$/.test(operator) && kind === 'float') {
      this.#work(constant(1));
      return compound(plain, 'float');
    }
    return this.#wholeBinary(operator, kind, left, right, plain);
  }

  #wholeBinary(operator: string, kind: Kind, left: Code, right: Code, plain: string): Code {
    if (operator === '/') return atom(`Math.trunc(${plain})`, kind);
    if (operator === '*' && kind === 'unsigned') return compound(`Math.imul(${left.text}, ${right.text}) >>> 0`, kind);
    if (/^[-+]$/.test(operator) && kind === 'unsigned') return compound(`(${plain}) >>> 0`, kind);
    if (/^[-+*%]$/.test(operator)) return compound(plain, kind);
    if (!/^(?:<<|>>|&|\||\^)$/.test(operator) || kind === 'float') throw this.#outside(`the operator ${operator}`);
    if (kind === 'wide') throw this.#outside(`${operator} of 64-bit integers`);
    if (left.kind === 'unsigned' || kind === 'unsigned')
      return compound(operator === '>>' ? `${wrapped(left)} >>> ${wrapped(right)}` : `(${plain}) >>> 0`, 'unsigned');
    return compound(plain, 'int');
  }

  /** With parentheses only where JavaScript's precedence, which is C's, needs them. */
  #operand(code: Code, operator: string, isLeft: boolean): string {
    if (code.isAtom) return code.text;
    const isSumOfSums = isLeft && operator === '+' && /^[^()?<>=&|^]*$/.test(code.text);
    return isSumOfSums ? code.text : `(${code.text})`;
  }

  #conditional({ test, whenTrue, whenFalse }: Extract<Expression, { kind: 'conditional' }>): Code {
    const head = truth(this.#expression(test));
    this.#conditions++;
    const [a, b] = [this.#expression(whenTrue), this.#expression(whenFalse)];
    this.#conditions--;
    return compound(`${head} ? ${wrapped(a)} : ${wrapped(b)}`, joined(a.kind, b.kind));
  }

  #cast({ type, operand }: Extract<Expression, { kind: 'cast' }>): Code {
    const code = this.#expression(operand);
    const kind = this.#kindOf(type);
    if (kind === 'float')
      return code.kind === 'float'
        ? code
        : { ...atom(numeric(code, 'float'), 'float'), isAtom: code.isAtom && code.kind !== 'bool' };
    if (code.kind === 'float') return atom(`Math.trunc(${code.text})`, kind);
    if (kind === 'unsigned' && code.kind !== 'unsigned') return compound(`${wrapped(code)} >>> 0`, kind);
    return { ...code, kind };
  }

  #call(node: Extract<Expression, { kind: 'call' }>): Code {
    const { callee, arguments: args } = node;
    if (callee.kind === 'member') {
      if (callee.name !== 'size' || callee.object.kind !== 'name') throw this.#outside(`a call of .${callee.name}()`);
      return atom(`${this.#place(callee.object).text}.length`, 'wide');
    }
    if (callee.kind !== 'name') throw this.#outside('a call of this kind');
    const inlined = this.#inlined(node);
    if (inlined) return atom(`(${this.#expression(inlined).text})`, this.#expressionQuietly(inlined).kind);
    const limit = /numeric_limits::(\w+)$/.exec(callee.name)?.[1];
    if (limit !== undefined) return this.#limit(limit);
    const own = this.#unit.source.functions.get(callee.name.split('::').at(-1)!)?.find((item) => !isKernel(item));
    if (own) return this.#ownCall(own, args);
    return this.#mathCall(callee.name, args);
  }

  /** The parser drops the template argument of a qualified name's inner part; float is what such code means. */
  #limit(name: string): Code {
    const text = FLOAT_LIMITS.get(name);
    if (text === undefined) throw this.#outside(`numeric_limits::${name}`);
    return atom(text.startsWith('-') ? `(${text})` : text, 'float');
  }

  #mathCall(name: string, args: readonly Expression[]): Code {
    const bare = name.replace(/^std::/, '').replace(/^__(?=\w+f$)/, '');
    const codes = args.map((argument) => this.#expression(argument));
    if (CONVERSIONS.test(name)) return codes[0]!;
    const known = [bare, bare.replace(/f$/, '')].find((one) => Object.hasOwn(MATH, one));
    if (known === undefined) throw this.#outside(`a call of ${name}`);
    if (known === 'erf') this.#unit.usesErf = true;
    const text = MATH[known]!(...codes.map((code) => code.text));
    if (!EXACT_MATH.test(known)) this.#unit.isTranscendental = true;
    const staysWhole = WHOLE_WHEN_ARGUMENTS_ARE.test(known) && codes.every(({ kind }) => isWhole(kind));
    if (staysWhole) return atom(text, codes.map(({ kind }) => kind).reduce(joined));
    this.#work(constant(known === 'fma' ? 2 : 1));
    return COMPOUND_MATH.test(known) ? compound(text, 'float') : atom(text, 'float');
  }

  #ownCall(item: Item, args: readonly Expression[]): Code {
    const translated = this.#unit.translate(item);
    const amounts = new Map<string, Amount | undefined>();
    const texts = args.map((argument, i) => {
      const { name, type } = item.function!.parameters[i] ?? { name: '', type: undefined };
      if (type && elementType(type)) {
        const { text, variable } = this.#place(argument);
        const use = translated.arrays.get(name);
        if (use?.isRead) this.#use(variable, 'isRead');
        if (use?.isWritten) this.#use(variable, 'isWritten');
        return text;
      }
      amounts.set(name, this.#amount(argument));
      return numeric(this.#expression(argument), 'float');
    });
    if (translated.rounds) {
      this.#rounds = true;
      texts.push('round');
    }
    const bound = (amount: Amount): Amount | undefined =>
      rootsOf(amount).every((name) => !amounts.has(name) || amounts.get(name))
        ? replaceRoots(amount, (name) => amounts.get(name))
        : undefined;
    const [flop, terms] = [bound(translated.flop), bound(translated.terms)];
    if (flop && terms) {
      this.#work(flop);
      this.#terms = this.#largest(this.#terms, terms);
    }
    return atom(`${translated.name}(${texts.join(', ')})`, translated.result);
  }
}

/** Sums of equal products are kept together: 2 · M · N · K, not M · N · K + M · N · K. */
function addWork(sum: Amount, more: Amount): Amount {
  const terms = sum.kind === 'operation' && sum.operator === '+' ? [...sum.operands] : [sum];
  const [count, rest] = splitConstant(more);
  const known = terms.findIndex((term) => JSON.stringify(splitConstant(term)[1]) === JSON.stringify(rest));
  if (known >= 0) terms[known] = combineAmounts('*', constant(splitConstant(terms[known]!)[0] + count), rest);
  else terms.push(more);
  const left = terms.filter((term) => !(term.kind === 'constant' && term.value === 0));
  return left.length > 1 ? { kind: 'operation', operator: '+', operands: left } : (left[0] ?? constant(0));
}

function splitConstant(amount: Amount): [number, Amount] {
  if (amount.kind === 'constant') return [amount.value, constant(1)];
  if (amount.kind !== 'operation' || amount.operator !== '*') return [1, amount];
  const [a, restA] = splitConstant(amount.operands[0]!);
  const [b, restB] = splitConstant(amount.operands[1]!);
  return [a * b, combineAmounts('*', restA, restB)];
}

const indented = (lines: readonly string[]): string[] => lines.map((line) => (line === '' ? line : `  ${line}`));

const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 57)}…` : text);

/** Of a pointer or vector parameter: what it holds. */
function elementType(type: CType): CType | undefined {
  if (/(?:^|::)vector$/.test(type.base)) return type.templateArguments[0]?.type;
  return type.pointers === 1 ? { ...type, pointers: 0, isReference: false } : undefined;
}

function numberCode({ value, type, text }: Extract<Expression, { kind: 'number' }>): Code {
  if (type === 'int' || type === 'unsigned') return atom(String(value), type);
  // A float literal is the float next to what it says.
  const isInexact = type === 'float' && Math.fround(value) !== value;
  const plain = text
    .replace(/[fFlL]+$/, '')
    .replace(/\.$/, '')
    .replace(/^\./, '0.');
  return atom(isInexact ? `Math.fround(${plain})` : String(value), 'float');
}

const numeric = (code: Code, kind: Kind): string =>
  code.kind === 'bool' && kind !== 'bool' ? `Number(${code.text})` : code.text;

/** C's usual arithmetic conversions. */
function joined(a: Kind, b: Kind): Kind {
  for (const kind of ['float', 'wide', 'unsigned'] as const) if (a === kind || b === kind) return kind;
  return 'int';
}

/** `x[i][j]`: x, and i, j. `*p` is `p[0]`. */
function elementPath(node: Expression): { array: Expression; indices: Expression[] } {
  if (node.kind === 'unary' && node.operator === '*')
    return { array: node.operand, indices: [{ kind: 'number', value: 0, type: 'int', text: '0' }] };
  if (node.kind !== 'index') return { array: node, indices: [] };
  const { array, indices } = elementPath(node.object);
  return { array, indices: [...indices, node.index] };
}

const namesOf = (node: Expression): string[] =>
  [...everyPart(node)].flatMap((part) => (part.kind === 'name' ? [part.name] : []));

const hasEffects = (node: Expression): boolean =>
  [...everyPart(node)].some(
    (part) => part.kind === 'assignment' || (part.kind === 'unary' && /^(?:\+\+|--)$/.test(part.operator)),
  );

/** `x = x + …`, `x = fmaf(a, b, x)` */
function addsTo(target: Expression, value: Expression): boolean {
  const wanted = JSON.stringify(target);
  if (value.kind === 'call' && value.callee.kind === 'name' && /^(?:std::)?fmaf?$/.test(value.callee.name))
    return JSON.stringify(value.arguments[2]) === wanted;
  return (
    value.kind === 'binary' &&
    /^[-+]$/.test(value.operator) &&
    [value.left, value.right].some((part) => JSON.stringify(part) === wanted || addsTo(target, part))
  );
}

/** What a loop's counter grows by. */
function stepOf(step: Expression | undefined, counter: string): Expression | undefined {
  const one: Expression = { kind: 'number', value: 1, type: 'int', text: '1' };
  if (step?.kind === 'unary' && step.operator === '++' && step.operand.kind === 'name')
    return step.operand.name === counter ? one : undefined;
  if (step?.kind !== 'assignment' || step.target.kind !== 'name' || step.target.name !== counter) return undefined;
  return step.operator === '+=' ? step.value : undefined;
}

/** Whether it may leave the loop or the function. */
function jumps(statement: Statement): boolean {
  switch (statement.kind) {
    case 'jump':
    case 'return':
      return true;
    case 'block':
      return statement.body.some(jumps);
    case 'if':
      return jumps(statement.whenTrue) || (statement.whenFalse !== undefined && jumps(statement.whenFalse));
    case 'for':
    case 'while':
      return jumps(statement.body);
    default:
      return false;
  }
}

/** Names that are assigned after their declaration. */
function assignedNames(statements: readonly Statement[]): Set<string> {
  const targets = statements.flatMap((one) =>
    [...expressionsIn(one)].flatMap((expression) => [...assignedIn(expression)]),
  );
  return new Set(targets.flatMap((target) => (target.kind === 'name' ? [target.name] : [])));
}
