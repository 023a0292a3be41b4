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

/** Takes the chosen elements from a secret distance further on. */
function displaced(
  elements: Uint8Array,
  size: number,
  stream: RandomStream,
  isChosen: (element: number) => boolean,
): Uint8Array {
  const count = elements.length / size;
  const distance = (1 + (stream.bits(0) % Math.max(1, count - 1))) * size;
  const result = elements.slice();
  for (let i = 0; i < count; i++) {
    if (!isChosen(i)) continue;
    const offset = i * size;
    const from = (offset + distance) % elements.length;
    let changed = false;
    for (let byte = 0; byte < size; byte++) {
      result[offset + byte] = elements[from + byte]!;
      changed ||= elements[from + byte] !== elements[offset + byte];
    }
    if (!changed) result[offset + size - 1]! ^= CHANGED_BITS;
  }
  return result;
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
