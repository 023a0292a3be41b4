import { definitionsAndUses } from '../../../ptx/instructions/properties.ts';
import type { Local } from '../../wasm/function-builder.ts';
import type { BlockFrame } from '../block-frame.ts';
import type { PendingInstruction } from './context.ts';

/**
 * Registers in a chunk loop. Values stay in wasm locals within the loop body. Values that are needed later are stored in
 * the warp's state right after their last write.
 */
export class LaneRegisters {
  #frame: BlockFrame;
  #isNeededAfter: (register: string) => boolean;
  /** Locals of registers that are in wasm locals already; double words have two. */
  #locals = new Map<string, Local[]>();
  /** Position of the last definition in the segment. */
  #lastDefinition = new Map<string, number>();

  constructor(frame: BlockFrame, pending: readonly PendingInstruction[], isNeededAfter: (register: string) => boolean) {
    this.#frame = frame;
    this.#isNeededAfter = isNeededAfter;
    pending.forEach(({ instruction }, position) => {
      for (const register of definitionsAndUses(instruction).definitions) this.#lastDefinition.set(register, position);
    });
  }

  /** The locals of a register, loaded from the warp's state at the first use in the loop body. */
  locals(register: string): Local[] {
    const known = this.#locals.get(register);
    if (known) return known;
    const { b, locals, kernel } = this.#frame;
    const created = this.#create(register);
    const slot = kernel.slotOf(register);
    const base = created.length === 2 ? locals.at2 : locals.at;
    created.forEach((local, part) => {
      b.get(base)
        .memory('v128.load', slot + part * 16)
        .set(local);
    });
    return created;
  }

  #create(register: string): Local[] {
    const { kernel, b } = this.#frame;
    const count = kernel.kindOf(register) === 'double-word' ? 2 : 1;
    const created = Array.from({ length: count }, () => b.local('v128'));
    this.#locals.set(register, created);
    return created;
  }

  /**
   * Pops a value into a register, keeping the old value where `guard` is off.
   * @param position of the instruction in the segment.
   */
  set(register: string, part: 0 | 1, guard: Local | undefined, position: number): void {
    const { b } = this.#frame;
    if (guard !== undefined) {
      const old = this.locals(register);
      b.get(old[part]!);
      this.#pushMask(guard, old.length, part);
      b.op('v128.bitselect');
    }
    const target = this.#locals.get(register) ?? this.#create(register);
    b.set(target[part]!);
    if (this.#lastDefinition.get(register) === position && this.#isNeededAfter(register))
      this.#store(register, target, part);
  }

  /** Stores one part to the warp's state. */
  #store(register: string, target: readonly Local[], part: 0 | 1): void {
    const { b, kernel, locals, masked } = this.#frame;
    const base = target.length === 2 ? locals.at2 : locals.at;
    const offset = kernel.slotOf(register) + part * 16;
    b.get(base, target[part]!);
    if (masked) {
      b.get(base).memory('v128.load', offset);
      this.#pushMask(locals.mask, target.length, part);
      b.op('v128.bitselect');
    }
    b.memory('v128.store', offset);
  }

  #pushMask(mask: Local, parts: number, part: number): void {
    const { b } = this.#frame;
    b.get(mask);
    if (parts === 2) b.op(part === 0 ? 'i64x2.extend_low_i32x4_s' : 'i64x2.extend_high_i32x4_s');
  }
}
