type Numbers = Uint8Array | Int32Array | Uint32Array | Float64Array;

/**
 * An array that each simulation fills anew. Megabytes that are made for one launch and dropped behind it make V8 mark its whole heap after every
 * few launches, which took longer than the simulation.
 */
export class SpareArray<T extends Numbers> {
  readonly #make: (length: number) => T;
  #array: T;

  constructor(make: (length: number) => T) {
    this.#make = make;
    this.#array = make(0);
  }

  /** So many numbers of any value. What was taken before is void. */
  take(length: number): T {
    if (this.#array.length < length) this.#array = this.#make(length);
    return this.#array.subarray(0, length) as T;
  }

  /** So many zeros. */
  takeZeros(length: number): T {
    const taken = this.take(length);
    taken.fill(0);
    return taken;
  }
}

export const spareInt32 = (): SpareArray<Int32Array> => new SpareArray((length) => new Int32Array(length));
export const spareFloat64 = (): SpareArray<Float64Array> => new SpareArray((length) => new Float64Array(length));
