import type { FunctionBuilder } from '../wasm/function-builder.ts';

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
const ROWS = 8;
const SIGN = 0x8000_0000;
const MAGNITUDE = 0x7fff_ffff;
const BIAS = 127;
const INFINITY = 0x7f80_0000;
/** Of a double's significand, those bits that f32 has. */
const F32_BITS = BigInt.asIntN(64, 0xffffffffe0000000n);
/** An i32 holds the sum of so many aligned products: each is below 2^27. */
const PRODUCTS_PER_SUM = 8;

/**
 * Allowed magnitudes of operands, as f32 bit patterns: all finite f16, and bf16 up to 2^±40. The exponents of products
 * (sums of two biased exponents) then exceed those of zero times anything.
 */
const OPERANDS: Readonly<Record<HalfFormat, { least: number; end: number }>> = {
  f16: { least: (BIAS - 24) << 23, end: (BIAS + 16) << 23 },
  bf16: { least: (BIAS - 40) << 23, end: (BIAS + 40) << 23 },
};
/** Least sum of two biased exponents that counts. With alignment to a smaller one, no allowed operand or C loses bits. */
const LEAST_EXPONENT = 170;
/** Smallest non-zero magnitude of C: its last bit is above the truncation at `LEAST_EXPONENT`. */
const LEAST_C = (BIAS - 80) << 23;

/** Layout of the kernel's own memory. Columns have the order of C's registers: even ones, then odd ones. */
export const SCRATCH_MEMORY = 1;
/** B, f32 [k][8], and its biased exponents, i16 [k][8]. */
export const B_VALUES = 0;
export const B_EXPONENTS = 512;
/** A row of A, f32 [k], and its biased exponents, i16 [k]. */
export const A_VALUES = 768;
export const A_EXPONENTS = 832;
/** D: [register][row][4] f32. */
const RESULT = 1024;

/** Locals that hold the addresses of C's and D's registers. */
type Registers = Readonly<Record<'c' | 'd', readonly number[]>>;

/** Locals that are added to the places of an operand in the scratch memory. */
interface Base {
  readonly values: number;
  readonly exponents: number;
}

/**
 * Emits `tensor-model.ts` for sixteen rows of A and eight columns of B. Both are decoded into the scratch memory first. Where
 * they lie there is what the locals `a` and `b` add to the places below.
 */
export class ProductEmitter {
  readonly #f: FunctionBuilder;
  readonly #form: TensorKernelForm;
  readonly #registers: Registers;
  readonly #halves: number;
  readonly #word: number;
  readonly #value: number;
  /** All ones where every element so far was in range. */
  readonly #inRange: number;
  /** Byte offset of the row within a register. */
  readonly row: number;
  readonly a: Base;
  readonly b: Base;

  constructor(f: FunctionBuilder, form: TensorKernelForm, registers: Registers) {
    this.#f = f;
    this.#form = form;
    this.#registers = registers;
    [this.#halves, this.#word, this.#value, this.#inRange] = [
      f.local('v128'),
      f.local('v128'),
      f.local('v128'),
      f.local('v128'),
    ];
    this.row = f.local('i32');
    this.a = { values: f.local('i32'), exponents: f.local('i32') };
    this.b = { values: f.local('i32'), exponents: f.local('i32') };
  }

  /** To be called before anything is decoded. */
  begin(): void {
    this.#f.i32x4(-1).set(this.#inRange);
  }

  /** Calls `emitRow` in a loop over the eight rows of D's registers, for the upper and for the lower one. */
  forRows(emitRow: (half: number) => void): void {
    const f = this.#f;
    f.i32(0).set(this.row);
    f.loop(() => {
      for (const half of [0, 1]) emitRow(half);
      f.get(this.row).i32(ROW_BYTES).op('i32.add').tee(this.row);
      f.i32(ROWS * ROW_BYTES)
        .op('i32.lt_u')
        .brIf(0);
    });
  }

  /** Pushes whether everything was in range. */
  pushIsInRange(): FunctionBuilder {
    return this.#f.get(this.#inRange).op('i32x4.all_true');
  }

  /** Eight rows of B, written row by row. `pushColumn` pushes eight halves of a column. */
  decodeColumns(slice: number, pushColumn: (column: number) => void): void {
    const f = this.#f;
    const columns = Array.from({ length: 4 }, () => [f.local('v128'), f.local('v128')] as const);
    const pairs = Array.from({ length: 4 }, () => f.local('v128'));
    const group = (odd: number): void => {
      columns.forEach(([low, high], i) => {
        pushColumn(2 * i + odd);
        f.set(this.#halves);
        this.#decode('low').set(low);
        this.#decode('high').set(high);
      });
      for (const part of [0, 1]) {
        const [c0, c1, c2, c3] = columns.map((column) => column[part]!) as [number, number, number, number];
        const [p0, p1, p2, p3] = pairs as [number, number, number, number];
        f.get(c0).get(c1).shuffle32([0, 4, 1, 5]).set(p0);
        f.get(c2).get(c3).shuffle32([0, 4, 1, 5]).set(p1);
        f.get(c0).get(c1).shuffle32([2, 6, 3, 7]).set(p2);
        f.get(c2).get(c3).shuffle32([2, 6, 3, 7]).set(p3);
        for (const [row, first, second, lanes] of [
          [0, p0, p1, [0, 1, 4, 5]],
          [1, p0, p1, [2, 3, 6, 7]],
          [2, p2, p3, [0, 1, 4, 5]],
          [3, p2, p3, [2, 3, 6, 7]],
        ] as const) {
          f.get(this.b.values).get(first).get(second).shuffle32(lanes);
          f.memory('v128.store', B_VALUES + (slice * 8 + part * 4 + row) * 32 + odd * 16, SCRATCH_MEMORY);
        }
      }
    };
    group(0);
    group(1);
    for (let row = slice * 8; row < slice * 8 + 8; row++) this.#storeExponents(row);
  }

  /** A row of B. `pushRow` pushes its eight halves. */
  decodeRowOfB(row: number, pushRow: () => void): void {
    const f = this.#f;
    const [low, high] = [f.local('v128'), f.local('v128')];
    pushRow();
    f.set(this.#halves);
    this.#decode('low').set(low);
    this.#decode('high').set(high);
    for (const odd of [0, 1] as const) {
      f.get(this.b.values)
        .get(low)
        .get(high)
        .shuffle32([odd, 2 + odd, 4 + odd, 6 + odd]);
      f.memory('v128.store', B_VALUES + row * 32 + odd * 16, SCRATCH_MEMORY);
    }
    this.#storeExponents(row);
  }

  #storeExponents(row: number): void {
    const f = this.#f;
    f.get(this.b.exponents);
    for (const odd of [0, 1]) {
      f.get(this.b.values).memory('v128.load', B_VALUES + row * 32 + odd * 16, SCRATCH_MEMORY);
      this.#exponents();
    }
    f.op('i16x8.narrow_i32x4_s').memory('v128.store', B_EXPONENTS + row * 16, SCRATCH_MEMORY);
  }

  /** A row of A. `pushSlice` pushes eight of its halves. */
  decodeRowOfA(pushSlice: (slice: number) => void): void {
    const f = this.#f;
    const [low, high] = [f.local('v128'), f.local('v128')];
    for (let slice = 0; slice < this.#form.k / 8; slice++) {
      pushSlice(slice);
      f.set(this.#halves);
      f.get(this.a.values);
      this.#decode('low')
        .tee(low)
        .memory('v128.store', A_VALUES + slice * 32, SCRATCH_MEMORY);
      f.get(this.a.values);
      this.#decode('high')
        .tee(high)
        .memory('v128.store', A_VALUES + slice * 32 + 16, SCRATCH_MEMORY);
      f.get(this.a.exponents).get(low);
      this.#exponents();
      f.get(high);
      this.#exponents();
      f.op('i16x8.narrow_i32x4_s').memory('v128.store', A_EXPONENTS + slice * 16, SCRATCH_MEMORY);
    }
  }

  /** Pushes four of the halves as f32, and records those out of range. */
  #decode(part: 'low' | 'high'): FunctionBuilder {
    const f = this.#f;
    const { least, end } = OPERANDS[this.#form.format];
    f.get(this.#halves).op(`i32x4.extend_${part}_i16x8_u`).set(this.#word);
    if (this.#form.format === 'bf16') f.get(this.#word).i32(16).op('i32x4.shl').set(this.#value);
    else this.#decodeF16();
    const magnitude = () => f.get(this.#value).i32x4(MAGNITUDE).op('v128.and');
    magnitude()
      .i32x4(least)
      .op('i32x4.sub')
      .i32x4(end - least)
      .op('i32x4.lt_u');
    magnitude().i32x4(0).op('i32x4.eq').op('v128.or');
    f.get(this.#inRange).op('v128.and').set(this.#inRange);
    return f.get(this.#value);
  }

  /**
   * Converts subnormal halves without subnormal f32 numbers, which cost a CPU a hundred cycles. Inf and NaN become 65536
   * and more.
   */
  #decodeF16(): void {
    const f = this.#f;
    const [magnitude, smallest] = [this.#value, (BIAS - 14) << 23];
    f.get(this.#word)
      .i32x4(MAGNITUDE >>> 16)
      .op('v128.and')
      .set(magnitude);
    const shifted = (offset: number) => f.get(magnitude).i32(13).op('i32x4.shl').i32x4(offset).op('i32x4.add');
    shifted((BIAS - 15) << 23);
    shifted(smallest).i32x4(smallest).op('f32x4.sub');
    f.get(magnitude).i32x4(0x3ff).op('i32x4.gt_u').op('v128.bitselect');
    f.get(this.#word)
      .i32x4(SIGN >>> 16)
      .op('v128.and')
      .i32(16)
      .op('i32x4.shl')
      .op('v128.or')
      .set(this.#value);
  }

  /** Biased exponents of the four f32 on the stack. */
  #exponents(): FunctionBuilder {
    return this.#f.i32x4(MAGNITUDE).op('v128.and').i32(23).op('i32x4.shr_u');
  }

  /** Adds a row's products to C; the sums wait in the scratch memory. */
  multiplyRow(half: number): void {
    const f = this.#f;
    const { k, block } = this.#form;
    const sums = [f.local('v128'), f.local('v128')];
    const magnitude = (sum: number) => f.get(sum).i32x4(MAGNITUDE).op('v128.and');
    sums.forEach((sum, odd) => {
      f.get(this.row)
        .get(this.#registers.c[2 * half + odd]!)
        .op('i32.add')
        .memory('v128.load', 0)
        .set(sum);
      magnitude(sum)
        .i32x4(LEAST_C)
        .op('i32x4.sub')
        .i32x4(INFINITY - LEAST_C)
        .op('i32x4.lt_u');
      magnitude(sum).i32x4(0).op('i32x4.eq').op('v128.or');
      f.get(this.#inRange).op('v128.and').set(this.#inRange);
    });
    for (let first = 0; first < k; first += block) this.#addBlock(sums, first, Math.min(block, k - first));
    sums.forEach((sum, odd) => {
      magnitude(sum).i32x4(INFINITY).op('i32x4.lt_u').get(this.#inRange).op('v128.and').set(this.#inRange);
      f.get(this.row)
        .get(sum)
        .memory('v128.store', RESULT + (2 * half + odd) * ROWS * ROW_BYTES, SCRATCH_MEMORY);
    });
  }

  /** Adds `count` products, aligned to the largest exponent and truncated, to the sums of even and odd columns. */
  #addBlock(sums: readonly number[], first: number, count: number): void {
    const f = this.#f;
    const { fractionBits } = this.#form;
    const largest = f.local('v128');
    const i16x8 = (value: number) => f.i32x4((value << 16) | value);
    i16x8(LEAST_EXPONENT);
    for (const sum of sums) {
      f.get(sum);
      this.#exponents();
    }
    f.op('i16x8.narrow_i32x4_s');
    i16x8(BIAS).op('i16x8.add').op('i16x8.max_s');
    for (let term = first; term < first + count; term++) {
      f.get(this.a.exponents).memory('v128.load16_splat', A_EXPONENTS + term * 2, SCRATCH_MEMORY);
      f.get(this.b.exponents)
        .memory('v128.load', B_EXPONENTS + term * 16, SCRATCH_MEMORY)
        .op('i16x8.add')
        .op('i16x8.max_s');
    }
    f.set(largest);
    sums.forEach((sum, odd) => {
      const scale = f.local('v128');
      const power = (push: () => void) => {
        push();
        f.op(odd === 0 ? 'i32x4.extend_low_i16x8_s' : 'i32x4.extend_high_i16x8_s')
          .i32(23)
          .op('i32x4.shl');
      };
      // 2^(fractionBits − exponent), as bits: the sum of two biased exponents is 254 above theirs.
      power(() => {
        i16x8(fractionBits + 3 * BIAS)
          .get(largest)
          .op('i16x8.sub');
      });
      f.set(scale);
      const parts: number[] = [];
      f.get(sum).get(scale).op('f32x4.mul').op('i32x4.relaxed_trunc_f32x4_s');
      for (let term = first; term < first + count; term++) {
        this.#pushProducts(term, odd);
        f.get(scale).op('f32x4.mul').op('i32x4.relaxed_trunc_f32x4_s').op('i32x4.add');
        const isLast = term === first + count - 1;
        if (isLast || (term - first) % PRODUCTS_PER_SUM === PRODUCTS_PER_SUM - 1) {
          parts.push(f.local('v128'));
          f.set(parts.at(-1)!);
          if (!isLast) f.i32x4(0);
        }
      }
      this.#cutOff(parts, [0, 1]);
      this.#cutOff(parts, [2, 3]);
      f.shuffle32([0, 1, 4, 5]);
      power(() => {
        f.get(largest);
        i16x8(BIAS + fractionBits).op('i16x8.sub');
      });
      f.op('f32x4.mul').set(sum);
    });
  }

  /** Four products: of a term of the row, and of even or odd columns. */
  #pushProducts(term: number, odd: number): FunctionBuilder {
    const f = this.#f;
    f.get(this.a.values).memory('v128.load32_splat', A_VALUES + term * 4, SCRATCH_MEMORY);
    f.get(this.b.values).memory('v128.load', B_VALUES + term * 32 + odd * 16, SCRATCH_MEMORY);
    return f.op('f32x4.mul');
  }

  /** Pushes two lanes of the sum of integers as f32, truncated to its precision. */
  #cutOff(parts: readonly number[], [lane, next]: readonly [number, number]): void {
    const f = this.#f;
    parts.forEach((part, i) => {
      f.get(part);
      if (lane !== 0) f.get(part).shuffle32([lane, next, lane, next] as [number, number, number, number]);
      f.op('f64x2.convert_low_i32x4_s');
      if (i > 0) f.op('f64x2.add');
    });
    f.i64x2(F32_BITS).op('v128.and').op('f32x4.demote_f64x2_zero');
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
