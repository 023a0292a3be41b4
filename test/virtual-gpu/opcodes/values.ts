import fc from 'fast-check';
import { bitsOfF64 } from '../../../src/ptx/literals.ts';
import type { SourceKind } from './forms.ts';

const SPECIAL_F32 = [
  0x00000000n,
  0x80000000n,
  0x3f800000n,
  0xbf800000n,
  0x40000000n,
  0x3f000000n,
  0x7f800000n,
  0xff800000n,
  0x7fc00000n,
  0x7f800001n,
  0xffffffffn,
  0x00000001n,
  0x80000001n,
  0x007fffffn,
  0x00800000n,
  0x80800000n,
  0x7f7fffffn,
  0xff7fffffn,
  0x3f7fffffn,
  0x3f800001n,
  0x4b000000n,
  0x4b7fffffn,
  0x4effffffn,
  0x4f000000n,
  0xcf000000n,
  0x4f7fffffn,
  0x4f800000n,
  0x5f000000n,
  0xdf000000n,
  0x3effffffn,
  0x3fc00000n,
  0x40200000n,
  0x477fe000n,
  0x477ff000n,
  0x33800000n,
  0x38800000n,
  0x387fc000n,
  0xc2fc0000n,
  0xc3150000n,
  0x42fe0000n,
  0x43000000n,
];
const SPECIAL_F64 = [
  0x0000000000000000n,
  0x8000000000000000n,
  0x3ff0000000000000n,
  0xbff0000000000000n,
  0x7ff0000000000000n,
  0xfff0000000000000n,
  0x7ff8000000000000n,
  0x7ff0000000000001n,
  0x0000000000000001n,
  0x8000000000000001n,
  0x000fffffffffffffn,
  0x0010000000000000n,
  0x7fefffffffffffffn,
  0x3fefffffffffffffn,
  0x3ff0000000000001n,
  0x41dfffffffc00000n,
  0x41e0000000000000n,
  0x43e0000000000000n,
  0xc3e0000000000000n,
  0x3fe0000000000000n,
  0x3ff8000000000000n,
  0x47efffffe0000000n,
  0x47effffff0000000n,
  0x36a0000000000000n,
  0x3690000000000000n,
  0x3810000000000000n,
  0x40effc0000000000n,
  0x40efff0000000000n,
];
const SPECIAL_F16 = [
  0x0000n,
  0x8000n,
  0x3c00n,
  0xbc00n,
  0x7c00n,
  0xfc00n,
  0x7e00n,
  0x7c01n,
  0x0001n,
  0x8001n,
  0x03ffn,
  0x0400n,
  0x7bffn,
  0xfbffn,
  0x3bffn,
  0x3c01n,
  0x3800n,
  0x4900n,
  0xffffn,
];
const SPECIAL_BF16 = [
  0x0000n,
  0x8000n,
  0x3f80n,
  0xbf80n,
  0x7f80n,
  0xff80n,
  0x7fc0n,
  0x7f81n,
  0x0001n,
  0x8001n,
  0x007fn,
  0x0080n,
  0x7f7fn,
  0xff7fn,
  0x3f7fn,
  0x3f81n,
  0x3f00n,
  0xffffn,
];

const integerSpecials = (bits: number): bigint[] => {
  const top = 1n << BigInt(bits - 1);
  const all = (top << 1n) - 1n;
  return [
    0n,
    1n,
    2n,
    all,
    all - 1n,
    top,
    top - 1n,
    top + 1n,
    0x55n,
    all & 0xaaaaaaaaaaaaaaaan,
    all & 0xffff0000ffff0000n,
  ];
};

const uniformBits = (bits: number): fc.Arbitrary<bigint> => fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n });

/** Magnitudes of all sizes, not only huge ones. */
const anyInteger = (bits: number): fc.Arbitrary<bigint> =>
  fc.oneof(
    fc.constantFrom(...integerSpecials(bits)),
    uniformBits(bits),
    fc
      .tuple(uniformBits(bits), fc.integer({ min: 0, max: bits - 1 }), fc.boolean())
      .map(([value, shift, negative]) =>
        BigInt.asUintN(bits, negative ? -(value >> BigInt(shift)) : value >> BigInt(shift)),
      ),
  );

/** Any bits, special values, and values near 1 whose sums and products are of like size. */
const anyFloat = (bits: number, exponentBits: number, specials: readonly bigint[]): fc.Arbitrary<bigint> => {
  const fractionBits = bits - 1 - exponentBits;
  const bias = (1n << BigInt(exponentBits - 1)) - 1n;
  return fc.oneof(
    fc.constantFrom(...specials),
    uniformBits(bits),
    fc
      .tuple(fc.boolean(), fc.integer({ min: -6, max: 6 }), uniformBits(fractionBits))
      .map(
        ([negative, exponent, fraction]) =>
          (negative ? 1n << BigInt(bits - 1) : 0n) | ((bias + BigInt(exponent)) << BigInt(fractionBits)) | fraction,
      ),
  );
};

const pairOf = (half: fc.Arbitrary<bigint>, bits: number): fc.Arbitrary<bigint> =>
  fc.tuple(half, half).map(([low, high]) => low | (high << BigInt(bits)));

const f16 = anyFloat(16, 5, SPECIAL_F16);
const bf16 = anyFloat(16, 8, SPECIAL_BF16);

const KINDS: ReadonlyMap<SourceKind, fc.Arbitrary<bigint>> = new Map([
  ['pred', fc.constantFrom(0n, 1n)],
  ['f32', anyFloat(32, 8, SPECIAL_F32)],
  ['f64', anyFloat(64, 11, SPECIAL_F64)],
  ['f16', f16],
  ['bf16', bf16],
  ['f16x2', pairOf(f16, 16)],
  ['bf16x2', pairOf(bf16, 16)],
  ['e4m3x2', uniformBits(16)],
  ['e5m2x2', uniformBits(16)],
  ['amount', fc.oneof(fc.bigInt({ min: 0n, max: 70n }), uniformBits(32))],
  // Positions and lengths of bit fields: the ISA allows 0…255.
  ['byte', fc.oneof(fc.bigInt({ min: 0n, max: 40n }), fc.bigInt({ min: 0n, max: 255n }))],
  ['nibbles', uniformBits(16)],
  ['lanes', fc.bigInt({ min: 0n, max: 31n })],
  ['small', fc.bigInt({ min: -33n, max: 33n }).map((value) => BigInt.asUintN(32, value))],
  ['shuffle-control', fc.constantFrom(31n, 0n, 0x181fn, 0x1c1fn, 0x1c00n, 0x0f1fn, 7n, 0x1e01n)],
  ['few', fc.constantFrom(1n, 2n, 0xffffffffn)],
  // Least normal values and somewhat more; factors that take them just below; nothing, or flushed to it.
  ['edge-f32', fc.constantFrom(0x00800000n, 0x80800000n, 0x00801efcn, 0x8080b9a7n, 0x008459a9n, 0x00813563n)],
  ['below-one-f32', fc.constantFrom(0x3f7fffffn, 0x3f7ffffen, 0x3f7fc216n, 0xbf7e8ec9n, 0x3f7795e3n, 0x3f7d9b02n)],
  ['nothing-f32', fc.constantFrom(0n, 0x80000000n, 1n, 0x80000001n)],
  [
    'edge-f64',
    fc
      .tuple(fc.integer({ min: 20, max: 53 }), fc.boolean())
      .map(([places, negative]) => bitsOfF64((negative ? -1 : 1) * 2 ** -126 * (1 - 2 ** -places))),
  ],
  ['edge-f16', fc.constantFrom(0x0400n, 0x8400n, 0x8425n, 0x8597n, 0x07dan)],
  ['below-one-f16', fc.constantFrom(0x3bffn, 0xbbfen, 0x3bb8n, 0x39b9n, 0x3813n)],
  ['nothing-f16', fc.constantFrom(0n, 0x8000n, 1n, 0x8001n)],
  ['few64', fc.constantFrom(1n, 2n, 0x100000001n)],
]);

/** Bit patterns of one source. */
export function valuesOf(kind: SourceKind): fc.Arbitrary<bigint> {
  const known = KINDS.get(kind);
  if (known) return known;
  const integer = /^(nonzero-)?[bus](8|16|32|64)$/.exec(kind);
  if (!integer) throw new Error(`no values are known for ${kind}`);
  // 8-bit values lie in 16-bit registers, with anything in the upper half.
  const bits = Math.max(16, Number(integer[2]));
  const any = anyInteger(bits);
  return integer[1] ? any.filter((value) => value !== 0n) : any;
}
