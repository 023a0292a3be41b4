import type { PtxInstruction } from '../../../ptx/ast.ts';
import { bitsOfPtxType, isSigned } from '../../../ptx/types.ts';
import type { FloatName, Rounding, Value } from './exact-float.ts';
import * as exact from './exact-float.ts';
import { elementName, finisher, roundedPattern, roundingOf } from './float-functions.ts';
import {
  clampToType,
  integerOperand,
  type LaneOperands,
  type ScalarCompiler,
  type ScalarFunction,
} from './scalar-function.ts';

const INTEGER_ROUNDINGS: ReadonlyMap<string, Rounding> = new Map([
  ['rni', 'rn'],
  ['rzi', 'rz'],
  ['rmi', 'rm'],
  ['rpi', 'rp'],
]);

const integerRounding = (instruction: PtxInstruction): Rounding | undefined =>
  instruction.modifiers.map((m) => INTEGER_ROUNDINGS.get(m)).find((r) => r !== undefined);

/** Reads a floating-point source; `.ftz` concerns f32 only. */
function sourceReader(instruction: PtxInstruction, from: FloatName): (operands: LaneOperands, index: number) => Value {
  const flushes = from === 'f32' && instruction.modifiers.includes('ftz');
  return (operands, index) => {
    const pattern = operands.unsigned(index, from);
    return exact.decode(from, flushes ? exact.flushPattern(from, pattern) : pattern);
  };
}

/** Rounds to the destination format, then `.ftz` (f32 only), `.sat`, `.relu`. */
function resultWriter(instruction: PtxInstruction, to: FloatName): (value: Value) => bigint {
  const [rounding, finite] = [roundingOf(instruction), instruction.modifiers.includes('satfinite')];
  const modifiers = instruction.modifiers.filter((m) => m !== 'ftz' || to === 'f32');
  const finish = finisher({ ...instruction, modifiers }, to);
  const flushes = modifiers.includes('ftz');
  return (value) =>
    finish(finite ? exact.patternOf(to, value, rounding, true) : roundedPattern(to, value, rounding, flushes));
}

const HUGE = 1n << 80n;

/** Out of range clamps; NaN is 0, or only the top bit set where f64 or a 64-bit integer takes part. */
function floatToInteger(instruction: PtxInstruction, to: string, from: FloatName): ScalarFunction {
  const read = sourceReader(instruction, from);
  const rounding = integerRounding(instruction) ?? 'rz';
  const topBit = 1n << BigInt(bitsOfPtxType(to) - 1);
  const ofNan = from !== 'f64' && bitsOfPtxType(to) < 64 ? 0n : isSigned(to) ? -topBit : topBit;
  return (operands) => {
    const value = read(operands, 1);
    if (value.kind === 'nan') return [ofNan];
    if (value.kind === 'infinity') return [clampToType(value.negative ? -HUGE : HUGE, to)];
    return [clampToType(exact.toInteger(value, rounding), to)];
  };
}

function floatToFloat(instruction: PtxInstruction, to: FloatName, from: FloatName): ScalarFunction {
  const [read, write] = [sourceReader(instruction, from), resultWriter(instruction, to)];
  const integral = to === from ? integerRounding(instruction) : undefined;
  return (operands) => {
    const value = read(operands, 1);
    if (integral === undefined || value.kind !== 'number') return [write(value)];
    const rounded = exact.ofInteger(exact.toInteger(value, integral));
    // The sign of a zero result is the source's.
    return [write({ ...rounded, negative: value.negative } as Value)];
  };
}

function integerToFloat(instruction: PtxInstruction, to: FloatName, from: string): ScalarFunction {
  const write = resultWriter(instruction, to);
  return (operands) => [write(exact.ofInteger(integerOperand(operands, 1, from)))];
}

function integerToInteger(instruction: PtxInstruction, to: string, from: string): ScalarFunction {
  const saturates = instruction.modifiers.includes('sat');
  const cut = isSigned(to) ? BigInt.asIntN : BigInt.asUintN;
  return (operands) => {
    const value = integerOperand(operands, 1, from);
    return [saturates ? clampToType(value, to) : cut(bitsOfPtxType(to), value)];
  };
}

/** Two f32 sources, or one packed pair, into a packed pair; of two sources the first is the upper half. */
function pairConversion(instruction: PtxInstruction, to: FloatName, fromType: string): ScalarFunction | undefined {
  const from = elementName(fromType);
  if (!from) return undefined;
  const write = resultWriter(instruction, to);
  const bits = BigInt(exact.floatBits(to));
  if (!fromType.endsWith('x2')) {
    const read = sourceReader(instruction, from);
    return (operands) => [(write(read(operands, 1)) << bits) | write(read(operands, 2))];
  }
  const fromBits = exact.floatBits(from);
  return (operands) => {
    const packed = operands.unsigned(1, fromBits === 8 ? 'b16' : 'b32');
    const half = (i: number): bigint =>
      write(exact.decode(from, BigInt.asUintN(fromBits, packed >> BigInt(i * fromBits))));
    return [(half(1) << bits) | half(0)];
  };
}

/** `cvt.pack.sat.to.s32{.b32} d, a, b{, c}`: a and b saturated, a upper; 8-bit pairs are shifted in below c. */
function pack(instruction: PtxInstruction): ScalarFunction {
  const [to, from] = instruction.modifiers.slice(2) as [string, string];
  const bits = bitsOfPtxType(to);
  return (operands) => {
    const cut = (index: number): bigint => BigInt.asUintN(bits, clampToType(integerOperand(operands, index, from), to));
    const pair = (cut(1) << BigInt(bits)) | cut(2);
    return [bits === 16 ? pair : (operands.unsigned(3, 'b32') << BigInt(2 * bits)) | pair];
  };
}

/** tf32 keeps 10 fraction bits of f32; those below become zero, also of infinities and NaNs. */
const DROPPED_BITS = 13;

function toTf32(instruction: PtxInstruction): ScalarFunction {
  const rounding = roundingOf(instruction);
  return (operands) => {
    const pattern = operands.unsigned(1, 'f32');
    const sign = pattern & 0x80000000n;
    const mode = exact.decode('f32', pattern).kind === 'number' ? rounding : 'rz';
    const kept = exact.shiftRounded(pattern ^ sign, DROPPED_BITS, sign !== 0n, mode);
    return [sign | (kept << BigInt(DROPPED_BITS))];
  };
}

/** `cvt` in every form. */
export const convert: ScalarCompiler = (instruction) => {
  const [to, from] = instruction.modifiers.slice(-2) as [string, string];
  if (instruction.modifiers.includes('pack')) return pack(instruction);
  if (to === 'tf32') return toTf32(instruction);
  const [toFloat, fromFloat] = [elementName(to), elementName(from)];
  if (toFloat && to.endsWith('x2')) return pairConversion(instruction, toFloat, from);
  if (toFloat) return (fromFloat ? floatToFloat : integerToFloat)(instruction, toFloat, from as FloatName);
  return (fromFloat ? floatToInteger : integerToInteger)(instruction, to, from as FloatName);
};
