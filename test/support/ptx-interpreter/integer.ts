import { bitsOfType, isSigned, type LaneInputs, type LaneOperation } from './lane.ts';

const range = (type: string): { low: bigint; high: bigint } => {
  const bits = BigInt(bitsOfType(type));
  return isSigned(type)
    ? { low: -(1n << (bits - 1n)), high: (1n << (bits - 1n)) - 1n }
    : { low: 0n, high: (1n << bits) - 1n };
};

/** Nearest value the type can hold. */
export const clampToType = (value: bigint, type: string): bigint => {
  const { low, high } = range(type);
  return value < low ? low : value > high ? high : value;
};

const saturate = (inputs: LaneInputs, value: bigint): bigint =>
  inputs.has('sat') ? clampToType(value, inputs.type) : value;

/** Applies a scalar operation to both 16-bit halves of `.s16x2`/`.u16x2`, to the whole value otherwise. */
function byHalves(operation: (values: bigint[], type: string) => bigint, operandCount: number): LaneOperation {
  return (inputs) => {
    const { type } = inputs;
    const indices = Array.from({ length: operandCount }, (_, i) => i + 1);
    if (!type.endsWith('x2'))
      return [
        operation(
          indices.map((i) => inputs.integer(i)),
          type,
        ),
      ];
    const half = type.slice(0, -2);
    const extract = (value: bigint, shift: bigint): bigint =>
      isSigned(half) ? BigInt.asIntN(16, value >> shift) : BigInt.asUintN(16, value >> shift);
    const results = [0n, 16n].map((shift) =>
      BigInt.asUintN(
        16,
        operation(
          indices.map((i) => extract(inputs.unsigned(i, 'b32'), shift)),
          half,
        ),
      ),
    );
    return [results[0]! | (results[1]! << 16n)];
  };
}

const binary = (operation: (a: bigint, b: bigint) => bigint): LaneOperation =>
  byHalves(([a, b]) => operation(a!, b!), 2);

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** `.relu` clamps negative results to 0. */
const minOrMax =
  (choose: (a: bigint, b: bigint) => bigint): LaneOperation =>
  (inputs) =>
    byHalves(([a, b]) => {
      const chosen = choose(a!, b!);
      return inputs.has('relu') ? larger(chosen, 0n) : chosen;
    }, 2)(inputs);

const widthOf = (inputs: LaneInputs): bigint => BigInt(bitsOfType(inputs.type));
const mask = (bits: bigint): bigint => (1n << bits) - 1n;

/** `.cc` and the carry-in forms: plain arithmetic on one more bit, kept in CC.CF. */
const add: LaneOperation = (inputs) => {
  if (!inputs.has('cc')) {
    return inputs.has('sat')
      ? [saturate(inputs, inputs.signed(1) + inputs.signed(2))]
      : binary((a, b) => a + b)(inputs);
  }
  const sum = inputs.unsigned(1) + inputs.unsigned(2);
  inputs.carry = sum >> widthOf(inputs);
  return [sum];
};

const addWithCarry: LaneOperation = (inputs) => {
  const sum = inputs.unsigned(1) + inputs.unsigned(2) + inputs.carry;
  if (inputs.has('cc')) inputs.carry = sum >> widthOf(inputs);
  return [sum];
};

/** CC.CF holds the borrow. */
const subtract: LaneOperation = (inputs) => {
  if (!inputs.has('cc')) {
    return inputs.has('sat')
      ? [saturate(inputs, inputs.signed(1) - inputs.signed(2))]
      : binary((a, b) => a - b)(inputs);
  }
  const difference = inputs.unsigned(1) - inputs.unsigned(2);
  inputs.carry = difference < 0n ? 1n : 0n;
  return [difference];
};

const subtractWithBorrow: LaneOperation = (inputs) => {
  const difference = inputs.unsigned(1) - inputs.unsigned(2) - inputs.carry;
  if (inputs.has('cc')) inputs.carry = difference < 0n ? 1n : 0n;
  return [difference];
};

/** The half of the product that `.lo`, `.hi` or `.wide` names. */
function product(inputs: LaneInputs): bigint {
  const full = inputs.integer(1) * inputs.integer(2);
  return inputs.has('hi') ? full >> widthOf(inputs) : full;
}

const doubleWidth: Record<string, string> = { s16: 's32', u16: 'u32', s32: 's64', u32: 'u64' };

/** `.wide` adds an operand of twice the width; `.hi.sat` saturates the sum. */
const multiplyAdd: LaneOperation = (inputs) => {
  const addendType = inputs.has('wide') ? doubleWidth[inputs.type]! : inputs.type;
  const sum = product(inputs) + inputs.integer(3, addendType);
  return [saturate(inputs, sum)];
};

/** `mad.cc` and `madc`: the product's half as an unsigned addend. */
const multiplyAddWithCarry =
  (carryIn: boolean): LaneOperation =>
  (inputs) => {
    const half = BigInt.asUintN(Number(widthOf(inputs)), product(inputs));
    const sum = half + inputs.unsigned(3) + (carryIn ? inputs.carry : 0n);
    if (inputs.has('cc')) inputs.carry = sum >> widthOf(inputs);
    return [sum];
  };

/** 24-bit factors; `.lo` is bits 31…0 of the product, `.hi` bits 47…16. */
function product24(inputs: LaneInputs): bigint {
  const cut = (index: number): bigint =>
    isSigned(inputs.type) ? BigInt.asIntN(24, inputs.unsigned(index)) : BigInt.asUintN(24, inputs.unsigned(index));
  const full = cut(1) * cut(2);
  const half = inputs.has('hi') ? full >> 16n : full;
  return isSigned(inputs.type) ? BigInt.asIntN(32, half) : BigInt.asUintN(32, half);
}

const absoluteDifference = (a: bigint, b: bigint): bigint => (a < b ? b - a : a - b);

/** ISA: division by zero is unspecified; the hardware gives all ones, and the dividend as the remainder. */
const divide: LaneOperation = (inputs) => {
  const [a, b] = [inputs.integer(1), inputs.integer(2)];
  return [b === 0n ? -1n : a / b];
};

const remainder: LaneOperation = (inputs) => {
  const [a, b] = [inputs.integer(1), inputs.integer(2)];
  return [b === 0n ? a : a % b];
};

const onesIn = (value: bigint): bigint => {
  let count = 0n;
  for (let rest = value; rest > 0n; rest >>= 1n) count += rest & 1n;
  return count;
};

/** Index of the highest set bit; −1 when there is none. */
const highestBit = (value: bigint): bigint => BigInt(value === 0n ? -1 : value.toString(2).length - 1);

/** Highest bit that differs from the sign; `.shiftamt` counts from the top. */
const findHighest: LaneOperation = (inputs) => {
  const bits = widthOf(inputs);
  const value = inputs.integer(1);
  const found = highestBit(value < 0n ? ~value : value);
  return [inputs.has('shiftamt') && found >= 0n ? bits - 1n - found : found];
};

const reverseBits: LaneOperation = (inputs) => {
  let result = 0n;
  for (let i = 0n; i < widthOf(inputs); i++) result = (result << 1n) | ((inputs.unsigned(1) >> i) & 1n);
  return [result];
};

const bitAt = (value: bigint, index: bigint): bigint => (value >> index) & 1n;

/** Bit loop of the ISA's pseudocode. */
const extractField: LaneOperation = (inputs) => {
  const top = widthOf(inputs) - 1n;
  const value = inputs.unsigned(1);
  const [position, length] = [inputs.unsigned(2, 'u32') & 0xffn, inputs.unsigned(3, 'u32') & 0xffn];
  const last = position + length - 1n;
  const fill = !isSigned(inputs.type) || length === 0n ? 0n : bitAt(value, last < top ? last : top);
  let result = 0n;
  for (let i = 0n; i <= top; i++) {
    const bit = i < length && position + i <= top ? bitAt(value, position + i) : fill;
    result |= bit << i;
  }
  return [result];
};

const insertField: LaneOperation = (inputs) => {
  const top = widthOf(inputs) - 1n;
  const [field, base] = [inputs.unsigned(1), inputs.unsigned(2)];
  const [position, length] = [inputs.unsigned(3, 'u32') & 0xffn, inputs.unsigned(4, 'u32') & 0xffn];
  let result = base;
  for (let i = 0n; i < length && position + i <= top; i++) {
    const at = position + i;
    result = (result & ~(1n << at)) | (bitAt(field, i) << at);
  }
  return [result];
};

const bitMask: LaneOperation = (inputs) => {
  const [start, width] = [inputs.unsigned(1), inputs.unsigned(2)];
  const clamp = inputs.has('clamp');
  if (clamp && start >= 32n) return [0n];
  const [first, count] = [start & 31n, width & 31n];
  const reachesTop = first + count >= 32n || (clamp && width >= 32n);
  const below = mask(first);
  return [(reachesTop ? mask(32n) : mask(first + count)) & ~below];
};

/** Sign- or zero-extends the low b bits. */
const extend: LaneOperation = (inputs) => {
  const [value, width] = [inputs.unsigned(1), inputs.unsigned(2, 'u32')];
  if (inputs.has('clamp') && width >= 32n) return [value];
  const bits = Number(width & 31n);
  if (bits === 0) return [0n];
  return [isSigned(inputs.type) ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value)];
};

/** n-th set bit from `base`, up or down. */
const findNthSet: LaneOperation = (inputs) => {
  const [bits, base, offset] = [inputs.unsigned(1), inputs.unsigned(2), inputs.signed(3, 's32')];
  if (offset === 0n) return [bitAt(bits, base) === 1n ? base : 0xffffffffn];
  const step = offset > 0n ? 1n : -1n;
  let left = offset > 0n ? offset : -offset;
  for (let at = base; at >= 0n && at < 32n; at += step) {
    if (bitAt(bits, at) === 1n && --left === 0n) return [at];
  }
  return [0xffffffffn];
};

/** Byte or half `index` of a packed operand, by its own signedness. */
const part = (value: bigint, index: number, bits: number, type: string): bigint => {
  const chunk = value >> BigInt(index * bits);
  return isSigned(type) ? BigInt.asIntN(bits, chunk) : BigInt.asUintN(bits, chunk);
};

const dotProduct4: LaneOperation = (inputs) => {
  const [aType, bType] = inputs.instruction.modifiers as [string, string];
  const [a, b] = [inputs.unsigned(1, 'b32'), inputs.unsigned(2, 'b32')];
  let sum = inputs.unsigned(3, 'b32');
  for (let i = 0; i < 4; i++) sum += part(a, i, 8, aType) * part(b, i, 8, bType);
  return [sum];
};

const dotProduct2: LaneOperation = (inputs) => {
  const [which, aType, bType] = inputs.instruction.modifiers as [string, string, string];
  const [a, b] = [inputs.unsigned(1, 'b32'), inputs.unsigned(2, 'b32')];
  let sum = inputs.unsigned(3, 'b32');
  for (let i = 0; i < 2; i++) sum += part(a, i, 16, aType) * part(b, which === 'hi' ? i + 2 : i, 8, bType);
  return [sum];
};

/** Shift amounts are unsigned 32-bit and clamped to the width. */
const shiftAmount = (inputs: LaneInputs): bigint => smaller(inputs.unsigned(2, 'u32'), widthOf(inputs));

/** A double-width shift of {high, low}, one half kept. */
const funnelShift: LaneOperation = (inputs) => {
  const [low, high, amount] = [inputs.unsigned(1), inputs.unsigned(2), inputs.unsigned(3)];
  const count = inputs.has('clamp') ? smaller(amount, 32n) : amount & 31n;
  const both = (high << 32n) | low;
  return [inputs.has('l') ? (both << count) >> 32n : both >> count];
};

/** Which of the 8 source bytes each result byte takes, in the named modes. Selector is the low two bits of c. */
const PERMUTE_MODES: Record<string, (selector: number, byte: number) => number> = {
  f4e: (selector, byte) => selector + byte,
  b4e: (selector, byte) => (8 + selector - byte) % 8,
  rc8: (selector) => selector,
  ecl: (selector, byte) => Math.max(selector, byte),
  ecr: (selector, byte) => Math.min(selector, byte),
  rc16: (selector, byte) => (selector & 1) * 2 + (byte & 1),
};

const permute: LaneOperation = (inputs) => {
  const both = (inputs.unsigned(2, 'b32') << 32n) | inputs.unsigned(1, 'b32');
  const selectors = inputs.unsigned(3, 'b32');
  const byteAt = (index: number): bigint => (both >> BigInt(8 * index)) & 0xffn;
  const named = Object.keys(PERMUTE_MODES).find((mode) => inputs.has(mode));
  let result = 0n;
  for (let i = 0; i < 4; i++) {
    const nibble = Number((selectors >> BigInt(4 * i)) & 15n);
    const value = named
      ? byteAt(PERMUTE_MODES[named]!(Number(selectors & 3n), i))
      : nibble >= 8
        ? byteAt(nibble & 7) >= 0x80n
          ? 0xffn
          : 0n
        : byteAt(nibble);
    result |= value << BigInt(8 * i);
  }
  return [result];
};

/** Truth table over three inputs; `lop3.or` / `.and` also give a predicate. */
const logic3: LaneOperation = (inputs) => {
  const [a, b, c] = [1, 2, 3].map((i) => inputs.unsigned(i, 'b32')) as [bigint, bigint, bigint];
  const table = inputs.unsigned(4, 'b32');
  let result = 0n;
  for (let i = 0n; i < 32n; i++) {
    const index = (bitAt(a, i) << 2n) | (bitAt(b, i) << 1n) | bitAt(c, i);
    result |= bitAt(table, index) << i;
  }
  if (inputs.destinationBits.length === 1) return [result];
  const q = inputs.predicate(5);
  const p = inputs.has('or') ? result !== 0n || q : result !== 0n && q;
  return [result, p ? 1n : 0n];
};

/** Integer and bit operations, by opcode. Floating-point types of the same opcodes are in floating.ts. */
export const INTEGER_OPERATIONS: ReadonlyMap<string, LaneOperation> = new Map<string, LaneOperation>([
  ['add', add],
  ['addc', addWithCarry],
  ['sub', subtract],
  ['subc', subtractWithBorrow],
  ['mul', (inputs) => [product(inputs)]],
  ['mad', (inputs) => (inputs.has('cc') ? multiplyAddWithCarry(false) : multiplyAdd)(inputs)],
  ['madc', multiplyAddWithCarry(true)],
  ['mul24', (inputs) => [product24(inputs)]],
  ['mad24', (inputs) => [saturate(inputs, product24(inputs) + inputs.integer(3))]],
  ['sad', (inputs) => [inputs.integer(3) + absoluteDifference(inputs.integer(1), inputs.integer(2))]],
  ['div', divide],
  ['rem', remainder],
  ['abs', (inputs) => [larger(inputs.signed(1), -inputs.signed(1))]],
  ['neg', (inputs) => [-inputs.signed(1)]],
  ['min', minOrMax(smaller)],
  ['max', minOrMax(larger)],
  ['popc', (inputs) => [onesIn(inputs.unsigned(1))]],
  ['clz', (inputs) => [widthOf(inputs) - 1n - highestBit(inputs.unsigned(1))]],
  ['bfind', findHighest],
  ['fns', findNthSet],
  ['brev', reverseBits],
  ['bfe', extractField],
  ['bfi', insertField],
  ['bmsk', bitMask],
  ['szext', extend],
  ['dp4a', dotProduct4],
  ['dp2a', dotProduct2],
  ['and', (inputs) => [inputs.unsigned(1) & inputs.unsigned(2)]],
  ['or', (inputs) => [inputs.unsigned(1) | inputs.unsigned(2)]],
  ['xor', (inputs) => [inputs.unsigned(1) ^ inputs.unsigned(2)]],
  ['not', (inputs) => [~inputs.unsigned(1)]],
  ['cnot', (inputs) => [inputs.unsigned(1) === 0n ? 1n : 0n]],
  ['shl', (inputs) => [inputs.unsigned(1) << shiftAmount(inputs)]],
  ['shr', (inputs) => [inputs.integer(1) >> shiftAmount(inputs)]],
  ['shf', funnelShift],
  ['prmt', permute],
  ['lop3', logic3],
]);
