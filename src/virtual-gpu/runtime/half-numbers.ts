/** Conversions between patterns of floats of up to 32 bits and numbers; rounding is to nearest even. */
const half = new Float16Array(1);
const halfBits = new Uint16Array(half.buffer);
const single = new Float32Array(1);
const singleBits = new Uint32Array(single.buffer);

/** The NaN that a GPU's additions and matrix instructions give, whatever NaN they got. */
const F32_NAN = 0x7fffffff;

export function f32ToNumber(bits: number): number {
  singleBits[0] = bits;
  return single[0]!;
}

export function numberToF32(value: number): number {
  if (Number.isNaN(value)) return F32_NAN;
  single[0] = value;
  return singleBits[0]!;
}

export function f16ToNumber(bits: number): number {
  halfBits[0] = bits;
  return half[0]!;
}

export function numberToF16(value: number): number {
  if (Number.isNaN(value)) return 0x7fff;
  half[0] = value;
  return halfBits[0]!;
}

export const bf16ToNumber = (bits: number): number => f32ToNumber(bits << 16);

/** Exact for values that f32 holds exactly or that are sums of two bf16 numbers of similar size. */
export function numberToBf16(value: number): number {
  if (Number.isNaN(value)) return 0x7fff;
  single[0] = value;
  let bits = singleBits[0]!;
  // Round to odd on the way to f32, so that the second rounding is right.
  if (single[0] !== value && Number.isFinite(single[0]) && (bits & 1) === 0)
    bits += Math.abs(value) > Math.abs(single[0]) ? 1 : -1;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}
