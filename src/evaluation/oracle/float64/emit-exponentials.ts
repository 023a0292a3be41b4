import { type FunctionBuilder, i32s, type Local } from '../../../virtual-gpu/wasm/function-builder.ts';
import type { ModuleBuilder } from '../../../virtual-gpu/wasm/module-builder.ts';

/*
 * exp as in fdlibm's e_exp.c (Sun Microsystems, 1993), which is V8's Math.exp, too: x = k·ln 2 + r with |r| ≤ 0.5·ln 2, exp(r)
 * from a rational function. All its operations are done in its order, so results have the same bits.
 */
const LN2_HIGH = 0.6931471803691238;
const LN2_LOW = 1.9082149292705877e-10;
const P = [
  0.16666666666666602, -0.0027777777777015593, 6.613756321437934e-5, -1.6533902205465252e-6, 4.1381367970572385e-8,
] as const;
/** From here on, k is not 0: 0.5·ln 2, as the upper word of a float64 tells it. */
const LEAST_REDUCED = fromWords(0x3fd62e43, 0);
/** Below, exp(x) = 1 + x. */
const TINY = 2 ** -28;
/** Sums with it have a small integer, as a biased exponent, in their lowest bits. */
const TO_EXPONENT = 2 ** 52 + 2 ** 51 + 1023;
const EXPONENT_SHIFT = 52;
/** Above, results are normal numbers. */
const LEAST_NORMAL = -708;
/** Beyond these, results are 0 and ∞ as they are there. */
const RANGE = [-746, 710] as const;
/** Of smaller powers of two than 2^-1021, e_exp.c makes two. */
const LEAST_POWER = -1021;
const GREATEST_POWER = 1023;
const SPLIT = 1000;

const BYTES = 8;
/** Where a call finds the number that is subtracted from all, and puts the sum. */
export const SUBTRACTED_AT = 0;
export const SUM_AT = 8;
/** Where it finds constants. */
export const CONSTANTS_AT = 16;

/** Constants in memory, in the order in which they are first used: V8 makes each constant of 128 bits anew where it is used, by four instructions. */
class Constants {
  readonly values: number[] = [];
  readonly #f: FunctionBuilder;

  constructor(f: FunctionBuilder) {
    this.#f = f;
  }

  /** Leaves it in both lanes. */
  push(value: number): FunctionBuilder {
    const known = this.values.findIndex((one) => Object.is(one, value));
    const place = known < 0 ? this.values.push(value) - 1 : known;
    return this.#f.i32(0).memory('v128.load64_splat', CONSTANTS_AT + place * BYTES);
  }
}

/**
 * `exponentials(at, count)`: x = exp(x − subtracted) for each, and their sum in order.
 *
 * @returns what the memory must hold from `CONSTANTS_AT` on.
 */
export function emitExponentials(module: ModuleBuilder): readonly number[] {
  const f = module.defineFunction({ parameters: i32s(2), results: [] });
  const constants = new Constants(f);
  const [at, count] = [0, 1] as const;
  const [subtracted, sum, x] = f.locals('v128', 3);
  f.i32(0).memory('v128.load64_splat', SUBTRACTED_AT).set(subtracted);
  const exponential = (load: string): Local => {
    f.get(at).memory(load, 0).get(subtracted).op('f64x2.sub').set(x);
    return emitExponential(f, constants, x);
  };
  const whileThereAre = (least: number, body: () => void): void => {
    f.block(() => {
      f.loop(() => {
        f.get(count).i32(least).op('i32.lt_u').brIf(1);
        body();
        f.advance(at, least * BYTES)
          .advance(count, -least)
          .br(0);
      });
    });
  };
  whileThereAre(2, () => {
    const y = exponential('v128.load');
    f.get(at, y).memory('v128.store', 0);
    // Only the first lane is a sum.
    f.get(sum, y).op('f64x2.add').get(y, y).shuffle32([2, 3, 2, 3]).op('f64x2.add').set(sum);
  });
  whileThereAre(1, () => {
    const y = exponential('v128.load64_splat');
    f.get(at, y).memoryLane('v128.store64_lane', 0, 0).get(sum, y).op('f64x2.add').set(sum);
  });
  f.i32(0).get(sum).memoryLane('v128.store64_lane', SUM_AT, 0);
  module.exportFunction('exponentials', f);
  return constants.values;
}

/** A local with exp(x). What a softmax has, where the greatest number is subtracted, takes a shorter way. */
function emitExponential(f: FunctionBuilder, constants: Constants, x: Local): Local {
  const y = f.local('v128');
  f.get(x);
  constants.push(LEAST_NORMAL).op('f64x2.ge').get(x);
  constants
    .push(0)
    .op('f64x2.le', 'v128.and', 'i64x2.all_true')
    .if(
      () => emitReduced(f, constants, x, y, 'usual'),
      () => emitReduced(f, constants, x, y, 'any'),
    );
  return y;
}

function emitReduced(f: FunctionBuilder, constants: Constants, given: Local, y: Local, range: 'usual' | 'any'): void {
  const [x, k, high, low, r, c] = f.locals('v128', 6);
  f.get(given);
  if (range === 'any') {
    constants.push(RANGE[0]).op('f64x2.max');
    constants.push(RANGE[1]).op('f64x2.min');
  }
  f.set(x).get(x);
  // k = trunc(x ÷ ln 2 ± 0.5), with the sign of x, where |x| is large enough.
  constants.push(Math.LOG2E).op('f64x2.mul');
  if (range === 'usual') constants.push(-0.5);
  else {
    constants.push(0.5).get(x);
    constants.push(-0).op('v128.and', 'v128.or');
  }
  f.op('f64x2.add', 'f64x2.trunc').get(x).op('f64x2.abs');
  constants.push(LEAST_REDUCED).op('f64x2.ge', 'v128.and').set(k);
  f.get(x, k);
  constants.push(LN2_HIGH).op('f64x2.mul', 'f64x2.sub').set(high).get(k);
  constants.push(LN2_LOW).op('f64x2.mul').set(low);
  f.get(high, low).op('f64x2.sub').set(r);
  emitRational(f, constants, { r, c, high, low });
  f.set(y);
  if (range === 'usual') emitScale(f, constants, y, () => f.get(k));
  else emitAnyScale(f, constants, k, y);
  f.get(x);
  constants.push(1).op('f64x2.add').get(y, x).op('f64x2.abs');
  constants.push(TINY).op('f64x2.lt', 'v128.bitselect').set(y);
  if (range === 'usual') return;
  // e_exp.c is one unit in the last place off here; V8 is not.
  constants.push(Math.E).get(y, x);
  constants.push(1).op('f64x2.eq', 'v128.bitselect').set(y);
}

/** Leaves exp(high − low) on the stack, where r = high − low. */
function emitRational(
  f: FunctionBuilder,
  constants: Constants,
  { r, c, high, low }: Record<'r' | 'c' | 'high' | 'low', Local>,
): void {
  const square = f.get(r, r).op('f64x2.mul').pop('v128');
  constants.push(P[4]);
  for (const coefficient of [P[3], P[2], P[1], P[0]]) {
    f.get(square).op('f64x2.mul');
    constants.push(coefficient).op('f64x2.add');
  }
  const sum = f.get(square).op('f64x2.mul').pop('v128');
  f.get(r, sum).op('f64x2.sub').set(c);
  // 1 − ((low − r·c ÷ (2 − c)) − high)
  constants.push(1).get(low).get(r, c).op('f64x2.mul');
  constants.push(2).get(c).op('f64x2.sub', 'f64x2.div', 'f64x2.sub').get(high).op('f64x2.sub', 'f64x2.sub');
}

/** y = y · 2^k, for what `exponent` leaves on the stack and a power of two that is a normal number. */
function emitScale(f: FunctionBuilder, constants: Constants, y: Local, exponent: () => void): void {
  f.get(y);
  exponent();
  constants.push(TO_EXPONENT).op('f64x2.add').i32(EXPONENT_SHIFT).op('i64x2.shl', 'f64x2.mul').set(y);
}

/** y = y · 2^k in two steps, where a power of two is not a normal number. */
function emitAnyScale(f: FunctionBuilder, constants: Constants, k: Local, y: Local): void {
  const [below, above] = f.locals('v128', 2);
  f.get(k);
  constants.push(LEAST_POWER).op('f64x2.lt').set(below).get(k);
  constants.push(GREATEST_POWER).op('f64x2.gt').set(above);
  const second = (): void => {
    constants.push(-SPLIT).get(below).op('v128.and');
    constants.push(1).get(above).op('v128.and', 'v128.or');
  };
  emitScale(f, constants, y, () => {
    f.get(k);
    second();
    f.op('f64x2.sub');
  });
  emitScale(f, constants, y, second);
}

function fromWords(high: number, low: number): number {
  return new Float64Array(Uint32Array.of(low, high).buffer)[0]!;
}
