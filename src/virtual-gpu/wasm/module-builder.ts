import type { ConstantPool } from './constant-pool.ts';
import { FunctionBuilder, VALUE_TYPE, type ValueType } from './function-builder.ts';
import { signedLeb, unsignedLeb } from './leb128.ts';

export interface Signature {
  parameters: ValueType[];
  results: ValueType[];
}

interface ImportedFunction {
  name: string;
  type: number;
}

export interface ImportedMemory {
  name: string;
  minimumPages: number;
  /** Given only for a memory shared between threads. */
  sharedMaximumPages?: number;
}

type Bytes = number[] | Uint8Array;

const section = (id: number, body: Bytes): Bytes => concatenate([[id], unsignedLeb(body.length), body]);
const vector = (items: Bytes[]): Bytes => concatenate([unsignedLeb(items.length), ...items]);
function utf8(text: string): number[] {
  const bytes = [...new TextEncoder().encode(text)];
  return [...unsignedLeb(bytes.length), ...bytes];
}

/** Assembles a WebAssembly module: imports first, then functions in the order they are declared. */
export class ModuleBuilder {
  #types: number[][] = [];
  #typeIndices = new Map<string, number>();
  #imports: ImportedFunction[] = [];
  #memories: ImportedMemory[] = [];
  #functions: { type: number; builder: FunctionBuilder }[] = [];
  #exports: { name: string; index: number }[] = [];
  #table: FunctionBuilder[] = [];
  #pool: ConstantPool | undefined;

  importMemory(memory: ImportedMemory): void {
    this.#memories.push(memory);
  }

  /** Declares an import `env.name`; all imports must precede the first function. Returns its index. */
  importFunction(name: string, signature: Signature): number {
    if (this.#functions.length > 0) throw new Error('imports must be declared before functions');
    this.#imports.push({ name, type: this.typeIndex(signature) });
    return this.#imports.length - 1;
  }

  /** Declares where constants lie in memory 0; an instance writes them there when it is made. */
  setPool(pool: ConstantPool): void {
    this.#pool = pool;
  }

  /**
   * Declares a function whose body the returned builder takes.
   * @param loadsConstants whether it has them from the pool.
   */
  defineFunction(signature: Signature, loadsConstants = false): FunctionBuilder {
    const index = this.#imports.length + this.#functions.length;
    const builder = new FunctionBuilder(index, signature.parameters, loadsConstants ? this.#pool : undefined);
    this.#functions.push({ type: this.typeIndex(signature), builder });
    return builder;
  }

  exportFunction(name: string, builder: FunctionBuilder): void {
    this.#exports.push({ name, index: builder.index });
  }

  /** Entries of table 0, for call_indirect. */
  setTable(entries: FunctionBuilder[]): void {
    this.#table = entries;
  }

  typeIndex(signature: Signature): number {
    const encode = (types: ValueType[]) => [types.length, ...types.map((t) => VALUE_TYPE[t])];
    const bytes = [0x60, ...encode(signature.parameters), ...encode(signature.results)];
    const key = bytes.join();
    const known = this.#typeIndices.get(key);
    if (known !== undefined) return known;
    this.#types.push(bytes);
    this.#typeIndices.set(key, this.#types.length - 1);
    return this.#types.length - 1;
  }

  encode(): Uint8Array<ArrayBuffer> {
    const imports = [
      ...this.#memories.map((m) => [
        ...utf8('env'),
        ...utf8(m.name),
        0x02,
        ...(m.sharedMaximumPages === undefined
          ? [0x00, ...unsignedLeb(m.minimumPages)]
          : [0x03, ...unsignedLeb(m.minimumPages), ...unsignedLeb(m.sharedMaximumPages)]),
      ]),
      ...this.#imports.map((f) => [...utf8('env'), ...utf8(f.name), 0x00, ...unsignedLeb(f.type)]),
    ];
    const parts: Bytes[] = [[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]];
    parts.push(section(1, vector(this.#types)));
    parts.push(section(2, vector(imports)));
    parts.push(section(3, vector(this.#functions.map((f) => unsignedLeb(f.type)))));
    if (this.#table.length > 0) {
      const size = unsignedLeb(this.#table.length);
      parts.push(section(4, [1, 0x70, 0x01, ...size, ...size]));
    }
    parts.push(section(7, vector(this.#exports.map((e) => [...utf8(e.name), 0x00, ...unsignedLeb(e.index)]))));
    if (this.#table.length > 0) {
      const entries = vector(this.#table.map((f) => unsignedLeb(f.index)));
      parts.push(section(9, [1, 0x00, 0x41, 0x00, 0x0b, ...entries]));
    }
    parts.push(section(10, vector(this.#functions.map((f) => f.builder.encode()))));
    if (this.#pool) parts.push(section(11, vector([dataAt(this.#pool)])));
    return concatenate(parts);
  }
}

/** An active segment of memory 0. */
const dataAt = ({ start, contents }: ConstantPool): Bytes =>
  concatenate([[0, 0x41], signedLeb(BigInt(start)), [0x0b], unsignedLeb(contents.length), contents]);

function concatenate(parts: Bytes[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    out.set(part, offset);
    offset += part.length;
  }
  return out;
}
