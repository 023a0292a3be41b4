import { type DType, sizeOfDType } from './dtype.ts';

/** Nearest value of the dtype: ties to even; integers saturate, and NaN becomes 0. */
export const roundTo = (dtype: DType): ((value: number) => number) => CODECS[dtype].round;

/**
 * What `round` does in a run of a reference: nothing, rounding to a dtype or a number of significant bits, or rounding of
 * the named results only. Data, not a function, because references run in a process of their own.
 */
export type Rounding =
  | 'exact'
  | DType
  | { readonly significantBits: number }
  | { readonly named: Readonly<Record<string, DType>> };

/** The function that rounds so. */
export function rounderFor(rounding: Rounding): (value: number, name?: string) => number {
  if (rounding === 'exact') return (value) => value;
  if (typeof rounding === 'string') return roundTo(rounding);
  return 'named' in rounding ? roundNamed(rounding.named) : roundToBits(rounding.significantBits);
}

function roundNamed(dtypes: Readonly<Record<string, DType>>): (value: number, name?: string) => number {
  const rounders = new Map(Object.entries(dtypes).map(([name, dtype]) => [name, roundTo(dtype)]));
  return (value, name) => (name === undefined ? value : (rounders.get(name)?.(value) ?? value));
}

/** Rounds to a number of significant bits, for any exponent. */
function roundToBits(bits: number): (value: number) => number {
  // Veltkamp's splitting: the product and the difference round away all but the leading bits.
  const splitter = 2 ** (53 - bits) + 1;
  return (value) => {
    const scaled = value * splitter;
    return Number.isFinite(scaled) ? scaled - (scaled - value) : value;
  };
}

/** Every value rounded as by {@link roundTo}; for long arrays. */
export const roundAll = (values: Float64Array, dtype: DType): Float64Array => decode(encode(values, dtype), dtype);

/**
 * Decodes little-endian elements to float64; 64-bit integers beyond 2^53 are rounded.
 *
 * @throws RangeError when `bytes` is not a whole number of elements.
 */
export function decode(bytes: Uint8Array, dtype: DType): Float64Array {
  const count = elementCount(bytes, dtype);
  // Typed arrays need aligned storage; a copy is cheap beside the decoding. Not `slice`: Node's Buffers don't copy there.
  const { buffer, byteOffset } = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
  return CODECS[dtype].decode(buffer as ArrayBuffer, byteOffset, count);
}

/** Encodes float64 values as little-endian elements, rounding as `roundTo`. */
export function encode(values: ArrayLike<number>, dtype: DType): Uint8Array {
  const buffer = new ArrayBuffer(values.length * sizeOfDType(dtype));
  CODECS[dtype].encode(buffer, values);
  return new Uint8Array(buffer);
}

/** Whether all elements are equal; NaN equals NaN, and zeros of either sign are equal. */
export function areSame(left: Float64Array, right: Float64Array): boolean {
  if (left.length !== right.length) return false;
  // A loop: `every` takes ten times as long, and every run of a reference comes here.
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i] && !Object.is(left[i], right[i])) return false;
  return true;
}

function elementCount(bytes: Uint8Array, dtype: DType): number {
  const count = bytes.byteLength / sizeOfDType(dtype);
  if (Number.isInteger(count)) return count;
  throw new RangeError(`${bytes.byteLength} bytes are not a whole number of ${dtype} elements`);
}

const scratchFloat = new Float32Array(1);
const scratchBits = new Uint32Array(scratchFloat.buffer);

/** Bits of the nearest bf16, straight from float64: going through float32 would round twice. */
function bf16Bits(value: number): number {
  if (Number.isNaN(value)) return 0x7fff;
  scratchFloat[0] = value;
  const nearest = scratchFloat[0];
  const bits = scratchBits[0]!;
  const magnitude = Math.abs(nearest);
  const isTie = (bits & 0xffff) === 0x8000;
  // The float32 lies on the midpoint of two bf16 values, but the original value lies to one side of it.
  if (isTie && magnitude < Math.abs(value)) return (bits >>> 16) + 1;
  if (isTie && magnitude > Math.abs(value)) return bits >>> 16;
  if (magnitude === Number.POSITIVE_INFINITY) return bits >>> 16;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

function bf16Value(bits: number): number {
  scratchBits[0] = bits << 16;
  return scratchFloat[0]!;
}

function roundHalfToEven(value: number): number {
  const below = Math.floor(value);
  const fraction = value - below;
  if (fraction !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

/** Rounds to an integer of `[low, high]`; adding 0 turns −0 into 0. */
const integerRounder =
  (low: number, high: number) =>
  (value: number): number =>
    Number.isNaN(value) ? 0 : Math.min(high, Math.max(low, roundHalfToEven(value))) + 0;

/** Ends of the 64-bit ranges as float64: the largest float64 inside the range. */
const I64_HIGH = 2 ** 63 - 1024;
const U64_HIGH = 2 ** 64 - 2048;

type NumericView = { readonly length: number; [index: number]: number };
type NumericViewConstructor = new (
  buffer: ArrayBufferLike,
  byteOffset?: number,
  length?: number,
) => NumericView & ArrayLike<number>;

/** Rounds, decodes and encodes elements of one dtype. */
interface Codec {
  readonly round: (value: number) => number;
  readonly decode: (buffer: ArrayBuffer, offset: number, count: number) => Float64Array;
  readonly encode: (buffer: ArrayBuffer, values: ArrayLike<number>) => void;
}

/** For dtypes whose views round as IEEE 754 says. */
const floats = (
  View: Float16ArrayConstructor | Float32ArrayConstructor | Float64ArrayConstructor,
  round: Codec['round'],
): Codec => ({
  round,
  decode: (buffer, offset, count) => new Float64Array(new View(buffer, offset, count)),
  encode: (buffer, values) => new View(buffer).set(values),
});

const BF16: Codec = {
  round: (value) => bf16Value(bf16Bits(value)),
  decode(buffer, offset, count) {
    const halves = new Uint16Array(buffer, offset, count);
    const bits = new Uint32Array(count);
    for (let index = 0; index < count; index++) bits[index] = halves[index]! << 16;
    return new Float64Array(new Float32Array(bits.buffer));
  },
  encode(buffer, values) {
    const view = new Uint16Array(buffer);
    for (let index = 0; index < values.length; index++) view[index] = bf16Bits(values[index]!);
  },
};

function integers(View: NumericViewConstructor, low: number, high: number): Codec {
  const round = integerRounder(low, high);
  return {
    round,
    decode: (buffer, offset, count) => new Float64Array(new View(buffer, offset, count)),
    encode(buffer, values) {
      const view: NumericView = new View(buffer);
      for (let index = 0; index < values.length; index++) view[index] = round(values[index]!);
    },
  };
}

function longIntegers(View: typeof BigInt64Array | typeof BigUint64Array, low: number, high: number): Codec {
  const round = integerRounder(low, high);
  return {
    round,
    decode: (buffer, offset, count) => Float64Array.from(new View(buffer, offset, count), Number),
    encode(buffer, values) {
      const view = new View(buffer);
      for (let index = 0; index < values.length; index++) view[index] = BigInt(round(values[index]!));
    },
  };
}

const CODECS: Readonly<Record<DType, Codec>> = {
  f16: floats(Float16Array, (value) => Math.f16round(value)),
  bf16: BF16,
  f32: floats(Float32Array, Math.fround),
  f64: floats(Float64Array, (value) => value),
  i8: integers(Int8Array, -128, 127),
  u8: integers(Uint8Array, 0, 255),
  i16: integers(Int16Array, -32768, 32767),
  u16: integers(Uint16Array, 0, 65535),
  i32: integers(Int32Array, -(2 ** 31), 2 ** 31 - 1),
  u32: integers(Uint32Array, 0, 2 ** 32 - 1),
  i64: longIntegers(BigInt64Array, -(2 ** 63), I64_HIGH),
  u64: longIntegers(BigUint64Array, 0, U64_HIGH),
};
