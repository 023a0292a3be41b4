import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampled } from '../../support/sampling/matrix.ts';
import { type KernelRunner, openKernelRunner } from './kernel-runner.ts';
import { ulpError, worstError } from './ulp.ts';

let runner: KernelRunner;
beforeAll(async () => {
  runner = await openKernelRunner();
});
afterAll(() => runner.close());

/** Arguments and results computed with many digits; see `source` in the file. */
const REFERENCES = JSON.parse(readFileSync(join(import.meta.dirname, 'double-references.json'), 'utf8')) as {
  unary: Record<string, [number, number][]>;
  binary: Record<string, [number, number, number][]>;
};

/** The bounds that docs/reference/device-headers.md states, in ulp. */
const BOUNDS: Record<string, number> = {
  exp: 2,
  exp2: 2,
  exp10: 2,
  expm1: 2,
  log: 1,
  log2: 1,
  log10: 1,
  log1p: 2,
  sin: 3,
  cos: 3,
  tan: 4,
  sinpi: 2,
  cospi: 2,
  asin: 3,
  acos: 2,
  atan: 2,
  sinh: 3,
  cosh: 2,
  tanh: 3,
  asinh: 3,
  acosh: 3,
  atanh: 3,
  cbrt: 1,
  rsqrt: 2,
  erf: 2,
  erfc: 5,
  normcdf: 5,
  tgamma: 10,
  lgamma: 4,
  pow: 2,
  atan2: 2,
  hypot: 2,
};

async function run(name: string, operands: Float64Array[]): Promise<Float64Array> {
  const count = operands[0]!.length;
  const out = new Float64Array(count);
  const scalar = { scalar: count, dtype: 'i32' as const };
  const grid = [Math.ceil(count / 64), 1, 1] as const;
  await runner.run({
    file: 'double_math.cu',
    function: `${name}_kernel`,
    grid,
    block: [64, 1, 1],
    arguments: [...operands, out, scalar],
  });
  return out;
}

describe('double functions stay within their stated error', () => {
  sampled('unary functions of doubles', Object.entries(REFERENCES.unary), { oneIn: 12, placeOf: () => 'headers' })(
    '%s',
    async (name, rows) => {
      const x = Float64Array.from(rows, ([at]) => at);
      const wanted = new Map(rows);
      const worst = worstError([x], await run(name, [x]), (at) => wanted.get(at)!, 'f64');
      expect(worst.ulps, JSON.stringify(worst)).toBeLessThanOrEqual(BOUNDS[name]!);
    },
  );

  sampled('binary functions of doubles', Object.entries(REFERENCES.binary), { oneIn: 12, placeOf: () => 'headers' })(
    '%s',
    async (name, rows) => {
      const [x, y] = [Float64Array.from(rows, ([at]) => at), Float64Array.from(rows, ([, at]) => at)];
      const wanted = new Map(rows.map(([a, b, result]) => [`${a} ${b}`, result]));
      const worst = worstError([x, y], await run(name, [x, y]), (a, b) => wanted.get(`${a} ${b}`)!, 'f64');
      expect(worst.ulps, JSON.stringify(worst)).toBeLessThanOrEqual(BOUNDS[name]!);
    },
  );
});

const { POSITIVE_INFINITY: INFINITY, NEGATIVE_INFINITY, NaN: NAN } = Number;
const SPECIAL = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  2.5,
  -2.5,
  3.5,
  1e300,
  -1e300,
  5e-324,
  -5e-324,
  INFINITY,
  NEGATIVE_INFINITY,
  NAN,
];

describe('double functions agree with IEEE 754 where it leaves no choice', () => {
  const exact: [string, (x: number) => number][] = [
    ['floor', Math.floor],
    ['ceil', Math.ceil],
    ['trunc', Math.trunc],
    ['round', (x) => (Math.abs(x) < 2 ** 52 ? Math.sign(x) * Math.floor(Math.abs(x) + 0.5) || x * 0 : x)],
    ['sqrt', Math.sqrt],
    ['fabs', Math.abs],
  ];
  it.each(exact)('%s', async (name, reference) => {
    const x = Float64Array.from(SPECIAL);
    expect([...(await run(name, [x]))]).toEqual(SPECIAL.map(reference));
  });

  it.each([
    ['exp', [0, -INFINITY, INFINITY, NAN, 1000, -1000], [1, 0, INFINITY, NAN, INFINITY, 0]],
    ['log', [0, -0, -1, INFINITY, NAN, 1], [NEGATIVE_INFINITY, NEGATIVE_INFINITY, NAN, INFINITY, NAN, 0]],
    ['sin', [0, -0, INFINITY, NAN], [0, -0, NAN, NAN]],
    ['asin', [2, -2, 0], [NAN, NAN, 0]],
    ['atan', [INFINITY, NEGATIVE_INFINITY], [Math.PI / 2, -Math.PI / 2]],
    ['tanh', [INFINITY, NEGATIVE_INFINITY, -0], [1, -1, -0]],
    ['erf', [INFINITY, NEGATIVE_INFINITY, 0], [1, -1, 0]],
    ['erfc', [INFINITY, NEGATIVE_INFINITY, 0], [0, 2, 1]],
    ['tgamma', [0, -0, -1, 171.7, 5, NEGATIVE_INFINITY], [INFINITY, NEGATIVE_INFINITY, NAN, INFINITY, 24, NAN]],
    ['lgamma', [0, -3, INFINITY, 1, 2], [INFINITY, INFINITY, INFINITY, 0, 0]],
    ['cbrt', [0, -0, -27, INFINITY], [0, -0, -3, INFINITY]],
  ])('%s of special values', async (name, at, wanted) => {
    expect([...(await run(name, [Float64Array.from(at)]))].map((value) => value)).toEqual(wanted);
  });

  it('pow of special values', async () => {
    const pairs = SPECIAL.flatMap((x) => SPECIAL.map((y) => [x, y] as const));
    const [x, y] = [Float64Array.from(pairs, ([a]) => a), Float64Array.from(pairs, ([, b]) => b)];
    // C's pow(1, NaN) and pow(-1, infinity) are 1; JavaScript's are NaN.
    const wanted = pairs.map(([a, b]) => (a === 1 || (a === -1 && Math.abs(b) === INFINITY) ? 1 : a ** b));
    const got = await run('pow', [x, y]);
    const exactly = (value: number) => value === 0 || !Number.isFinite(value);
    expect([...got].filter((_, i) => exactly(wanted[i]!))).toEqual(wanted.filter(exactly));
    const rest = [...got].map((value, i) => (exactly(wanted[i]!) ? 0 : ulpError(value, wanted[i]!, 'f64')));
    expect(Math.max(...rest)).toBeLessThanOrEqual(2);
  });

  it('fmod, fmin and fmax', async () => {
    const pairs = SPECIAL.flatMap((x) => SPECIAL.map((y) => [x, y] as const));
    const [x, y] = [Float64Array.from(pairs, ([a]) => a), Float64Array.from(pairs, ([, b]) => b)];
    expect([...(await run('fmod', [x, y]))]).toEqual(pairs.map(([a, b]) => a % b));
    const number = (a: number, b: number, pick: (a: number, b: number) => number) =>
      Number.isNaN(a) ? b : Number.isNaN(b) ? a : pick(a, b);
    expect([...(await run('fmin', [x, y]))]).toEqual(pairs.map(([a, b]) => number(a, b, Math.min)));
    expect([...(await run('fmax', [x, y]))]).toEqual(pairs.map(([a, b]) => number(a, b, Math.max)));
  });
});
