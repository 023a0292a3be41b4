import type { PtxInstruction } from '../../../ptx/ast.ts';
import { has, lastModifier } from '../../../ptx/instruction-parts.ts';
import { bitsOfPtxType, isSigned } from '../../../ptx/types.ts';
import {
  clampToType,
  integerOperand,
  type LaneOperands,
  type ScalarCompiler,
  type ScalarFunction,
} from './scalar-function.ts';

/** A function of integer operands 1 … count, all of the instruction's type. */
const ofIntegers =
  (count: number, compute: (values: bigint[], instruction: PtxInstruction) => bigint): ScalarCompiler =>
  (instruction) => {
    const type = lastModifier(instruction);
    return (operands) => {
      const values = Array.from({ length: count }, (_, i) => integerOperand(operands, i + 1, type));
      return [compute(values, instruction)];
    };
  };

const magnitude = (value: bigint): bigint => (value < 0n ? -value : value);
const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** The part of a full product that `.hi` keeps. */
const productPart = (a: bigint, b: bigint, instruction: PtxInstruction): bigint =>
  has(instruction, 'hi') ? (a * b) >> BigInt(bitsOfPtxType(lastModifier(instruction))) : a * b;

const multiplyAdd: ScalarCompiler = (instruction) => {
  const type = lastModifier(instruction);
  const addendType = has(instruction, 'wide') ? type[0] + String(2 * bitsOfPtxType(type)) : type;
  return (operands) => {
    const [a, b] = [integerOperand(operands, 1, type), integerOperand(operands, 2, type)];
    const total = productPart(a, b, instruction) + integerOperand(operands, 3, addendType);
    return [has(instruction, 'sat') ? clampToType(total, type) : total];
  };
};

/** 24-bit factors; `.hi` keeps bits 16 … 47 of the product. */
function product24(operands: LaneOperands, instruction: PtxInstruction): bigint {
  const type = lastModifier(instruction);
  const cut = isSigned(type) ? BigInt.asIntN : BigInt.asUintN;
  const full = cut(24, operands.unsigned(1, type)) * cut(24, operands.unsigned(2, type));
  return cut(32, has(instruction, 'hi') ? full >> 16n : full);
}

const multiplyAdd24: ScalarCompiler = (instruction) => (operands) => {
  const type = lastModifier(instruction);
  const total = product24(operands, instruction) + integerOperand(operands, 3, type);
  return [has(instruction, 'sat') ? clampToType(total, type) : total];
};

/** Position of the highest bit that differs from the sign, or −1. */
function highestBit(value: bigint): number {
  const bits = value < 0n ? ~value : value;
  return bits === 0n ? -1 : bits.toString(2).length - 1;
}

const findHighest = ofIntegers(1, ([value], instruction) => {
  const found = highestBit(value!);
  const fromTop = has(instruction, 'shiftamt') && found >= 0;
  return BigInt(fromTop ? bitsOfPtxType(lastModifier(instruction)) - 1 - found : found);
});

function reversed(value: bigint, bits: number): bigint {
  return BigInt(`0b${value.toString(2).padStart(bits, '0').split('').reverse().join('')}`);
}

const onesIn = (value: bigint): bigint => BigInt(value.toString(2).replaceAll('0', '').length);

/** A field's position and length are their low 8 bits. */
const fieldOf = (operands: LaneOperands, index: number): [position: bigint, length: bigint] => [
  operands.unsigned(index, 'u32') & 255n,
  operands.unsigned(index + 1, 'u32') & 255n,
];

const extractField: ScalarCompiler = (instruction) => {
  const type = lastModifier(instruction);
  const top = BigInt(bitsOfPtxType(type)) - 1n;
  return (operands) => {
    const value = operands.unsigned(1, type);
    const [position, length] = fieldOf(operands, 2);
    if (length === 0n) return [0n];
    const field = (value >> position) & ((1n << length) - 1n);
    const signAt = smaller(position + length - 1n, top);
    const isNegative = isSigned(type) && ((value >> signAt) & 1n) === 1n;
    const inside = larger(0n, smaller(length, top + 1n - position));
    return [isNegative ? field | (-1n << inside) : field];
  };
};

const insertField: ScalarCompiler = (instruction) => {
  const type = lastModifier(instruction);
  return (operands) => {
    const [position, length] = fieldOf(operands, 3);
    const mask = ((1n << length) - 1n) << position;
    return [(operands.unsigned(2, type) & ~mask) | ((operands.unsigned(1, type) << position) & mask)];
  };
};

/** `length` ones from `start`; `.wrap` takes both modulo 32. */
const bitMask: ScalarCompiler = (instruction) => (operands) => {
  const limit = (value: bigint): bigint => (has(instruction, 'clamp') ? smaller(value, 32n) : value & 31n);
  const [start, length] = [limit(operands.unsigned(1, 'b32')), limit(operands.unsigned(2, 'b32'))];
  return [((1n << length) - 1n) << start];
};

const extendLowBits: ScalarCompiler = (instruction) => {
  const type = lastModifier(instruction);
  return (operands) => {
    const [value, width] = [operands.unsigned(1, type), operands.unsigned(2, 'u32')];
    if (has(instruction, 'clamp') && width >= 32n) return [value];
    const bits = Number(width & 31n);
    return [isSigned(type) ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value)];
  };
};

const NOT_FOUND = 0xffffffffn;

/** The |n|-th set bit at or above `base` (below, for negative n); for n = 0 `base` itself if it is set. */
const findNthSet: ScalarCompiler = () => (operands) => {
  const [bits, base] = [operands.unsigned(1, 'b32'), Number(operands.unsigned(2, 'b32'))];
  const n = Number(integerOperand(operands, 3, 's32'));
  const isSet = (at: number): boolean => ((bits >> BigInt(at)) & 1n) === 1n;
  let left = n === 0 ? 1 : Math.abs(n);
  for (let at = base; at >= 0 && at < 32; at += n < 0 ? -1 : 1) {
    if (isSet(at) && --left === 0) return [BigInt(at)];
    if (n === 0) break;
  }
  return [NOT_FOUND];
};

/** Field `index` of a packed word. */
const fieldAt = (word: bigint, index: number, bits: number, signed: boolean): bigint =>
  (signed ? BigInt.asIntN : BigInt.asUintN)(bits, word >> BigInt(index * bits));

/** dp4a: four byte products; dp2a: two products of a half with one of b's lower or upper two bytes. */
const dotProduct =
  (count: 2 | 4): ScalarCompiler =>
  (instruction) => {
    const [aType, bType] = instruction.modifiers.slice(-2) as [string, string];
    const first = has(instruction, 'hi') ? 2 : 0;
    return (operands) => {
      const [a, b] = [operands.unsigned(1, 'b32'), operands.unsigned(2, 'b32')];
      let total = operands.unsigned(3, 'b32');
      for (let i = 0; i < count; i++) {
        total += fieldAt(a, i, 32 / count, isSigned(aType)) * fieldAt(b, first + i, 8, isSigned(bType));
      }
      return [total];
    };
  };

const funnelShift: ScalarCompiler = (instruction) => (operands) => {
  const amount = operands.unsigned(3, 'u32');
  const n = has(instruction, 'wrap') ? amount & 31n : smaller(amount, 32n);
  const both = (operands.unsigned(2, 'b32') << 32n) | operands.unsigned(1, 'b32');
  return [has(instruction, 'l') ? (both << n) >> 32n : both >> n];
};

const logic3: ScalarCompiler = (instruction) => {
  const hasPredicate = has(instruction, 'and') || has(instruction, 'or');
  return (operands) => {
    const [a, b, c, table] = [1, 2, 3, 4].map((i) => operands.unsigned(i, 'b32')) as [bigint, bigint, bigint, bigint];
    let result = 0n;
    for (let minterm = 0n; minterm < 8n; minterm++) {
      if (((table >> minterm) & 1n) === 0n) continue;
      const literal = (value: bigint, bit: bigint): bigint => ((minterm >> bit) & 1n ? value : ~value);
      result |= literal(a, 2n) & literal(b, 1n) & literal(c, 0n);
    }
    if (!hasPredicate) return [result];
    const nonZero = BigInt.asUintN(32, result) !== 0n;
    const q = operands.predicate(5);
    return [result, (has(instruction, 'and') ? nonZero && q : nonZero || q) ? 1n : 0n];
  };
};

const shift =
  (left: boolean): ScalarCompiler =>
  (instruction) => {
    const type = lastModifier(instruction);
    return (operands) => {
      const value = integerOperand(operands, 1, type);
      const amount = smaller(operands.unsigned(2, 'u32'), BigInt(bitsOfPtxType(type)));
      return [left ? value << amount : value >> amount];
    };
  };

const saturated = (compute: (a: bigint, b: bigint) => bigint): ScalarCompiler =>
  ofIntegers(2, ([a, b], instruction) => {
    const result = compute(a!, b!);
    return has(instruction, 'sat') ? clampToType(result, lastModifier(instruction)) : result;
  });

/** Both 16-bit halves of `.s16x2` and `.u16x2`; whole values of other types. `.relu` keeps results from below 0. */
const minOrMax =
  (choose: (a: bigint, b: bigint) => bigint): ScalarCompiler =>
  (instruction) => {
    const rectify = (value: bigint): bigint => (has(instruction, 'relu') ? larger(value, 0n) : value);
    return ofIntegers(2, ([a, b]) => rectify(choose(a!, b!)))(instruction);
  };

const whole =
  (compute: (value: bigint, bits: number) => bigint): ScalarCompiler =>
  (instruction) => {
    const type = lastModifier(instruction);
    return (operands) => [compute(operands.unsigned(1, type), bitsOfPtxType(type))];
  };

/** Integer and bit instructions by opcode. */
export const INTEGER_FUNCTIONS: ReadonlyMap<string, ScalarCompiler> = new Map<string, ScalarCompiler>([
  ['add', saturated((a, b) => a + b)],
  ['sub', saturated((a, b) => a - b)],
  ['mul', ofIntegers(2, ([a, b], instruction) => productPart(a!, b!, instruction))],
  ['mad', multiplyAdd],
  [
    'mul24',
    (instruction): ScalarFunction =>
      (operands) => [product24(operands, instruction)],
  ],
  ['mad24', multiplyAdd24],
  ['sad', ofIntegers(3, ([a, b, c]) => c! + magnitude(a! - b!))],
  ['div', ofIntegers(2, ([a, b]) => (b === 0n ? -1n : a! / b!))],
  ['rem', ofIntegers(2, ([a, b]) => (b === 0n ? a! : a! % b!))],
  ['abs', ofIntegers(1, ([a]) => magnitude(a!))],
  ['neg', ofIntegers(1, ([a]) => -a!)],
  ['min', minOrMax(smaller)],
  ['max', minOrMax(larger)],
  ['popc', whole(onesIn)],
  ['clz', whole((value, bits) => BigInt(bits - 1 - highestBit(value)))],
  ['brev', whole(reversed)],
  ['not', whole((value) => ~value)],
  ['cnot', whole((value) => (value === 0n ? 1n : 0n))],
  ['bfind', findHighest],
  ['fns', findNthSet],
  ['bfe', extractField],
  ['bfi', insertField],
  ['bmsk', bitMask],
  ['szext', extendLowBits],
  ['dp4a', dotProduct(4)],
  ['dp2a', dotProduct(2)],
  ['shl', shift(true)],
  ['shr', shift(false)],
  ['shf', funnelShift],
  ['lop3', logic3],
]);
