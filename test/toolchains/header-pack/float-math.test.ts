import { afterAll, beforeAll, describe, expect } from 'vitest';
import { sampled } from '../../support/sampling/matrix.ts';
import { type KernelRunner, openKernelRunner } from './kernel-runner.ts';
import * as special from './special-functions.ts';
import { worstError } from './ulp.ts';

let runner: KernelRunner;
beforeAll(async () => {
  runner = await openKernelRunner();
});
afterAll(() => runner.close());

const EDGES = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  2,
  3,
  1e-45,
  -1e-45,
  1e-40,
  -3e-39,
  1.1754944e-38,
  3.4e38,
  -3.4e38,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.NaN,
];

/** Edges, then evenly spread numbers, then numbers of every magnitude; the same at every run. */
function inputs(low: number, high: number, count = 4000): Float32Array {
  let state = 12345;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const spread = Array.from({ length: count }, () => low + (high - low) * random());
  const scaled = Array.from({ length: count }, () => (random() < 0.5 ? -1 : 1) * 2 ** (random() * 250 - 125));
  return Float32Array.from([...EDGES, ...spread, ...scaled]);
}

const near = (x: number) => x - Math.round(x);
const sinPi = (x: number) =>
  Number.isInteger(x)
    ? Object.is(x, -0) || x < 0
      ? -0
      : 0
    : Math.sin(Math.PI * near(x)) * (Math.round(x) % 2 === 0 ? 1 : -1);
const cosPi = (x: number) =>
  Math.abs(near(x)) === 0.5 ? 0 : Math.cos(Math.PI * near(x)) * (Math.round(x) % 2 === 0 ? 1 : -1);
const roundHalfAway = (x: number) => Math.sign(x) * Math.floor(Math.abs(x) + 0.5) || x * 0;
const roundHalfEven = (x: number) => {
  if (!Number.isFinite(x) || Math.abs(x) >= 2 ** 52) return x;
  const floor = Math.floor(x);
  const up = x - floor > 0.5 || (x - floor === 0.5 && floor % 2 !== 0);
  const rounded = floor + (up ? 1 : 0);
  return rounded === 0 ? Math.sign(x) * 0 || x * 0 : rounded;
};

/** Function, reference in double precision, the bound that docs/reference/device-headers.md states in ulp, range. */
/** lgamma crosses zero between the poles there: its relative error is not bounded. */
const avoidZeros = (x: number) => (x < -2.2 && x > -10.01 ? 1.25 : x);
const UNARY: [string, (x: number) => number, number, [number, number], ((x: number) => number)?][] = [
  ['expf', Math.exp, 2, [-104, 89]],
  ['exp2f', (x) => 2 ** x, 2, [-150, 128]],
  ['exp10f', (x) => 10 ** x, 2, [-45, 38.6]],
  ['expm1f', Math.expm1, 2, [-20, 89]],
  ['logf', Math.log, 1, [0, 10]],
  ['log2f', Math.log2, 2, [0, 10]],
  ['log10f', Math.log10, 2, [0, 10]],
  ['log1pf', Math.log1p, 2, [-1, 5]],
  ['sinf', Math.sin, 2, [-100, 100]],
  ['cosf', Math.cos, 2, [-100, 100]],
  ['tanf', Math.tan, 3, [-10, 10]],
  ['sinpif', sinPi, 2, [-10, 10]],
  ['cospif', cosPi, 2, [-10, 10]],
  ['asinf', Math.asin, 3, [-1, 1]],
  ['acosf', Math.acos, 2, [-1, 1]],
  ['atanf', Math.atan, 2, [-5, 5]],
  ['sinhf', Math.sinh, 3, [-90, 90]],
  ['coshf', Math.cosh, 3, [-90, 90]],
  ['tanhf', Math.tanh, 2, [-3, 3]],
  ['asinhf', Math.asinh, 3, [-10, 10]],
  ['acoshf', Math.acosh, 3, [1, 20]],
  ['atanhf', Math.atanh, 3, [-1, 1]],
  ['sqrtf', Math.sqrt, 0.5, [0, 100]],
  ['rsqrtf', (x) => 1 / Math.sqrt(x), 2, [0, 100]],
  ['cbrtf', Math.cbrt, 1, [-100, 100]],
  ['rcbrtf', (x) => 1 / Math.cbrt(x), 1, [-100, 100]],
  ['erff', special.erf, 2, [-4, 4]],
  ['erfcf', special.erfc, 4, [-4, 10]],
  ['normcdff', (x) => 0.5 * special.erfc(-x * Math.SQRT1_2), 5, [-14, 6]],
  ['tgammaf', special.tgamma, 3, [-8, 35]],
  ['lgammaf', special.lgamma, 6, [0, 100], avoidZeros],
  ['floorf', Math.floor, 0, [-10, 10]],
  ['ceilf', Math.ceil, 0, [-10, 10]],
  ['truncf', Math.trunc, 0, [-10, 10]],
  ['rintf', roundHalfEven, 0, [-10, 10]],
  ['nearbyintf', roundHalfEven, 0, [-10, 10]],
  ['roundf', roundHalfAway, 0, [-10, 10]],
  ['fabsf', Math.abs, 0, [-10, 10]],
];

const ieeeRemainder = (x: number, y: number): number => {
  if (!Number.isFinite(x) || y === 0 || Number.isNaN(y)) return Number.NaN;
  if (!Number.isFinite(y)) return x;
  const divisor = Math.abs(y);
  let rest = Math.abs(x) % (2 * divisor);
  if (rest > divisor / 2) rest -= divisor;
  if (rest >= divisor / 2) rest -= divisor;
  return rest === 0 ? Math.sign(x) * 0 || x * 0 : Math.sign(x) * rest;
};

const power = (x: number, y: number) => (x === 1 || (x === -1 && !Number.isFinite(y) && !Number.isNaN(y)) ? 1 : x ** y);
const BINARY: [string, (x: number, y: number) => number, number, [number, number], [number, number]][] = [
  ['powf', power, 4, [0, 10], [-40, 40]],
  ['atan2f', Math.atan2, 2, [-10, 10], [-10, 10]],
  [
    'hypotf',
    (x, y) => (Number.isFinite(x) && Number.isFinite(y) ? Math.hypot(x, y) : Math.hypot(x, y)),
    2,
    [-10, 10],
    [-10, 10],
  ],
  ['fmodf', (x, y) => x % y, 0, [-100, 100], [-5, 5]],
  ['remainderf', ieeeRemainder, 0, [-100, 100], [-5, 5]],
  ['fdimf', (x, y) => (x <= y ? 0 : x - y), 0.5, [-10, 10], [-10, 10]],
  ['fminf', (x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.min(x, y)), 0, [-10, 10], [-10, 10]],
  ['fmaxf', (x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.max(x, y)), 0, [-10, 10], [-10, 10]],
];

async function run(name: string, operands: Float32Array[]): Promise<Float32Array> {
  const count = operands[0]!.length;
  const out = new Float32Array(count);
  const grid = [Math.ceil(count / 128), 1, 1] as const;
  const scalar = { scalar: count, dtype: 'i32' as const };
  const launch = { file: 'float_math.cu', function: `${name}_kernel`, grid, block: [128, 1, 1] as const };
  await runner.run({ ...launch, arguments: [...operands, out, scalar] });
  return out;
}

describe('float functions of one argument stay within their stated error', () => {
  sampled('unary functions of floats', UNARY, { oneIn: 12, placeOf: () => 'headers' })(
    '%s',
    async (name, reference, bound, [low, high], restrict) => {
      const x = inputs(low, high).map(restrict ?? ((value) => value));
      const worst = worstError([x], await run(name, [x]), reference, 'f32');
      expect(worst.ulps, JSON.stringify(worst)).toBeLessThanOrEqual(bound);
    },
  );
});

describe('float functions of two arguments stay within their stated error', () => {
  sampled('binary functions of floats', BINARY, { oneIn: 12, placeOf: () => 'headers' })(
    '%s',
    async (name, reference, bound, first, second) => {
      const [x, y] = [inputs(...first), inputs(...second).toReversed()];
      const worst = worstError([x, y], await run(name, [x, y]), reference, 'f32');
      expect(worst.ulps, JSON.stringify(worst)).toBeLessThanOrEqual(bound);
    },
  );
});
