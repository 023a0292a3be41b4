import { boxMuller } from './box-muller.ts';

/*
 * Every random number of warpsmith that a seed repeats. Recordings and resumed runs depend on the streams: none may change, but for
 * the last places of normal numbers, which inputs lose when they are rounded.
 */

/** The golden ratio's fractional part. Its multiples, modulo 1, are spread evenly for any count, and never come near a fraction of few places. */
export const GOLDEN_FRACTION = (Math.sqrt(5) - 1) / 2;

/** Uniform 32-bit integers, one after another. */
export interface RandomSource {
  next(): number;
}

/** Spreads one seed over 32-bit words: a Weyl sequence through a bijective mix (D. Stafford's 32-bit SplitMix). */
function* seedWords(seed: number): Generator<number, never> {
  // Seeds may exceed 32 bits; the upper part starts elsewhere, so that seeds 2³² apart differ.
  let state = (Math.trunc(seed) ^ Math.imul(Math.floor(seed / 4294967296), 0x85ebca6b)) | 0;
  for (;;) {
    state = (state + 0x9e3779b9) | 0;
    let word = state;
    word = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    yield (word ^ (word >>> 15)) >>> 0;
  }
}

const rotateLeft = (word: number, by: number): number => (word << by) | (word >>> (32 - by));

/** xoshiro128** from a given state, not all zero. Source: D. Blackman and S. Vigna, prng.di.unimi.it (public domain). */
export function xoshiro128(state: readonly [number, number, number, number]): RandomSource {
  let [a, b, c, d] = state;
  return {
    next() {
      const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0;
      const shifted = b << 9;
      c ^= a;
      d ^= b;
      b ^= c;
      a ^= d;
      c ^= shifted;
      d = rotateLeft(d, 11);
      return result;
    },
  };
}

/** The generator of this seed. Not cryptographic: it resamples what was measured and never reaches a kernel. */
export function randomSource(seed: number): RandomSource {
  const words = seedWords(seed);
  const word = (): number => words.next().value;
  return xoshiro128([word(), word(), word(), word()]);
}

/** Numbers in [0, 1) for orders and rubbish, never for inputs: mulberry32. Source: T. Ettinger (public domain). */
export function mulberry32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let word = Math.imul(state ^ (state >>> 15), 1 | state);
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
    return ((word ^ (word >>> 14)) >>> 0) / 4294967296;
  };
}

/** Numbers in [0, 1) for where buffers lie. Source: the 32-bit finaliser of MurmurHash3 over a Weyl sequence. */
export function scrambledWeyl(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let bits = state;
    bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
    return ((bits ^ (bits >>> 16)) >>> 0) / 4294967296;
  };
}

/** What can be put in another order. */
interface Reorderable<Item> {
  readonly length: number;
  [index: number]: Item;
}

/**
 * Puts items into a random order, in place (Fisher and Yates).
 * @param below - a whole number from 0 to `bound` − 1, each as likely; asked with falling bounds.
 */
export function shuffle<Items extends Reorderable<unknown>>(items: Items, below: (bound: number) => number): Items {
  const list: Reorderable<unknown> = items;
  for (let place = list.length - 1; place > 0; place -= 1) {
    const other = below(place + 1);
    [list[place], list[other]] = [list[other], list[place]];
  }
  return items;
}

/** 0 … count − 1: in natural order for seed 0, else a seeded permutation. */
export function seededOrder(count: number, seed: number): Int32Array {
  const order = new Int32Array(count);
  for (let i = 0; i < count; i++) order[i] = i; // Asked for each CTA of a launch.
  if (seed === 0) return order;
  const random = mulberry32(seed);
  return shuffle(order, (bound) => Math.floor(random() * bound));
}

/**
 * Counter-based random numbers: value i of a stream is a pure function of the stream's key and i, so that any part of
 * an input can be drawn alone and the same input is drawn on every machine. Not cryptographic, and need not be: seeds
 * never reach a kernel.
 *
 * bits(i) = mix(mix(i + k0) ^ k1), mix being a 32-bit xor-shift-multiply bijection.
 * Source of mix's constants: C. Wellons, hash-prospector, "lowbias32" (public domain), bias 0.17.
 */
export interface RandomStream {
  /** Uniform over the 32-bit integers. */
  bits(index: number): number;
  /** Uniform in the open interval (0, 1), 32 bits fine. */
  uniform(index: number): number;
  /** Standard normal, by Box–Muller over the pair of counters that `index` belongs to. */
  normal(index: number): number;
  /**
   * Fills `target` with `mean + standardDeviation · normal(first + i)`, at a fraction of the cost of drawing them one by one.
   *
   * @param first even; 0 if absent.
   */
  fillNormal(target: Float64Array, mean: number, standardDeviation: number, first?: number): void;
  /** What {@link streamOf} makes the same stream of. */
  readonly keys: StreamKeys;
}

export type StreamKeys = readonly [number, number];

/** Signed, as machines compute; `>>> 0` makes the unsigned number of it. */
function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return x ^ (x >>> 16);
}

const FNV_PRIME = 0x01000193;

/** 32-bit FNV-1a over the labels' UTF-16 code units, finished with `mix`. Labels are separated, so ("a","b") ≠ ("ab"). */
function hashLabels(labels: readonly (string | number)[], basis: number): number {
  let hash = basis | 0;
  for (const label of labels) {
    const text = String(label);
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
    hash = Math.imul(hash ^ 0x1f, FNV_PRIME);
  }
  return mix(hash) >>> 0;
}

/** The stream named by these labels, e.g. run seed, check and input name. Equal labels give equal streams. */
export const createStream = (...labels: readonly (string | number)[]): RandomStream =>
  streamOf([hashLabels(labels, 0x811c9dc5), hashLabels(labels, 0x5bd1e995)]);

const bitsOf = (index: number, key0: number, key1: number): number => mix(mix(index + key0) ^ key1);

/** The stream with these keys, in another thread for example. */
export function streamOf(keys: StreamKeys): RandomStream {
  const [key0, key1] = [keys[0] | 0, keys[1] | 0];
  const bits = (index: number): number => bitsOf(index, key0, key1) >>> 0;
  const uniform = (index: number): number => (bits(index) + 0.5) / 4294967296;
  const normal = (index: number): number => {
    const pair = new Float64Array(2);
    fillNormal(pair, key0, key1, { mean: 0, standardDeviation: 1, first: index - (index % 2) });
    return pair[index % 2]!;
  };
  return {
    ...{ bits, uniform, normal, keys },
    fillNormal: (target, mean, standardDeviation, first = 0) =>
      fillNormal(target, key0, key1, { mean, standardDeviation, first }),
  };
}

/** Takes a stream's keys as numbers of its own: loops that read them from a closure take longer. */
function fillNormal(
  target: Float64Array,
  key0: number,
  key1: number,
  { mean, standardDeviation, first }: { mean: number; standardDeviation: number; first: number },
): void {
  for (let i = 0; i < target.length; i += 2) {
    const radiusBits = bitsOf(first + i, key0, key1);
    boxMuller(target, i, radiusBits, bitsOf(first + i + 1, key0, key1), mean, standardDeviation);
  }
}

/** The next random number in [0, 1). */
export type Draw = () => number;

/** A stream's numbers, one after another. */
export function inOrder({ uniform }: RandomStream): Draw {
  let index = 0;
  return () => uniform(index++);
}

/** A whole number from 0 to `bound` − 1, each as likely. */
export const below = (draw: Draw, bound: number): number => Math.floor(draw() * bound);

/** Whole numbers of every order of magnitude alike, from 1 up to the bound. */
export const logBelow = (draw: Draw, bound: number): number => Math.max(1, Math.floor((bound + 1) ** draw()));

/** As {@link shuffle} asks for them: one draw after another. */
export function belowInOrder({ bits }: RandomStream): (bound: number) => number {
  let index = 0;
  return (bound) => bits(index++) % bound;
}

/** In a secret order that follows from the seed. */
export function byLot<T>(all: readonly T[], seed: number, what: string): T[] {
  const stream = createStream(seed, what);
  return all
    .map((one, i) => ({ one, place: stream.bits(i) }))
    .sort((a, b) => a.place - b.place)
    .map(({ one }) => one);
}

/** As {@link shuffle} asks for them: one draw for each place. */
export const belowOf =
  ({ bits }: RandomStream) =>
  (bound: number): number =>
    bits(bound - 1) % bound;
