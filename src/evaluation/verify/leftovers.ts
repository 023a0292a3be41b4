import { type DType, isFloating, sizeOfDType } from '../../core/dtype.ts';
import type { RandomStream } from '../../stats/random.ts';

/**
 * Secret contents of an output before a launch, as packed elements. No kernel can tell them from the contents of an
 * ordinary run, and a right kernel overwrites all of them.
 */

/** Replaces about half of the elements by others of the same output; every replaced element changes. */
export function altered(elements: Uint8Array, dtype: DType, stream: RandomStream): Uint8Array {
  const count = elements.length / sizeOfDType(dtype);
  // One draw decides for 32 elements; a single element is always altered.
  const isAltered = (i: number): boolean => count === 1 || ((stream.bits(1 + (i >>> 5)) >>> (i & 31)) & 1) === 1;
  return displaced(elements, sizeOfDType(dtype), stream, isAltered);
}

/** Replaces every element by another one of the same output: plausible values, all at wrong places. */
export const shuffled = (elements: Uint8Array, dtype: DType, stream: RandomStream): Uint8Array =>
  displaced(elements, sizeOfDType(dtype), stream, () => true);

/** Elements of so many bytes as whole numbers: byte by byte takes half as long again. */
const WORDS = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array } as const;

/** Takes the chosen elements from a secret distance further on. */
function displaced(
  elements: Uint8Array,
  size: number,
  stream: RandomStream,
  isChosen: (element: number) => boolean,
): Uint8Array {
  const count = elements.length / size;
  const distance = 1 + (stream.bits(0) % Math.max(1, count - 1));
  // Eight bytes as two words: they change if one of them does.
  const wordBytes = size === 8 ? 4 : (size as keyof typeof WORDS);
  const perElement = size / wordBytes;
  const source = new WORDS[wordBytes](elements.slice().buffer);
  const result = source.slice();
  const changedBits = CHANGED_BITS * 2 ** (8 * (wordBytes - 1));
  for (let i = 0; i < count; i++) {
    if (!isChosen(i)) continue;
    const from = ((i + distance) % count) * perElement;
    const to = i * perElement;
    let changed = false;
    for (let word = 0; word < perElement; word++) {
      result[to + word] = source[from + word]!;
      changed ||= source[from + word] !== source[to + word];
    }
    if (!changed) result[to + perElement - 1]! ^= changedBits;
  }
  return new Uint8Array(result.buffer);
}

/** In an element's top byte: a high exponent bit of every floating-point dtype, a high bit of every integer one. */
const CHANGED_BITS = 0x20;

/** NaNs with random payloads; random bits where the dtype has no NaN. */
export function noise(elements: Uint8Array, dtype: DType, stream: RandomStream): Uint8Array {
  const size = sizeOfDType(dtype);
  const result = new Uint8Array(elements.length);
  for (let i = 0; i < result.length; i++) result[i] = stream.bits(i >> 2) >>> (8 * (i & 3));
  if (!isFloating(dtype)) return result;
  const [top, next] = QUIET_NAN[dtype as keyof typeof QUIET_NAN];
  for (let end = size; end <= result.length; end += size) {
    result[end - 1]! |= top;
    result[end - 2]! |= next;
  }
  return result;
}

/** The bits of an element's two top bytes that make it a quiet NaN, for any sign and any other payload bits. */
const QUIET_NAN = { f16: [0x7e, 0], bf16: [0x7f, 0xc0], f32: [0x7f, 0xc0], f64: [0x7f, 0xf8] } as const;
