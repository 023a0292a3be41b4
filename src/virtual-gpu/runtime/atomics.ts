import { spaceOf, typeOf } from '../../ptx/instruction-parts.ts';
import { sizeOfPtxType } from '../../ptx/types.ts';
import { unsupported } from '../unsupported.ts';
import { bf16ToNumber, f16ToNumber, numberToBf16, numberToF16 } from './half-numbers.ts';
import type { WarpContext } from './warp-context.ts';

/** New value of a memory location from the old one and the operands, all as unsigned bit patterns. */
type Combine = (old: bigint, operand: bigint, second: bigint) => bigint;

const scratch = new DataView(new ArrayBuffer(8));

const f32 = (bits: bigint): number => {
  scratch.setUint32(0, Number(bits));
  return scratch.getFloat32(0);
};
const f32Bits = (value: number): bigint => {
  scratch.setFloat32(0, value);
  return BigInt(scratch.getUint32(0));
};
const f64 = (bits: bigint): number => {
  scratch.setBigUint64(0, bits);
  return scratch.getFloat64(0);
};
const f64Bits = (value: number): bigint => {
  scratch.setFloat64(0, value);
  return scratch.getBigUint64(0);
};

const low16 = (bits: bigint): number => Number(bits & 0xffffn);
const high16 = (bits: bigint): number => Number((bits >> 16n) & 0xffffn);

/** Sum of two 16-bit floats, rounded once (the f64 sum of two of them is exact). */
const halfAdd = (a: number, b: number): number => numberToF16(f16ToNumber(a) + f16ToNumber(b));
const bfloatAdd = (a: number, b: number): number => numberToBf16(bf16ToNumber(a) + bf16ToNumber(b));

const pack = (low: number, high: number): bigint => BigInt(low) | (BigInt(high) << 16n);

/** Additions by type; integers add modulo their width. */
const ADDITIONS: Record<string, Combine> = {
  f32: (a, b) => f32Bits(f32(a) + f32(b)),
  f64: (a, b) => f64Bits(f64(a) + f64(b)),
  f16: (a, b) => BigInt(halfAdd(Number(a), Number(b))),
  bf16: (a, b) => BigInt(bfloatAdd(Number(a), Number(b))),
  f16x2: (a, b) => pack(halfAdd(low16(a), low16(b)), halfAdd(high16(a), high16(b))),
  bf16x2: (a, b) => pack(bfloatAdd(low16(a), low16(b)), bfloatAdd(high16(a), high16(b))),
};

/** Order of two bit patterns under a type. */
function compare(type: string, bits: number): (a: bigint, b: bigint) => number {
  if (type === 'f32') return (a, b) => f32(a) - f32(b);
  if (type === 'f64') return (a, b) => f64(a) - f64(b);
  const read = (v: bigint) => (type.startsWith('s') ? BigInt.asIntN(bits, v) : v);
  return (a, b) => (read(a) < read(b) ? -1 : read(a) > read(b) ? 1 : 0);
}

function combination(operation: string, type: string): Combine | undefined {
  const bits = sizeOfPtxType(type) * 8;
  const order = compare(type, bits);
  const table: Record<string, Combine> = {
    add: ADDITIONS[type] ?? ((a, b) => BigInt.asUintN(bits, a + b)),
    min: (a, b) => (order(b, a) < 0 ? b : a),
    max: (a, b) => (order(b, a) > 0 ? b : a),
    and: (a, b) => a & b,
    or: (a, b) => a | b,
    xor: (a, b) => a ^ b,
    exch: (_, b) => b,
    cas: (a, b, c) => (a === b ? c : a),
    inc: (a, b) => (a >= b ? 0n : a + 1n),
    dec: (a, b) => (a === 0n || a > b ? b : a - 1n),
  };
  return table[operation];
}

const OPERATIONS = ['add', 'min', 'max', 'and', 'or', 'xor', 'exch', 'cas', 'inc', 'dec'];

/** atom and red: lanes take turns in lane order. `red` has no destination. */
export function performAtomic(context: WarpContext): void {
  const { instruction, operands, lanes } = context;
  const type = typeOf(instruction);
  const operation = instruction.modifiers.find((m) => OPERATIONS.includes(m));
  const combine = operation === undefined ? undefined : combination(operation, type);
  if (!combine) throw unsupported(instruction);
  const size = sizeOfPtxType(type);
  const first = instruction.opcode === 'atom' ? 1 : 0;
  const read = (index: number, lane: number): bigint => {
    const operand = operands[index];
    if (!operand) return 0n;
    return size === 8 ? context.double(operand, lane) : BigInt.asUintN(size * 8, BigInt(context.word(operand, lane)));
  };
  const accesses: { lane: number; address: bigint; space: string }[] = [];
  for (const lane of lanes) {
    const address = context.address(operands[first]!, lane);
    const { view, offset, space } = context.resolve(address, spaceOf(instruction), size, true, lane, size);
    accesses.push({ lane, address, space });
    const old =
      size === 8
        ? view.getBigUint64(offset, true)
        : BigInt(size === 4 ? view.getUint32(offset, true) : view.getUint16(offset, true));
    const next = combine(old, read(first + 1, lane), read(first + 2, lane));
    if (size === 8) view.setBigUint64(offset, next, true);
    else if (size === 4) view.setUint32(offset, Number(next), true);
    else view.setUint16(offset, Number(next), true);
    if (first === 0) continue;
    if (size === 8) context.setDouble(operands[0]!, lane, old);
    else context.setWord(operands[0]!, lane, Number(old));
  }
  context.countRequest(accesses, size, 'atomic');
}
