import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Argument, type KernelRunner, type Memory, openKernelRunner } from './kernel-runner.ts';
import { ulpError, worstError } from './ulp.ts';

let runner: KernelRunner;
beforeAll(async () => {
  runner = await openKernelRunner();
});
afterAll(() => runner.close());

const int = (value: number): Argument => ({ scalar: value, dtype: 'i32' });
const blocks = (count: number) => ({ grid: [Math.ceil(count / 64), 1, 1] as const, block: [64, 1, 1] as const });

describe('conversions', () => {
  const FLOATS = [
    0,
    -0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.49999997,
    1e-40,
    8388609,
    16777215,
    2147483520,
    2147483648,
    -2147483648,
    4294967040,
    4294967296,
    1e18,
    -1e18,
    9.3e18,
    1.8e19,
    3e38,
    -3e38,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NaN,
  ];
  const MODES = ['rn', 'rz', 'ru', 'rd'] as const;
  type Mode = (typeof MODES)[number];

  const roundToInteger = (value: number, mode: Mode): number => {
    if (mode === 'rz') return Math.trunc(value);
    if (mode === 'ru') return Math.ceil(value);
    if (mode === 'rd') return Math.floor(value);
    const floor = Math.floor(value);
    return value - floor > 0.5 || (value - floor === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
  };
  const toInteger = (value: number, mode: Mode, bits: number, isSigned: boolean, from: string): bigint => {
    const low = isSigned ? -(2n ** BigInt(bits - 1)) : 0n;
    const high = isSigned ? 2n ** BigInt(bits - 1) - 1n : 2n ** BigInt(bits) - 1n;
    // Source: CUDA Math API, type casting intrinsics: NaN gives 0 from float to 32 bits, else only the highest bit set.
    if (Number.isNaN(value)) return from === 'float' && bits === 32 ? 0n : isSigned ? low : 2n ** BigInt(bits - 1);
    if (!Number.isFinite(value)) return value > 0 ? high : low;
    const exact = BigInt(roundToInteger(value, mode));
    return exact < low ? low : exact > high ? high : exact;
  };

  const toIntegers: [string, 32 | 64, boolean][] = [
    ['int', 32, true],
    ['unsigned', 32, false],
    ['long_long', 64, true],
    ['unsigned_long_long', 64, false],
  ];
  it.each(['float', 'double'])('%s to every integer type', async (from) => {
    const values =
      from === 'float' ? FLOATS.map(Math.fround) : [...FLOATS, 2251799813685247.5, 2147483647.5, 4294967295.5, 1e300];
    const input = from === 'float' ? Float32Array.from(values) : Float64Array.from(values);
    for (const [name, bits, isSigned] of toIntegers) {
      const make = (): Memory =>
        bits === 32
          ? isSigned
            ? new Int32Array(values.length)
            : new Uint32Array(values.length)
          : isSigned
            ? new BigInt64Array(values.length)
            : new BigUint64Array(values.length);
      const outs = MODES.map(make);
      await runner.run({
        file: 'conversions.cu',
        function: `${from}_to_${name}_kernel`,
        ...blocks(values.length),
        arguments: [input, ...outs, int(values.length)],
      });
      MODES.forEach((mode, m) => {
        const got = [...outs[m]!].map(BigInt);
        expect(got, `${name} ${mode}`).toEqual(values.map((value) => toInteger(value, mode, bits, isSigned, from)));
      });
    }
  });

  /** The floats around an exact rational numerator / denominator, chosen by mode. */
  function roundExact(
    compare: (candidate: number) => number,
    nearest: number,
    mode: Mode,
    kind: 'f32' | 'f64',
  ): number {
    if (!Number.isFinite(nearest) || mode === 'rn') return nearest;
    const order = compare(nearest); // sign of candidate − exact
    if (order === 0) return nearest;
    const towardsZero = mode === 'rz';
    const wantBelow = mode === 'rd' || (towardsZero && !(nearest < 0 || Object.is(nearest, -0)));
    if (order > 0 && wantBelow) return neighbour(nearest, -1, kind);
    if (order < 0 && !wantBelow) return neighbour(nearest, 1, kind);
    return nearest;
  }
  function neighbour(value: number, direction: 1 | -1, kind: 'f32' | 'f64'): number {
    if (value === 0) return direction * (kind === 'f32' ? 2 ** -149 : Number.MIN_VALUE);
    const up = value > 0 === direction > 0;
    if (kind === 'f32') {
      const floats = Float32Array.of(value);
      const words = new Int32Array(floats.buffer);
      words[0]! += up ? 1 : -1;
      return floats[0]!;
    }
    const doubles = Float64Array.of(value);
    const words = new BigInt64Array(doubles.buffer);
    words[0]! += up ? 1n : -1n;
    return doubles[0]!;
  }
  const compareInteger = (exact: bigint) => (candidate: number) =>
    BigInt(candidate) > exact ? 1 : BigInt(candidate) < exact ? -1 : 0;

  it.each([
    ['int_to_float', Int32Array, 'f32', [0n, 1n, -1n, 16777217n, -16777217n, 2147483647n, -2147483648n, 123456789n]],
    ['unsigned_to_float', Uint32Array, 'f32', [0n, 1n, 4294967295n, 4294967041n, 16777219n]],
    [
      'long_long_to_float',
      BigInt64Array,
      'f32',
      [0n, -1n, 2n ** 62n + 1n, -(2n ** 62n) - 2n ** 39n, 9223372036854775807n, 1234567890123456789n],
    ],
    ['unsigned_long_long_to_float', BigUint64Array, 'f32', [0n, 2n ** 63n + 1n, 2n ** 64n - 1n, 1234567890123456789n]],
    [
      'long_long_to_double',
      BigInt64Array,
      'f64',
      [0n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, 2n ** 62n + 2n ** 9n],
    ],
    [
      'unsigned_long_long_to_double',
      BigUint64Array,
      'f64',
      [0n, 2n ** 53n + 1n, 2n ** 64n - 1n, 2n ** 63n + 2n ** 10n + 1n],
    ],
  ] as const)('%s', async (name, kind, format, integers) => {
    const input = (
      kind === Int32Array || kind === Uint32Array
        ? kind.from(integers.map(Number))
        : (kind as BigInt64ArrayConstructor).from(integers)
    ) as Memory;
    const outs = MODES.map(() =>
      format === 'f32' ? new Float32Array(integers.length) : new Float64Array(integers.length),
    );
    await runner.run({
      file: 'conversions.cu',
      function: `${name}_kernel`,
      ...blocks(integers.length),
      arguments: [input, ...outs, int(integers.length)],
    });
    MODES.forEach((mode, m) => {
      // Number(bigint) rounds to nearest even; to float, the tie-breaking of the double must not count twice.
      const nearest = (i: bigint) => (format === 'f64' ? Number(i) : nearestFloat(i));
      expect([...outs[m]!], mode).toEqual(integers.map((i) => roundExact(compareInteger(i), nearest(i), mode, format)));
    });
  });
  const nearestFloat = (exact: bigint): number => {
    const guess = Math.fround(Number(exact));
    const candidates = [neighbour(guess, -1, 'f32'), guess, neighbour(guess, 1, 'f32')].filter((value) =>
      Number.isInteger(value),
    );
    const distance = (value: number) => (BigInt(value) > exact ? BigInt(value) - exact : exact - BigInt(value));
    const isEven = (value: number) => new Int32Array(Float32Array.of(value).buffer)[0]! % 2 === 0;
    return candidates.reduce((best, value) =>
      distance(value) < distance(best) || (distance(value) === distance(best) && isEven(value)) ? value : best,
    );
  };

  it('double to float', async () => {
    const values = [
      0,
      -0,
      1 / 3,
      -1 / 3,
      1e-46,
      -1e-46,
      1e-40 / 3,
      3.4028235677973366e38,
      1e39,
      -1e39,
      16777217,
      Math.PI,
      Number.POSITIVE_INFINITY,
      Number.NaN,
    ];
    const outs = MODES.map(() => new Float32Array(values.length));
    await runner.run({
      file: 'conversions.cu',
      function: 'double_to_float_kernel',
      ...blocks(values.length),
      arguments: [Float64Array.from(values), ...outs, int(values.length)],
    });
    MODES.forEach((mode, m) => {
      const wanted = values.map((value) => {
        const nearest = Math.fround(value);
        if (Number.isFinite(value) && !Number.isFinite(nearest)) {
          const away = mode === 'rn' || (mode === 'ru' ? value > 0 : mode === 'rd' && value < 0);
          return away ? nearest : Math.sign(value) * 3.4028234663852886e38;
        }
        const rounded = roundExact((candidate) => candidate - value, nearest, mode, 'f32');
        return rounded === 0 ? value * 0 : rounded;
      });
      expect([...outs[m]!], mode).toEqual(wanted);
    });
  });

  describe('arithmetic in every rounding mode', () => {
    const X = Float32Array.from([1, 1 / 3, -1 / 3, 1e10, 1.1754944e-38, 3e38, 0.1, -0.1, 123456.79, 2]);
    const Y = Float32Array.from([3, 7, 0.1, 1e-10, 0.3, 3e38, -0.1, 0.2, 0.0012345, 3]);
    const exactly: Record<string, (a: number, b: number) => number> = {
      // Sums, products and fused products of two floats of like size are exact, or rounded to odd enough, in double.
      add: (a, b) => a + b,
      subtract: (a, b) => a - b,
      multiply: (a, b) => a * b,
    };
    it.each(Object.keys(exactly))('%s', async (name) => {
      const outs = MODES.map(() => new Float32Array(X.length));
      await runner.run({
        file: 'conversions.cu',
        function: `${name}_kernel`,
        ...blocks(X.length),
        arguments: [X, Y, ...outs, int(X.length)],
      });
      X.forEach((a, i) => {
        const exact = exactly[name]!(a, Y[i]!);
        if (Math.abs(exact) > 3.4e38) return;
        // Where the double is exact the order of candidates is known; the pairs above are chosen so.
        const wanted = MODES.map(
          (mode) => roundExact((candidate) => candidate - exact, Math.fround(exact), mode, 'f32') || 0,
        );
        // An exact zero has the sign of the mode: not looked at here.
        const got = MODES.map((_, m) => outs[m]![i]! || 0);
        if (name === 'multiply' || Math.abs(Math.log2(Math.abs(a / Y[i]!))) < 28)
          expect(got, `${a} ${Y[i]}`).toEqual(wanted);
      });
    });

    it.each(['divide', 'reciprocal', 'root', 'fused', 'double_add', 'double_multiply', 'double_divide', 'double_root'])(
      '%s: the directed results enclose the exact one and are neighbours',
      async (name) => {
        const isDouble = name.startsWith('double');
        const kind = isDouble ? 'f64' : 'f32';
        const x = isDouble
          ? Float64Array.from([...X].map(Math.abs))
          : X.map((value) => (name === 'root' ? Math.abs(value) : value));
        const y = isDouble ? Float64Array.from(Y) : Y;
        const outs = MODES.map(() => (isDouble ? new Float64Array(x.length) : new Float32Array(x.length)));
        await runner.run({
          file: 'conversions.cu',
          function: `${name}_kernel`,
          ...blocks(x.length),
          arguments: [x, y, ...outs, int(x.length)],
        });
        const operations: Record<string, (a: number, b: number) => number> = {
          divide: (a, b) => a / b,
          reciprocal: (a) => 1 / a,
          root: (a) => Math.sqrt(a),
          fused: (a, b) => a * b + 0.5,
          double_add: (a, b) => a + b,
          double_multiply: (a, b) => a * b,
          double_divide: (a, b) => a / b,
          double_root: (a) => Math.sqrt(a),
        };
        x.forEach((a, i) => {
          const [rn, rz, ru, rd] = MODES.map((_, m) => outs[m]![i]! || 0) as [number, number, number, number];
          const approximate = operations[name]!(a, y[i]!);
          if (!Number.isFinite(Math.fround(approximate)) && !isDouble) return;
          expect(isDouble ? rn : Math.fround(approximate), `${a} ${y[i]}`).toBe(isDouble ? approximate : rn);
          expect([rd, neighbour(rd, 1, kind)]).toContain(ru);
          expect([rd, ru]).toContain(rn);
          expect(rz).toBe(rn < 0 ? ru : rd);
        });
      },
    );
  });

  it('reinterpret bits', async () => {
    const input = Float32Array.from({ length: 32 }, (_, i) => (i - 16) * 1.25);
    const doubles = Float64Array.from({ length: 32 }, (_, i) => (i + 1) * Math.PI);
    const [words, floats, halves, joined] = [
      new Uint32Array(64),
      new Float32Array(64),
      new Uint32Array(64),
      new Float64Array(32),
    ];
    await runner.run({
      file: 'conversions.cu',
      function: 'reinterpret',
      arguments: [input, words, floats, doubles, halves, joined],
    });
    const bits = new Uint32Array(input.slice().buffer);
    const parts = new Uint32Array(doubles.slice().buffer);
    expect(words).toEqual(
      Uint32Array.from({ length: 64 }, (_, i) => (i % 2 === 0 ? bits[i >> 1]! : bits[i >> 1]! ^ 0x80000000)),
    );
    expect(floats).toEqual(Float32Array.from({ length: 64 }, (_, i) => (i % 2 === 0 ? -input[i >> 1]! : 1)));
    expect(halves).toEqual(parts.map((_, i) => parts[i ^ 1]!));
    expect(joined).toEqual(doubles.map((value) => 2 * value));
  });

  it('cast as C++ does', async () => {
    const input = Float32Array.from({ length: 32 }, (_, i) => i * 7.75 - 3.5);
    const [ints, bytes, longs, doubles] = [
      new Int32Array(32),
      new Uint8Array(32),
      new BigInt64Array(32),
      new Float64Array(32),
    ];
    await runner.run({ file: 'conversions.cu', function: 'casts', arguments: [input, ints, bytes, longs, doubles] });
    expect(ints).toEqual(Int32Array.from(input, Math.trunc));
    expect(bytes).toEqual(Uint8Array.from(input, (value) => Math.trunc(value) & 255));
    expect([...longs]).toEqual(Array.from(input, (value) => BigInt(Math.trunc(value))));
    expect(doubles).toEqual(Float64Array.from(input));
  });
});

describe('fast math', () => {
  const run = async (name: string, x: Float32Array) => {
    const out = new Float32Array(x.length);
    await runner.run({
      file: 'fast_math.cu',
      function: `${name}_kernel`,
      ...blocks(x.length),
      arguments: [x, out, int(x.length)],
    });
    return out;
  };
  const grid = (low: number, high: number) =>
    Float32Array.from({ length: 1000 }, (_, i) => low + ((high - low) * (i + 0.5)) / 1000);

  // Bounds: CUDA C++ Programming Guide, "Intrinsic Functions": 2 + floor(|1.173 x|) ulp for __expf and the like.
  it.each([
    ['__expf', grid(-80, 80), Math.exp, (x: number) => 2 + Math.floor(Math.abs(1.173 * x))],
    ['__exp10f', grid(-35, 35), (x: number) => 10 ** x, (x: number) => 2 + Math.floor(Math.abs(2.97 * x))],
    ['__logf', grid(2.1, 1000), Math.log, () => 3],
    ['__log2f', grid(2.1, 1000), Math.log2, () => 2],
    ['__log10f', grid(2.1, 1000), Math.log10, () => 3],
    ['__saturatef', grid(-2, 2), (x: number) => Math.min(1, Math.max(0, x)), () => 0],
    ['__frsqrt_rn', grid(0, 100), (x: number) => 1 / Math.sqrt(x), () => 0.5001],
  ] as const)('%s in units in the last place', async (name, x, reference, bound) => {
    const out = await run(name, x);
    x.forEach((at, i) => {
      expect(ulpError(out[i]!, reference(at), 'f32'), `${at}`).toBeLessThanOrEqual(bound(at));
    });
  });

  // |error| <= 2^-21.41 for __sinf, 2^-21.19 for __cosf, in [-pi, pi].
  it.each([
    ['__sinf', Math.sin, 2 ** -21.41],
    ['__cosf', Math.cos, 2 ** -21.19],
  ] as const)('%s absolutely', async (name, reference, bound) => {
    const x = grid(-Math.PI, Math.PI);
    const out = await run(name, x);
    x.forEach((at, i) => {
      expect(Math.abs(out[i]! - reference(at))).toBeLessThanOrEqual(bound);
    });
  });

  it('__tanf, __fdividef, __powf and __sincosf', async () => {
    const x = grid(0.5, 20);
    const y = grid(0.25, 3);
    const [quotient, power, sine, cosine] = [0, 1, 2, 3].map(() => new Float32Array(x.length)) as [
      Float32Array,
      Float32Array,
      Float32Array,
      Float32Array,
    ];
    await runner.run({
      file: 'fast_math.cu',
      function: 'fast_pairs',
      ...blocks(x.length),
      arguments: [x, y, quotient, power, sine, cosine, int(x.length)],
    });
    expect(worstError([x, y], quotient, (a, b) => a / b, 'f32').ulps).toBeLessThanOrEqual(2);
    x.forEach((at, i) => {
      expect(Math.abs(power[i]! / at ** y[i]! - 1)).toBeLessThan(4e-6);
      expect(Math.abs(sine[i]! - Math.sin(at))).toBeLessThan(2e-6);
      expect(Math.abs(cosine[i]! - Math.cos(at))).toBeLessThan(2e-6);
    });
    const tangent = await run('__tanf', y);
    y.forEach((at, i) => {
      if (Math.abs(Math.cos(at)) > 0.1) expect(Math.abs(tangent[i]! / Math.tan(at) - 1)).toBeLessThan(1e-4);
    });
  });
});

describe('cooperative groups', () => {
  it('partition, reduce, shuffle and coalesce', async () => {
    const input = Float32Array.from({ length: 64 }, (_, i) => (i * 7) % 45);
    const out = new Float32Array(8 * 64);
    await runner.run({ file: 'groups.cu', function: 'groups', block: [16, 2, 2], arguments: [input, out] });
    const slice = (first: number, count: number) => [...input.subarray(first, first + count)];
    const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
    for (let rank = 0; rank < 64; rank++) {
      const [warp, tile] = [rank - (rank % 32), rank - (rank % 8)];
      const inTile = slice(tile, 8);
      const active = Array.from({ length: 32 }, (_, lane) => warp + lane).filter((other) => other % 3 === 0);
      const partner = rank ^ 1;
      expect([...out.subarray(8 * rank, 8 * rank + 8)], `rank ${rank}`).toEqual([
        sum(slice(warp, 32)),
        sum(inTile),
        Math.max(...inTile),
        (rank % 8) + 100 * Math.floor(rank / 8) + 640000,
        inTile.reduce((bits, value, i) => bits + (value > 10 ? 2 ** i : 0), 0) +
          (inTile.some((value) => value > 40) ? 1000 : 0),
        rank % 3 === 0 ? active.indexOf(rank) + 100 * active.length : 0,
        rank % 3 === 0 ? input[active[1]!] : 0,
        input[partner]! + 1000 * partner,
      ]);
    }
  });
});

describe('asynchronous copies', () => {
  it('fill a ring of shared tiles', async () => {
    const tiles = 5;
    const input = Float32Array.from({ length: 64 * tiles }, (_, i) => (i * 13) % 101);
    const out = new Float32Array(64);
    await runner.run({
      file: 'pipeline.cu',
      function: 'pipelined_sum',
      block: [64, 1, 1],
      arguments: [input, out, int(tiles)],
    });
    const wanted = out.map((_, i) => {
      let sum = 0;
      for (let tile = 0; tile < tiles; tile++) sum += input[64 * tile + i]! + input[64 * tile + 63 - i]!;
      return sum;
    });
    expect(out).toEqual(wanted);
  });
});

describe('wmma', () => {
  // Small integers: every product and sum is exact, whatever the order.
  const entry = (seed: number) => (row: number, column: number) => ((row * 5 + column * 3 + seed) % 9) - 4;
  const [a, b, c] = [entry(1), entry(4), entry(7)];
  const matrix = (rows: number, columns: number, at: (row: number, column: number) => number, byRows: boolean) =>
    Array.from({ length: rows * columns }, (_, i) =>
      byRows ? at(Math.floor(i / columns), i % columns) : at(i % rows, Math.floor(i / rows)),
    );
  const product = (k: number) => (row: number, column: number) => {
    let sum = c(row, column);
    for (let i = 0; i < k; i++) sum += a(row, i) * b(i, column);
    return sum;
  };
  const bf16 = (values: number[]) =>
    Uint16Array.from(values, (value) => new Uint32Array(Float32Array.of(value).buffer)[0]! >>> 16);

  const cases: [
    string,
    number,
    number,
    boolean,
    boolean,
    boolean,
    (values: number[]) => Memory,
    (values: number[]) => Memory,
  ][] = [
    [
      'half_row_col',
      16,
      16,
      true,
      false,
      true,
      Float16Array.from.bind(Float16Array),
      Float32Array.from.bind(Float32Array),
    ],
    [
      'half_col_row',
      16,
      16,
      false,
      true,
      false,
      Float16Array.from.bind(Float16Array),
      Float32Array.from.bind(Float32Array),
    ],
    [
      'half_accumulated',
      16,
      16,
      true,
      true,
      true,
      Float16Array.from.bind(Float16Array),
      Float16Array.from.bind(Float16Array),
    ],
    ['half_tall', 32, 8, true, false, true, Float16Array.from.bind(Float16Array), Float32Array.from.bind(Float32Array)],
    ['half_wide', 8, 32, true, false, true, Float16Array.from.bind(Float16Array), Float32Array.from.bind(Float32Array)],
    ['bfloat16_row_col', 16, 16, true, false, true, bf16, Float32Array.from.bind(Float32Array)],
    ['bytes', 16, 16, true, false, true, Int8Array.from.bind(Int8Array), Int32Array.from.bind(Int32Array)],
  ];
  it.each(cases)('%s', async (name, m, n, aByRows, bByRows, cByRows, pack, packResult) => {
    const [left, right] = [pack(matrix(m, 16, a, aByRows)), pack(matrix(16, n, b, bByRows))];
    const result = packResult(matrix(m, n, c, cByRows));
    await runner.run({ file: 'wmma.cu', function: name, arguments: [left, right, result] });
    expect([...result]).toEqual(matrix(m, n, product(16), cByRows));
  });

  it('tf32, with element-wise work on fragments', async () => {
    const [left, right] = [Float32Array.from(matrix(16, 8, a, true)), Float32Array.from(matrix(8, 16, b, false))];
    left[0] = 1 + 2 ** -12; // below TF32's precision: rounds to 1
    const result = new Float32Array(256);
    await runner.run({ file: 'wmma.cu', function: 'tf32', arguments: [left, right, result] });
    const first = (row: number, i: number) => (row === 0 && i === 0 ? 1 : a(row, i));
    const wanted = (row: number, column: number) => {
      let sum = 1;
      for (let i = 0; i < 8; i++) sum += first(row, i) * b(i, column);
      return 2 * sum;
    };
    expect([...result]).toEqual(matrix(16, 16, wanted, true));
  });
});

describe('the library subset', () => {
  it('computes what the standard says', async () => {
    const input = Float32Array.from({ length: 32 }, (_, i) => ((i * 11) % 32) + 1);
    const out = new Float32Array(256);
    await runner.run({ file: 'library.cu', function: 'library', arguments: [input, out] });
    for (let i = 0; i < 32; i++) {
      const [low, high] = [Math.min(input[i]!, input[31 - i]!), Math.max(input[i]!, input[31 - i]!)];
      const first = 2 * low + 2 * i;
      const wanted = [
        first,
        input[0]! + input[1]! + input[2]! + input[3]!,
        Math.fround(Math.fround(Math.fround(Math.fround(Math.sqrt(high)) + low) + 1) + high),
        1 + 2 + 4,
        first + i,
        0,
        2 ** (i & 3) + i + 1,
        0,
      ];
      expect([...out.subarray(8 * i, 8 * i + 8)], `thread ${i}`).toEqual(wanted);
    }
  });
});

describe('a launcher beside the kernel', () => {
  it('is read but never run', async () => {
    const input = Float32Array.from({ length: 100 }, (_, i) => i - 50);
    const out = new Float32Array(100);
    await runner.run({ file: 'host_code.cu', function: 'squares', ...blocks(100), arguments: [input, out, int(100)] });
    expect(out).toEqual(input.map((x) => x * x + x * x * x));
  });
});
