import type { LoggedOperands, OperandPair } from '../../core/decisions.ts';
import { type DType, isFloating, sizeOfDType } from '../../core/dtype.ts';
import { decode } from '../../core/rounding.ts';
import type { AssignedValue } from './mutated-inputs.ts';

/** An input of which values may be chosen. */
export interface ChoosableInput {
  /** Its place among those of the problem. */
  readonly place: number;
  readonly dtype: DType;
  /** As a kernel gets them, without gaps between elements. */
  readonly bytes: Uint8Array;
  /** How many values may be the same. */
  readonly longestRepeated: number;
  /** Whether it may hold this value. */
  takes(value: number): boolean;
}

/** A comparison, and the number that it compares with if that is one. */
export interface UnequalValues extends Pick<LoggedOperands, 'type' | 'pairs'> {
  readonly constant: number | undefined;
}

/** More are a test of all values, which inputs of one value pass. */
const MOST_ASSIGNED = 4096;

/** Values may always be the same as so many others. */
const ALWAYS_REPEATED = 8;

/** Elements that hold one value: more say nothing about where an operand came from. */
const MOST_ALIKE = 64;

/** Of inputs in which about as many operands were found as in the best, the smallest: there fewer were found by chance. */
const AS_GOOD = 0.9;

/**
 * Values for elements of inputs with which comparisons that found operands unequal would find them equal: where an operand occurs among an
 * input's values, as it is or as neighbouring bytes make it up, those elements get the other operand's value. Operands that were computed from values are
 * not traced back. As fuzzers do that relate what is compared to what they gave in (Aschermann et al., REDQUEEN, 2019).
 */
export function solveEqualities(
  comparisons: readonly UnequalValues[],
  inputs: readonly ChoosableInput[],
): AssignedValue[] {
  const views = inputs
    .flatMap((input) => WAYS_TO_READ.flatMap((read) => read(input)))
    .map((reading) => ({ ...reading, places: placesOf(reading, comparisons) }));
  const byView = Map.groupBy(comparisons, (comparison) => bestView(views, comparison));
  return [...byView].flatMap(([view, own]) => {
    const values = view ? solveIn(view, own) : [];
    if (values.length > MOST_ASSIGNED) return [];
    const most = Math.max(view?.input.longestRepeated ?? 0, ALWAYS_REPEATED);
    const alike = Map.groupBy(values, ({ value }) => value);
    return [...alike.values()].every(({ length }) => length <= most) ? values : [];
  });
}

/** Where most of a comparison's operands are found; `undefined` if none is anywhere. */
function bestView(views: readonly View[], { pairs, type, constant }: UnequalValues): View | undefined {
  const isIn = (view: View, bits: bigint): boolean => {
    const key = view.keyOf(bits, type);
    return key !== undefined && view.places.has(key) && !(constant !== undefined && numberOf(bits, type) === constant);
  };
  const found = views.map((view) => pairs.filter(({ a, b }) => isIn(view, a) || isIn(view, b)).length);
  const most = Math.max(...found);
  return views
    .filter((_, i) => found[i]! > 0 && found[i]! >= AS_GOOD * most)
    .toSorted((a, b) => a.input.bytes.length - b.input.bytes.length)[0];
}

/** One way to read the values of an input. */
interface Reading {
  readonly input: ChoosableInput;
  /** What an operand of this type would be here; `undefined` if it can't be found. */
  readonly keyOf: (bits: bigint, type: string) => number | bigint | undefined;
  readonly values: () => ArrayLike<number | bigint>;
  /** What the elements at a place become, to hold this value. */
  readonly elements: (place: number, key: number | bigint) => { readonly element: number; readonly value: number }[];
}

/** Where operands lie in an input that is read so. */
interface View extends Reading {
  readonly places: ReadonlyMap<number | bigint, readonly number[]>;
}

type ReadAs = (input: ChoosableInput) => Reading[];

/** Numbers are found as elements of the same value, whatever their dtypes. */
const asNumbers: ReadAs = (input) => [
  {
    input,
    keyOf: (bits, type) => (isFloatType(type) === isFloating(input.dtype) ? numberOf(bits, type) : undefined),
    values: () => decode(input.bytes, input.dtype),
    elements: (place, key) => [{ element: place, value: Number(key) }],
  },
];

/** Whole numbers as wide as an element of a floating-point input are its bits; wider ones several neighbours. */
const asBits: ReadAs = (input) => {
  const { dtype, bytes } = input;
  const size = sizeOfDType(dtype);
  return WIDTHS.filter((width) => (isFloating(dtype) ? width >= size : width > size)).map((width) => ({
    input,
    keyOf: (bits, type) => (!isFloatType(type) && sizeOf(type) === width ? bits : undefined),
    values: () => wordsOf(bytes, width),
    elements: (place, key) => {
      const word = new Uint8Array(BigUint64Array.of(BigInt(key)).buffer).slice(0, width);
      return [...decode(word, dtype)].map((value, i) => ({ element: (place * width) / size + i, value }));
    },
  }));
};

const WAYS_TO_READ = [asNumbers, asBits] as const;

const WIDTHS = [2, 4, 8] as const;

/** Of a PTX type. */
export const isFloatType = (type: string): boolean => /^b?f\d/.test(type);

const sizeOf = (type: string): number => Number(/\d+$/.exec(type)?.[0] ?? 64) / 8;

function wordsOf(bytes: Uint8Array, width: number): bigint[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const word = {
    2: (at: number) => BigInt(view.getUint16(at, true)),
    4: (at: number) => BigInt(view.getUint32(at, true)),
  };
  const read = word[width as 2 | 4] ?? ((at: number) => view.getBigUint64(at, true));
  return Array.from({ length: Math.floor(bytes.length / width) }, (_, i) => read(i * width));
}

/** Where each operand lies that is there. There are few operands and millions of values, so that only places of operands are kept. */
function placesOf({ keyOf, values }: Reading, comparisons: readonly UnequalValues[]): Map<number | bigint, number[]> {
  const operands = new Set<number | bigint | undefined>(
    comparisons.flatMap(({ pairs, type }) => pairs.flatMap(({ a, b }) => [keyOf(a, type), keyOf(b, type)])),
  );
  operands.delete(undefined);
  const places = new Map<number | bigint, number[]>();
  if (operands.size === 0) return places;
  const all = values();
  for (let i = 0; i < all.length; i++) {
    if (!operands.has(all[i]!)) continue;
    const known = places.get(all[i]!);
    if (!known) places.set(all[i]!, [i]);
    else if (known.length <= MOST_ALIKE) known.push(i);
  }
  return places;
}

function numberOf(bits: bigint, type: string): number {
  const bytes = new Uint8Array(BigUint64Array.of(bits).buffer).slice(0, sizeOf(type));
  const dtype = isFloatType(type) ? type : type.replace('b', 'i').replace('s', 'i');
  return decode(bytes, dtype as DType)[0]!;
}

/** Makes equal what comparisons found unequal: values that are compared with one another become one, a constant if there is one. */
function solveIn(view: View, comparisons: readonly UnequalValues[]): AssignedValue[] {
  const input = view.input.place;
  const classes = new Classes((key) => {
    const { length } = view.places.get(key) ?? [];
    return length === 0 || length > MOST_ALIKE;
  });
  for (const { pairs, type, constant } of comparisons)
    for (const pair of pairs) join(classes, view, pair, type, constant);
  return classes
    .changed()
    .flatMap(({ key, becomes }) =>
      view.places.get(key)!.flatMap((place) => view.elements(place, becomes).map((one) => ({ input, ...one }))),
    )
    .filter(({ value }) => view.input.takes(value));
}

function join(classes: Classes, view: View, { a, b }: OperandPair, type: string, constant: number | undefined): void {
  const [one, other] = [view.keyOf(a, type), view.keyOf(b, type)];
  if (one === undefined || other === undefined || Number.isNaN(one) || Number.isNaN(other)) return;
  for (const [key, bits] of [
    [one, a],
    [other, b],
  ] as const)
    if (constant !== undefined && numberOf(bits, type) === constant) classes.fix(key);
  classes.join(one, other);
}

/** Values that are to be the same. Those that no element holds, and constants, stay. */
class Classes {
  readonly #parents = new Map<number | bigint, number | bigint>();
  readonly #fixed = new Set<number | bigint>();
  readonly #isFixed: (key: number | bigint) => boolean;

  constructor(isFixed: (key: number | bigint) => boolean) {
    this.#isFixed = isFixed;
  }

  fix(key: number | bigint): void {
    // What was joined before stays as it is.
    if (this.#rootOf(key) === key) this.#fixed.add(key);
  }

  join(a: number | bigint, b: number | bigint): void {
    const [one, other] = [this.#rootOf(a), this.#rootOf(b)];
    if (one === other) return;
    if (!this.#stays(one)) this.#parents.set(one, other);
    else if (!this.#stays(other)) this.#parents.set(other, one);
  }

  /** Values that become another one. */
  changed(): { readonly key: number | bigint; readonly becomes: number | bigint }[] {
    return [...this.#parents.keys()].map((key) => ({ key, becomes: this.#rootOf(key) }));
  }

  #stays(key: number | bigint): boolean {
    return this.#fixed.has(key) || this.#isFixed(key);
  }

  #rootOf(key: number | bigint): number | bigint {
    let root = key;
    for (let parent = this.#parents.get(root); parent !== undefined; parent = this.#parents.get(root)) root = parent;
    // Neighbours that are compared make long chains, which are gone through once.
    for (let at = key; at !== root; ) {
      const next = this.#parents.get(at)!;
      this.#parents.set(at, root);
      at = next;
    }
    return root;
  }
}
