import type { Exact, RoundingMode } from './exact.ts';
import * as exact from './exact.ts';
import { elementType, finish, roundingOf, roundResult } from './floating.ts';
import {
  decode,
  encode as encodeExact,
  encodeSaturatingFinite,
  type FloatType,
  FORMATS,
  flush,
  isFloatType,
} from './formats.ts';
import { clampToType } from './integer.ts';
import { bitsOfType, isSigned, type LaneInputs, type LaneOperation } from './lane.ts';

const INTEGER_ROUNDING: ReadonlyMap<string, RoundingMode> = new Map([
  ['rni', 'rn'],
  ['rzi', 'rz'],
  ['rmi', 'rm'],
  ['rpi', 'rp'],
]);

const integerRounding = (inputs: LaneInputs): RoundingMode | undefined =>
  inputs.instruction.modifiers.map((m) => INTEGER_ROUNDING.get(m)).find((mode) => mode !== undefined);

/** `cvt.….dtype.atype`: the last two modifiers. */
const typesOf = (inputs: LaneInputs): { to: string; from: string } => {
  const [to, from] = inputs.instruction.modifiers.slice(-2) as [string, string];
  return { to, from };
};

/** NaN gives 0 between narrow types, else the pattern with only the top bit set. */
function integerOfNan(to: string, from: string): bigint {
  const isNarrow = from !== 'f64' && bitsOfType(to) !== 64;
  if (isNarrow) return 0n;
  const top = 1n << BigInt(bitsOfType(to) - 1);
  return isSigned(to) ? -top : top;
}

const sourceBits = (inputs: LaneInputs, from: FloatType): bigint => {
  const bits = inputs.unsigned(1, FORMATS[from].bits === 16 ? 'b16' : from);
  return inputs.has('ftz') && from === 'f32' ? flush(from, bits) : bits;
};

/** Out-of-range values go to the nearest end of the type's range, with `.sat` or without. */
function floatToInteger(inputs: LaneInputs, to: string, from: FloatType): bigint {
  const value = decode(from, sourceBits(inputs, from));
  if (value.kind === 'nan') return integerOfNan(to, from);
  if (value.kind === 'infinite') return clampToType(value.negative ? -(1n << 64n) : 1n << 64n, to);
  return clampToType(exact.toInteger(value, integerRounding(inputs) ?? 'rz'), to);
}

/** Rounds to an integral value in the same format; the sign of a zero result is the input's. */
function toIntegral(value: Exact, mode: RoundingMode): Exact {
  if (value.kind !== 'finite') return value;
  const integer = exact.toInteger(value, mode);
  return exact.finite(value.negative, integer < 0n ? -integer : integer, 0);
}

function floatToFloat(inputs: LaneInputs, to: FloatType, from: FloatType): bigint {
  const value = decode(from, sourceBits(inputs, from));
  const integral = integerRounding(inputs);
  const bits = encodeFor(inputs, to, integral && to === from ? toIntegral(value, integral) : value);
  return finishConversion(inputs, to, bits);
}

/** `.ftz` concerns f32 only. */
function encodeFor(inputs: LaneInputs, to: FloatType, value: Exact): bigint {
  const mode = roundingOf(inputs);
  if (inputs.has('satfinite')) return encodeSaturatingFinite(to, value, mode);
  return to === 'f32' ? roundResult(inputs, to, value, mode) : encodeExact(to, value, mode);
}

/** `.ftz` concerns f32 only. */
const finishConversion = (inputs: LaneInputs, to: FloatType, bits: bigint): bigint =>
  finish({ ...inputs, has: (m) => inputs.has(m) && (m !== 'ftz' || to === 'f32') }, to, bits);

/**
 * tf32 is f32 with 10 fraction bits; `.rna` rounds half away, `.rn` to even. The low 13 bits become zero, also those of
 * a NaN.
 */
function toTf32(inputs: LaneInputs): bigint {
  const bits = inputs.unsigned(1, 'f32');
  const negative = bits >> 31n === 1n;
  const isNumber = decode('f32', bits).kind === 'finite';
  const magnitude = exact.roundShift(bits & 0x7fffffffn, 13, negative, isNumber ? roundingOf(inputs) : 'rz') << 13n;
  return (bits & 0x80000000n) | magnitude;
}

/** Two f32 into a pair: the first source is the upper half. */
function packPair(inputs: LaneInputs, to: FloatType): bigint {
  const half = (index: number): bigint =>
    finishConversion(inputs, to, encodeFor(inputs, to, decode('f32', inputs.unsigned(index, 'f32'))));
  return (half(1) << BigInt(FORMATS[to].bits)) | half(2);
}

/** A packed pair into another, element by element. */
function convertPair(inputs: LaneInputs, to: FloatType, from: FloatType): bigint {
  const packed = inputs.unsigned(1, FORMATS[from].bits === 8 ? 'b16' : 'b32');
  const half = (index: number): bigint => {
    const bits = (packed >> BigInt(index * FORMATS[from].bits)) & ((1n << BigInt(FORMATS[from].bits)) - 1n);
    return finishConversion(inputs, to, encodeFor(inputs, to, decode(from, bits)));
  };
  return (half(1) << BigInt(FORMATS[to].bits)) | half(0);
}

function integerToInteger(inputs: LaneInputs, to: string, from: string): bigint {
  const value = inputs.integer(1, from);
  if (inputs.has('sat')) return clampToType(value, to);
  return isSigned(to) ? BigInt.asIntN(bitsOfType(to), value) : BigInt.asUintN(bitsOfType(to), value);
}

/** A result wider than its type is sign-extended for a signed type, else zero-extended. */
export const convert: LaneOperation = (inputs) => {
  const { to, from } = typesOf(inputs);
  if (inputs.has('pack')) return [pack(inputs)];
  if (to === 'tf32') return [toTf32(inputs)];
  if (to.endsWith('x2')) {
    const element = elementType(to);
    return [from.endsWith('x2') ? convertPair(inputs, element, elementType(from)) : packPair(inputs, element)];
  }
  if (isFloatType(to)) {
    if (isFloatType(from)) return [floatToFloat(inputs, to, from)];
    const rounded = encodeExact(to, exact.exactInteger(inputs.integer(1, from)), roundingOf(inputs));
    return [finishConversion(inputs, to, rounded)];
  }
  return [isFloatType(from) ? floatToInteger(inputs, to, from) : integerToInteger(inputs, to, from)];
};

/** `cvt.pack.sat.u8.s32.b32 d, a, b, c`: a and b saturated, a above b, in the low bits; the rest from c's low bits. */
function pack(inputs: LaneInputs): bigint {
  const modifiers = inputs.instruction.modifiers;
  const at = modifiers.indexOf('sat');
  const [to, from] = [modifiers[at + 1]!, modifiers[at + 2]!];
  const bits = BigInt(to.slice(1));
  const cut = (index: number): bigint => {
    const low = to.startsWith('s') ? -(1n << (bits - 1n)) : 0n;
    const high = to.startsWith('s') ? (1n << (bits - 1n)) - 1n : (1n << bits) - 1n;
    const value = inputs.integer(index, from);
    return BigInt.asUintN(Number(bits), value < low ? low : value > high ? high : value);
  };
  const pair = (cut(1) << bits) | cut(2);
  return bits === 16n ? pair : BigInt.asUintN(32, inputs.unsigned(3, 'b32') << (2n * bits)) | pair;
}
