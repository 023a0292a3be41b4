import { approximate } from './approximate.ts';
import type { Exact, RoundingMode } from './exact.ts';
import * as exact from './exact.ts';
import {
  decode,
  encode,
  type FloatType,
  FORMATS,
  flush,
  isFloatType,
  isNanBits,
  isSubnormalBits,
  isTiny,
  magnitudeBits,
  numberOf,
  one,
  signBit,
} from './formats.ts';
import type { LaneInputs, LaneOperation } from './lane.ts';

const ROUNDING_MODES: readonly RoundingMode[] = ['rn', 'rz', 'rm', 'rp', 'rna'];

export const roundingOf = (inputs: LaneInputs): RoundingMode => ROUNDING_MODES.find((mode) => inputs.has(mode)) ?? 'rn';

/** `f32`, or the element type of a packed `f16x2`, `bf16x2`. */
export const elementType = (type: string): FloatType => {
  const element = type.endsWith('x2') ? type.slice(0, -2) : type;
  if (!isFloatType(element)) throw new Error(`${type} is not a floating-point type`);
  return element;
};

export const isFloating = (type: string): boolean => isFloatType(type.endsWith('x2') ? type.slice(0, -2) : type);

/** An operation on the bits of one element. */
type ElementOperation = (inputs: LaneInputs, type: FloatType, operands: readonly bigint[]) => bigint;

/** Applies an element operation to the operands, or to each half of packed ones. */
const elementwise =
  (operandCount: number, operation: ElementOperation): LaneOperation =>
  (inputs) => {
    const type = elementType(inputs.type);
    const indices = Array.from({ length: operandCount }, (_, i) => i + 1);
    if (type === inputs.type)
      return [
        operation(
          inputs,
          type,
          indices.map((i) => inputs.unsigned(i)),
        ),
      ];
    const half = (shift: bigint): bigint =>
      operation(
        inputs,
        type,
        indices.map((i) => (inputs.unsigned(i, 'b32') >> shift) & 0xffffn),
      );
    return [half(0n) | (half(16n) << 16n)];
  };

const clampToUnit = (type: FloatType, bits: bigint): bigint => {
  const value = decode(type, bits);
  if (value.kind === 'nan' || value.negative) return 0n;
  return exact.compare(value, decode(type, one(type))) === 1 ? one(type) : bits;
};

const clampNegative = (type: FloatType, bits: bigint): bigint => {
  const value = decode(type, bits);
  if (value.kind === 'nan') return FORMATS[type].canonicalNan;
  return value.negative ? 0n : bits;
};

/** `.ftz`, `.sat` and `.relu`, which come after rounding, in this order. */
export function finish(inputs: LaneInputs, type: FloatType, bits: bigint): bigint {
  let result = inputs.has('ftz') ? flush(type, bits) : bits;
  if (inputs.has('sat')) result = clampToUnit(type, result);
  return inputs.has('relu') ? clampNegative(type, result) : result;
}

/** The rounded result; under `.ftz` the zero of its sign when it is tiny. */
export function roundResult(inputs: LaneInputs, type: FloatType, value: Exact, mode: RoundingMode): bigint {
  const bits = encode(type, value, mode);
  return inputs.has('ftz') && isTiny(type, value, mode) ? signBit(type, bits) : bits;
}

/** Arithmetic: inputs flushed under `.ftz`, computed exactly, rounded once. */
const arithmetic = (
  operandCount: number,
  operation: (mode: RoundingMode, ...values: Exact[]) => Exact,
): LaneOperation =>
  elementwise(operandCount, (inputs, type, operands) => {
    const mode = roundingOf(inputs);
    const values = operands.map((bits) => decode(type, inputs.has('ftz') ? flush(type, bits) : bits));
    return finish(inputs, type, roundResult(inputs, type, operation(mode, ...values), mode));
  });

const fusedMultiplyAdd = (mode: RoundingMode, a?: Exact, b?: Exact, c?: Exact): Exact =>
  exact.add(exact.multiply(a!, b!), c!, mode);

/** Numbers win over NaN unless `.NaN`; −0 < +0. With `.xorsign.abs`: of magnitudes, with the product's sign. */
const minOrMax = (keepsFirst: (order: -1 | 0 | 1, firstIsNegative: boolean) => boolean): LaneOperation =>
  elementwise(2, (inputs, type, operands) => {
    const nan = FORMATS[type].canonicalNan;
    const flushed = operands.map((bits) => (inputs.has('ftz') ? flush(type, bits) : bits)) as [bigint, bigint];
    const sign = inputs.has('xorsign') ? signBit(type, flushed[0] ^ flushed[1]) : undefined;
    const [a, b] =
      sign === undefined ? flushed : (flushed.map((bits) => magnitudeBits(type, bits)) as [bigint, bigint]);
    const order = exact.compare(decode(type, a), decode(type, b));
    const choose = (): bigint => {
      if (order !== undefined) return keepsFirst(order, signBit(type, a) !== 0n) ? a : b;
      const bothNan = isNanBits(type, a) && isNanBits(type, b);
      if (inputs.has('NaN') || bothNan) return nan;
      return isNanBits(type, a) ? b : a;
    };
    const chosen = choose();
    const signed = sign === undefined || isNanBits(type, chosen) ? chosen : chosen | sign;
    return inputs.has('relu') ? clampNegative(type, signed) : signed;
  });

/** Sign operations: no rounding, NaN stays NaN. */
const onSign = (change: (type: FloatType, bits: bigint) => bigint): LaneOperation =>
  elementwise(1, (inputs, type, [bits]) => change(type, inputs.has('ftz') ? flush(type, bits!) : bits!));

const topBit = (type: FloatType): bigint => 1n << BigInt(FORMATS[type].bits - 1);

/** Sign of a, magnitude of b. */
const copySign: LaneOperation = elementwise(2, (_, type, [a, b]) => signBit(type, a!) | magnitudeBits(type, b!));

const TEST_PROPERTIES: Record<string, (type: FloatType, bits: bigint) => boolean> = {
  finite: (type, bits) => decode(type, bits).kind === 'finite',
  infinite: (type, bits) => decode(type, bits).kind === 'infinite',
  number: (type, bits) => !isNanBits(type, bits),
  notanumber: isNanBits,
  // Zeros count as normal.
  normal: (type, bits) => decode(type, bits).kind === 'finite' && !isSubnormalBits(type, bits),
  subnormal: isSubnormalBits,
};

const testProperty: LaneOperation = (inputs) => {
  const property = inputs.instruction.modifiers[0]!;
  return [TEST_PROPERTIES[property]!(elementType(inputs.type), inputs.unsigned(1)) ? 1n : 0n];
};

/** The approximate `.ftz.f64` forms look at the upper 32 bits of their operand only. */
const UPPER_WORD = 0xffffffff00000000n;

/** Special functions: the correctly rounded value, of which hardware may return a neighbour. See approximate.ts. */
const special = (opcode: string): LaneOperation =>
  elementwise(1, (inputs, type, [bits]) => {
    const read = type === 'f64' && inputs.has('ftz') ? bits! & UPPER_WORD : bits!;
    const input = inputs.has('ftz') ? flush(type, read) : read;
    return finish(inputs, type, encode(type, approximate(opcode, decode(type, input)), 'rn'));
  });

const reciprocal: LaneOperation = (inputs) =>
  (inputs.has('approx') ? special('rcp') : arithmetic(1, (_, a) => exact.divide(exact.exactInteger(1n), a!)))(inputs);

/** Reciprocals of divisors beyond 2^126 are subnormal, and zero for `div.approx`: PTX ISA, div.approx.f32. */
const LARGEST_DIVISOR = 2 ** 126;

const quotient: LaneOperation = (inputs) =>
  arithmetic(2, (_, a, b) =>
    exact.divide(
      a!,
      inputs.has('approx') && Math.abs(numberOf(b!)) > LARGEST_DIVISOR && b!.kind === 'finite'
        ? exact.infinity(b!.negative)
        : b!,
    ),
  )(inputs);

/** Floating-point operations, by opcode. */
export const FLOAT_OPERATIONS: ReadonlyMap<string, LaneOperation> = new Map<string, LaneOperation>([
  ['add', arithmetic(2, (mode, a, b) => exact.add(a!, b!, mode))],
  ['sub', arithmetic(2, (mode, a, b) => exact.add(a!, exact.negate(b!), mode))],
  ['mul', arithmetic(2, (_, a, b) => exact.multiply(a!, b!))],
  ['fma', arithmetic(3, fusedMultiplyAdd)],
  ['mad', arithmetic(3, fusedMultiplyAdd)],
  ['div', quotient],
  ['rcp', reciprocal],
  ['sqrt', arithmetic(1, (_, a) => exact.squareRoot(a!))],
  ['rsqrt', special('rsqrt')],
  ['sin', special('sin')],
  ['cos', special('cos')],
  ['lg2', special('lg2')],
  ['ex2', special('ex2')],
  ['tanh', special('tanh')],
  ['min', minOrMax((order, firstIsNegative) => order === -1 || (order === 0 && firstIsNegative))],
  ['max', minOrMax((order, firstIsNegative) => order === 1 || (order === 0 && !firstIsNegative))],
  ['abs', onSign((type, bits) => magnitudeBits(type, bits))],
  ['neg', onSign((type, bits) => bits ^ topBit(type))],
  ['copysign', copySign],
  ['testp', testProperty],
]);
