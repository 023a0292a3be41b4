import type { PtxInstruction } from '../../ptx/ast.ts';
import { spaceOf, typeOf } from '../../ptx/instruction-parts.ts';
import { sizeOfPtxType } from '../../ptx/types.ts';
import { unsupported } from '../unsupported.ts';
import type { ElementReduction } from './bulk-copies/parts.ts';
import { bf16ToNumber, f16ToNumber, numberToBf16, numberToF16 } from './half-numbers.ts';
import type { Address, ResolvedAddress, WarpContext } from './warp-context.ts';

/** New value of a memory location from the old one and the operands, all as unsigned bit patterns. */
type Combine<Bits> = (old: Bits, operand: Bits, second: Bits) => Bits;

const scratch = new DataView(new ArrayBuffer(8));

function f32(bits: number): number {
  scratch.setUint32(0, bits);
  return scratch.getFloat32(0);
}
/** The NaN that a GPU's additions give. */
const F32_NAN = 0x7fffffff;
function f32Bits(value: number): number {
  if (Number.isNaN(value)) return F32_NAN;
  scratch.setFloat32(0, value);
  return scratch.getUint32(0);
}
function f64(bits: bigint): number {
  scratch.setBigUint64(0, bits);
  return scratch.getFloat64(0);
}
function f64Bits(value: number): bigint {
  scratch.setFloat64(0, value);
  return scratch.getBigUint64(0);
}

/** Below 2⁻¹²⁶. */
const isSubnormal = (bits: number): boolean => (bits & 0x7f800000) === 0 && (bits & 0x7fffff) !== 0;

const flushed = (bits: number): number => (isSubnormal(bits) ? (bits & 0x80000000) >>> 0 : bits);

/**
 * f32 additions in device memory take subnormal numbers for zeros of their sign and give such, whatever the flags; those in shared memory don't
 * (PTX ISA, `atom`).
 */
const flushingAdd: Combine<number> = (a, b) => flushed(f32Bits(f32(flushed(a)) + f32(flushed(b))));

const low16 = (bits: number): number => bits & 0xffff;
const high16 = (bits: number): number => bits >>> 16;

/** Sum of two 16-bit floats, rounded once (the f64 sum of two of them is exact). */
const halfAdd = (a: number, b: number): number => numberToF16(f16ToNumber(a) + f16ToNumber(b));
const bfloatAdd = (a: number, b: number): number => numberToBf16(bf16ToNumber(a) + bf16ToNumber(b));

const pack = (low: number, high: number): number => (low | (high << 16)) >>> 0;

/** Additions of floats of up to 32 bits; integers add modulo their width. */
const FLOAT_ADDITIONS: Record<string, Combine<number>> = {
  f32: (a, b) => f32Bits(f32(a) + f32(b)),
  f16: halfAdd,
  bf16: bfloatAdd,
  f16x2: (a, b) => pack(halfAdd(low16(a), low16(b)), halfAdd(high16(a), high16(b))),
  bf16x2: (a, b) => pack(bfloatAdd(low16(a), low16(b)), bfloatAdd(high16(a), high16(b))),
};

/** The value of a bit pattern of up to 32 bits, for comparisons. */
function ordered(type: string, bits: number): (pattern: number) => number {
  if (type === 'f32') return f32;
  return type.startsWith('s') ? (pattern) => (pattern << (32 - bits)) >> (32 - bits) : (pattern) => pattern;
}

/** @param bits at most 32. */
function wordCombination(operation: string, type: string, bits: number): Combine<number> | undefined {
  const mask = bits === 32 ? 0xffffffff : 2 ** bits - 1;
  const read = ordered(type, bits);
  const table: Record<string, Combine<number>> = {
    add: FLOAT_ADDITIONS[type] ?? ((a, b) => ((a + b) & mask) >>> 0),
    min: (a, b) => (read(b) - read(a) < 0 ? b : a),
    max: (a, b) => (read(b) - read(a) > 0 ? b : a),
    and: (a, b) => (a & b) >>> 0,
    or: (a, b) => (a | b) >>> 0,
    xor: (a, b) => (a ^ b) >>> 0,
    exch: (_, b) => b,
    cas: (a, b, c) => (a === b ? c : a),
    inc: (a, b) => (a >= b ? 0 : a + 1),
    dec: (a, b) => (a === 0 || a > b ? b : a - 1),
  };
  return table[operation];
}

function doubleCombination(operation: string, type: string): Combine<bigint> | undefined {
  const read = (v: bigint): bigint | number =>
    type === 'f64' ? f64(v) : type.startsWith('s') ? BigInt.asIntN(64, v) : v;
  const table: Record<string, Combine<bigint>> = {
    add: type === 'f64' ? (a, b) => f64Bits(f64(a) + f64(b)) : (a, b) => BigInt.asUintN(64, a + b),
    min: (a, b) => (read(b) < read(a) ? b : a),
    max: (a, b) => (read(b) > read(a) ? b : a),
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

const BULK_REDUCTIONS: ReadonlySet<string> = new Set(['add', 'min', 'max', 'inc', 'dec', 'and', 'or', 'xor']);

/** What cp.reduce.async.bulk does to each element; undefined for forms that virtual GPUs lack. */
export function bulkReduction(instruction: PtxInstruction): ElementReduction | undefined {
  const type = typeOf(instruction);
  const operation = instruction.modifiers.find((modifier) => BULK_REDUCTIONS.has(modifier));
  const elementBytes = sizeOfPtxType(type);
  if (operation === undefined || (type.includes('f') && operation !== 'add')) return undefined;
  if (elementBytes === 8) {
    const combine = doubleCombination(operation, type);
    if (!combine) return undefined;
    const apply: ElementReduction['apply'] = (to, at, from, fromAt) =>
      to.setBigUint64(at, combine(to.getBigUint64(at, true), from.getBigUint64(fromAt, true), 0n), true);
    return { elementBytes, apply };
  }
  const combine = wordCombination(operation, type, elementBytes * 8);
  if (!combine) return undefined;
  const apply: ElementReduction['apply'] =
    elementBytes === 4
      ? (to, at, from, fromAt) =>
          to.setUint32(at, combine(to.getUint32(at, true), from.getUint32(fromAt, true), 0), true)
      : (to, at, from, fromAt) =>
          to.setUint16(at, combine(to.getUint16(at, true), from.getUint16(fromAt, true), 0), true);
  return { elementBytes, apply };
}

const OPERATIONS = ['add', 'min', 'max', 'and', 'or', 'xor', 'exch', 'cas', 'inc', 'dec'];

/** Does one lane's turn at a place of memory. */
type Turn = (context: WarpContext, place: ResolvedAddress, lane: number) => void;

/** What an instruction says, read once. */
interface Form {
  space: string;
  size: number;
  /** The address operand's index; the values follow it. */
  first: number;
  turn: Turn;
}

const forms = new WeakMap<PtxInstruction, Form>();

function formOf(instruction: PtxInstruction): Form {
  const known = forms.get(instruction);
  if (known) return known;
  const type = typeOf(instruction);
  const operation = instruction.modifiers.find((m) => OPERATIONS.includes(m));
  const size = sizeOfPtxType(type);
  const first = instruction.opcode === 'atom' ? 1 : 0;
  const turn = operation === undefined ? undefined : turnOf(operation, type, size, first);
  if (!turn) throw unsupported(instruction);
  const form = { space: spaceOf(instruction), size, first, turn };
  forms.set(instruction, form);
  return form;
}

function turnOf(operation: string, type: string, size: number, first: number): Turn | undefined {
  if (size === 8) {
    const combine = doubleCombination(operation, type);
    return combine && doubleTurn(combine, first);
  }
  const combine = wordCombination(operation, type, size * 8);
  if (!combine) return undefined;
  const turn = wordTurn(combine, size, first);
  if (operation !== 'add' || type !== 'f32') return turn;
  const inDeviceMemory = wordTurn(flushingAdd, size, first);
  return (context, place, lane) => (place.space === 'global' ? inDeviceMemory : turn)(context, place, lane);
}

function doubleTurn(combine: Combine<bigint>, first: number): Turn {
  const read = (context: WarpContext, index: number, lane: number): bigint => {
    const operand = context.operands[index];
    return operand ? context.double(operand, lane) : 0n;
  };
  return (context, { view, offset }, lane) => {
    const old = view.getBigUint64(offset, true);
    view.setBigUint64(offset, combine(old, read(context, first + 1, lane), read(context, first + 2, lane)), true);
    if (first > 0) context.setDouble(context.operands[0]!, lane, old);
  };
}

function wordTurn(combine: Combine<number>, size: number, first: number): Turn {
  const mask = size === 4 ? 0xffffffff : 0xffff;
  const read = (context: WarpContext, index: number, lane: number): number => {
    const operand = context.operands[index];
    return operand ? (context.word(operand, lane) & mask) >>> 0 : 0;
  };
  return (context, { view, offset }, lane) => {
    const old = size === 4 ? view.getUint32(offset, true) : view.getUint16(offset, true);
    const next = combine(old, read(context, first + 1, lane), read(context, first + 2, lane));
    if (size === 4) view.setUint32(offset, next, true);
    else view.setUint16(offset, next, true);
    if (first > 0) context.setWord(context.operands[0]!, lane, old);
  };
}

/** Where an atomic is tried: none has more bytes. */
const COPY = new DataView(new ArrayBuffer(16));

/** atom and red: lanes take turns in lane order. `red` has no destination. */
export function performAtomic(context: WarpContext): void {
  const { operands, lanes } = context;
  const { space, size, first, turn } = formOf(context.instruction);
  const accesses: { lane: number; address: Address; space: string }[] = [];
  for (const lane of lanes) {
    const address = context.address(operands[first]!, lane);
    const place = context.resolve(address, space, size, true, lane, size);
    accesses.push({ lane, address, space: place.space });
    if (context.watcher?.remembers(place.space)) {
      context.beforeStrongWrite(place, address, size);
      if (first > 0 && takesOlderValue(context, place, { address, lane, size, turn })) continue;
    }
    turn(context, place, lane);
  }
  context.countRequest(accesses, size, 'atomic');
}

/**
 * An atomic that leaves the value as it is may come before later writes. Lets it, on a copy, where the value before them stays as it
 * is, too: `atomicAdd(&flag, 0)`, a compare-and-swap that fails.
 */
function takesOlderValue(
  context: WarpContext,
  place: ResolvedAddress,
  { address, lane, size, turn }: { address: Address; lane: number; size: number; turn: Turn },
): boolean {
  const onCopy = { ...place, view: COPY, offset: 0 };
  const keepsAt = (view: DataView, offset: number): boolean => {
    for (let at = 0; at < size; at++) COPY.setUint8(at, view.getUint8(offset + at));
    turn(context, onCopy, lane);
    for (let at = 0; at < size; at++) if (COPY.getUint8(at) !== view.getUint8(offset + at)) return false;
    return true;
  };
  const keeps = (contents: DataView): boolean => keepsAt(contents, 0);
  return keepsAt(place.view, place.offset) && context.olderValue(place, address, size, lane, keeps) !== undefined;
}
