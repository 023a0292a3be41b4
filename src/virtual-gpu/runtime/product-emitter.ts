import type { FunctionBuilder, Local } from '../wasm/function-builder.ts';
import { emitTranspose } from '../wasm/transpose.ts';

/** 16-bit formats whose products f32 holds exactly. */
export type HalfFormat = 'f16' | 'bf16';

/** Shape and types of one mma.sync m16n8k* with f32 accumulators. */
export interface TensorKernelForm {
  readonly format: HalfFormat;
  /** Depth: 8 or 16. */
  readonly k: number;
  /** Products that are added at a time, and their fractional bits: see `tensor-model.ts`. */
  readonly block: number;
  readonly fractionBits: number;
}

export const ROW_BYTES = 16;
/** Rows of D in a register. */
const ROWS = 8;
const SIGN = 0x8000_0000;
const BIAS = 127;
/** Of f32: where the exponent begins. */
const FRACTION_BITS = 23;
const INFINITY = 0x7f80_0000;
/** Of a double's significand, those bits that f32 has. */
const F32_BITS = BigInt.asIntN(64, 0xffffffffe0000000n);

/** Pairs of 16-bit lanes that are all the same. */
const eight = (half: number): number => (half << 16) | (half & 0xffff);
/** Bits of f32 2^exponent. */
const power = (exponent: number): number => (exponent + BIAS) << FRACTION_BITS;

const HALF_MAGNITUDE = 0x7fff;
/** Of f16: the smallest normal number, and infinity. */
const F16_NORMAL = 0x0400;
const F16_INFINITY = 0x7c00;
/** f32 has thirteen more bits of the fraction than f16, and an exponent that is greater by this. */
const F16_SHIFT = 13;
const F16_REBIAS = BIAS - 15;
/** Exponents of bf16 are allowed from −`BF16_REACH` to below it. Those of products then exceed zero's times anything. */
const BF16_REACH = 40;
const BF16_FRACTION_BITS = 7;

/** Least sum of two exponents that counts. With alignment to a smaller one, no allowed operand or C loses bits. */
const LEAST_EXPONENT = -84;
/** Smallest non-zero magnitude of C: its last bit is above the truncation at `LEAST_EXPONENT`. */
const LEAST_C = power(-80);
/** An i32 holds the sum of so many aligned products: each is below 2^27. With C there may be one bit too few. */
const PRODUCTS_PER_SUM = 8;

/** Layout of the kernel's own memory. Columns have the order of C's registers: even ones, then odd ones. */
export const SCRATCH_MEMORY = 1;
/** D: [register][row][4] f32. */
const RESULT = 0;
/** What follows is free for operands. */
export const FREE = 512;

/** A where it is decoded: f32 [16][16], and exponents, i8 [row][k] of rows g and g + 8 side by side. */
const A_ROW_BYTES = 64;
export const A_EXPONENTS = 16 * A_ROW_BYTES;
const A_EXPONENT_BYTES = 32;
export const A_BYTES = A_EXPONENTS + ROWS * A_EXPONENT_BYTES;
/** B: f32 [k][8], and exponents, i8 [k][8], each twice: for both rows. */
const B_ROW_BYTES = 32;
export const B_EXPONENTS = 16 * B_ROW_BYTES;
export const B_BYTES = B_EXPONENTS + 16 * 16;

/** Exponents of a decoded zero, for memory that is to look decoded. */
export const EXPONENT_OF_ZERO = -BIAS;

/** Locals that hold the addresses of C's and D's registers. */
type Registers = Readonly<Record<'c' | 'd', readonly Local[]>>;

const HALVES = [0, 1] as const;
/** Rows g and g + 8, of even and odd columns. */
const QUARTERS = [0, 1, 2, 3] as const;

/** The even, then the odd ones of eight halves. */
const EVEN_THEN_ODD = Array.from({ length: 16 }, (_, byte) => (byte & 1) + ((byte >> 1) & 3) * 4 + (byte >> 3) * 2);
/** The first eight bytes, each twice. */
const DOUBLED = Array.from({ length: 16 }, (_, byte) => byte >> 1);
/** The columns in the order in which C's registers have them. */
const COLUMNS = [0, 2, 4, 6, 1, 3, 5, 7] as const;

/**
 * Emits `tensor-model.ts` for sixteen rows of A and eight columns of B. Both are decoded into the scratch memory first. The locals
 * `a` and `b` hold where.
 */
export class ProductEmitter {
  readonly #f: FunctionBuilder;
  readonly #form: TensorKernelForm;
  /** Constants lie in locals: V8 would build each anew from a general register wherever it is used. */
  readonly #constants = new Map<number, Local>();
  /** Byte offset of the row within a register. */
  readonly row: Local;
  readonly a: Local;
  readonly b: Local;

  constructor(f: FunctionBuilder, form: TensorKernelForm) {
    this.#f = f;
    this.#form = form;
    [this.row, this.a, this.b] = f.locals('i32', 3);
  }

  /** Pushes a vector of four equal words. They are to be named by `hold` before. */
  #push(word: number): FunctionBuilder {
    return this.#f.get(this.#constants.get(word | 0)!);
  }

  #hold(words: readonly number[]): void {
    for (const word of words) {
      if (this.#constants.has(word | 0)) continue;
      const local = this.#f.local('v128');
      this.#constants.set(word | 0, local);
      this.#f.i32x4(word).set(local);
    }
  }

  /** Calls `emitRow` in a loop over the eight rows of registers. */
  forRows(emitRow: () => void): void {
    const f = this.#f;
    f.i32(0).set(this.row);
    f.loop(() => {
      emitRow();
      f.get(this.row).add(ROW_BYTES).tee(this.row);
      f.i32(ROWS * ROW_BYTES)
        .op('i32.lt_u')
        .brIf(0);
    });
  }

  /** To be called before anything is decoded. */
  beginDecoding(): Decoder {
    this.#hold(
      this.#form.format === 'f16'
        ? [
            ...[eight(HALF_MAGNITUDE), eight(F16_NORMAL), SIGN, eight(-BIAS), eight(0xff)],
            ...[F16_REBIAS << FRACTION_BITS, power(-14)],
          ]
        : [eight(HALF_MAGNITUDE), eight(-1), eight(-BIAS), eight(0xff)],
    );
    return new Decoder(this.#f, this.#form, (word) => this.#push(word), this);
  }

  /** D = A B + C, if everything is in range. Pushes whether it is. */
  multiply({ c, d }: Registers): FunctionBuilder {
    const { fractionBits } = this.#form;
    this.#hold([
      ...[eight(LEAST_EXPONENT << 8) | eight(LEAST_EXPONENT & 0xff), eight((BIAS << 8) | BIAS), eight(0xff)],
      ...[INFINITY, (fractionBits + 2 * BIAS) << FRACTION_BITS, (2 * BIAS) << FRACTION_BITS, SIGN, -1],
    ]);
    const products = new Products(this.#f, this.#form, { c, d }, (word) => this.#push(word), this);
    this.forRows(() => products.rows());
    products.pushIsInRange().if(() => products.writeResult());
    return products.pushIsInRange();
  }
}

type Push = (word: number) => FunctionBuilder;
type Places = Pick<ProductEmitter, 'row' | 'a' | 'b' | 'forRows'>;

/** Locals with the addresses of the row of A at hand, and of its exponents. */
function popRowOfA(f: FunctionBuilder, { row, a }: Places): [values: Local, exponents: Local] {
  const popped = (bytes: number): Local =>
    f
      .get(row)
      .i32(bytes / ROW_BYTES)
      .op('i32.mul')
      .get(a)
      .op('i32.add')
      .pop('i32');
  return [popped(A_ROW_BYTES), popped(A_EXPONENT_BYTES)];
}

/** Decodes halves to f32 and their exponents. */
class Decoder {
  readonly #f: FunctionBuilder;
  readonly #form: TensorKernelForm;
  readonly #push: Push;
  readonly #places: Places;
  readonly #halves: Local;
  /** Of eight halves. */
  readonly #magnitudes: Local;
  readonly #magnitude: Local;
  /** Of f16: which of the eight are subnormal or zero. */
  readonly #small: Local;
  /** Exponents of both parts of eight halves. */
  readonly #exponents: readonly [Local, Local];
  /** Largest magnitude so far, of each of eight lanes; of bf16 also the least but one, where zero counts as the largest. */
  readonly #most: Local;
  readonly #least: Local;

  constructor(f: FunctionBuilder, form: TensorKernelForm, push: Push, places: Places) {
    [this.#f, this.#form, this.#push, this.#places] = [f, form, push, places];
    [this.#halves, this.#magnitudes, this.#magnitude, this.#small, this.#most, this.#least] = f.locals('v128', 6);
    this.#exponents = f.locals('v128', 2);
    f.i32x4(0).set(this.#most).i32x4(-1).set(this.#least);
  }

  /** Pushes a vector that is not zero if something was out of range. */
  pushIsOutOfRange(): FunctionBuilder {
    const f = this.#f;
    if (this.#form.format === 'f16')
      return f
        .get(this.#most)
        .i32x4(eight(F16_INFINITY - 1))
        .op('i16x8.gt_s');
    f.get(this.#most)
      .i32x4(eight(((BIAS + BF16_REACH) << BF16_FRACTION_BITS) - 1))
      .op('i16x8.gt_s');
    const least = ((BIAS - BF16_REACH) << BF16_FRACTION_BITS) - 1;
    f.get(this.#least).i32x4(eight(least)).op('i16x8.min_u').i32x4(eight(least)).op('i16x8.eq', 'v128.not');
    return f.op('v128.or');
  }

  /** All rows of A, from the four or two registers whose addresses are in these locals. */
  registersOfA(registers: readonly Local[]): void {
    const { row } = this.#places;
    this.#places.forRows(() =>
      this.rowsOfA((half, slice) =>
        this.#f
          .get(row, registers[2 * slice + half]!)
          .op('i32.add')
          .memory('v128.load', 0),
      ),
    );
  }

  /** The row of A at hand and the one eight below. `pushHalves` pushes eight halves of one. */
  rowsOfA(pushHalves: (half: 0 | 1, slice: number) => void): void {
    const f = this.#f;
    const upper = f.local('v128');
    const [values, exponents] = popRowOfA(f, this.#places);
    for (let slice = 0; slice < this.#form.k / 8; slice++) {
      for (const half of HALVES) {
        pushHalves(half, slice);
        this.#decode((part, pushValue) => {
          f.get(values);
          pushValue();
          f.memory('v128.store', half * ROWS * A_ROW_BYTES + slice * 32 + part * 16, SCRATCH_MEMORY);
        });
        this.#pushExponents();
        if (half === 0) this.#push(eight(0xff)).op('v128.and').set(upper);
      }
      f.i32(8).op('i16x8.shl').get(upper).op('v128.or').set(upper);
      f.get(exponents, upper).memory('v128.store', A_EXPONENTS + slice * 16, SCRATCH_MEMORY);
    }
  }

  /** Eight rows of B, of which `pushColumn` pushes the halves of a column. */
  columnsOfB(slice: number, pushColumn: (column: number) => void): void {
    const f = this.#f;
    const columns = COLUMNS.map((column) => {
      pushColumn(column);
      return f.pop('v128');
    });
    const vectors = emitTranspose(f, columns);
    for (const [i, vector] of vectors.entries()) this.#rowOfB(slice * 8 + i, () => f.get(vector));
  }

  /** A row of B. `pushRow` pushes its eight halves. */
  rowOfB(row: number, pushRow: () => void): void {
    const f = this.#f;
    pushRow();
    const natural = f.pop('v128');
    this.#rowOfB(row, () => f.get(natural, natural).shuffle(EVEN_THEN_ODD));
  }

  #rowOfB(row: number, pushHalves: () => void): void {
    const f = this.#f;
    const { b } = this.#places;
    const exponents = f.local('v128');
    pushHalves();
    this.#decode((part, pushValue) => {
      f.get(b);
      pushValue();
      f.memory('v128.store', row * B_ROW_BYTES + part * 16, SCRATCH_MEMORY);
    });
    this.#pushExponents();
    f.tee(exponents).get(exponents).op('i8x16.narrow_i16x8_s').set(exponents);
    f.get(b, exponents, exponents).shuffle(DOUBLED);
    f.memory('v128.store', B_EXPONENTS + row * 16, SCRATCH_MEMORY);
  }

  /** Decodes the eight halves on the stack, and hands over four f32 at a time. */
  #decode(store: (part: 0 | 1, pushValue: () => void) => void): void {
    const f = this.#f;
    const isF16 = this.#form.format === 'f16';
    f.set(this.#halves);
    f.get(this.#halves);
    this.#push(eight(HALF_MAGNITUDE)).op('v128.and').tee(this.#magnitudes);
    f.get(this.#most).op('i16x8.max_s').set(this.#most);
    if (isF16) {
      this.#push(eight(F16_NORMAL)).get(this.#magnitudes).op('i16x8.gt_s').set(this.#small);
    } else {
      f.get(this.#magnitudes);
      this.#push(eight(-1)).op('i16x8.add').get(this.#least).op('i16x8.min_u').set(this.#least);
    }
    for (const part of HALVES) {
      const extend = (sign: 's' | 'u') => f.op(`i32x4.extend_${part === 0 ? 'low' : 'high'}_i16x8_${sign}`);
      if (isF16) this.#widenF16(extend);
      else {
        f.get(this.#magnitudes);
        extend('u').i32(16).op('i32x4.shl').set(this.#magnitude);
      }
      f.get(this.#magnitude).i32(FRACTION_BITS).op('i32x4.shr_u').set(this.#exponents[part]);
      store(part, () => {
        if (isF16) {
          f.get(this.#magnitude, this.#halves);
          extend('s');
          this.#push(SIGN).op('v128.and', 'v128.or');
        } else {
          f.get(this.#halves);
          extend('u').i32(16).op('i32x4.shl');
        }
      });
    }
  }

  /**
   * Four magnitudes of f16. Subnormal halves are converted without subnormal f32 numbers, which cost a CPU a hundred cycles: what came
   * out for m·2^-24 is 2^-15 + m·2^-25.
   */
  #widenF16(extend: (sign: 's' | 'u') => FunctionBuilder): void {
    const f = this.#f;
    f.get(this.#magnitudes);
    extend('u').i32(F16_SHIFT).op('i32x4.shl');
    this.#push(F16_REBIAS << FRACTION_BITS)
      .op('i32x4.add')
      .tee(this.#magnitude);
    this.#push(power(-14)).op('f32x4.sub').get(this.#small);
    extend('s').op('v128.and').get(this.#magnitude).op('f32x4.add').set(this.#magnitude);
  }

  /** Exponents of the eight halves, as i16. */
  #pushExponents(): void {
    const f = this.#f;
    f.get(this.#exponents[0], this.#exponents[1]).op('i16x8.narrow_i32x4_s');
    this.#push(eight(-BIAS)).op('i16x8.add');
  }
}

/** Adds products to C. */
class Products {
  readonly #f: FunctionBuilder;
  readonly #form: TensorKernelForm;
  readonly #registers: Registers;
  readonly #push: Push;
  readonly #places: Places;
  /** Addresses of the rows of A, and of their exponents. */
  #values = 0;
  #exponents = 0;
  /** Twice the largest bits of a magnitude; and of C the least less one, where zero counts as the largest. */
  readonly #most: Local;
  readonly #least: Local;
  readonly #sums: readonly Local[];
  readonly #scales: readonly Local[];
  readonly #totals: readonly Local[];
  /** Parts of sums of more products than fit. */
  readonly #earlier: readonly Local[];

  constructor(f: FunctionBuilder, form: TensorKernelForm, registers: Registers, push: Push, places: Places) {
    [this.#f, this.#form, this.#registers, this.#push, this.#places] = [f, form, registers, push, places];
    [this.#most, this.#least] = f.locals('v128', 2);
    const four = () => f.locals('v128', 4);
    [this.#sums, this.#scales, this.#totals, this.#earlier] = [four(), four(), four(), four()];
    f.i32x4(0).set(this.#most).i32x4(-1).set(this.#least);
  }

  /** Pushes whether everything was in range. */
  pushIsInRange(): FunctionBuilder {
    const f = this.#f;
    f.get(this.#most)
      .i32x4(2 * INFINITY)
      .op('i32x4.lt_u');
    f.get(this.#least)
      .i32x4(2 * LEAST_C - 1)
      .op('i32x4.ge_u', 'v128.and');
    return f.op('i32x4.all_true');
  }

  /** Adds the products of two rows, eight apart, to C; the sums wait in the scratch memory. */
  rows(): void {
    const f = this.#f;
    const { k, block } = this.#form;
    const { row } = this.#places;
    [this.#values, this.#exponents] = popRowOfA(f, this.#places);
    this.#sums.forEach((sum, register) => {
      f.get(row, this.#registers.c[register]!).op('i32.add').memory('v128.load', 0).set(sum);
      this.#noteMagnitude(sum);
      f.get(sum).i32(1).op('i32x4.shl');
      this.#push(-1).op('i32x4.add').get(this.#least).op('i32x4.min_u').set(this.#least);
    });
    for (let first = 0; first < k; first += block) this.#addBlock(first, Math.min(block, k - first));
    this.#sums.forEach((sum, register) => {
      this.#noteMagnitude(sum);
      f.get(row, sum).memory('v128.store', RESULT + register * ROWS * ROW_BYTES, SCRATCH_MEMORY);
    });
  }

  #noteMagnitude(sum: Local): void {
    this.#f.get(sum).i32(1).op('i32x4.shl').get(this.#most).op('i32x4.max_u').set(this.#most);
  }

  /** Adds `count` products, aligned to the largest exponent and truncated, to the sums. */
  #addBlock(first: number, count: number): void {
    const f = this.#f;
    this.#scale(first, count);
    QUARTERS.forEach((quarter) => {
      f.get(this.#sums[quarter]!);
      this.#pushAligned(quarter).set(this.#totals[quarter]!);
    });
    for (let term = first; term < first + count; term++) {
      if (term - first === PRODUCTS_PER_SUM) this.#startAnew();
      this.#addTerm(term);
    }
    if (count > PRODUCTS_PER_SUM) this.#cutOffParts();
    else for (const quarter of QUARTERS) this.#cutOff(quarter);
  }

  /** The powers of two that align to the largest exponents. */
  #scale(first: number, count: number): void {
    const f = this.#f;
    const { fractionBits } = this.#form;
    const largest = f.local('v128');
    this.#push(eight(LEAST_EXPONENT << 8) | eight(LEAST_EXPONENT & 0xff));
    for (let term = first; term < first + count; term++) {
      f.get(this.#exponents).memory('v128.load16_splat', A_EXPONENTS + term * 2, SCRATCH_MEMORY);
      f.get(this.#places.b)
        .memory('v128.load', B_EXPONENTS + term * 16, SCRATCH_MEMORY)
        .op('i8x16.add_sat_s', 'i8x16.max_s');
    }
    this.#push(eight((BIAS << 8) | BIAS))
      .op('i8x16.add')
      .set(largest);
    const ofRow = f.local('v128');
    for (const half of HALVES) {
      f.get(largest);
      if (half === 0) this.#push(eight(0xff)).op('v128.and').set(ofRow);
      else f.i32(8).op('i16x8.shr_u').set(ofRow);
      for (const odd of HALVES) {
        const quarter = 2 * half + odd;
        // 2^(fractionBits − exponent), as bits.
        this.#push((fractionBits + 2 * BIAS) << FRACTION_BITS);
        f.get(ofRow)
          .op(`i32x4.extend_${odd === 0 ? 'low' : 'high'}_i16x8_u`)
          .i32(FRACTION_BITS)
          .op('i32x4.shl');
        f.get(this.#sums[quarter]!);
        this.#push(INFINITY).op('v128.and', 'i32x4.max_s', 'i32x4.sub').set(this.#scales[quarter]!);
      }
    }
  }

  /** Replaces numbers by multiples of the last bit that counts. */
  #pushAligned(quarter: number): FunctionBuilder {
    return this.#f.get(this.#scales[quarter]!).op('f32x4.mul', 'i32x4.relaxed_trunc_f32x4_s');
  }

  /** Products of a term of both rows with all columns. */
  #addTerm(term: number): void {
    const f = this.#f;
    const [values, row] = [HALVES.map(() => f.local('v128')), HALVES.map(() => f.local('v128'))];
    for (const half of HALVES)
      f.get(this.#values)
        .memory('v128.load32_splat', half * ROWS * A_ROW_BYTES + term * 4, SCRATCH_MEMORY)
        .set(values[half]!);
    for (const odd of HALVES)
      f.get(this.#places.b)
        .memory('v128.load', term * B_ROW_BYTES + odd * 16, SCRATCH_MEMORY)
        .set(row[odd]!);
    for (const quarter of QUARTERS) {
      f.get(values[quarter >> 1]!, row[quarter & 1]!).op('f32x4.mul');
      this.#pushAligned(quarter).get(this.#totals[quarter]!).op('i32x4.add').set(this.#totals[quarter]!);
    }
  }

  #startAnew(): void {
    QUARTERS.forEach((quarter) => {
      this.#f.get(this.#totals[quarter]!).set(this.#earlier[quarter]!);
      this.#f.i32x4(0).set(this.#totals[quarter]!);
    });
  }

  /** Adds both parts of the sums. Where they have one sign and their sum the other, i32 was too narrow for it. */
  #cutOffParts(): void {
    const f = this.#f;
    const joined = f.local('v128');
    const [overflow, parts] = [f.local('v128'), QUARTERS.map(() => f.local('v128'))];
    QUARTERS.forEach((quarter) => {
      const both = [this.#earlier[quarter]!, this.#totals[quarter]!] as const;
      f.get(both[0], both[1]).tee(parts[quarter]!).op('i32x4.add').set(joined);
      for (const part of both) f.get(joined, part).op('v128.xor');
      f.op('v128.and');
      if (quarter > 0) f.get(overflow).op('v128.or');
      f.set(overflow);
      f.get(joined).set(this.#totals[quarter]!);
    });
    f.get(overflow).op('i32x4.bitmask');
    f.if(
      () => {
        for (const quarter of QUARTERS) this.#cutOffWide(quarter, [this.#earlier[quarter]!, parts[quarter]!]);
      },
      () => {
        for (const quarter of QUARTERS) this.#cutOff(quarter);
      },
    );
  }

  /** The sum of two vectors of integers, which f64 holds, as f32, truncated to its precision. */
  #cutOffWide(quarter: number, parts: readonly Local[]): void {
    const f = this.#f;
    for (const [lane, next] of [
      [0, 1],
      [2, 3],
    ] as const) {
      parts.forEach((part, i) => {
        f.get(part, part).shuffle32([lane, next, lane, next]).op('f64x2.convert_low_i32x4_s');
        if (i > 0) f.op('f64x2.add');
      });
      f.i64x2(F32_BITS).op('v128.and', 'f32x4.demote_f64x2_zero');
    }
    f.shuffle32([0, 1, 4, 5]);
    this.#scaleBack(quarter);
  }

  /**
   * The sum of integers as f32, truncated to its precision. `n & ~(n >> 24)` lacks the first bit that f32 has no room for, so that rounding
   * to the nearest number rounds down.
   */
  #cutOff(quarter: number): void {
    const f = this.#f;
    const total = this.#totals[quarter]!;
    const magnitude = f.local('v128');
    f.get(total).op('i32x4.abs').tee(magnitude).get(magnitude).i32(24).op('i32x4.shr_u', 'v128.andnot');
    f.op('f32x4.convert_i32x4_s').get(total);
    this.#push(SIGN).op('v128.and', 'v128.or');
    this.#scaleBack(quarter);
  }

  #scaleBack(quarter: number): void {
    this.#push((2 * BIAS) << FRACTION_BITS)
      .get(this.#scales[quarter]!)
      .op('i32x4.sub', 'f32x4.mul')
      .set(this.#sums[quarter]!);
  }

  /** Hands the sums over to D. */
  writeResult(): void {
    const f = this.#f;
    this.#registers.d.forEach((register, r) => {
      for (let row = 0; row < ROWS; row++) {
        const at = row * ROW_BYTES;
        f.get(register)
          .i32(0)
          .memory('v128.load', RESULT + r * ROWS * ROW_BYTES + at, SCRATCH_MEMORY);
        f.memory('v128.store', at);
      }
    });
  }
}
