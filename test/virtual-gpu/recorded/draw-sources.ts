import { createStream } from '../../../src/stats/random.ts';
import type { OpcodeForm, SourceKind } from '../opcodes/forms.ts';
import { WARP_LANES } from '../opcodes/kernel.ts';
import type { Cases } from '../opcodes/launch-inputs.ts';
import { integerSpecials, SPECIAL_BF16, SPECIAL_F16, SPECIAL_F32, SPECIAL_F64 } from '../opcodes/specials.ts';
import { drawerOf } from './draw-floats.ts';

type Next = () => number;
type Draw = (next: Next) => bigint;

const oneOf =
  (values: readonly bigint[]): Draw =>
  (next) =>
    values[next() % values.length]!;
const uniform =
  (bits: number): Draw =>
  (next) =>
    BigInt.asUintN(bits, (BigInt(next()) << 32n) | BigInt(next()));
const below =
  (bound: number): Draw =>
  (next) =>
    BigInt(next() % bound);
const either =
  (...draws: readonly Draw[]): Draw =>
  (next) =>
    draws[next() % draws.length]!(next);

/** Special values, any bits, and numbers near one, whose sums and products are of like size. */
function float(bits: number, exponentBits: number, specials: readonly bigint[]): Draw {
  const fractionBits = BigInt(bits - 1 - exponentBits);
  const bias = (1n << BigInt(exponentBits - 1)) - 1n;
  const nearOne: Draw = (next) => {
    const sign = BigInt(next() & 1) << BigInt(bits - 1);
    return sign | ((bias + BigInt((next() % 13) - 6)) << fractionBits) | uniform(Number(fractionBits))(next);
  };
  return either(oneOf(specials), uniform(bits), nearOne, nearOne);
}

/** Magnitudes of all sizes, and bounds. */
const integer = (bits: number): Draw =>
  either(oneOf(integerSpecials(bits)), uniform(bits), (next) => {
    const value = uniform(bits)(next) >> BigInt(next() % bits);
    return BigInt.asUintN(bits, next() & 1 ? -value : value);
  });

const pairOf =
  (half: Draw): Draw =>
  (next) =>
    half(next) | (half(next) << 16n);

const f16 = float(16, 5, SPECIAL_F16);
const bf16 = float(16, 8, SPECIAL_BF16);

const DRAWS: ReadonlyMap<SourceKind, Draw> = new Map<SourceKind, Draw>([
  ['pred', below(2)],
  ['f32', float(32, 8, SPECIAL_F32)],
  ['f64', float(64, 11, SPECIAL_F64)],
  ['f16', f16],
  ['bf16', bf16],
  ['f16x2', pairOf(f16)],
  ['bf16x2', pairOf(bf16)],
  ['e4m3x2', uniform(16)],
  ['e5m2x2', uniform(16)],
  ['amount', either(below(71), uniform(32))],
  ['byte', either(below(41), below(256))],
  ['nibbles', uniform(16)],
  ['lanes', below(32)],
  ['small', (next) => BigInt.asUintN(32, BigInt((next() % 67) - 33))],
  ['shuffle-control', oneOf([31n, 0n, 0x181fn, 0x1c1fn, 0x1c00n, 0x0f1fn, 7n, 0x1e01n])],
  ['few', oneOf([1n, 2n, 0xffffffffn])],
  ['few64', oneOf([1n, 2n, 0x100000001n])],
  ['edge-f32', oneOf([0x00800000n, 0x80800000n, 0x00801efcn, 0x8080b9a7n, 0x008459a9n, 0x00813563n])],
  ['below-one-f32', oneOf([0x3f7fffffn, 0x3f7ffffen, 0x3f7fc216n, 0xbf7e8ec9n, 0x3f7795e3n, 0x3f7d9b02n])],
  ['nothing-f32', oneOf([0n, 0x80000000n, 1n, 0x80000001n])],
  // Just below the least normal number of f32, by 2⁻²⁰ to 2⁻⁵³ of it.
  ['edge-f64', (next) => 0x380fffffffffffffn - (uniform(33)(next) >> BigInt(next() % 33))],
  ['edge-f16', oneOf([0x0400n, 0x8400n, 0x8425n, 0x8597n, 0x07dan])],
  ['below-one-f16', oneOf([0x3bffn, 0xbbfen, 0x3bb8n, 0x39b9n, 0x3813n])],
  ['nothing-f16', oneOf([0n, 0x8000n, 1n, 0x8001n])],
]);

function drawOf(kind: SourceKind): Draw {
  const known = DRAWS.get(kind);
  if (known) return known;
  const named = /^(nonzero-)?[bus](8|16|32|64)$/.exec(kind);
  if (!named) throw new Error(`no values are known for ${kind}`);
  const any = integer(Math.max(16, Number(named[2])));
  return named[1] ? (next) => any(next) || 1n : any;
}

/** Inputs for a form, the same on every machine. Uniform mode is not used. */
export function drawSources(form: OpcodeForm, threads: number): Cases {
  const next = drawerOf(createStream('recorded form', form.text, ...form.sources));
  return {
    threads,
    sources: form.sources.map((kind) => Array.from({ length: threads }, () => drawOf(kind)(next))),
    uniform: form.sources.map(() => 0n),
    active: Array.from({ length: threads }, (_, t) => t % WARP_LANES === 5 || (next() & 1) === 1),
  };
}
