import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Argument, type KernelRunner, type Memory, openKernelRunner } from './kernel-runner.ts';

let runner: KernelRunner;
beforeAll(async () => {
  runner = await openKernelRunner();
});
afterAll(() => runner.close());

const int = (value: number): Argument => ({ scalar: value, dtype: 'i32' });
const LANES = Array.from({ length: 32 }, (_, lane) => lane);

describe('index variables', () => {
  it('give components, values and copies', async () => {
    const [block, grid] = [[4, 3, 2] as const, [2, 3, 2] as const];
    const threads = 24;
    const out = new Uint32Array(12 * threads * 4);
    await runner.run({ file: 'index_variables.cu', function: 'index_variables', grid, block, arguments: [out] });
    for (let cta = 0; cta < 12; cta++) {
      const [x, y, z] = [cta % 2, Math.floor(cta / 2) % 3, Math.floor(cta / 6)];
      for (let thread = 0; thread < threads; thread++) {
        const at = 4 * (cta * threads + thread);
        const threadX = thread % 4;
        expect([...out.subarray(at, at + 4)]).toEqual([
          thread * 1001,
          x + 10 * y + 100 * z,
          12,
          32 + Math.floor(threadX / 32),
        ]);
      }
    }
  });
});

describe('vector types', () => {
  it('load, add, reinterpret and store', async () => {
    const a = Float32Array.from({ length: 128 }, (_, i) => i / 4);
    const b = Float32Array.from({ length: 128 }, (_, i) => 100 - i);
    const pairs = Int32Array.from({ length: 64 }, (_, i) => 3 * i - 50);
    const bytes = Uint8Array.from({ length: 128 }, (_, i) => i * 7);
    const sum = new Float32Array(128);
    const flat = new Int32Array(64);
    const doubles = new Float64Array(64);
    const reversed = new Uint8Array(128);
    const triples = new Float32Array(96);
    await runner.run({
      file: 'vector_types.cu',
      function: 'vectors',
      arguments: [a, b, sum, pairs, flat, doubles, bytes, reversed, triples],
    });
    expect(sum).toEqual(a.map((value, i) => (value + b[i]! + (i % 4) + 1) * (i % 4 === 2 ? -1 : 1)));
    expect(flat).toEqual(pairs.map((_, i) => pairs[i ^ 1]!));
    expect(doubles).toEqual(Float64Array.from(pairs, (value, i) => value * (i % 2 === 0 ? 0.5 : 2)));
    expect(reversed).toEqual(bytes.map((_, i) => bytes[i ^ 3]!));
    expect(triples).toEqual(
      Float32Array.from({ length: 96 }, (_, i) => [a[4 * Math.floor(i / 3)], b[4 * Math.floor(i / 3) + 1], 7][i % 3]!),
    );
  });

  it('share a union', async () => {
    const input = Float32Array.from({ length: 128 }, (_, i) => i - 60.25);
    const out = new Uint32Array(128);
    await runner.run({ file: 'vector_types.cu', function: 'reinterpreted', arguments: [input, out] });
    const words = new Uint32Array(input.slice().buffer);
    expect(out).toEqual(words.map((word, i) => [word ^ 0x80000000, word, word, word + words[i - 1]!][i % 4]! >>> 0));
  });
});

describe('warp functions', () => {
  const segment = (lane: number, width: number) => lane - (lane % width);
  /** The lane each shuffle of warp_functions.cu reads. */
  const SOURCES: ((lane: number) => number)[] = [
    (lane) => (lane * 7 + 3) & 31,
    (lane) => (lane >= 3 ? lane - 3 : lane),
    (lane) => (lane + 5 < 32 ? lane + 5 : lane),
    (lane) => lane ^ 9,
    (lane) => segment(lane, 8) + 2,
    (lane) => (lane % 4 >= 1 ? lane - 1 : lane),
    (lane) => ((lane % 16) + 2 < 16 ? lane + 2 : lane),
    (lane) => lane ^ 3,
  ];
  const types: [string, Memory][] = [
    ['int', Int32Array.from(LANES, (lane) => lane * 1001 - 7)],
    ['unsigned', Uint32Array.from(LANES, (lane) => 0xffffffff - lane)],
    ['long', BigInt64Array.from(LANES, (lane) => BigInt(lane) * -0x123456789n)],
    ['long_long', BigInt64Array.from(LANES, (lane) => BigInt(lane) * 0x100000001n)],
    ['unsigned_long_long', BigUint64Array.from(LANES, (lane) => 0xffffffffffffffffn - BigInt(lane))],
    ['float', Float32Array.from(LANES, (lane) => lane / 3)],
    ['double', Float64Array.from(LANES, (lane) => lane / 7)],
  ];
  it.each(types)('shuffle %s', async (name, input) => {
    const out = new (input.constructor as new (length: number) => Memory)(256);
    await runner.run({ file: 'warp_functions.cu', function: `shuffle_${name}`, arguments: [input, out] });
    expect([...out]).toEqual(SOURCES.flatMap((source) => LANES.map((lane) => input[source(lane)]!)));
  });

  it('vote, match and reduce', async () => {
    const input = Int32Array.from(LANES, (lane) => (lane * 5) % 11);
    const out = new Uint32Array(32 * 12);
    await runner.run({ file: 'warp_functions.cu', function: 'votes', arguments: [input, out] });
    const mask = (accept: (value: number) => boolean) =>
      LANES.reduce((bits, lane) => (accept(input[lane]!) ? bits + 2 ** lane : bits), 0);
    const above = LANES.filter((lane) => input[lane]! > 3).length;
    const or = input.reduce((bits, value) => bits | (1 << value), 0);
    const and = input.reduce((bits, value) => bits & (value | 16), -1);
    const xor = LANES.reduce((bits, lane) => bits ^ lane, 0);
    for (const lane of LANES) {
      const value = input[lane]!;
      const same = mask((other) => other === value);
      const wanted = [
        mask((other) => other > 3),
        1,
        1,
        same,
        0, // all 32 lanes have the same value / 64: the mask 0xffffffff plus 1
        input.reduce((sum, other) => sum + other, 0),
        Math.min(...input) - 5,
        Math.max(...input),
        or ^ and ^ xor,
        value > 3 ? above : 0,
        same,
        same,
      ];
      expect([...out.subarray(12 * lane, 12 * lane + 12)]).toEqual(wanted.map((word) => word >>> 0));
    }
  });

  it('sum a block', async () => {
    const input = Float32Array.from({ length: 512 }, (_, i) => (i % 17) - 3);
    const out = new Float32Array(2);
    await runner.run({
      file: 'warp_functions.cu',
      function: 'block_sum',
      grid: [2, 1, 1],
      block: [256, 1, 1],
      arguments: [input, out],
    });
    expect([...out]).toEqual(
      [0, 256].map((first) => input.subarray(first, first + 256).reduce((sum, value) => sum + value, 0)),
    );
  });

  it('count and combine over a block', async () => {
    const input = Int32Array.from({ length: 96 }, (_, i) => (i * 37) % 1001);
    const out = new Int32Array(3 * 96);
    await runner.run({
      file: 'warp_functions.cu',
      function: 'block_votes',
      block: [96, 1, 1],
      arguments: [input, out],
    });
    const count = input.filter((value) => value > 3).length;
    const and = input.every((value) => value < 1000) ? 1 : 0;
    expect([...out]).toEqual(Array.from(input, () => [count, and, 0]).flat());
  });
});

describe('memory', () => {
  const memories: [string, Memory][] = [
    ['char', new Int8Array(32)],
    ['signed_char', new Int8Array(32)],
    ['unsigned_char', new Uint8Array(32)],
    ['short', new Int16Array(32)],
    ['unsigned_short', new Uint16Array(32)],
    ['int', new Int32Array(32)],
    ['unsigned_int', new Uint32Array(32)],
    ['long', new BigInt64Array(32)],
    ['long_long', new BigInt64Array(32)],
    ['unsigned_long_long', new BigUint64Array(32)],
    ['float', new Float32Array(32)],
    ['double', new Float64Array(32)],
    ['char2', new Int8Array(64)],
    ['uchar4', new Uint8Array(128)],
    ['short2', new Int16Array(64)],
    ['ushort4', new Uint16Array(128)],
    ['int2', new Int32Array(64)],
    ['int4', new Int32Array(128)],
    ['uint2', new Uint32Array(64)],
    ['uint4', new Uint32Array(128)],
    ['longlong2', new BigInt64Array(64)],
    ['float2', new Float32Array(64)],
    ['float4', new Float32Array(128)],
    ['double2', new Float64Array(64)],
  ];
  it.each(memories)('every cache hint moves %s unchanged', async (name, input) => {
    const bytes = new Uint8Array(input.buffer);
    // Exponents that make no NaN, so that comparing values compares bits.
    bytes.forEach((_, i) => {
      bytes[i] = (i * 29 + 3) & 0x3f;
    });
    const out = new (input.constructor as new (length: number) => Memory)(6 * input.length);
    await runner.run({ file: 'memory_access.cu', function: `${name}_kernel`, arguments: [input, out] });
    expect([...out]).toEqual(Array.from({ length: 6 }, () => [...input]).flat());
  });

  it('shared, constant, local and generic addresses', async () => {
    const input = Float32Array.from(LANES, (lane) => lane + 1);
    const out = new Float32Array(96);
    await runner.run({
      file: 'memory_access.cu',
      function: 'spaces',
      sharedBytes: 128,
      arguments: [input, out, int(3)],
    });
    const weights = [1, 10, 100, 1000];
    const wanted = LANES.map((lane) => {
      // local[(3 j) & 7] = in[(lane + j) & 31]; index 3 is j = 1.
      const local = input[(lane + 1) & 31]!;
      const other = 31 - lane;
      const either = lane % 2 === 1 ? input[other]! * weights[other & 3]! : input[other]!;
      return local + either + [5, 7][lane % 2]!;
    });
    expect([...out.subarray(0, 32)]).toEqual(wanted);
    expect([...out.subarray(32, 64)]).toEqual(LANES.map(() => 1 + 2 + 4));
    expect([...out.subarray(64)]).toEqual(LANES.map((lane) => 2 * (lane + 1)));
  });
});

describe('atomics', () => {
  it.each([
    ['int', Int32Array],
    ['unsigned', Uint32Array],
  ])('all operations on %s', async (name, kind) => {
    const cells = kind.from([1000, 50, 5, 0xffff, 0, 0x55, 7, 1]);
    await runner.run({ file: 'atomics.cu', function: `atomics_${name}`, block: [64, 1, 1], arguments: [cells] });
    expect([...cells]).toEqual([1000 + 2016, 0, 63, 0, 0xffff, 0x55, 42, 1 + 128]);
  });

  it('all operations on unsigned long long', async () => {
    const big = 2n ** 40n;
    const cells = BigUint64Array.from([big, 50n, 5n, 0xffffn + big, big, 0x55n + big, 7n, big]);
    await runner.run({
      file: 'atomics.cu',
      function: 'atomics_unsigned_long_long',
      block: [64, 1, 1],
      arguments: [cells],
    });
    expect([...cells]).toEqual([big + 2016n, 0n, 63n, big, big + 0xffffn, big + 0x55n, 42n, big + 128n]);
  });

  it('increments that wrap, scopes, floats and doubles', async () => {
    const cells = Uint32Array.from([8, 2, 100, 100, 100]);
    const floats = Float32Array.from([1, 0]);
    const doubles = Float64Array.from([1]);
    const longs = BigInt64Array.from([0n, 0n]);
    const signed = Int32Array.from([10]);
    await runner.run({
      file: 'atomics.cu',
      function: 'atomics_more',
      block: [64, 1, 1],
      arguments: [cells, floats, doubles, longs, signed],
    });
    // 8 goes to 9, then wraps to 0: 64 steps of a cycle of 10. 2 counts down to 0, then wraps to 9.
    expect([...cells]).toEqual([(8 + 64) % 10, (2 - 64 + 70) % 10, 164, 228, 36]);
    expect([...floats]).toEqual([33, 3.5]);
    expect([...doubles]).toEqual([17]);
    expect([...longs]).toEqual([-10n, 53n]);
    expect([...signed]).toEqual([10 - 192]);
  });

  it('hand out every earlier value once', async () => {
    const [counter, taken] = [new Uint32Array(1), new Uint32Array(256)];
    await runner.run({
      file: 'atomics.cu',
      function: 'tickets',
      grid: [4, 1, 1],
      block: [64, 1, 1],
      arguments: [counter, taken],
    });
    expect([...counter]).toEqual([256]);
    expect(taken.every((count) => count === 1)).toBe(true);
  });

  it('build a histogram in shared memory', async () => {
    const input = Uint8Array.from({ length: 1000 }, (_, i) => (i * i) % 251);
    const bins = new Uint32Array(16);
    await runner.run({
      file: 'atomics.cu',
      function: 'histogram',
      grid: [3, 1, 1],
      block: [64, 1, 1],
      arguments: [input, bins, int(1000)],
    });
    const wanted = new Array(16).fill(0);
    for (const value of input) wanted[value & 15]++;
    expect([...bins]).toEqual(wanted);
  });
});

describe('integer functions', () => {
  const WORDS = [
    0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0x00ff00ff, 0x12345678, 0x89abcdef, 0x80017fff, 0xdeadbeef, 31, 32, 33,
    63,
  ];
  const mask = (bits: number) => (1n << BigInt(bits)) - 1n;
  const signed = (value: bigint, bits: number) => BigInt.asIntN(bits, value);
  const lanesOf = (value: bigint, width: number) =>
    Array.from({ length: 32 / width }, (_, i) => (value >> BigInt(i * width)) & mask(width));
  const join = (lanes: bigint[], width: number) =>
    lanes.reduce((sum, lane, i) => sum | (BigInt.asUintN(width, lane) << BigInt(i * width)), 0n);
  const packed = (x: bigint, y: bigint, width: number, combine: (a: bigint, b: bigint) => bigint, isSigned = false) => {
    const read = (value: bigint) => lanesOf(value, width).map((lane) => (isSigned ? signed(lane, width) : lane));
    const [left, right] = [read(x), read(y)];
    return join(
      left.map((lane, i) => combine(lane, right[i]!)),
      width,
    );
  };
  const clamp = (value: bigint, low: bigint, high: bigint) => (value < low ? low : value > high ? high : value);
  const least = (a: bigint, b: bigint) => (a < b ? a : b);
  const most = (a: bigint, b: bigint) => (a > b ? a : b);
  const bitsOf = (value: bigint) => value.toString(2).replaceAll('0', '').length;
  const leadingZeros = (value: bigint, bits: number) => (value === 0n ? bits : bits - value.toString(2).length);
  const firstSet = (value: bigint) =>
    value === 0n ? 0 : value.toString(2).length - value.toString(2).lastIndexOf('1');
  const reversed = (value: bigint, bits: number) =>
    BigInt(`0b${[...value.toString(2).padStart(bits, '0')].reverse().join('')}`);
  const permute = (x: bigint, y: bigint, selectors: number[]) =>
    join(
      selectors.map((selector) => (((y << 32n) | x) >> BigInt(8 * selector)) & 0xffn),
      8,
    );
  const dot = (x: bigint, y: bigint, isSigned: boolean) => {
    const read = (value: bigint) => lanesOf(value, 8).map((lane) => (isSigned ? signed(lane, 8) : lane));
    return read(x).reduce((sum, lane, i) => sum + lane * read(y)[i]!, 5n);
  };
  const dotHalves = (x: bigint, y: bigint, isSigned: boolean, firstByte: number) => {
    const halves = lanesOf(x, 16).map((lane) => (isSigned ? signed(lane, 16) : lane));
    const bytes = lanesOf(y, 8).map((lane) => (isSigned ? signed(lane, 8) : lane));
    return halves.reduce((sum, lane, i) => sum + lane * bytes[firstByte + i]!, 5n);
  };

  /** Every result of one row, in the order of integer_functions.cu, as exact integers. */
  function expectedRow(x: bigint, y: bigint): bigint[] {
    const [a, b] = [signed(x, 32), signed(y, 32)];
    const pair = (y << 32n) | x;
    const shift = (amount: bigint) => (amount > 32n ? 32n : amount);
    const wide = (x << 32n) | y;
    const [low24, high24] = [signed(x & mask(24), 24), signed(y & mask(24), 24)];
    return [
      BigInt(bitsOf(x)),
      BigInt(leadingZeros(x, 32)),
      BigInt(firstSet(x)),
      reversed(x, 32),
      permute(x, y, [0, 2, 4, 6]),
      permute(x, y, [1, 3, 5, 7]),
      (pair << 13n) >> 32n,
      pair >> (y & 31n),
      (pair << shift(y & 63n)) >> 32n,
      pair >> shift(y & 63n),
      (a * b) >> 32n,
      (x * y) >> 32n,
      low24 * high24,
      (x & mask(24)) * (y & mask(24)),
      (a > b ? a - b : b - a) + 7n,
      (x > y ? x - y : y - x) + 7n,
      (a + b) >> 1n,
      (a + b + 1n) >> 1n,
      (x + y) >> 1n,
      (x + y + 1n) >> 1n,
      dot(x, y, true),
      dot(x, y, false),
      dotHalves(x, y, true, 0),
      dotHalves(x, y, false, 2),
      packed(x, y, 8, (p, q) => p + q),
      packed(x, y, 16, (p, q) => p - q),
      packed(x, y, 16, (p, q) => clamp(p + q, -32768n, 32767n), true),
      packed(x, y, 8, (p, q) => clamp(p + q, 0n, 255n)),
      packed(x, y, 8, most, true),
      packed(x, y, 16, least),
      packed(x, y, 8, (p, q) => (p > q ? p - q : q - p)),
      packed(x, y & 0x00ff00ffn, 8, (p, q) => (p === q ? -1n : 0n)),
      packed(x, y, 16, (p, q) => (p > q ? -1n : 0n), true),
      least(a, b) + most(a, b),
      least(x, y) - most(x, y),
      least(x, y),
      a < 0n ? -a : a,
      BigInt(bitsOf(wide)),
      BigInt(leadingZeros(wide, 64)),
      BigInt(firstSet(wide)),
      reversed(wide, 64) >> 32n,
      (wide * (mask(64) - wide)) >> 64n,
      (signed(wide, 64) * (y - x)) >> 64n,
      most(wide, 5n) >> 32n,
      least(signed(wide, 64), 5n),
    ].map((value) => BigInt.asUintN(32, value));
  }

  it('agree with exact arithmetic on every pair of interesting words', async () => {
    const pairs = WORDS.flatMap((x) => WORDS.map((y) => [x, y] as const));
    const [xs, ys] = [Uint32Array.from(pairs, ([x]) => x), Uint32Array.from(pairs, ([, y]) => y)];
    const out = new Uint32Array(64 * pairs.length);
    await runner.run({
      file: 'integer_functions.cu',
      function: 'integers',
      grid: [Math.ceil(pairs.length / 64), 1, 1],
      block: [64, 1, 1],
      arguments: [xs, ys, out, int(pairs.length)],
    });
    pairs.forEach(([x, y], i) => {
      const wanted = expectedRow(BigInt(x), BigInt(y));
      expect(
        [...out.subarray(64 * i, 64 * i + wanted.length)].map(BigInt),
        `${x.toString(16)}, ${y.toString(16)}`,
      ).toEqual(wanted);
    });
  });
});
