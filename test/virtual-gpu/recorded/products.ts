import { createStream } from '../../../src/stats/random.ts';
import {
  drawAddends,
  drawBits,
  drawerOf,
  drawFactors,
  FLOAT_KINDS,
  type FloatKind,
  isFloatName,
} from './draw-floats.ts';

const AT_THE_BOUNDS = 'sums at the bounds';
const INTEGER_KINDS = ['any bits', AT_THE_BOUNDS];

/** Sets of operands: for floats one of each kind; of integers any bits, also added to what is nearly too much. */
export const kindsOf = (type: string): readonly string[] => (isFloatName(type) ? FLOAT_KINDS : INTEGER_KINDS);

/** Types and sizes of a product's operands, as they lie in memory one after the other. */
export interface ProductOperands {
  /** What the draw depends on, beside the kind. */
  readonly seed: string;
  readonly a: { readonly type: string; readonly bytes: number };
  readonly b: { readonly type: string; readonly bytes: number };
  readonly c: { readonly type: string; readonly bytes: number };
}

/** Operands of a product. */
export function drawProduct({ seed, a, b, c }: ProductOperands, kind: string): Uint8Array[] {
  const next = drawerOf(createStream('recorded product', seed, kind));
  const factor = (type: string, bytes: number, side: 'a' | 'b'): Uint8Array =>
    isFloatName(type) ? drawFactors(type, kind as FloatKind, bytes, next, side) : drawBits(bytes, next);
  const factors = [factor(a.type, a.bytes, 'a'), factor(b.type, b.bytes, 'b')];
  const addends = (): Uint8Array => {
    if (isFloatName(c.type) && isFloatName(a.type))
      return drawAddends(c.type, kind as FloatKind, c.bytes, next, a.type);
    return kind === AT_THE_BOUNDS ? drawBounds(c.bytes, next) : drawBits(c.bytes, next);
  };
  return [...factors, addends()];
}

/** Words near the least and the greatest of s32: a product of small depth takes some of them beyond. */
function drawBounds(bytes: number, next: () => number): Uint8Array {
  const words = Int32Array.from({ length: bytes / 4 }, () => {
    const distance = next() % 2 ** 18;
    return next() & 1 ? 2 ** 31 - 1 - distance : -(2 ** 31) + distance;
  });
  return new Uint8Array(words.buffer);
}

/** One after the other. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
