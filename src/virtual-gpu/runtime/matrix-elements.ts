import { LANES } from '../layout.ts';
import { bf16ToNumber, f16ToNumber, numberToF16 } from './half-numbers.ts';

/** How the elements of A and B lie in registers: their size, and how to read one. */
export interface ElementFormat {
  readonly bits: number;
  readonly read: (register: number, index: number) => number;
}

const single = new Float32Array(1);
const singleBits = new Uint32Array(single.buffer);
function bitsToF32(bits: number): number {
  singleBits[0] = bits;
  return single[0]!;
}
/** The NaN that matrix instructions give, whatever NaN they got. */
const NAN_BITS = 0x7fffffff;
function f32ToBits(value: number): number {
  if (Number.isNaN(value)) return NAN_BITS;
  single[0] = value;
  return singleBits[0]!;
}

const half = (register: number, index: number): number => (register >>> (index * 16)) & 0xffff;

export const ELEMENT_FORMATS: Readonly<Record<string, ElementFormat>> = {
  f16: { bits: 16, read: (r, i) => f16ToNumber(half(r, i)) },
  bf16: { bits: 16, read: (r, i) => bf16ToNumber(half(r, i)) },
  // TF32 ignores the low 13 bits.
  tf32: { bits: 32, read: (r) => bitsToF32(r & 0xffffe000) },
  s8: { bits: 8, read: (r, i) => ((r >>> (i * 8)) << 24) >> 24 },
  u8: { bits: 8, read: (r, i) => (r >>> (i * 8)) & 255 },
};

/** Element `index` of a lane: of rows g, g, g + 8, g + 8 and two neighbouring columns. */
export function readAccumulator(c: Uint32Array, lane: number, index: number, type: string): number {
  if (type === 'f16') return f16ToNumber(half(c[(index >> 1) * LANES + lane]!, index & 1));
  const word = c[index * LANES + lane]!;
  return type === 's32' ? word | 0 : bitsToF32(word);
}

export function writeAccumulator(d: Int32Array, lane: number, results: Float64Array, type: string): void {
  if (type === 'f16') {
    for (const r of [0, 1])
      d[r * LANES + lane] = numberToF16(results[r * 2]!) | (numberToF16(results[r * 2 + 1]!) << 16);
    return;
  }
  for (let i = 0; i < results.length; i++) d[i * LANES + lane] = type === 's32' ? results[i]! : f32ToBits(results[i]!);
}
