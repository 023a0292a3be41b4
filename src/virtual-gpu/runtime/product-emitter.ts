import { type FunctionBuilder, i32s, type Local } from '../wasm/function-builder.ts';
import type { ModuleBuilder } from '../wasm/module-builder.ts';
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
const F16_INFINITY = 0x7c00;
/** The exponent of f32 has three more bits than that of f16, and is greater by this. */
const F16_SHIFT = 3;
const F16_REBIAS = BIAS - 15;
/** Exponents of bf16 are allowed from −`BF16_REACH` to below it. */
const BF16_REACH = 40;
const BF16_FRACTION_BITS = 7;

/** Sums are aligned to no smaller exponent: no allowed product loses bits there, and C none unless it is smaller. */
const LEAST_EXPONENT = -84;
/** From this exponent on, sums might be too large for f32. */
const LARGE_EXPONENT = 120;
/** An i32 holds the sum of so many aligned products: each is below 2^27. With C there may be one bit too few. */
const PRODUCTS_PER_SUM = 8;

/** Layout of the kernel's own memory. Columns have the order of C's registers: even ones, then odd ones. */
export const SCRATCH_MEMORY = 1;
/** D: [register][row][4] f32. */
const RESULT = 0;
/** What follows is free for operands. */
export const FREE = 512;

/**
 * The exponent of a product, biased as f32's, is that of A and this, less what this lacks to that of B: a byte, and less than `LEAST_EXPONENT`
 * where a factor is zero.
 */
const A_MORE = BF16_REACH;
const B_WHOLE = BIAS + A_MORE;

/** A where it is decoded: f32 [16][16], and exponents, u8 [row][k] of rows g, g, g + 8, g + 8. */
const A_ROW_BYTES = 64;
export const A_EXPONENTS = 16 * A_ROW_BYTES;
const A_EXPONENT_BYTES = 64;
export const A_BYTES = A_EXPONENTS + ROWS * A_EXPONENT_BYTES;
/** B: f32 [k][8], and what exponents lack, u8 [k] of the columns 0, 1, 0, 1, 2, 3, 2, 3 … */
const B_ROW_BYTES = 32;
export const B_EXPONENTS = 16 * B_ROW_BYTES;
export const B_BYTES = B_EXPONENTS + 16 * 16;

/** What zeros of B lack, for memory that is to look decoded. Zeros of A are zeros. */
export const LACK_OF_ZERO = B_WHOLE;

/** How numbers are multiplied by the power of two that aligns them to an exponent. */
interface Alignment {
  /** Of what is held for the power 2^0: its bits. */
  readonly zero: number;
  readonly op: 'i32x4.add' | 'f32x4.mul';
}

/**
 * `exponents`: the power is added to the bits of numbers, which a CPU does in less time than it multiplies. Only up to exponents of which the
 * power is not below 2^0: zeros become less than 1, which is cut off.
 */
const ALIGNMENTS = {
  exponents: { zero: 0, op: 'i32x4.add' },
  products: { zero: BIAS << FRACTION_BITS, op: 'f32x4.mul' },
} as const satisfies Record<string, Alignment>;
type Aligned = keyof typeof ALIGNMENTS;

/** Locals that hold the addresses of C's and D's registers. */
type Registers = Readonly<Record<'c' | 'd', readonly Local[]>>;

const HALVES = [0, 1] as const;
/** Rows g and g + 8, of even and odd columns. */
const QUARTERS = [0, 1, 2, 3] as const;

/** Four equal bytes. */
const everyByte = (byte: number): number => byte * 0x01010101;

/** The first or last four of eight halves, each behind a half of the vector before. */
const UPPER_HALVES = HALVES.map((part) =>
  Array.from({ length: 16 }, (_, byte) => (byte >> 2) * 2 + part * 8 + (byte & 1) + ((byte >> 1) & 1) * 16),
);
/** The even, then the odd ones of eight halves. */
const EVEN_THEN_ODD = Array.from({ length: 16 }, (_, byte) => (byte & 1) + ((byte >> 1) & 3) * 4 + (byte >> 3) * 2);
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
            ...[eight(HALF_MAGNITUDE), SIGN, everyByte(A_MORE), everyByte(B_WHOLE)],
            ...[F16_REBIAS << FRACTION_BITS, power(-14)],
          ]
        : [eight(HALF_MAGNITUDE), eight(-1), everyByte(A_MORE), everyByte(B_WHOLE)],
    );
    return new Decoder(this.#f, this.#form, (word) => this.#push(word), this);
  }

  /**
   * D = A B + C, if everything is in range. Pushes whether it is.
   * @param wide what {@link defineWideMultiply} gave for this form.
   */
  multiply(registers: Registers, wide: number): FunctionBuilder {
    const f = this.#f;
    this.multiplyBy('exponents', registers).if(() => f.i32(1).op('return'));
    return f.get(this.a, this.b, ...registers.c, ...registers.d).call(wide);
  }

  /** As {@link multiply}, numbers aligned in one way. */
  multiplyBy(aligned: Aligned, { c, d }: Registers): FunctionBuilder {
    const { fractionBits } = this.#form;
    const { zero } = ALIGNMENTS[aligned];
    this.#hold([
      ...[everyByte(LEAST_EXPONENT + BIAS), INFINITY, SIGN],
      ...[((fractionBits + BIAS) << FRACTION_BITS) + zero, (BIAS << FRACTION_BITS) + zero],
    ]);
    const products = new Products(this.#f, this.#form, { c, d }, (word) => this.#push(word), this, aligned);
    this.forRows(() => products.rows());
    const isInRange = products.popIsInRange();
    return this.#f
      .get(isInRange)
      .if(() => products.writeResult())
      .get(isInRange);
  }
}

/** (decoded A, decoded B, C's four registers, D's four) → whether everything is in the wider range of `products`. */
export function defineWideMultiply(module: ModuleBuilder, form: TensorKernelForm): number {
  const f = module.defineFunction({ parameters: i32s(10), results: ['i32'] });
  const emitter = new ProductEmitter(f, form);
  f.get(0).set(emitter.a).get(1).set(emitter.b);
  emitter.multiplyBy('products', { c: [2, 3, 4, 5], d: [6, 7, 8, 9] });
  return f.index;
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
  /** Four of them as words. */
  readonly #words: Local;
  readonly #magnitude: Local;
  /** Exponents of both parts of eight halves. */
  readonly #exponents: readonly [Local, Local];
  /** Largest magnitude so far, of each of eight lanes; of bf16 also the least but one, where zero counts as the largest. */
  readonly #most: Local;
  readonly #least: Local;

  constructor(f: FunctionBuilder, form: TensorKernelForm, push: Push, places: Places) {
    [this.#f, this.#form, this.#push, this.#places] = [f, form, push, places];
    [this.#halves, this.#words, this.#magnitude, this.#most, this.#least] = f.locals('v128', 5);
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
    const upper = f.locals('v128', 2);
    const both = f.local('v128');
    const [values, exponents] = popRowOfA(f, this.#places);
    for (let slice = 0; slice < this.#form.k / 8; slice++) {
      for (const half of HALVES) {
        pushHalves(half, slice);
        this.#decode((part, pushValue) => {
          f.get(values);
          pushValue();
          f.memory('v128.store', half * ROWS * A_ROW_BYTES + slice * 32 + part * 16, SCRATCH_MEMORY);
        });
        if (half === 0) for (const part of HALVES) f.get(this.#exponents[part]).set(upper[part]);
      }
      for (const part of HALVES) {
        f.get(this.#exponents[part]).i32(16).op('i32x4.shl').get(upper[part]).op('v128.or').set(both);
        f.get(exponents, both, both).i32(8).op('i32x4.shl', 'v128.or');
        this.#push(everyByte(A_MORE)).op('i32x4.add');
        f.memory('v128.store', A_EXPONENTS + slice * 32 + part * 16, SCRATCH_MEMORY);
      }
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
    const both = f.local('v128');
    pushHalves();
    this.#decode((part, pushValue) => {
      f.get(b);
      pushValue();
      f.memory('v128.store', row * B_ROW_BYTES + part * 16, SCRATCH_MEMORY);
    });
    f.get(this.#exponents[1]).i32(8).op('i32x4.shl').get(this.#exponents[0]).op('v128.or').set(both);
    f.get(b);
    this.#push(everyByte(B_WHOLE)).get(both, both).i32(16).op('i32x4.shl', 'v128.or', 'i32x4.sub');
    f.memory('v128.store', B_EXPONENTS + row * 16, SCRATCH_MEMORY);
  }

  /** Decodes the eight halves on the stack, and hands over four f32 at a time. */
  #decode(store: (part: 0 | 1, pushValue: () => void) => void): void {
    const f = this.#f;
    const isF16 = this.#form.format === 'f16';
    const magnitude = this.#magnitude;
    f.set(this.#halves);
    f.get(this.#halves);
    this.#push(eight(HALF_MAGNITUDE)).op('v128.and').tee(magnitude);
    f.get(this.#most).op('i16x8.max_s').set(this.#most);
    if (!isF16) {
      f.get(magnitude);
      this.#push(eight(-1)).op('i16x8.add').get(this.#least).op('i16x8.min_u').set(this.#least);
    }
    for (const part of HALVES) {
      f.i32x4(0).get(this.#halves).shuffle(UPPER_HALVES[part]!).tee(this.#words).i32(1).op('i32x4.shl');
      if (isF16) this.#widenF16();
      f.tee(magnitude)
        .i32(FRACTION_BITS + (isF16 ? 0 : 1))
        .op('i32x4.shr_u')
        .set(this.#exponents[part]);
      store(part, () => {
        f.get(this.#words);
        if (isF16) this.#push(SIGN).op('v128.and').get(magnitude).op('v128.or');
      });
    }
  }

  /**
   * Four magnitudes of f16, in the upper bits. Subnormal halves are converted without subnormal f32 numbers, which cost a CPU a hundred
   * cycles: what came out for m·2^-24 is 2^-15 + m·2^-25, and twice that less 2^-14 is less; of other numbers it is more.
   */
  #widenF16(): void {
    const f = this.#f;
    const magnitude = this.#magnitude;
    f.i32(F16_SHIFT + 1).op('i32x4.shr_u');
    this.#push(F16_REBIAS << FRACTION_BITS)
      .op('i32x4.add')
      .tee(magnitude);
    f.get(magnitude, magnitude);
    this.#push(power(-14)).op('f32x4.sub', 'f32x4.add', 'i32x4.min_s');
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
  readonly #aligned: Aligned;
  /** Of powers that align: of `exponents` what tells whether any is below 2^0; of `products` the least of the first block. */
  readonly #leastScale: Local;
  /** The least of the largest exponents of the first block's products, a byte each. */
  readonly #leastExponent: Local;
  readonly #sums: readonly Local[];
  readonly #scales: readonly Local[];
  readonly #totals: readonly Local[];
  /** Parts of sums of more products than fit. */
  readonly #earlier: readonly Local[];

  constructor(
    f: FunctionBuilder,
    form: TensorKernelForm,
    registers: Registers,
    push: Push,
    places: Places,
    aligned: Aligned,
  ) {
    [this.#f, this.#form, this.#registers, this.#push, this.#places] = [f, form, registers, push, places];
    this.#aligned = aligned;
    [this.#leastScale, this.#leastExponent] = f.locals('v128', 2);
    const four = () => f.locals('v128', 4);
    [this.#sums, this.#scales, this.#totals, this.#earlier] = [four(), four(), four(), four()];
    f.i32x4(aligned === 'exponents' ? 0 : INFINITY).set(this.#leastScale);
    f.i32x4(-1).set(this.#leastExponent);
  }

  /** Whether everything was in range. C is looked at again only where all products of a sum are small. */
  popIsInRange(): Local {
    const f = this.#f;
    f.get(this.#leastScale);
    if (this.#aligned === 'exponents') f.op('i32x4.bitmask', 'i32.eqz');
    else f.i32x4(power(this.#form.fractionBits - LARGE_EXPONENT)).op('i32x4.gt_s', 'i32x4.all_true');
    const isInRange = f.pop('i32');
    f.get(this.#leastExponent)
      .i32x4(everyByte(LEAST_EXPONENT + BIAS))
      .op('i8x16.eq', 'v128.any_true');
    f.if(() => {
      const least = this.#popLeastC();
      f.get(isInRange, least)
        .i32x4(2 * power(LEAST_EXPONENT) - 1)
        .op('i32x4.ge_u', 'i32x4.all_true', 'i32.and')
        .set(isInRange);
    });
    return isInRange;
  }

  /** Twice the least magnitude of C, less one: zero counts as the largest. */
  #popLeastC(): Local {
    const f = this.#f;
    const least = f.i32x4(-1).pop('v128');
    this.#places.forRows(() => {
      for (const register of this.#registers.c) {
        f.get(this.#places.row, register).op('i32.add').memory('v128.load', 0).i32(1).op('i32x4.shl');
        f.i32x4(-1).op('i32x4.add').get(least).op('i32x4.min_u').set(least);
      }
    });
    return least;
  }

  /** Adds the products of two rows, eight apart, to C; the sums wait in the scratch memory. */
  rows(): void {
    const f = this.#f;
    const { k, block } = this.#form;
    const { row } = this.#places;
    [this.#values, this.#exponents] = popRowOfA(f, this.#places);
    this.#sums.forEach((sum, register) => {
      f.get(row, this.#registers.c[register]!).op('i32.add').memory('v128.load', 0).set(sum);
    });
    for (let first = 0; first < k; first += block) this.#addBlock(first, Math.min(block, k - first));
    this.#sums.forEach((sum, register) => {
      f.get(row, sum).memory('v128.store', RESULT + register * ROWS * ROW_BYTES, SCRATCH_MEMORY);
    });
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
    const { zero } = ALIGNMENTS[this.#aligned];
    this.#push(everyByte(LEAST_EXPONENT + BIAS));
    for (let term = first; term < first + count; term++) {
      f.get(this.#exponents).memory('v128.load32_splat', A_EXPONENTS + term * 4, SCRATCH_MEMORY);
      f.get(this.#places.b)
        .memory('v128.load', B_EXPONENTS + term * 16, SCRATCH_MEMORY)
        .op('i8x16.sub_sat_u', 'i8x16.max_u');
    }
    /** Bytes of the four quarters. */
    const largest = f.pop('v128');
    if (first === 0) f.get(largest, this.#leastExponent).op('i8x16.min_u').set(this.#leastExponent);
    for (const quarter of QUARTERS) {
      const scale = this.#scales[quarter]!;
      const shift = FRACTION_BITS - 8 * quarter;
      // 2^(fractionBits − exponent), as bits.
      this.#push(((fractionBits + BIAS) << FRACTION_BITS) + zero)
        .get(largest)
        .i32(Math.abs(shift))
        .op(shift > 0 ? 'i32x4.shl' : 'i32x4.shr_u');
      this.#push(INFINITY).op('v128.and').get(this.#sums[quarter]!);
      this.#push(INFINITY).op('v128.and', 'i32x4.max_s', 'i32x4.sub').set(scale);
      if (this.#aligned === 'exponents') f.get(this.#leastScale, scale).op('v128.or').set(this.#leastScale);
      else if (first === 0) f.get(scale, this.#leastScale).op('i32x4.min_s').set(this.#leastScale);
    }
  }

  /** Replaces numbers by multiples of the last bit that counts. */
  #pushAligned(quarter: number): FunctionBuilder {
    return this.#f.get(this.#scales[quarter]!).op(ALIGNMENTS[this.#aligned].op, 'i32x4.relaxed_trunc_f32x4_s');
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
    this.#push((BIAS << FRACTION_BITS) + ALIGNMENTS[this.#aligned].zero)
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
