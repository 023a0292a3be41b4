import fc from 'fast-check';
import { bitsOfF64 } from '../../../src/ptx/literals.ts';
import type { SourceKind } from './forms.ts';
import { integerSpecials, SPECIAL_BF16, SPECIAL_F16, SPECIAL_F32, SPECIAL_F64 } from './specials.ts';

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
