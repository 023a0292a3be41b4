import type { ConstantPool } from './constant-pool.ts';
import { pushSigned, pushUnsigned, signedLeb, unsignedLeb } from './leb128.ts';
import { OPCODES } from './opcodes.ts';

export type ValueType = 'i32' | 'i64' | 'v128';
/** The types of so many parameters of 32 bits. */
export const i32s = (count: number): 'i32'[] => new Array<'i32'>(count).fill('i32');
export const VALUE_TYPE: Record<ValueType, number> = { i32: 0x7f, i64: 0x7e, v128: 0x7b };

/** Index of a local variable of the function being built. */
export type Local = number;

/** So many of them. */
export type Locals<Count extends number, Found extends readonly Local[] = []> = Found['length'] extends Count
  ? Found
  : Locals<Count, readonly [...Found, Local]>;

/** Which of the module's memories an access goes to. */
export type MemoryIndex = 0 | 1 | 2 | 3 | 4;

const BLOCK_VOID = 0x40;

/** Emits the body of one function. Methods append instructions; the caller keeps track of the operand stack. */
export class FunctionBuilder {
  readonly index: number;
  #code: number[] = [];
  #parameterCount: number;
  #locals: ValueType[] = [];
  readonly #pool: ConstantPool | undefined;

  /** @param pool where constants of equal words lie, if they are to be loaded. */
  constructor(index: number, parameters: ValueType[], pool?: ConstantPool) {
    this.index = index;
    this.#parameterCount = parameters.length;
    this.#pool = pool;
  }

  /** Number of bytes emitted so far. */
  get size(): number {
    return this.#code.length;
  }

  local(type: ValueType): Local {
    this.#locals.push(type);
    return this.#parameterCount + this.#locals.length - 1;
  }

  locals<Count extends number>(type: ValueType, count: Count): Locals<Count> {
    return Array.from({ length: count }, () => this.local(type)) as Locals<Count>;
  }

  /** A new local, set to what is on the stack. */
  pop(type: ValueType): Local {
    const local = this.local(type);
    this.set(local);
    return local;
  }

  /** Any instructions without immediates, by their text names. */
  op(...names: string[]): this {
    for (const name of names) this.#simple(name);
    return this;
  }

  get(...locals: Local[]): this {
    for (const local of locals) this.#withIndex(0x20, local);
    return this;
  }

  set(local: Local): this {
    return this.#withIndex(0x21, local);
  }

  tee(local: Local): this {
    return this.#withIndex(0x22, local);
  }

  i32(value: number): this {
    this.#code.push(0x41);
    pushSigned(this.#code, value | 0);
    return this;
  }

  /** Adds a constant to the i32 on the stack. */
  add(value: number): this {
    return this.i32(value).op('i32.add');
  }

  /** Adds a constant to an i32 local. */
  advance(local: Local, by: number): this {
    return this.get(local).add(by).set(local);
  }

  i64(value: bigint): this {
    this.#code.push(0x42, ...signedLeb(BigInt.asIntN(64, value)));
    return this;
  }

  /** v128 constant from four 32-bit lanes. */
  i32x4(a: number, b = a, c = a, d = a): this {
    const place = a === b && b === c && c === d ? this.#pool?.placeOf(a) : undefined;
    if (place !== undefined) return this.i32(0).memory('v128.load32_splat', place);
    this.#prefixed(12);
    for (const lane of [a, b, c, d]) {
      this.#code.push(lane & 255, (lane >>> 8) & 255, (lane >>> 16) & 255, (lane >>> 24) & 255);
    }
    return this;
  }

  /** v128 constant with the same 64-bit lane twice. */
  i64x2(value: bigint, second = value): this {
    const low = (v: bigint) => Number(BigInt.asIntN(32, v));
    return this.i32x4(low(value), low(value >> 32n), low(second), low(second >> 32n));
  }

  f32x4(value: number): this {
    return this.i32x4(f32Bits(value));
  }

  shuffle(bytes: readonly number[]): this {
    this.#prefixed(13);
    this.#code.push(...bytes);
    return this;
  }

  /** Shuffle of whole 32-bit lanes: indices 0–3 from the first operand, 4–7 from the second. */
  shuffle32(lanes: readonly [number, number, number, number]): this {
    return this.shuffle(lanes.flatMap((lane) => [0, 1, 2, 3].map((byte) => lane * 4 + byte)));
  }

  lane(name: string, lane: number): this {
    const code = OPCODES.LANE[name];
    if (code === undefined) throw new Error(`no encoding for ${name}`);
    this.#prefixed(code);
    this.#code.push(lane);
    return this;
  }

  /** Load or store with a constant offset. */
  memory(name: string, offset: number, memory: MemoryIndex = 0): this {
    const scalar = OPCODES.MEMORY[name];
    if (scalar) {
      this.#code.push(scalar[0]);
      this.#memoryArgument(scalar[1], offset, memory);
      return this;
    }
    const simd = OPCODES.SIMD_MEMORY[name];
    if (!simd) throw new Error(`no encoding for ${name}`);
    this.#prefixed(simd[0]);
    this.#memoryArgument(simd[1], offset, memory);
    return this;
  }

  /** i32.load. */
  load(offset: number, memory?: MemoryIndex): this {
    return this.memory('i32.load', offset, memory);
  }

  /** i32.load from a constant address. */
  loadAt(address: number, memory?: MemoryIndex): this {
    return this.i32(0).load(address, memory);
  }

  /** i32.store. */
  store(offset: number, memory?: MemoryIndex): this {
    return this.memory('i32.store', offset, memory);
  }

  /** Load into, or store from, one lane of a v128. */
  memoryLane(name: string, offset: number, lane: number, memory: MemoryIndex = 0): this {
    const code = OPCODES.SIMD_MEMORY_LANE[name];
    if (!code) throw new Error(`no encoding for ${name}`);
    this.#prefixed(code[0]);
    this.#memoryArgument(code[1], offset, memory);
    this.#code.push(lane);
    return this;
  }

  call(functionIndex: number): this {
    return this.#withIndex(0x10, functionIndex);
  }

  callIndirect(typeIndex: number): this {
    this.#withIndex(0x11, typeIndex);
    this.#code.push(0x00);
    return this;
  }

  block(body: () => void): this {
    return this.#structured(0x02, body);
  }

  loop(body: () => void): this {
    return this.#structured(0x03, body);
  }

  /** Pops the condition. */
  if(then: () => void, otherwise?: () => void): this {
    this.#code.push(0x04, BLOCK_VOID);
    then();
    if (otherwise) {
      this.#code.push(0x05);
      otherwise();
    }
    this.#code.push(0x0b);
    return this;
  }

  br(depth: number): this {
    return this.#withIndex(0x0c, depth);
  }

  brIf(depth: number): this {
    return this.#withIndex(0x0d, depth);
  }

  encode(): Uint8Array {
    const locals = this.#encodeLocals();
    const size = unsignedLeb(locals.length + this.#code.length + 1);
    const out = new Uint8Array(size.length + locals.length + this.#code.length + 1);
    out.set(size);
    out.set(locals, size.length);
    out.set(this.#code, size.length + locals.length);
    out[out.length - 1] = 0x0b;
    return out;
  }

  #simple(name: string): void {
    const [simple, saturating, simd] = [OPCODES.CORE[name], OPCODES.SATURATING[name], OPCODES.SIMD[name]];
    if (simple !== undefined) this.#code.push(simple);
    else if (saturating !== undefined) this.#code.push(0xfc, saturating);
    else if (simd !== undefined) this.#prefixed(simd);
    else throw new Error(`no encoding for ${name}`);
  }

  #structured(opcode: number, body: () => void): this {
    this.#code.push(opcode, BLOCK_VOID);
    body();
    this.#code.push(0x0b);
    return this;
  }

  #withIndex(opcode: number, index: number): this {
    this.#code.push(opcode);
    pushUnsigned(this.#code, index);
    return this;
  }

  #prefixed(code: number): void {
    this.#withIndex(0xfd, code);
  }

  /** Bit 6 of the alignment field announces a memory index (multi-memory). */
  #memoryArgument(alignment: number, offset: number, memory: MemoryIndex): void {
    if (offset < 0) throw new Error(`negative memory offset ${offset}`);
    if (memory === 0) this.#code.push(alignment);
    else this.#code.push(alignment | 0x40, memory);
    pushUnsigned(this.#code, offset);
  }

  #encodeLocals(): number[] {
    const runs: [number, ValueType][] = [];
    for (const type of this.#locals) {
      const last = runs.at(-1);
      if (last && last[1] === type) last[0]++;
      else runs.push([1, type]);
    }
    return [...unsignedLeb(runs.length), ...runs.flatMap(([count, type]) => [...unsignedLeb(count), VALUE_TYPE[type]])];
  }
}

const scratch = new DataView(new ArrayBuffer(4));
export function f32Bits(value: number): number {
  scratch.setFloat32(0, value);
  return scratch.getInt32(0);
}
