import { LANES } from '../layout.ts';
import { bf16ToNumber, f16ToNumber, f32ToNumber, numberToF16, numberToF32 } from './half-numbers.ts';

/** How the elements of A and B lie in registers: their size, and how to read one. */
export interface ElementFormat {
  readonly bits: number;
  readonly read: (register: number, index: number) => number;
  /** Of floats whose subnormal numbers wgmma aligns by the least exponent of normal ones. */
  readonly leastExponent?: number;
}

const half = (register: number, index: number): number => (register >>> (index * 16)) & 0xffff;

/** All numbers of a float of eight bits; e4m3 has no infinities, and two NaNs. */
function float8Values(fractionBits: number, isNotFinite: (magnitude: number) => number | undefined): Float64Array {
  const bias = 2 ** (6 - fractionBits) - 1;
  return Float64Array.from({ length: 256 }, (_, bits) => {
    const magnitude = bits & 0x7f;
    const field = magnitude >> fractionBits;
    const fraction = (magnitude & (2 ** fractionBits - 1)) + (field > 0 ? 2 ** fractionBits : 0);
    const value = isNotFinite(magnitude) ?? fraction * 2 ** (Math.max(field, 1) - bias - fractionBits);
    return bits & 0x80 ? -value : value;
  });
}

const E4M3 = float8Values(3, (magnitude) => (magnitude === 0x7f ? Number.NaN : undefined));
const E5M2 = float8Values(2, (magnitude) => {
  if (magnitude < 0x7c) return undefined;
  return magnitude === 0x7c ? Number.POSITIVE_INFINITY : Number.NaN;
});
const byte = (register: number, index: number): number => (register >>> (index * 8)) & 0xff;

export const ELEMENT_FORMATS: Readonly<Record<string, ElementFormat>> = {
  f16: { bits: 16, read: (r, i) => f16ToNumber(half(r, i)) },
  bf16: { bits: 16, read: (r, i) => bf16ToNumber(half(r, i)) },
  // TF32 ignores the low 13 bits.
  tf32: { bits: 32, read: (r) => f32ToNumber(r & 0xffffe000) },
  e4m3: { bits: 8, read: (r, i) => E4M3[byte(r, i)]!, leastExponent: -6 },
  e5m2: { bits: 8, read: (r, i) => E5M2[byte(r, i)]!, leastExponent: -14 },
  s8: { bits: 8, read: (r, i) => ((r >>> (i * 8)) << 24) >> 24 },
  u8: { bits: 8, read: byte },
};

/** Element `index` of a lane: of rows g, g, g + 8, g + 8 and two neighbouring columns. */
export function readAccumulator(c: Uint32Array, lane: number, index: number, type: string): number {
  if (type === 'f16') return f16ToNumber(half(c[(index >> 1) * LANES + lane]!, index & 1));
  const word = c[index * LANES + lane]!;
  return type === 's32' ? word | 0 : f32ToNumber(word);
}

export function writeAccumulator(d: Int32Array, lane: number, results: Float64Array, type: string): void {
  if (type === 'f16') {
    for (const r of [0, 1])
      d[r * LANES + lane] = numberToF16(results[r * 2]!) | (numberToF16(results[r * 2 + 1]!) << 16);
    return;
  }
  for (let i = 0; i < results.length; i++)
    d[i * LANES + lane] = type === 's32' ? results[i]! : numberToF32(results[i]!);
}
