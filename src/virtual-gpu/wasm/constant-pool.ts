/** All zeros and all ones take one instruction. */
const QUICK = [0, -1];

/**
 * Words in memory 0 that functions load into all lanes of a vector, by one instruction. V8 makes a constant of 128 bits anew in each function
 * that uses it, by three, one of which moves a general register: where a function is short and is called often, that is most of its time.
 */
export class ConstantPool {
  readonly start: number;
  readonly #end: number;
  readonly #words: number[] = [];

  /** @param start byte address; `bytes` from there on are the pool's. */
  constructor(start: number, bytes: number) {
    this.start = start;
    this.#end = start + bytes;
  }

  /** Byte address of a word; undefined for those that are made as quickly, and if there is no room left. */
  placeOf(word: number): number | undefined {
    const bits = word | 0;
    if (QUICK.includes(bits)) return undefined;
    const known = this.#words.indexOf(bits);
    if (known >= 0) return this.#placeAt(known);
    if (this.#placeAt(this.#words.length + 1) > this.#end) return undefined;
    return this.#placeAt(this.#words.push(bits) - 1);
  }

  /** What is to lie at {@link start}. */
  get contents(): Uint8Array {
    return new Uint8Array(Int32Array.from(this.#words).buffer);
  }

  #placeAt(index: number): number {
    return this.start + index * Int32Array.BYTES_PER_ELEMENT;
  }
}
