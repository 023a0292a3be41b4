import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DTYPES, type DType, sizeOfDType } from '../../src/core/dtype.ts';
import { decode, encode, roundTo } from '../../src/core/rounding.ts';

/** Exponent and fraction widths of the binary formats. */
const FORMATS = { f16: { fraction: 10, least: -14, most: 15 }, bf16: { fraction: 7, least: -126, most: 127 } } as const;

/**
 * Nearest value with ties to even, by scaling so that one unit in the last place is 1: an independent way to the same
 * number. The scaling is by a power of two, so exact where it does not underflow.
 */
const roundByScaling = (value: number, { fraction, least, most }: (typeof FORMATS)['f16' | 'bf16']): number => {
  if (!Number.isFinite(value) || value === 0) return value;
  const exponent = Math.max(least, Math.floor(Math.log2(Math.abs(value))));
  for (const candidate of [exponent - 1, exponent, exponent + 1]) {
    const inBinade = Math.abs(value) >= 2 ** candidate && Math.abs(value) < 2 ** (candidate + 1);
    if (!inBinade && !(candidate === least && Math.abs(value) < 2 ** least)) continue;
    const unit = 2 ** (Math.max(candidate, least) - fraction);
    const scaled = value / unit;
    const below = Math.floor(scaled);
    const middle = scaled - below;
    const even = below % 2 === 0 ? below : below + 1;
    const rounded = (middle < 0.5 ? below : middle > 0.5 ? below + 1 : even) * unit;
    const overflow = Math.abs(rounded) >= 2 ** (most + 1);
    return overflow ? Math.sign(value) * Number.POSITIVE_INFINITY : rounded === 0 ? Math.sign(value) * 0 : rounded;
  }
  return Math.sign(value) * 0;
};

const dtypes = fc.constantFrom(...DTYPES);
const moderate = fc.oneof(
  fc.double({ noNaN: true }),
  fc.double({ noNaN: true, min: -70000, max: 70000 }),
  fc.double({ noNaN: true, min: -1e-4, max: 1e-4 }),
);

describe.each(['f16', 'bf16'] as const)('%s', (dtype) => {
  it('rounds float64 once, to the nearest, ties to even', () => {
    fc.assert(
      fc.property(moderate, (value) => {
        expect(roundTo(dtype)(value)).toBe(roundByScaling(value, FORMATS[dtype]));
      }),
      { numRuns: 3000 },
    );
  });

  it('does not round twice next to a tie', () => {
    const { fraction } = FORMATS[dtype];
    // 1 + half a unit is a tie; a hair more, far below float32's resolution, must round up, and a hair less down.
    const tie = 1 + 2 ** -(fraction + 1);
    expect(roundTo(dtype)(tie)).toBe(1);
    expect(roundTo(dtype)(tie + 2 ** -40)).toBe(1 + 2 ** -fraction);
    const oddTie = 1 + 2 ** -fraction + 2 ** -(fraction + 1);
    expect(roundTo(dtype)(oddTie)).toBe(1 + 2 * 2 ** -fraction);
    expect(roundTo(dtype)(oddTie - 2 ** -40)).toBe(1 + 2 ** -fraction);
    expect(roundTo(dtype)(-tie - 2 ** -40)).toBe(-1 - 2 ** -fraction);
  });

  it('decodes all 65,536 bit patterns to values that encode to the same bits', () => {
    const bits = Uint16Array.from({ length: 65536 }, (_, index) => index);
    const values = decode(new Uint8Array(bits.buffer), dtype);
    const again = new Uint16Array(encode(values, dtype).buffer);
    for (let index = 0; index < 65536; index++) {
      if (Number.isNaN(values[index]))
        expect(Number.isNaN(decode(encode([values[index]!], dtype), dtype)[0])).toBe(true);
      else expect(again[index]).toBe(index);
    }
  });
});

it('overflows where IEEE 754 says', () => {
  expect(roundTo('f16')(65504)).toBe(65504);
  expect(roundTo('f16')(65519.999)).toBe(65504);
  expect(roundTo('f16')(65520)).toBe(Number.POSITIVE_INFINITY);
  const largest = 2 ** 128 - 2 ** 120;
  expect(roundTo('bf16')(largest)).toBe(largest);
  expect(roundTo('bf16')(2 ** 128 - 2 ** 119 - 2 ** 80)).toBe(largest);
  expect(roundTo('bf16')(2 ** 128 - 2 ** 119)).toBe(Number.POSITIVE_INFINITY);
  expect(roundTo('bf16')(Number.NaN)).toBeNaN();
  expect(encode([Number.NaN], 'bf16')).toEqual(Uint8Array.of(0xff, 0x7f));
});

it('knows values by their bits', () => {
  expect([...encode([1, -2, 0.1], 'f16')]).toEqual([0x00, 0x3c, 0x00, 0xc0, 0x66, 0x2e]);
  expect([...encode([1, -2, 0.1], 'bf16')]).toEqual([0x80, 0x3f, 0x00, 0xc0, 0xcd, 0x3d]);
  expect([...encode([1], 'f32')]).toEqual([0, 0, 0x80, 0x3f]);
  expect([...encode([-2, 300], 'i16')]).toEqual([0xfe, 0xff, 0x2c, 0x01]);
  expect([...encode([2 ** 40], 'u64')]).toEqual([0, 0, 0, 0, 0, 1, 0, 0]);
});

describe('integers', () => {
  const cases: [DType, number, number][] = [
    ['u8', 300, 255],
    ['u8', -1, 0],
    ['i8', -200, -128],
    ['i32', 2.5, 2],
    ['i32', 3.5, 4],
    ['i32', -2.5, -2],
    ['i32', -0.4, 0],
    ['i32', 2 ** 40, 2 ** 31 - 1],
    ['u32', Number.POSITIVE_INFINITY, 2 ** 32 - 1],
    ['i64', 2 ** 80, 2 ** 63 - 1024],
    ['u64', -5, 0],
    ['i32', Number.NaN, 0],
  ];
  it.each(cases)('%s(%d) = %d', (dtype, value, expected) => {
    expect(roundTo(dtype)(value)).toBe(expected);
    expect(decode(encode([value], dtype), dtype)[0]).toBe(expected);
  });
});

it('encoding and decoding gives what rounding gives, for every dtype', () => {
  fc.assert(
    fc.property(dtypes, fc.array(fc.oneof(moderate, fc.integer()), { maxLength: 20 }), (dtype, values) => {
      const bytes = encode(values, dtype);
      expect(bytes.length).toBe(values.length * sizeOfDType(dtype));
      expect([...decode(bytes, dtype)]).toEqual(values.map(roundTo(dtype)));
      const unaligned = new Uint8Array(bytes.length + 1);
      unaligned.set(bytes, 1);
      expect(decode(unaligned.subarray(1), dtype)).toEqual(decode(bytes, dtype));
    }),
  );
});

it('rounding twice changes nothing', () => {
  fc.assert(
    fc.property(dtypes, fc.double(), (dtype, value) => {
      const once = roundTo(dtype)(value);
      expect(roundTo(dtype)(once)).toBe(once);
    }),
  );
});

it('refuses half an element', () => {
  expect(() => decode(new Uint8Array(3), 'f16')).toThrow(RangeError);
});
