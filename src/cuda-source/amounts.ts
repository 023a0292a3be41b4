import { PRECEDENCE } from './parser.ts';

/** Numbers of host code as formulas of the sizes that it names: grids, bytes, arguments. */

export type Amount =
  | { readonly kind: 'constant'; readonly value: number; readonly isFloating: boolean }
  /** A named size, such as `M`. */
  | { readonly kind: 'root'; readonly name: string; readonly isFloating: boolean }
  | { readonly kind: 'operation'; readonly operator: Operator; readonly operands: readonly Amount[] };

type Operation = (...values: number[]) => number;

/** `//` is C's division of integers that are not negative. */
const OPERATIONS = {
  '+': (...values) => values.reduce((sum, value) => sum + value, 0),
  '-': (a, b) => a! - b!,
  '*': (a, b) => a! * b!,
  '/': (a, b) => a! / b!,
  '//': (a, b) => Math.trunc(a! / b!),
  '%': (a, b) => a! % b!,
  '<<': (a, b) => a! * 2 ** b!,
  '>>': (a, b) => Math.floor(a! / 2 ** b!),
  '&': (a, b) => a! & b!,
  '|': (a, b) => a! | b!,
  '^': (a, b) => a! ^ b!,
  '<': (a, b) => Number(a! < b!),
  '<=': (a, b) => Number(a! <= b!),
  '>': (a, b) => Number(a! > b!),
  '>=': (a, b) => Number(a! >= b!),
  '==': (a, b) => Number(a! === b!),
  '!=': (a, b) => Number(a! !== b!),
  '&&': (a, b) => Number(a !== 0 && b !== 0),
  '||': (a, b) => Number(a !== 0 || b !== 0),
  '?:': (test, a, b) => (test === 0 ? b! : a!),
  ceilDiv: (a, b) => Math.ceil(a! / b!),
  floor: (a) => Math.floor(a!),
  ceil: (a) => Math.ceil(a!),
  min: (...values) => Math.min(...values),
  max: (...values) => Math.max(...values),
  sqrt: (a) => Math.sqrt(a!),
  log2: (a) => Math.log2(a!),
  abs: (a) => Math.abs(a!),
  pow: (a, b) => a! ** b!,
} satisfies Readonly<Record<string, Operation>>;

type Operator = keyof typeof OPERATIONS;

const COMPUTE: Readonly<Record<Operator, Operation>> = OPERATIONS;

export const constant = (value: number, isFloating = false): Amount => ({ kind: 'constant', value, isFloating });
export const root = (name: string, isFloating = false): Amount => ({ kind: 'root', name, isFloating });

const isFloatingAmount = (amount: Amount): boolean =>
  amount.kind === 'operation'
    ? /^(?:\/|sqrt|log2|pow|floor|ceil)$/.test(amount.operator) || amount.operands.some(isFloatingAmount)
    : amount.isFloating;

/** The names of which it is a formula, in order. */
export function rootsOf(amount: Amount): string[] {
  if (amount.kind === 'root') return [amount.name];
  return amount.kind === 'operation' ? [...new Set(amount.operands.flatMap(rootsOf))] : [];
}

/** The names that it grows with: those that it is only divided by are left out. */
export function growingRootsOf(amount: Amount): string[] {
  if (amount.kind === 'root') return [amount.name];
  if (amount.kind === 'constant') return [];
  const isDivision = /^(?:\/\/?|%|>>|ceilDiv)$/.test(amount.operator);
  const operands = isDivision ? amount.operands.slice(0, 1) : amount.operands;
  return [...new Set(operands.flatMap(growingRootsOf))];
}

const same = (left: Amount, right: Amount): boolean => JSON.stringify(left) === JSON.stringify(right);
const operation = (operator: Operator, ...operands: readonly Amount[]): Amount => ({
  kind: 'operation',
  operator,
  operands,
});

/** Its value; undefined where a root has none. */
export function evaluateAmount(amount: Amount, numberOf: (root: string) => number | undefined): number | undefined {
  if (amount.kind === 'constant') return amount.value;
  if (amount.kind === 'root') return numberOf(amount.name);
  const values = amount.operands.map((operand) => evaluateAmount(operand, numberOf));
  return values.includes(undefined) ? undefined : COMPUTE[amount.operator](...(values as number[]));
}

/** An operation with constants folded and round-up divisions found: `(n + 255) / 256` is `ceilDiv(n, 256)`. */
export function combineAmounts(operator: Operator, ...operands: readonly Amount[]): Amount {
  if (operator === '/' && !operands.some(isFloatingAmount)) return combineAmounts('//', ...operands);
  const values = operands.map((operand) => (operand.kind === 'constant' ? operand.value : undefined));
  if (!values.includes(undefined)) {
    const isFloating = !/^(?:[<>=!]=?|&&|\|\|)$/.test(operator) && operands.some(isFloatingAmount);
    return constant(COMPUTE[operator](...(values as number[])), isFloating);
  }
  return SIMPLER[operator]?.(operands[0]!, operands[1]!) ?? operation(operator, ...operands);
}

const isValue = (amount: Amount | undefined, value: number): boolean =>
  amount?.kind === 'constant' && amount.value === value;

type Simplify = (left: Amount, right: Amount) => Amount | undefined;

const SIMPLER: Partial<Record<Operator, Simplify>> = {
  '+'(left, right) {
    if (isValue(left, 0)) return right;
    if (isValue(right, 0)) return left;
    const folded = withConstant(left, right, 1);
    if (folded) return folded;
    return isValue(right, 1) ? roundedUpByOne(left) : isValue(left, 1) ? roundedUpByOne(right) : undefined;
  },
  '-': (left, right) => (isValue(right, 0) ? left : withConstant(left, right, -1)),
  '*'(left, right) {
    if (isValue(left, 1)) return right;
    if (isValue(right, 1)) return left;
    return isValue(left, 0) || isValue(right, 0) ? constant(0) : undefined;
  },
  '//'(left, right) {
    if (isValue(right, 1)) return left;
    const exact = right.kind === 'constant' ? dividedExactly(left, right.value) : undefined;
    return exact ?? roundedUp(left, right);
  },
  ceil: (inner) =>
    inner.kind === 'operation' && inner.operator === '/'
      ? combineAmounts('ceilDiv', inner.operands[0]!, inner.operands[1]!)
      : isFloatingAmount(inner)
        ? undefined
        : inner,
  floor: (inner) => (isFloatingAmount(inner) ? undefined : inner),
};

/** Terms of a sum with their signs; the constants in one. */
function termsOf(amount: Amount): { terms: { sign: 1 | -1; term: Amount }[]; rest: number } {
  if (amount.kind === 'constant') return { terms: [], rest: amount.value };
  const isSum = amount.kind === 'operation' && (amount.operator === '+' || amount.operator === '-');
  if (!isSum) return { terms: [{ sign: 1, term: amount }], rest: 0 };
  const left = termsOf(amount.operands[0]!);
  const right = termsOf(amount.operands[1]!);
  const flip = amount.operator === '-';
  return {
    terms: [...left.terms, ...right.terms.map(({ sign, term }) => ({ sign: (flip ? -sign : sign) as 1 | -1, term }))],
    rest: left.rest + (flip ? -right.rest : right.rest),
  };
}

function sumOf(terms: readonly { sign: 1 | -1; term: Amount }[], rest: number): Amount | undefined {
  const [first, ...others] = terms;
  if (first === undefined) return constant(rest);
  if (first.sign < 0) return undefined;
  const sum = others.reduce((all, { sign, term }) => operation(sign > 0 ? '+' : '-', all, term), first.term);
  if (rest === 0) return sum;
  return rest > 0 ? operation('+', sum, constant(rest)) : operation('-', sum, constant(-rest));
}

/** `H - 5 + 1` is `H - 4`. */
function withConstant(left: Amount, right: Amount, sign: 1 | -1): Amount | undefined {
  if (right.kind !== 'constant' || right.isFloating) return undefined;
  const { terms, rest } = termsOf(left);
  return rest === 0 || terms.length === 0 ? undefined : sumOf(terms, rest + sign * right.value);
}

/** (a + d − 1) / d. */
function roundedUp(numerator: Amount, divisor: Amount): Amount | undefined {
  const { terms, rest } = termsOf(numerator);
  if (divisor.kind === 'constant') {
    // ⌊(a + r) / d⌋ = ⌈(a + r − d + 1) / d⌉ for whole numbers.
    const isUp = divisor.value > 1 && rest > 0 && rest < divisor.value && terms.length > 0;
    const sum = isUp ? sumOf(terms, rest - divisor.value + 1) : undefined;
    return sum && operation('ceilDiv', sum, divisor);
  }
  const added = terms.findIndex(({ sign, term }) => sign > 0 && same(term, divisor));
  if (added < 0 || rest !== -1) return undefined;
  const sum = sumOf(terms.toSpliced(added, 1), 0);
  return sum && combineAmounts('ceilDiv', sum, divisor);
}

/** (a − 1) / d, to which 1 is added. */
function roundedUpByOne(quotient: Amount): Amount | undefined {
  if (quotient.kind !== 'operation' || quotient.operator !== '//') return undefined;
  const { terms, rest } = termsOf(quotient.operands[0]!);
  const sum = rest === -1 ? sumOf(terms, 0) : undefined;
  return sum && operation('ceilDiv', sum, quotient.operands[1]!);
}

/** A product without the constant factor, if it has it. */
export function dividedExactly(amount: Amount, divisor: number): Amount | undefined {
  if (amount.kind === 'constant') return amount.value % divisor === 0 ? constant(amount.value / divisor) : undefined;
  if (amount.kind !== 'operation' || amount.operator !== '*') return undefined;
  for (const [index, factor] of amount.operands.entries()) {
    const divided = dividedExactly(factor, divisor);
    if (divided === undefined) continue;
    return combineAmounts('*', ...amount.operands.with(index, divided));
  }
  return undefined;
}

/** The same formula with roots replaced. */
export function replaceRoots(amount: Amount, replacement: (name: string) => Amount | undefined): Amount {
  if (amount.kind === 'root') return replacement(amount.name) ?? amount;
  if (amount.kind === 'constant') return amount;
  return combineAmounts(amount.operator, ...amount.operands.map((operand) => replaceRoots(operand, replacement)));
}

/** As an expression of problem.json and kernel.json. */
export function printAmount(amount: Amount, least = 0): string {
  if (amount.kind === 'constant') return printNumber(amount.value);
  if (amount.kind === 'root') return amount.name;
  const { operator, operands } = amount;
  if (operator === '//') return `floor(${printAmount(operation('/', ...operands))})`;
  const precedence = operator === '?:' ? 0 : PRECEDENCE[operator];
  if (precedence === undefined) return `${operator}(${operands.map((operand) => printAmount(operand)).join(', ')})`;
  const [first, second, third] = operands;
  if (operands.length > 2 && operator !== '?:') {
    // Of the operators that bind as closely, only a remainder can't do without its brackets.
    const isRemainder = (one: Amount): boolean => one.kind === 'operation' && one.operator === '%';
    const texts = operands.map((one) => printAmount(one, isRemainder(one) ? precedence + 1 : precedence));
    const all = texts.join(` ${operator} `);
    return precedence < least ? `(${all})` : all;
  }
  const text =
    operator === '?:'
      ? `${printAmount(first!, 1)} ? ${printAmount(second!)} : ${printAmount(third!)}`
      : `${printAmount(first!, precedence)} ${operator} ${printAmount(second!, precedence + 1)}`;
  return precedence < least ? `(${text})` : text;
}

const printNumber = (value: number): string => (value < 0 ? `(${value})` : String(value));
