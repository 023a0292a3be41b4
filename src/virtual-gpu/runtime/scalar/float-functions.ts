import type { PtxInstruction } from '../../../ptx/ast.ts';
import type { FloatName, Rounding, Value } from './exact-float.ts';
import * as exact from './exact-float.ts';
import type { LaneOperands, ScalarCompiler } from './scalar-function.ts';

const ROUNDINGS: readonly Rounding[] = ['rn', 'rz', 'rm', 'rp', 'rna'];

export const roundingOf = (instruction: PtxInstruction): Rounding =>
  ROUNDINGS.find((rounding) => instruction.modifiers.includes(rounding)) ?? 'rn';

/** Element type of a floating-point type name: `f16` for `f16x2`. */
export function elementName(type: string): FloatName | undefined {
  const element = type.endsWith('x2') ? type.slice(0, -2) : type;
  return exact.isFloatName(element) ? element : undefined;
}

/** One element's result pattern from its operands' patterns. */
type ElementFunction = (patterns: readonly bigint[]) => bigint;

/** Applies an element function to scalars, or to both halves of packed operands. */
function elementwise(type: string, count: number, compute: ElementFunction): (operands: LaneOperands) => bigint[] {
  const indices = Array.from({ length: count }, (_, i) => i + 1);
  if (!type.endsWith('x2')) return (operands) => [compute(indices.map((i) => operands.unsigned(i, type)))];
  const half = (operands: LaneOperands, shift: bigint): bigint =>
    compute(indices.map((i) => (operands.unsigned(i, 'b32') >> shift) & 0xffffn));
  return (operands) => [half(operands, 0n) | (half(operands, 16n) << 16n)];
}

/** `.ftz`, `.sat` and `.relu` on a rounded result. */
export function finisher(instruction: PtxInstruction, name: FloatName): (pattern: bigint) => bigint {
  const steps: ((pattern: bigint) => bigint)[] = [];
  if (instruction.modifiers.includes('ftz')) steps.push((pattern) => exact.flushPattern(name, pattern));
  if (instruction.modifiers.includes('sat')) steps.push((pattern) => exact.saturatePattern(name, pattern));
  if (instruction.modifiers.includes('relu')) steps.push((pattern) => exact.rectifyPattern(name, pattern));
  return (pattern) => steps.reduce((result, step) => step(result), pattern);
}

/** The value of an operand pattern: under `.ftz` a subnormal is zero. */
const reader = (instruction: PtxInstruction, name: FloatName): ((pattern: bigint) => bigint) =>
  instruction.modifiers.includes('ftz') ? (pattern) => exact.flushPattern(name, pattern) : (pattern) => pattern;

/** The nearest pattern, or zero where `.ftz` flushes. */
export function roundedPattern(name: FloatName, value: Value, rounding: Rounding, flushes: boolean): bigint {
  const pattern = exact.patternOf(name, value, rounding);
  return flushes && exact.isTiny(name, value, rounding) ? pattern & signMask(name) : pattern;
}

/** What an instruction on elements of one type has in common with the others. */
interface Elements {
  readonly instruction: PtxInstruction;
  readonly name: FloatName;
  readonly read: (pattern: bigint) => bigint;
  readonly finish: (pattern: bigint) => bigint;
}

/** Compiles instructions of `count` operands, of the type that comes last. */
const ofElements =
  (count: number, compile: (elements: Elements) => ElementFunction): ScalarCompiler =>
  (instruction) => {
    const type = instruction.modifiers.at(-1)!;
    const name = elementName(type);
    if (!name) return undefined;
    const [read, finish] = [reader(instruction, name), finisher(instruction, name)];
    return elementwise(type, count, compile({ instruction, name, read, finish }));
  };

/** Computed exactly, rounded once. */
const arithmetic = (count: number, compute: (values: Value[], rounding: Rounding) => Value): ScalarCompiler =>
  ofElements(count, ({ instruction, name, read, finish }) => {
    const rounding = roundingOf(instruction);
    const flushes = instruction.modifiers.includes('ftz');
    return (patterns) => {
      const values = patterns.map((pattern) => exact.decode(name, read(pattern)));
      return finish(roundedPattern(name, compute(values, rounding), rounding, flushes));
    };
  });

const negated = (value: Value): Value => (value.kind === 'nan' ? value : { ...value, negative: !value.negative });
const fused = ([a, b, c]: Value[], rounding: Rounding): Value => exact.sum(exact.product(a!, b!), c!, rounding);

/** The approximate f64 forms with `.ftz` look at the upper word only. */
const UPPER_WORD = 0xffffffff00000000n;

/** A function of JavaScript numbers: within an ulp or two of f64, so nearly always correctly rounded below that. */
const special = (compute: (x: number) => number): ScalarCompiler =>
  ofElements(1, ({ instruction, name, read, finish }) => {
    const cut = name === 'f64' && instruction.modifiers.includes('ftz') ? UPPER_WORD : -1n;
    return ([pattern]) => {
      const result = compute(exact.toNumber(name, read(BigInt.asUintN(64, pattern! & cut))));
      return finish(exact.fromNumber(name, result));
    };
  });

const signMask = (name: FloatName): bigint => 1n << BigInt(exact.floatBits(name) - 1);

/** −1, 0, 1 by value, with −0 below +0; undefined when either is NaN. */
function order(name: FloatName, a: bigint, b: bigint): number | undefined {
  if (exact.isNan(name, a) || exact.isNan(name, b)) return undefined;
  const key = (pattern: bigint): bigint => (pattern & signMask(name) ? signMask(name) - pattern - 1n : pattern);
  return key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0;
}

const minOrMax = (wanted: -1 | 1): ScalarCompiler =>
  ofElements(2, ({ instruction, name, read, finish }) => {
    const [isStrict, mixesSigns] = ['NaN', 'xorsign'].map((modifier) => instruction.modifiers.includes(modifier));
    const choose = (a: bigint, b: bigint): bigint => {
      const relation = order(name, a, b);
      if (relation !== undefined) return relation === wanted ? a : b;
      if (isStrict || (exact.isNan(name, a) && exact.isNan(name, b))) return exact.nanOf(name);
      return exact.isNan(name, a) ? b : a;
    };
    return (patterns) => {
      const [a, b] = patterns.map(read) as [bigint, bigint];
      if (!mixesSigns) return finish(choose(a, b));
      const magnitude = signMask(name) - 1n;
      const chosen = choose(a & magnitude, b & magnitude);
      return finish(exact.isNan(name, chosen) ? chosen : chosen | ((a ^ b) & signMask(name)));
    };
  });

const onPattern = (change: (pattern: bigint, name: FloatName) => bigint): ScalarCompiler =>
  ofElements(
    1,
    ({ name, read }) =>
      ([pattern]) =>
        change(read(pattern!), name),
  );

const copySign: ScalarCompiler = (instruction) => {
  const name = elementName(instruction.modifiers.at(-1)!);
  if (!name) return undefined;
  return elementwise(name, 2, ([a, b]) => (a! & signMask(name)) | (b! & (signMask(name) - 1n)));
};

const isSubnormal = (name: FloatName, pattern: bigint): boolean =>
  (pattern & (signMask(name) - 1n)) !== 0n && exact.flushPattern(name, pattern) !== pattern;

/** Zeros count as normal. */
const PROPERTIES: Record<string, (name: FloatName, pattern: bigint) => boolean> = {
  finite: (name, pattern) => exact.decode(name, pattern).kind === 'number',
  infinite: (name, pattern) => exact.decode(name, pattern).kind === 'infinity',
  number: (name, pattern) => !exact.isNan(name, pattern),
  notanumber: exact.isNan,
  normal: (name, pattern) => exact.decode(name, pattern).kind === 'number' && !isSubnormal(name, pattern),
  subnormal: isSubnormal,
};

const testProperty: ScalarCompiler = (instruction) => {
  const name = elementName(instruction.modifiers.at(-1)!);
  const test = PROPERTIES[instruction.modifiers[0]!];
  if (!name || !test) return undefined;
  return (operands) => [test(name, operands.unsigned(1, name)) ? 1n : 0n];
};

/** Of approximate division: beyond 2^126, where reciprocals of f32 are subnormal, it divides by infinity. Source: PTX ISA, div.approx.f32. */
const asDivisor = (value: Value): Value =>
  value.kind === 'number' && value.exponent > 0 && value.units << BigInt(value.exponent) > 1n << 126n
    ? { kind: 'infinity', negative: value.negative }
    : value;

const byApprox =
  (approximate: ScalarCompiler, rounded: ScalarCompiler): ScalarCompiler =>
  (instruction) =>
    (instruction.modifiers.includes('approx') ? approximate : rounded)(instruction);

/** Floating-point instructions by opcode. */
export const FLOAT_FUNCTIONS: ReadonlyMap<string, ScalarCompiler> = new Map<string, ScalarCompiler>([
  ['add', arithmetic(2, ([a, b], rounding) => exact.sum(a!, b!, rounding))],
  ['sub', arithmetic(2, ([a, b], rounding) => exact.sum(a!, negated(b!), rounding))],
  ['mul', arithmetic(2, ([a, b]) => exact.product(a!, b!))],
  ['fma', arithmetic(3, fused)],
  ['mad', arithmetic(3, fused)],
  [
    'div',
    byApprox(
      arithmetic(2, ([a, b]) => exact.quotient(a!, asDivisor(b!))),
      arithmetic(2, ([a, b]) => exact.quotient(a!, b!)),
    ),
  ],
  [
    'rcp',
    byApprox(
      special((x) => 1 / x),
      arithmetic(1, ([a]) => exact.quotient(exact.ofInteger(1n), a!)),
    ),
  ],
  ['sqrt', arithmetic(1, ([a]) => exact.root(a!))],
  ['rsqrt', special((x) => 1 / Math.sqrt(x))],
  ['sin', special(Math.sin)],
  ['cos', special(Math.cos)],
  ['tanh', special(Math.tanh)],
  ['ex2', special((x) => 2 ** x)],
  ['lg2', special(Math.log2)],
  ['min', minOrMax(-1)],
  ['max', minOrMax(1)],
  ['abs', onPattern((pattern, name) => pattern & (signMask(name) - 1n))],
  ['neg', onPattern((pattern, name) => pattern ^ signMask(name))],
  ['copysign', copySign],
  ['testp', testProperty],
]);
