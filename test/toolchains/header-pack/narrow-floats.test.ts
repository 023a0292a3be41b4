import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampled } from '../../support/sampling/matrix.ts';
import { type Argument, type KernelRunner, openKernelRunner } from './kernel-runner.ts';
import { roundToBfloat16, ulpError } from './ulp.ts';

let runner: KernelRunner;
beforeAll(async () => {
  runner = await openKernelRunner();
});
afterAll(() => runner.close());

interface NarrowType {
  name: string;
  file: string;
  format: 'f16' | 'bf16';
  decode: (bits: number) => number;
  /** Rounds to nearest, ties to even. */
  encode: (value: number) => number;
  largest: number;
}

const words = new Uint32Array(1);
const floats = new Float32Array(words.buffer);
const halfBits = new Uint16Array(1);
const halves = new Float16Array(halfBits.buffer);
const HALF: NarrowType = {
  name: 'half',
  file: 'half.cu',
  format: 'f16',
  decode: (bits) => {
    halfBits[0] = bits;
    return halves[0]!;
  },
  encode: (value) => {
    halves[0] = value;
    return halfBits[0]!;
  },
  largest: 65504,
};
const BFLOAT16: NarrowType = {
  name: '__nv_bfloat16',
  file: 'bfloat16.cu',
  format: 'bf16',
  decode: (bits) => {
    words[0] = bits << 16;
    return floats[0]!;
  },
  encode: (value) => {
    floats[0] = roundToBfloat16(value);
    return words[0]! >>> 16;
  },
  largest: 3.3895313892515355e38,
};

/** Every bit pattern there is. */
const ALL_PATTERNS = Uint16Array.from({ length: 65536 }, (_, bits) => bits);

/** Pairs of patterns: special ones against each other, then numbers of moderate size, whose products are exact in f64. */
function pairs(type: NarrowType): [Uint16Array, Uint16Array] {
  const special = [
    0,
    -0,
    1,
    -1,
    0.5,
    1.5,
    3,
    type.largest,
    -type.largest,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NaN,
  ].map(type.encode);
  const first: number[] = special.flatMap((a) => special.map(() => a));
  const second: number[] = special.flatMap(() => special);
  let state = 99;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const moderate = () => type.encode((random() - 0.5) * 2 ** Math.floor(random() * 16 - 8));
  for (let i = 0; i < 4000; i++) {
    first.push(moderate());
    second.push(moderate());
  }
  return [Uint16Array.from(first), Uint16Array.from(second)];
}

const blocks = (count: number) => ({ grid: [Math.ceil(count / 128), 1, 1] as const, block: [128, 1, 1] as const });
const int = (value: number): Argument => ({ scalar: value, dtype: 'i32' });
const clamp01 = (x: number) => (Number.isNaN(x) ? 0 : Math.min(1, Math.max(0, x)));
const relu = (x: number) => (x < 0 || Object.is(x, -0) ? 0 : x);
const pick = (choose: (a: number, b: number) => number) => (a: number, b: number) =>
  Number.isNaN(a) ? b : Number.isNaN(b) ? a : choose(a, b);
const flag = (condition: boolean) => (condition ? 1 : 0);
const roundEven = (x: number) => {
  const floor = Math.floor(x);
  const rounded = x - floor > 0.5 || (x - floor === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
  return !Number.isFinite(x) ? x : rounded === 0 ? x * 0 : rounded;
};

type Binary = (a: number, b: number) => number;
const BINARY: Record<string, Binary> = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
  add_rn: (a, b) => a + b,
  multiply_rn: (a, b) => a * b,
  plus: (a, b) => a + b,
  minus: (a, b) => a - b,
  times: (a, b) => a * b,
  over: (a, b) => a / b,
  fused: (a, b) => a * b + a,
  fused_relu: (a, b) => relu(a * b + a),
  fused_saturated: (a, b) => clamp01(a * b + a),
  add_saturated: (a, b) => clamp01(a + b),
  maximum: pick(Math.max),
  minimum: pick(Math.min),
  maximum_nan: Math.max,
  minimum_nan: Math.min,
  add_pair: (a, b) => a + b,
  subtract_pair: (a, b) => a - b,
  multiply_pair: (a, b) => a * b,
  divide_pair: (a, b) => a / b,
  fused_pair: (a, b) => a * b + a,
  maximum_pair: pick(Math.max),
  minimum_pair: pick(Math.min),
  absolute_pair: (a) => Math.abs(a),
  equal_pair: (a, b) => flag(a === b),
  less_pair: (a, b) => flag(a < b),
  not_equal_unordered_pair: (a, b) => flag(a !== b),
};

/** Exact where the bound is 0; else the bound in units in the last place of the narrow type. */
const UNARY: Record<string, [(x: number) => number, number]> = {
  negate: [(x) => -x, 0],
  minus_of: [(x) => -x, 0],
  absolute: [Math.abs, 0],
  ceiling: [Math.ceil, 0],
  floored: [Math.floor, 0],
  truncated: [Math.trunc, 0],
  rounded: [roundEven, 0],
  square_root: [Math.sqrt, 1],
  reciprocal_root: [(x) => 1 / Math.sqrt(x), 1],
  reciprocal: [(x) => 1 / x, 1],
  exponential: [Math.exp, 1],
  exponential_2: [(x) => 2 ** x, 1],
  exponential_10: [(x) => 10 ** x, 1],
  logarithm: [Math.log, 1],
  logarithm_2: [Math.log2, 1],
  logarithm_10: [Math.log10, 1],
  sine: [Math.sin, 1],
  cosine: [Math.cos, 1],
};

describe.each([HALF, BFLOAT16])('$name', (type) => {
  const run = (name: string, args: Argument[], count: number) =>
    runner.run({ file: type.file, function: name, ...blocks(count), arguments: args });
  const shown = (bits: number) => {
    const value = type.decode(bits);
    return Number.isNaN(value) ? 'NaN' : Object.is(value, -0) ? '-0' : String(value);
  };

  sampled(`binary functions of ${type.name}`, Object.entries(BINARY), { oneIn: 12, placeOf: () => 'headers' })(
    '%s',
    async (name, reference) => {
      const [a, b] = pairs(type);
      const out = new Uint16Array(a.length);
      await run(`${name}_kernel`, [a, b, out, int(a.length)], a.length);
      const wanted = Array.from(a, (bits, i) => type.encode(reference(type.decode(bits), type.decode(b[i]!))));
      const spell = (bits: number, i: number) => `${shown(a[i]!)}, ${shown(b[i]!)} -> ${shown(bits)}`;
      expect(Array.from(out, spell)).toEqual(wanted.map(spell));
    },
  );

  sampled(`unary functions of ${type.name}`, Object.entries(UNARY), { oneIn: 12, placeOf: () => 'headers' })(
    '%s of every number there is',
    async (name, [reference, bound]) => {
      const out = new Uint16Array(65536);
      await run(`${name}_kernel`, [ALL_PATTERNS, out, int(65536)], 65536);
      const wrong: string[] = [];
      for (let bits = 0; bits < 65536 && wrong.length < 5; bits++) {
        const wanted = reference(type.decode(bits));
        const got = type.decode(out[bits]!);
        const right =
          bound === 0 ? shown(out[bits]!) === shown(type.encode(wanted)) : ulpError(got, wanted, type.format) <= bound;
        if (!right) wrong.push(`${shown(bits)}: got ${got}, wanted ${wanted}`);
      }
      expect(wrong).toEqual([]);
    },
  );

  it('moves halves of pairs', async () => {
    const [a, b] = pairs(type);
    const swapped = new Uint16Array(a.length);
    const lows = new Uint16Array(a.length);
    const highs = new Uint16Array(a.length);
    await run('swapped_pair_kernel', [a, b, swapped, int(a.length)], a.length);
    await run('lows_pair_kernel', [a, b, lows, int(a.length)], a.length);
    await run('highs_pair_kernel', [a, b, highs, int(a.length)], a.length);
    expect(swapped).toEqual(a.map((_, i) => a[i ^ 1]!));
    expect(lows).toEqual(a.map((_, i) => (i % 2 === 0 ? a[i]! : b[i - 1]!)));
    expect(highs).toEqual(a.map((_, i) => (i % 2 === 0 ? a[i + 1]! : b[i]!)));
  });

  it('converts from float in every rounding mode', async () => {
    const values: number[] = [
      0,
      -0,
      1e-45,
      -1e-45,
      1e-8,
      -1e-8,
      6.1e-5,
      65504,
      65519,
      65520,
      -65520,
      1e6,
      3.4e38,
      -3.4e38,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.NaN,
    ];
    // Around every sixteenth number of the type, on both sides.
    for (let bits = 0; bits < 65536; bits += 16) {
      const value = type.decode(bits);
      if (Number.isFinite(value)) values.push(value, value * 1.0001, value * 0.9999, value * 1.00390625);
    }
    const input = Float32Array.from(values);
    const [nearest, zero, down, up] = [0, 1, 2, 3].map(() => new Uint16Array(input.length));
    await run('from_float', [input, nearest!, zero!, down!, up!, int(input.length)], input.length);
    const wrong: string[] = [];
    input.forEach((value, i) => {
      const check = (mode: string, bits: number, wanted: number) => {
        const same = Number.isNaN(wanted) ? Number.isNaN(type.decode(bits)) : Object.is(type.decode(bits), wanted);
        if (!same && wrong.length < 5) wrong.push(`${mode} ${value}: got ${shown(bits)}, wanted ${wanted}`);
      };
      check('rn', nearest![i]!, type.decode(type.encode(value)));
      check('rd', down![i]!, directed(type, value, -1));
      check('ru', up![i]!, directed(type, value, 1));
      check('rz', zero![i]!, directed(type, value, value < 0 ? 1 : -1));
    });
    expect(wrong).toEqual([]);
  });

  it('converts to float exactly', async () => {
    const out = new Float32Array(65536);
    await run('to_float', [ALL_PATTERNS, out, int(65536)], 65536);
    expect(out).toEqual(Float32Array.from(ALL_PATTERNS, type.decode));
  });

  it('converts pairs of floats', async () => {
    const input = Float32Array.from({ length: 512 }, (_, i) => Math.sin(i) * 10 ** ((i % 9) - 4));
    const out = new Uint16Array(512);
    const back = new Float32Array(512);
    await run('float_pairs', [input, out, back, int(256)], 256);
    expect(out).toEqual(Uint16Array.from(input, type.encode));
    expect(back).toEqual(Float32Array.from(out, type.decode));
  });

  it('converts to int, saturating', async () => {
    const [nearest, zero, down, up] = [0, 1, 2, 3].map(() => new Int32Array(65536));
    await run('to_int', [ALL_PATTERNS, nearest!, zero!, down!, up!, int(65536)], 65536);
    const saturate = (x: number) => (Number.isNaN(x) ? 0 : Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, x)));
    const expected = (round: (x: number) => number) =>
      Int32Array.from(ALL_PATTERNS, (bits) => saturate(round(type.decode(bits))));
    expect(nearest).toEqual(expected(roundEven));
    expect(zero).toEqual(expected(Math.trunc));
    expect(down).toEqual(expected(Math.floor));
    expect(up).toEqual(expected(Math.ceil));
  });

  // Just above and below ties, where rounding twice goes wrong.
  const INTEGERS = [0, 1, -1, 257, 2049, 2051, -2049, 4097, 65503, 65519, 65520, 70000, -70000, 16777217, -16777219]
    .concat([
      2 ** 25 + 2 ** 17,
      2 ** 25 + 2 ** 17 + 1,
      2 ** 25 + 2 ** 17 - 1,
      -(2 ** 25 + 2 ** 17 + 1),
      2 ** 31 - 1,
      -(2 ** 31),
    ])
    .map(BigInt);
  const LONG_INTEGERS = [
    ...INTEGERS,
    2n ** 62n + 2n ** 54n + 1n,
    2n ** 62n + 2n ** 54n - 1n,
    -(2n ** 62n) - 2n ** 55n + 1n,
    2n ** 63n - 1n,
  ];
  it.each([
    ['int', 'from_int', Int32Array.from(INTEGERS, Number), INTEGERS],
    ['long long', 'from_long_long', BigInt64Array.from(LONG_INTEGERS), LONG_INTEGERS],
  ])('converts from %s in every rounding mode', async (_name, kernel, input, integers) => {
    const [nearest, zero, down, up] = [0, 1, 2, 3].map(() => new Uint16Array(input.length));
    await run(kernel, [input, nearest!, zero!, down!, up!, int(input.length)], input.length);
    const modes = { nearest, zero, down, up } as Record<'nearest' | 'zero' | 'down' | 'up', Uint16Array>;
    for (const [mode, got] of Object.entries(modes)) {
      const wanted = integers.map((i) => roundInteger(type, i, mode as keyof typeof modes));
      expect(Array.from(got, type.decode), mode).toEqual(wanted);
    }
  });

  it('compares, ordered and unordered', async () => {
    const [a, b] = pairs(type);
    const out = new Uint32Array(a.length);
    await run('compare', [a, b, out, int(a.length)], a.length);
    const wanted = Array.from(a, (bits, i) => {
      const [x, y] = [type.decode(bits), type.decode(b[i]!)];
      const unordered = Number.isNaN(x) || Number.isNaN(y);
      const ordered = [x === y, x !== y && !unordered, x < y, x <= y, x > y, x >= y];
      const either = [
        x === y || unordered,
        x !== y,
        x < y || unordered,
        x <= y || unordered,
        x > y || unordered,
        x >= y || unordered,
      ];
      const operators = [x === y, x !== y, x < y, x <= y, x > y, x >= y];
      const all = [...ordered, ...either, ...operators, Number.isNaN(x), Math.abs(x) === Number.POSITIVE_INFINITY];
      return all.reduce((sum, bit, index) => sum + (bit ? 2 ** index : 0), 0);
    });
    expect(Array.from(out)).toEqual(wanted);
  });

  it('loads through the read-only path and shuffles', async () => {
    const input = Uint16Array.from({ length: 32 }, (_, i) => type.encode(i + 0.5));
    const pairsIn = Uint16Array.from({ length: 64 }, (_, i) => type.encode(i));
    const [out, pairsOut] = [new Uint16Array(64), new Uint16Array(64)];
    await runner.run({ file: type.file, function: 'move', arguments: [input, out, pairsIn, pairsOut] });
    expect(Array.from(out.subarray(0, 32))).toEqual(Array.from(input, (_, i) => input[i ^ 5]));
    expect(Array.from(out.subarray(32))).toEqual(Array.from(input, (_, i) => input[i + 3 < 32 ? i + 3 : i]));
    expect(Array.from(pairsOut)).toEqual(Array.from(pairsIn, (_, i) => pairsIn[2 * (31 - (i >> 1)) + (i & 1)]));
  });

  it('adds atomically', async () => {
    const [total, pair] = [Uint16Array.of(type.encode(10), 7), Uint16Array.of(type.encode(0), type.encode(4))];
    await runner.run({ file: type.file, function: 'accumulate', grid: [2, 1, 1], arguments: [total, pair] });
    expect([type.decode(total[0]!), total[1]]).toEqual([74, 7]); // its neighbour in the word is left alone
    expect(Array.from(pair, type.decode)).toEqual([64, 132]);
  });

  it('mixes with float as ordinary code does', async () => {
    const input = Uint16Array.from({ length: 32 }, (_, i) => type.encode(i));
    const out = new Uint16Array(32);
    await runner.run({
      file: type.file,
      function: 'ordinary',
      arguments: [input, out, { scalar: 0.25, dtype: 'f32' }],
    });
    const round = (x: number) => type.decode(type.encode(x));
    const tile = Array.from({ length: 32 }, (_, i) => round(round(round(i + 1) * 2) - 0.5));
    expect(Array.from(out, type.decode)).toEqual(tile.map((value, i) => round(0.25 * (value + tile[31 - i]!))));
  });
});

/** The integer rounded once: between the neighbours below and above it, found among all finite numbers of the type. */
function roundInteger(type: NarrowType, integer: bigint, mode: 'nearest' | 'zero' | 'down' | 'up'): number {
  if (integer === 0n) return 0;
  const magnitude = integer < 0n ? -integer : integer;
  const negative = integer < 0n;
  const sign = negative ? -1 : 1;
  // Patterns are ordered by magnitude; from 2^p on all numbers are integers, below that doubles are exact.
  let below = 0;
  for (let step = 0x4000; step >= 1; step >>= 1) {
    const value = type.decode(below + step);
    if (Number.isFinite(value) && notAbove(value, magnitude)) below += step;
  }
  const low = type.decode(below);
  if (low === Number(magnitude) && BigInt(low) === magnitude) return sign * low;
  const high = type.decode(below + 1);
  const outwards = mode === 'up' ? !negative : mode === 'down' ? negative : false;
  if (mode !== 'nearest') return sign * (outwards ? high : low);
  // Overflow is decided as if the next power of two were there.
  const next = BigInt(Number.isFinite(high) ? high : 2 * low - type.decode(below - 1));
  const twice = 2n * magnitude - BigInt(low) - next;
  return sign * (twice > 0n || (twice === 0n && below % 2 !== 0) ? high : low);
}
const notAbove = (value: number, integer: bigint) =>
  Number.isInteger(value) ? BigInt(value) <= integer : value <= Number(integer);

/** The neighbour of `value` in the type that is not above (-1) or not below (1) it. */
function directed(type: NarrowType, value: number, direction: -1 | 1): number {
  if (!Number.isFinite(value)) return value;
  const nearest = type.decode(type.encode(value));
  if (direction < 0 ? nearest <= value : nearest >= value) return nearest;
  // Step one unit towards zero or away from it; patterns are ordered by magnitude.
  if (nearest === 0) return direction * type.decode(1);
  const bits = type.encode(Math.abs(nearest)) & 0x7fff;
  const outwards = nearest > 0 === direction > 0;
  const stepped = type.decode(bits + (outwards ? 1 : -1));
  return nearest > 0 ? stepped : -stepped;
}
