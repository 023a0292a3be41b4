import type { FunctionBuilder, Local } from '../../wasm/function-builder.ts';
import type { KernelContext } from '../kernel-context.ts';

/** Scalar locals that hold the current value of each uniform register a block has used so far. */
export class UniformRegisters {
  #b: FunctionBuilder;
  #kernel: KernelContext;
  /** Address of the warp's state. */
  #warp: Local;
  #locals = new Map<string, Local>();

  constructor(b: FunctionBuilder, kernel: KernelContext, warp: Local) {
    this.#b = b;
    this.#kernel = kernel;
    this.#warp = warp;
  }

  has(register: string): boolean {
    return this.#kernel.uniform.has(register);
  }

  /** Loaded from the warp's state at the first use. */
  local(register: string): Local {
    const known = this.#locals.get(register);
    if (known !== undefined) return known;
    const type = this.#type(register);
    const local = this.#b.local(type);
    this.#b.get(this.#warp).memory(`${type}.load`, this.#kernel.slotOf(register)).set(local);
    this.#locals.set(register, local);
    return local;
  }

  /**
   * Pops a new value. Every definition gets its own local, so that lane code emitted later still sees the value of its
   * position.
   */
  define(register: string): void {
    const local = this.#b.local(this.#type(register));
    this.#b.set(local);
    this.#locals.set(register, local);
  }

  /** Stores those of `registers` that are uniform to the warp's state. */
  store(registers: Iterable<string>): void {
    for (const register of new Set(registers)) if (this.has(register)) this.#store(register, this.local(register));
  }

  /** Stores what the block used so far and `isWanted` says. */
  storeUsed(isWanted: (register: string) => boolean): void {
    for (const [register, local] of this.#locals) if (isWanted(register)) this.#store(register, local);
  }

  #store(register: string, local: Local): void {
    this.#b.get(this.#warp, local).memory(`${this.#type(register)}.store`, this.#kernel.slotOf(register));
  }

  #type(register: string): 'i32' | 'i64' {
    return this.#kernel.kindOf(register) === 'double-word' ? 'i64' : 'i32';
  }
}
