import type { OperandPair } from '../../core/decisions.ts';
import { type DType, isFloating, sizeOfDType } from '../../core/dtype.ts';
import { decode, encode } from '../../core/rounding.ts';
import type { AssignedValue } from '../oracle/mutated-inputs.ts';
import type { Distance } from './distance-to-way.ts';

/** An input of which values may be chosen. */
export interface DescentInput {
  /** Its place among those of the problem. */
  readonly place: number;
  readonly dtype: DType;
  readonly values: ArrayLike<number>;
  /** As many others, drawn as these were. */
  readonly others: ArrayLike<number>;
  /** Whether it may hold this value. */
  takes(value: number): boolean;
}

export interface DescentRequest {
  readonly inputs: readonly DescentInput[];
  /** What the decision compares if these elements have these values; `undefined` if that can't be told. */
  readonly compare: (values: readonly AssignedValue[]) => Promise<readonly OperandPair[] | undefined>;
  /** All 0 at what is looked for. */
  readonly distances: readonly Distance[];
  /** How often it may compare. */
  readonly mostRuns: number;
}

/** How many elements may change: as many as a word has bytes, and some more. */
const MOST_ELEMENTS = 10;

/** After so many elements in a row that do not bring the operands nearer by an eighth, the distance is given up. */
const MOST_IN_VAIN = 2;

/** How often one step is taken on, as long as it leads nearer. */
const MOST_STRIDES = 4;

/**
 * Looks for values with which a decision goes the other way, knowing only what it compares: finds an element on which the operands depend that are nearest to it, by halving
 * what is changed, and moves that element's value by powers of two as long as the operands come nearer; then the next element. So it solves sums, products, words that several
 * bytes make up, and what an exponent is compared with, but no hash that mixes bits both ways.
 *
 * @returns the values; `undefined` if it finds none.
 */
export async function descend(request: DescentRequest): Promise<AssignedValue[] | undefined> {
  const descent = new Descent(request);
  return (await descent.run()) ? descent.values : undefined;
}

interface Element {
  readonly input: DescentInput;
  readonly index: number;
}

const keyOf = ({ input, index }: Element): string => `${input.place} ${index}`;

/** Of all operands, those nearest to what is looked for. */
interface Nearest {
  readonly pair: OperandPair;
  readonly distance: bigint;
}

class Descent {
  readonly #request: DescentRequest;
  readonly #assigned = new Map<string, AssignedValue>();
  #runs = 0;

  constructor(request: DescentRequest) {
    this.#request = request;
  }

  get values(): AssignedValue[] {
    return [...this.#assigned.values()];
  }

  async run(): Promise<boolean> {
    for (const distance of this.#request.distances) {
      this.#assigned.clear();
      if (await this.#approach(distance)) return true;
    }
    return false;
  }

  /** By one distance, changes one element after the other, as long as they lead nearer. */
  async #approach(distance: Distance): Promise<boolean> {
    const moves = distance === this.#request.distances[0] ? bySteps : byBits;
    const elements: Element[] = [];
    for (let inVain = 0; inVain < MOST_IN_VAIN && elements.length < MOST_ELEMENTS; ) {
      const before = await this.#nearest(distance);
      const element = before && (await this.#influence(before));
      if (!element) break;
      const after = await this.#improve(element, distance, moves);
      if (after === 0n) return true;
      elements.push(element);
      // One that does not lead nearer is not chosen again.
      if (!this.#assigned.has(keyOf(element))) this.#assign(element, startOf(element));
      inVain = after !== undefined && 8n * after <= 7n * before.distance ? 0 : inVain + 1;
    }
    // What was best for one alone need not be beside the others.
    for (const element of elements) if ((await this.#improve(element, distance, moves)) === 0n) return true;
    return false;
  }

  async #compare(changed: readonly AssignedValue[]): Promise<readonly OperandPair[]> {
    if (this.#runs === this.#request.mostRuns) return [];
    this.#runs += 1;
    return (await this.#request.compare([...this.#assigned.values(), ...changed])) ?? [];
  }

  async #nearest(distance: Distance): Promise<Nearest | undefined> {
    return nearestOf(await this.#compare([]), distance);
  }

  /** An element on which these operands depend, not one that was chosen before. */
  async #influence(nearest: Nearest): Promise<Element | undefined> {
    for (const input of this.#request.inputs) {
      let [from, to] = [0, input.values.length];
      if (!(await this.#depends(nearest, input, from, to))) continue;
      while (to - from > 1) {
        const middle = (from + to) >> 1;
        if (await this.#depends(nearest, input, from, middle)) to = middle;
        else from = middle;
      }
      if (await this.#depends(nearest, input, from, to)) return { input, index: from };
    }
    return undefined;
  }

  /** Whether these operands are gone if the elements of a stretch have other values. */
  async #depends({ pair }: Nearest, input: DescentInput, from: number, to: number): Promise<boolean> {
    const changed: AssignedValue[] = [];
    for (let index = from; index < to; index++)
      if (!this.#assigned.has(keyOf({ input, index })))
        changed.push({ input: input.place, element: index, value: input.others[index]! });
    if (changed.length === 0) return false;
    const pairs = await this.#compare(changed);
    return pairs.length > 0 && !pairs.some(({ a, b }) => a === pair.a && b === pair.b);
  }

  /** Moves an element's value as long as operands come nearer. How far they are then; `undefined` if that can't be told. */
  async #improve(
    element: Element,
    distance: Distance,
    movesOf: (dtype: DType) => readonly Move[],
  ): Promise<bigint | undefined> {
    let least = (await this.#nearest(distance))?.distance;
    for (const move of movesOf(element.input.dtype))
      for (let stride = 0; stride < MOST_STRIDES && least !== 0n; stride++) {
        const value = move(this.#assigned.get(keyOf(element))?.value ?? startOf(element));
        if (value === undefined || !element.input.takes(value)) break;
        const moved = { input: element.input.place, element: element.index, value };
        const reached = nearestOf(await this.#compare([moved]), distance)?.distance;
        if (reached === undefined || (least !== undefined && reached >= least)) break;
        least = reached;
        this.#assign(element, value);
      }
    return least;
  }

  #assign(element: Element, value: number): void {
    this.#assigned.set(keyOf(element), { input: element.input.place, element: element.index, value });
  }
}

const startOf = ({ input, index }: Element): number => input.values[index]!;

function nearestOf(pairs: readonly OperandPair[], distance: Distance): Nearest | undefined {
  let nearest: Nearest | undefined;
  for (const pair of pairs) {
    const is = distance(pair);
    if (is !== undefined && (!nearest || is < nearest.distance)) nearest = { pair, distance: is };
  }
  return nearest;
}

/** The value after a move; `undefined` if its dtype has none there. */
type Move = (value: number) => number | undefined;

/** By powers of two, the greatest first, up and down: of whole numbers, or of places among all numbers of a floating-point dtype. */
function bySteps(dtype: DType): Move[] {
  const bits = 8 * sizeOfDType(dtype);
  return Array.from({ length: bits }, (_, i) => 1n << BigInt(bits - 1 - i)).flatMap((step) => [
    (value) => atCode(codeOf(value, dtype) + step, dtype),
    (value) => atCode(codeOf(value, dtype) - step, dtype),
  ]);
}

/** Each bit turned over, the lowest first. */
function byBits(dtype: DType): Move[] {
  return Array.from({ length: 8 * sizeOfDType(dtype) }, (_, bit) => (value) => {
    const bytes = encode(Float64Array.of(value), dtype);
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    return decode(bytes, dtype)[0];
  });
}

/** A whole number that grows by 1 from each value of the dtype to the next. */
function codeOf(value: number, dtype: DType): bigint {
  if (!isFloating(dtype)) return BigInt(value);
  const size = wordOf(encode(Float64Array.of(Math.abs(value)), dtype));
  return value < 0 ? -size : size;
}

function atCode(code: bigint, dtype: DType): number | undefined {
  const bits = 8 * sizeOfDType(dtype);
  if (!isFloating(dtype)) return Number(code);
  const size = code < 0n ? -code : code;
  if (size >> BigInt(bits - 1)) return undefined;
  const word = new Uint8Array(BigUint64Array.of(size).buffer).slice(0, bits / 8);
  const value = decode(word, dtype)[0]!;
  return Number.isFinite(value) ? (code < 0n ? -value : value) : undefined;
}

function wordOf(bytes: Uint8Array): bigint {
  const word = new Uint8Array(8);
  word.set(bytes);
  return new DataView(word.buffer).getBigUint64(0, true);
}
