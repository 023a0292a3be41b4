import type { RandomStream } from '../../../src/stats/random.ts';

/** A binary floating-point format in its place in a register. */
interface FloatFormat {
  readonly storageBytes: 1 | 2 | 4 | 8;
  readonly exponentBits: number;
  readonly fractionBits: number;
  /** Bits below the fraction, which instructions ignore. */
  readonly ignoredBits: number;
  /** The greatest exponent field of finite numbers only. */
  readonly top: number;
  readonly specials: readonly number[];
}

const ieee = (
  storageBytes: 1 | 2 | 4 | 8,
  exponentBits: number,
  fractionBits: number,
  ignoredBits = 0,
): FloatFormat => {
  const top = 2 ** exponentBits - 2;
  const unit = 2 ** (fractionBits + ignoredBits);
  const sign = unit * 2 ** exponentBits;
  const infinity = (top + 1) * unit;
  // Infinities, NaNs, −0, 0, the least subnormal, the greatest number, one.
  const positive = [infinity, infinity + unit / 2, 0, 2 ** ignoredBits, infinity - 2 ** ignoredBits, (top / 2) * unit];
  return {
    ...{ storageBytes, exponentBits, fractionBits, ignoredBits, top },
    specials: [...positive, ...positive.map((bits) => bits + sign), infinity + 2 ** ignoredBits],
  };
};

export const FLOAT_FORMATS = {
  f16: ieee(2, 5, 10),
  bf16: ieee(2, 8, 7),
  f32: ieee(4, 8, 23),
  tf32: ieee(4, 8, 10, 13),
  f64: ieee(8, 11, 52),
  e5m2: ieee(1, 5, 2),
  // No infinities; all ones are NaN.
  e4m3: { ...ieee(1, 4, 3), specials: [0x7f, 0xff, 0x7e, 0xfe, 0x78, 0, 0x80, 1, 0x81, 0x38] },
} as const satisfies Record<string, FloatFormat>;

export type FloatName = keyof typeof FLOAT_FORMATS;
export const isFloatName = (name: string): name is FloatName => name in FLOAT_FORMATS;

/** Kinds of operands, each of which tells ways to add apart. */
export const FLOAT_KINDS = [
  'near one',
  'wide',
  'all exponents',
  'least',
  'greatest',
  'sparse',
  'cancelling',
  'specials',
  'zeros',
] as const;
export type FloatKind = (typeof FLOAT_KINDS)[number];

/** Fields of exponents from and to, for factors. */
const RANGES: Readonly<Record<FloatKind, (top: number, bias: number) => [least: number, most: number]>> = {
  'near one': (_, bias) => [bias - 3, bias],
  wide: (_, bias) => [bias - 8, bias + 8],
  'all exponents': (top) => [0, top],
  least: () => [0, 3],
  greatest: (top) => [top - 4, top],
  sparse: (_, bias) => [bias - 14, bias + 14],
  cancelling: (_, bias) => [bias - 6, bias + 6],
  specials: (_, bias) => [bias - 3, bias],
  zeros: () => [0, 0],
};

const ONE_IN = { special: 24, present: 4 } as const;

/** Where numbers go, by the size of their format. */
function write(view: DataView, at: number, format: FloatFormat, value: bigint): void {
  if (format.storageBytes === 1) view.setUint8(at, Number(value));
  else if (format.storageBytes === 2) view.setUint16(at, Number(value), true);
  else if (format.storageBytes === 4) view.setUint32(at, Number(value), true);
  else view.setBigUint64(at, value, true);
}

/** A number with this field of the exponent, cut to those that there are; sign and fraction are drawn. */
function numberWith(format: FloatFormat, field: number, next: () => number): bigint {
  const { fractionBits, ignoredBits, exponentBits, top } = format;
  const exponent = Math.min(top, Math.max(0, field));
  const low = fractionBits + ignoredBits;
  const random = (BigInt(next()) << 32n) | BigInt(next());
  const fraction = BigInt.asUintN(low, random >> 4n);
  const sign = BigInt(next() & 1) << BigInt(low + exponentBits);
  return sign | (BigInt(exponent) << BigInt(low)) | fraction;
}

const biasOf = ({ exponentBits }: FloatFormat): number => 2 ** (exponentBits - 1) - 1;
const between = (least: number, most: number, next: () => number): number => least + (next() % (most - least + 1));

/** Draws from a stream, one after the other. */
export function drawerOf(stream: RandomStream): () => number {
  let index = 0;
  return () => stream.bits(index++);
}

/** Factors of products. Where they cancel, neighbours along K do: signs change on one side, and the values repeat on both. */
export function drawFactors(
  name: FloatName,
  kind: FloatKind,
  bytes: number,
  next: () => number,
  side: 'a' | 'b',
): Uint8Array {
  const format: FloatFormat = FLOAT_FORMATS[name];
  const view = new DataView(new ArrayBuffer(bytes));
  const [least, most] = RANGES[kind](format.top, biasOf(format));
  const signBit = 1n << BigInt(format.storageBytes * 8 - 1);
  const lastBit = 1n << BigInt(format.ignoredBits);
  let before = 0n;
  for (let i = 0; i * format.storageBytes < bytes; i++) {
    let value = numberWith(format, between(least, most, next), next);
    const chance = next();
    if (kind === 'zeros') value &= signBit;
    if (kind === 'sparse' && chance % ONE_IN.present !== 0) value = 0n;
    if (kind === 'specials' && chance % ONE_IN.special === 0)
      value = BigInt(format.specials[next() % format.specials.length]!);
    if (kind === 'cancelling' && i % 2 === 1)
      value = side === 'b' ? before : before ^ signBit ^ (chance % 4 === 0 ? lastBit : 0n);
    before = value;
    write(view, i * format.storageBytes, format, value);
  }
  return new Uint8Array(view.buffer);
}

/** Numbers to which products of `factors` are added: of the size of one product, or specials. */
export function drawAddends(
  name: FloatName,
  kind: FloatKind,
  bytes: number,
  next: () => number,
  factors: FloatName,
): Uint8Array {
  const [format, factor]: FloatFormat[] = [FLOAT_FORMATS[name], FLOAT_FORMATS[factors]];
  const view = new DataView(new ArrayBuffer(bytes));
  const [least, most] = RANGES[kind](factor!.top, biasOf(factor!)).map((field) => 2 * (field - biasOf(factor!)));
  for (let at = 0; at < bytes; at += format!.storageBytes) {
    const field = between(least!, most! + 4, next) + biasOf(format!);
    const value = numberWith(format!, field, next);
    const isSpecial = kind === 'specials' && next() % ONE_IN.special === 0;
    const special = BigInt(format!.specials[next() % format!.specials.length]!);
    const signBit = 1n << BigInt(format!.storageBytes * 8 - 1);
    write(view, at, format!, kind === 'zeros' ? value & signBit : isSpecial ? special : value);
  }
  return new Uint8Array(view.buffer);
}

/** Bits of integers: all are as likely. */
export function drawBits(bytes: number, next: () => number): Uint8Array {
  const words = Uint32Array.from({ length: Math.ceil(bytes / 4) }, () => next());
  return new Uint8Array(words.buffer, 0, bytes);
}
