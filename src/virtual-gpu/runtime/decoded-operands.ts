import type { FunctionBuilder, Local } from '../wasm/function-builder.ts';
import { A_BYTES, A_EXPONENTS, B_BYTES, B_EXPONENTS, LACK_OF_ZERO, SCRATCH_MEMORY } from './product-emitter.ts';

const VECTOR_BYTES = 16;

/** Of slots that hold decoded A or B: for other columns, rows or warps. A slot also holds what it was decoded from. */
export interface OperandSlots {
  /** Place in the scratch memory. */
  readonly start: number;
  readonly count: number;
  readonly bytes: number;
  /** In a slot: vectors that were decoded, how many, and one that is not zero if something was out of range. */
  readonly source: number;
  readonly vectors: number;
  readonly outOfRange: number;
  /** In a slot: exponents, and where they end. */
  readonly exponents: number;
  readonly end: number;
}

const OPERANDS = {
  a: { exponents: A_EXPONENTS, end: A_BYTES },
  b: { exponents: B_EXPONENTS, end: B_BYTES },
} as const;

/** @param vectors most that are decoded together. */
export function operandSlots(name: 'a' | 'b', start: number, count: number, vectors: number): OperandSlots {
  const operand = OPERANDS[name];
  const outOfRange = operand.end + vectors * VECTOR_BYTES;
  const bytes = outOfRange + VECTOR_BYTES;
  return { ...operand, start, count, bytes, source: operand.end, vectors, outOfRange };
}

export const endOf = ({ start, count, bytes }: OperandSlots): number => start + count * bytes;

/** Makes every slot hold zeros, decoded: those of A do so already. */
export function fillWithZeros(
  scratch: WebAssembly.Memory,
  { start, count, bytes, exponents, end }: OperandSlots,
): void {
  const all = new Int8Array(scratch.buffer, start, count * bytes);
  for (let at = 0; at < all.length; at += bytes) all.fill(LACK_OF_ZERO, at + exponents, at + end);
}

/** Pushes a vector that is to be decoded. */
export type PushSource = (index: number) => FunctionBuilder;

/**
 * Sets `slot` to the address of the slot whose number is on the stack, and calls `decode` if it holds something else. The function returns 0
 * if something there is out of range.
 */
export function emitFindSlot(
  f: FunctionBuilder,
  slots: OperandSlots,
  { slot, pushSource, decode }: { slot: Local; pushSource: PushSource; decode: () => void },
): void {
  f.i32(slots.bytes).op('i32.mul').add(slots.start).set(slot);
  for (let i = 0; i < slots.vectors; i++) {
    pushSource(i);
    f.get(slot)
      .memory('v128.load', slots.source + i * VECTOR_BYTES, SCRATCH_MEMORY)
      .op('v128.xor');
    if (i > 0) f.op('v128.or');
  }
  f.op('v128.any_true');
  f.if(decode);
  f.get(slot).memory('v128.load', slots.outOfRange, SCRATCH_MEMORY).op('v128.any_true');
  f.if(() => f.i32(0).op('return'));
}

/** Notes what was decoded into a slot. `pushIsOutOfRange` pushes a vector that is not zero if something is. */
export function emitRemember(
  f: FunctionBuilder,
  slots: OperandSlots,
  { slot, pushSource, pushIsOutOfRange }: { slot: Local; pushSource: PushSource; pushIsOutOfRange: PushSource },
): void {
  for (let i = 0; i < slots.vectors; i++) {
    f.get(slot);
    pushSource(i).memory('v128.store', slots.source + i * VECTOR_BYTES, SCRATCH_MEMORY);
  }
  f.get(slot);
  pushIsOutOfRange(0).memory('v128.store', slots.outOfRange, SCRATCH_MEMORY);
}
