import type { DType } from '../../../src/core/dtype.ts';
import type { DrawRule } from '../../../src/core/measuring-device.ts';
import { encode, roundTo } from '../../../src/core/rounding.ts';

/** What harness.cu draws, written anew in TypeScript from its description: the same bits, if both are right. */
export function drawOnHost(dtype: DType, count: number, rule: DrawRule, key: readonly [number, number]): Uint8Array {
  const bits = (counter: number) => mix(mix(counter + key[0]) ^ key[1]);
  const valueAt: { [K in DrawRule['kind']]: (rule: Extract<DrawRule, { kind: K }>) => (index: number) => number } = {
    normal: ({ mean, standardDeviation }) => {
      const [m, d] = [Math.fround(mean), Math.fround(standardDeviation)];
      return (index) => {
        const first = index - (index % 2);
        const radius = f32(Math.sqrt(f32(2 * minusLog(bits(first)))));
        const [cosine, sine] = cosSinOfTurns(bits(first + 1));
        return fma32(f32(radius * (index === first ? cosine : sine)), d, m);
      };
    },
    uniform: ({ low, high }) => {
      const round = roundTo(dtype);
      return (index) => {
        const value = low + (high - low) * (bits(index) * 2 ** -32);
        // Only where rounding leaves the interval is there anything to decide; tests keep to ends the dtype holds.
        return round(value) < high ? value : below(high, dtype);
      };
    },
    integers: ({ low, high }) => {
      const size = BigInt(high) - BigInt(low) + 1n;
      const other = (counter: number) => mix(mix(counter + key[1]) ^ key[0]);
      return (index) => {
        const upper = BigInt(bits(index));
        const offset =
          size <= 1n << 32n ? (upper * size) >> 32n : (((upper << 32n) | BigInt(other(index))) * size) >> 64n;
        return Number(BigInt(low) + offset);
      };
    },
    permutation: () => permutationOf(count, key),
    constant:
      ({ value }) =>
      () =>
        value,
  };
  const at = (valueAt[rule.kind] as (rule: DrawRule) => (index: number) => number)(rule);
  return encode(
    Float64Array.from({ length: count }, (_, index) => at(index)),
    dtype,
  );
}

/** As in src/stats/random.ts. */
export function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

function permutationOf(count: number, [k0, k1]: readonly [number, number]): (index: number) => number {
  const width = count <= 1 ? 0 : Math.floor(Math.log2(count - 1)) + 1;
  const leftSize = 2 ** Math.floor(width / 2);
  const rightSize = 2 ** Math.ceil(width / 2);
  const network = (word: number) => {
    let [left, right] = [Math.floor(word / rightSize), word % rightSize];
    for (let round = 0; round < 8; round += 2) {
      left ^= mix(mix(right + k0 + round) ^ k1) % leftSize;
      right ^= mix(mix(left + k0 + round + 1) ^ k1) % rightSize;
    }
    return left * rightSize + right;
  };
  return (index) => {
    let word = network(index);
    while (word >= count) word = network(word);
    return word;
  };
}

const f32 = Math.fround;

/** a·b + c rounded once: the product is exact in f64, the sum is rounded to odd, so that f32 sees what was lost. */
function fma32(a: number, b: number, c: number): number {
  const product = a * b;
  const sum = product + c;
  const part = sum - product;
  const lost = product - (sum - part) + (c - part);
  if (lost === 0) return f32(sum);
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, sum);
  const word = view.getBigUint64(0);
  if (word & 1n) return f32(sum);
  // The exact sum lies beside an even f64: its odd neighbour on that side.
  view.setBigUint64(0, word + (lost > 0 === sum > 0 ? 1n : -1n));
  return f32(view.getFloat64(0));
}

const LOG = [
  -0.08101558685302734, 0.12712307274341583, -0.12972238659858704, 0.14202174544334412, -0.16642247140407562,
  0.20001468062400818, -0.25000298023223877, 0.333333283662796,
].map(f32);
const SINE = [-0.00019587924180086702, 0.008332748897373676, -0.166666641831398].map(f32);
const COSINE = [2.4548126020818017e-5, -0.0013888304820284247, 0.0416666641831398].map(f32);

const horner = (coefficients: readonly number[], x: number): number =>
  coefficients.slice(1).reduce((sum, c) => fma32(sum, x, c), coefficients[0]!);

function minusLog(bits: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, f32(f32(bits) + 0.5));
  const shifted = (view.getUint32(0) + (0x3f800000 - 0x3f3504f3)) >>> 0;
  view.setUint32(0, (shifted & 0x7fffff) + 0x3f3504f3);
  const f = f32(view.getFloat32(0) - 1);
  const k = (shifted >>> 23) - 127 - 32;
  const square = f32(f * f);
  const tail = fma32(f32(square * f), horner(LOG, f), f32(square * -0.5));
  return -fma32(k, f32(Math.LN2), f32(f + tail));
}

function cosSinOfTurns(bits: number): [cosine: number, sine: number] {
  const quarter = ((bits + 0x20000000) >>> 0) >>> 30;
  const x = f32(f32((bits - (quarter << 30)) | 0) * f32((2 * Math.PI) / 2 ** 32));
  const z = f32(x * x);
  const s = fma32(f32(x * z), horner(SINE, z), x);
  const c = fma32(f32(z * z), horner(COSINE, z), fma32(z, -0.5, 1));
  const [cosine, sine] = quarter & 1 ? [s, c] : [c, s];
  return [quarter === 1 || quarter === 2 ? -cosine : cosine, quarter >= 2 ? -sine : sine];
}

/** The dtype's greatest value below one that it holds. */
function below(high: number, dtype: DType): number {
  const round = roundTo(dtype);
  let step = Math.abs(high) / 2;
  while (round(high - step / 2) < high) step /= 2;
  return round(high - step);
}
