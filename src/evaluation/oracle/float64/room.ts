import type { Float64Matrix, Float64Room } from '../../../core/problem.ts';
import { ModuleBuilder } from '../../../virtual-gpu/wasm/module-builder.ts';
import { CONSTANTS_AT, emitExponentials, SUBTRACTED_AT, SUM_AT } from './emit-exponentials.ts';
import { emitCombinations, emitPack, emitProducts, ROWS } from './emit-products.ts';

const BYTES = Float64Array.BYTES_PER_ELEMENT;
const PAGE_BYTES = 2 ** 16;
/** So many terms of four rows are packed at once, behind what exponentials are told. */
const PACKED_TERMS = 4096;
const PACKED_AT = 512;
const ARRAYS_AT = PACKED_AT + PACKED_TERMS * ROWS * BYTES;
/** A vector's alignment. */
const ALIGNMENT = 16;
/** So many elements of `b` go through all rows before the next ones do: half of a first-level cache. */
const CACHED_ELEMENTS = 2048;
/** Sums go to memory and back after at least so many terms. */
const LEAST_TERMS = 16;

/** Of WebAssembly.Memory without growth beyond 32 bits. */
const MOST_PAGES = 2 ** 16;

type Functions = Record<'products' | 'combinations' | 'pack' | 'exponentials', (...given: number[]) => void>;

let compiled: { readonly module: WebAssembly.Module; readonly constants: readonly number[] } | undefined;
let last: Room | undefined;

/**
 * Memory for so many elements in which float64 products of matrices take a quarter of the time of loops in JavaScript, with the same
 * bits. A room that is large enough is given again: arrays in the one before are lost, and what they held lies in new ones.
 *
 * @throws RangeError for more elements than a memory of WebAssembly takes.
 */
export function float64Room(elements: number): Float64Room {
  if (!last?.holds(elements)) {
    // Or both were in memory at once.
    last = undefined;
    last = new Room(elements);
  }
  last.clear(elements);
  return last;
}

class Room implements Float64Room {
  readonly #memory: WebAssembly.Memory;
  readonly #functions: Functions;
  #next = ARRAYS_AT;
  #end = ARRAYS_AT;

  constructor(elements: number) {
    const pages = Math.ceil((ARRAYS_AT + elements * BYTES + ALIGNMENT) / PAGE_BYTES);
    if (!(pages <= MOST_PAGES)) throw new RangeError(`a room of ${elements} elements is larger than 4 GiB`);
    this.#memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    compiled ??= compile();
    const { exports } = new WebAssembly.Instance(compiled.module, { env: { memory: this.#memory } });
    this.#functions = exports as Functions;
    new Float64Array(this.#memory.buffer, CONSTANTS_AT).set(compiled.constants);
  }

  holds(elements: number): boolean {
    return ARRAYS_AT + elements * BYTES <= this.#memory.buffer.byteLength;
  }

  clear(elements: number): void {
    this.#next = ARRAYS_AT;
    this.#end = ARRAYS_AT + elements * BYTES;
  }

  array(length: number): Float64Array {
    if (!Number.isInteger(length) || length < 0) throw new RangeError(`an array of ${length} elements`);
    const at = this.#next;
    const next = at + length * BYTES;
    if (next > this.#end) throw new RangeError(`no room for ${length} more elements`);
    this.#next = next;
    return new Float64Array(this.#memory.buffer, at, length);
  }

  multiplyByTransposed(c: Float64Matrix, a: Float64Matrix, b: Float64Matrix): void {
    this.#check({ c, a, b }, b.columns === a.columns && b.rows === c.columns);
    for (const [term, terms] of stretches(a.columns, PACKED_TERMS)) {
      const rowsAtOnce = ROWS * Math.floor(PACKED_TERMS / terms);
      for (const [row, rows] of stretches(c.rows, rowsAtOnce))
        this.#addProducts(c, a, b, fours(row, rows), term, terms);
    }
  }

  /** To sums of some rows, `terms` of their terms. */
  #addProducts(
    c: Float64Matrix,
    a: Float64Matrix,
    b: Float64Matrix,
    groups: readonly Four[],
    term: number,
    terms: number,
  ): void {
    const { products, pack } = this.#functions;
    const packedAt = (group: number): number => PACKED_AT + group * terms * ROWS * BYTES;
    for (const [i, [r0, r1, r2, r3]] of groups.entries()) {
      const rows = [addressOf(a, r0, term), addressOf(a, r1, term), addressOf(a, r2, term), addressOf(a, r3, term)];
      pack(packedAt(i), ...rows, terms);
    }
    for (const [column, columns] of stretches(c.columns, Math.max(ROWS, Math.floor(CACHED_ELEMENTS / terms)))) {
      const from = addressOf(b, column, term);
      for (const [i, [r0, r1, r2, r3]] of groups.entries()) {
        products(
          addressOf(c, r0, column),
          addressOf(c, r1, column),
          addressOf(c, r2, column),
          addressOf(c, r3, column),
          packedAt(i),
          from,
          columns,
          terms,
          strideOf(b) * BYTES,
          term,
        );
      }
    }
  }

  multiply(c: Float64Matrix, a: Float64Matrix, b: Float64Matrix): void {
    this.#check({ c, a, b }, b.rows === a.columns && b.columns === c.columns);
    const groups = fours(0, c.rows);
    for (const [column, columns] of stretches(c.columns, CACHED_ELEMENTS / LEAST_TERMS))
      for (const [term, terms] of stretches(a.columns, Math.floor(CACHED_ELEMENTS / columns)))
        this.#addCombinations(c, a, b, groups, { column, columns, term, terms });
  }

  /** To sums of some columns, `terms` of their terms. */
  #addCombinations(
    c: Float64Matrix,
    a: Float64Matrix,
    b: Float64Matrix,
    groups: readonly Four[],
    { column, columns, term, terms }: Record<'column' | 'columns' | 'term' | 'terms', number>,
  ): void {
    const { combinations } = this.#functions;
    const from = addressOf(b, term, column);
    for (const [r0, r1, r2, r3] of groups) {
      combinations(
        addressOf(c, r0, column),
        addressOf(c, r1, column),
        addressOf(c, r2, column),
        addressOf(c, r3, column),
        addressOf(a, r0, term),
        addressOf(a, r1, term),
        addressOf(a, r2, term),
        addressOf(a, r3, term),
        from,
        columns,
        terms,
        strideOf(b) * BYTES,
        term,
      );
    }
  }

  exponentials(x: Float64Array, subtracted: number): number {
    this.#checkPlace('x', x);
    const [at, numbers] = [x.byteOffset, new Float64Array(this.#memory.buffer, 0, PACKED_AT / BYTES)];
    numbers[SUBTRACTED_AT / BYTES] = subtracted;
    this.#functions.exponentials(at, x.length);
    return numbers[SUM_AT / BYTES]!;
  }

  #check(matrices: Record<'c' | 'a' | 'b', Float64Matrix>, fits: boolean): void {
    const { c, a } = matrices;
    if (!fits || a.rows !== c.rows) {
      const sizes = Object.entries(matrices).map(([name, { rows, columns }]) => `${name} ${rows}×${columns}`);
      throw new RangeError(`matrices do not fit: ${sizes.join(', ')}`);
    }
    for (const [name, matrix] of Object.entries(matrices)) this.#checkMatrix(name, matrix);
    // Sums of nothing.
    for (let row = 0; row < c.rows && a.columns === 0; row++)
      c.values.fill(0, row * strideOf(c), row * strideOf(c) + c.columns);
  }

  #checkMatrix(name: string, matrix: Float64Matrix): void {
    const { rows, columns, values } = matrix;
    this.#checkPlace(name, values);
    const stride = strideOf(matrix);
    const end = rows === 0 ? 0 : (rows - 1) * stride + columns;
    if ([rows, columns, stride].some((size) => !Number.isInteger(size) || size < 0) || stride < columns)
      throw new RangeError(`${name} is no matrix: ${rows}×${columns}, from row to row ${stride}`);
    if (end > values.length)
      throw new RangeError(`${name} has ${values.length} values, too few for ${rows}×${columns}`);
  }

  #checkPlace(name: string, values: Float64Array): void {
    if (values.buffer !== this.#memory.buffer) throw new RangeError(`${name} is no array of this room`);
  }
}

const strideOf = ({ stride, columns }: Float64Matrix): number => stride ?? columns;

const addressOf = (matrix: Float64Matrix, row: number, column: number): number =>
  matrix.values.byteOffset + (row * strideOf(matrix) + column) * BYTES;

/** `count` things in turn, at most so many at once: the first one's number and how many. */
function* stretches(count: number, atOnce: number): Generator<[from: number, count: number]> {
  for (let from = 0; from < count; from += atOnce) yield [from, Math.min(atOnce, count - from)];
}

type Four = [number, number, number, number];

/** Rows by fours. Where there are not enough, the last one is computed more than once, which gives the same. */
const fours = (first: number, count: number): Four[] =>
  Array.from(
    stretches(count, ROWS),
    ([from]) => [0, 1, 2, 3].map((i) => first + Math.min(from + i, count - 1)) as Four,
  );

function compile(): NonNullable<typeof compiled> {
  const module = new ModuleBuilder();
  module.importMemory({ name: 'memory', minimumPages: 1 });
  emitProducts(module);
  emitCombinations(module);
  emitPack(module);
  const constants = emitExponentials(module);
  return { module: new WebAssembly.Module(module.encode()), constants };
}
