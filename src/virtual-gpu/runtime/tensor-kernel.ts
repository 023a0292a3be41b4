import type { FunctionBuilder } from '../wasm/function-builder.ts';
import { ModuleBuilder } from '../wasm/module-builder.ts';

const ROWS = 16;
const COLUMNS = 8;
const F64_BYTES = 8;
const BIAS = 1023;
const EXPONENT_BITS = 0x7ff0000000000000n;
const MAGNITUDE_BITS = 0x7fffffffffffffffn;
/** Of a double's significand, those that f32 has. */
const F32_BITS = BigInt.asIntN(64, 0xffffffffe0000000n);
const powerBits = (exponent: number): bigint => BigInt(exponent + BIAS) << 52n;
/** Stands for the exponent where all terms are zero; below that of any product. */
const LEAST_EXPONENT = -500;

/**
 * `tensor-model.ts` for whole matrices of 16-bit floats and f32 accumulators, two columns at a time, in WebAssembly: what
 * every mma.sync of a kernel goes through. Operands are written to its arrays before a call.
 */
export interface TensorKernel {
  /** A, 16 × k, row-major. */
  readonly a: Float64Array;
  /** B, k × 8, row-major. */
  readonly b: Float64Array;
  /** C before a call, D after it: 16 × 8, row-major, f32 values. */
  readonly c: Float64Array;
  /** False where some element is not finite, or left the range of normal f32 numbers: then D is not what the model says. */
  multiply(): boolean;
}

/** For products of depth `k`, fused in blocks of `block` terms at `fractionBits`. */
export function createTensorKernel(k: number, block: number, fractionBits: number): TensorKernel {
  const sizes = [ROWS * k, ROWS * k, k * COLUMNS, k * COLUMNS, ROWS * COLUMNS];
  const starts = sizes.map((_, i) => F64_BYTES * sizes.slice(0, i).reduce((sum, size) => sum + size, 0));
  const memory = new WebAssembly.Memory({ initial: 1 });
  const module = new ModuleBuilder();
  module.importMemory({ name: 'memory', minimumPages: 1 });
  const f = module.defineFunction({ parameters: [], results: ['i32'] });
  emitMultiply(f, { k, block, fractionBits, starts });
  module.exportFunction('multiply', f);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(module.encode()), { env: { memory } });
  const multiply = instance.exports.multiply as () => number;
  const arrays = sizes.map((size, i) => new Float64Array(memory.buffer, starts[i], size));
  return {
    a: arrays[0]!,
    b: arrays[2]!,
    c: arrays[4]!,
    multiply: () => multiply() === 1,
  };
}

function emitMultiply(
  f: FunctionBuilder,
  { k, block, fractionBits, starts }: { k: number; block: number; fractionBits: number; starts: number[] },
): void {
  const [aValues, aPowers, bValues, bPowers, c] = starts as [number, number, number, number, number];
  const row = f.local('i32'); // of A, in bytes
  const cRow = f.local('i32');
  const [sum, largest, scale, inRange] = [f.local('v128'), f.local('v128'), f.local('v128'), f.local('v128')];
  f.i64x2(-1n).set(inRange);
  emitPowers(f, { from: aValues, to: aPowers, bytes: ROWS * k * F64_BYTES, cursor: row, inRange });
  emitPowers(f, { from: bValues, to: bPowers, bytes: k * COLUMNS * F64_BYTES, cursor: row, inRange });
  f.i32(0).set(row);
  f.loop(() => {
    for (let column = 0; column < COLUMNS; column += 2) {
      const product = (a: number, b: number, term: number): FunctionBuilder =>
        f
          .get(row)
          .memory('v128.load64_splat', a + term * F64_BYTES)
          .i32(0)
          .memory('v128.load', b + (term * COLUMNS + column) * F64_BYTES)
          .op('f64x2.mul');
      f.get(cRow)
        .memory('v128.load', c + column * F64_BYTES)
        .set(sum);
      emitFinite(f.get(sum).i64x2(EXPONENT_BITS).op('v128.and'), inRange);
      for (let first = 0; first < k; first += block) {
        const terms = Array.from({ length: Math.min(block, k - first) }, (_, i) => first + i);
        // The aligner sees the sum of the factors' exponents, not the normalised product's.
        f.get(sum).i64x2(EXPONENT_BITS).op('v128.and').i64x2(powerBits(LEAST_EXPONENT)).op('f64x2.max');
        for (const term of terms) product(aPowers, bPowers, term).op('f64x2.max');
        f.set(largest);
        // 2^(fractionBits − exponent): the difference of two exponents' bits.
        f.i64x2(powerBits(fractionBits + BIAS))
          .get(largest)
          .op('i64x2.sub')
          .set(scale);
        f.get(sum).get(scale).op('f64x2.mul').op('f64x2.trunc');
        for (const term of terms)
          product(aValues, bValues, term).get(scale).op('f64x2.mul').op('f64x2.trunc').op('f64x2.add');
        f.get(largest)
          .i64x2(powerBits(fractionBits) - powerBits(0))
          .op('i64x2.sub')
          .op('f64x2.mul');
        f.i64x2(F32_BITS).op('v128.and').set(sum);
      }
      f.get(cRow)
        .get(sum)
        .memory('v128.store', c + column * F64_BYTES);
      emitInRange(f, sum, inRange);
    }
    f.get(cRow)
      .i32(COLUMNS * F64_BYTES)
      .op('i32.add')
      .set(cRow);
    f.get(row)
      .i32(k * F64_BYTES)
      .op('i32.add')
      .tee(row)
      .i32(ROWS * k * F64_BYTES)
      .op('i32.lt_u')
      .brIf(0);
  });
  f.get(inRange).op('i64x2.all_true');
}

/** Of each number 2^⌊log₂|x|⌋, or 0 of zeros: as doubles, all of them are normal or zero. `inRange` &= finite. */
function emitPowers(
  f: FunctionBuilder,
  { from, to, bytes, cursor, inRange }: { from: number; to: number; bytes: number; cursor: number; inRange: number },
): void {
  const power = f.local('v128');
  f.i32(0).set(cursor);
  f.loop(() => {
    f.get(cursor).get(cursor).memory('v128.load', from).i64x2(EXPONENT_BITS).op('v128.and').tee(power);
    f.memory('v128.store', to);
    emitFinite(f.get(power), inRange);
    f.get(cursor)
      .i32(2 * F64_BYTES)
      .op('i32.add')
      .tee(cursor)
      .i32(bytes)
      .op('i32.lt_u')
      .brIf(0);
  });
}

/** `inRange` &= the exponents' bits on the stack are of finite numbers. */
function emitFinite(f: FunctionBuilder, inRange: number): void {
  f.i64x2(EXPONENT_BITS).op('f64x2.lt').get(inRange).op('v128.and').set(inRange);
}

/** `inRange` &= zero, or within the magnitudes of normal f32 numbers. */
function emitInRange(f: FunctionBuilder, value: number, inRange: number): void {
  const magnitude = () => f.get(value).i64x2(MAGNITUDE_BITS).op('v128.and');
  magnitude().i64x2(0n).op('f64x2.eq');
  magnitude().i64x2(powerBits(-126)).op('f64x2.ge');
  magnitude().i64x2(powerBits(128)).op('f64x2.lt');
  f.op('v128.and').op('v128.or').get(inRange).op('v128.and').set(inRange);
}
