import type { FunctionBuilder, Local } from '../../../wasm/function-builder.ts';
import { type LaneContext, type LaneEmitter, PARTS, parts, toParts, toWord, words } from '../context.ts';

/** Replaces the words in `value` by the number of their leading zeros. There is no such SIMD instruction. */
function countLeadingZeros(e: LaneContext, value: number): void {
  for (let lane = 0; lane < 4; lane++) {
    e.b.get(value, value).lane('i32x4.extract_lane', lane).op('i32.clz').lane('i32x4.replace_lane', lane).set(value);
  }
}

/** Leading zeros of the 64-bit values that `pushPart` pushes, as words in `result`. */
function countLeadingZeros64(e: LaneContext, result: number, pushPart: (part: 0 | 1) => void): void {
  const value = e.temporary(1);
  e.b.i32x4(0).set(result);
  for (const part of PARTS) {
    pushPart(part);
    e.b.set(value);
    for (const lane of [0, 1]) {
      e.b.get(result, value).lane('i64x2.extract_lane', lane).op('i64.clz', 'i32.wrap_i64');
      e.b.lane('i32x4.replace_lane', part * 2 + lane).set(result);
    }
  }
}

const leadingZeros = toWord((e) => {
  const value = e.temporary(0);
  words(e, 1).set(value);
  countLeadingZeros(e, value);
  e.b.get(value);
});

const leadingZeros64 = toWord((e) => {
  const zeros = e.temporary(0);
  countLeadingZeros64(e, zeros, (part) => e.part(1, part));
  e.b.get(zeros);
});

/** Turns leading zeros of a `bits`-wide value into the highest set bit's index, or its distance from the top. */
function pushHighest(e: LaneContext, zeros: number, bits: number): void {
  if (e.instruction.modifiers.includes('shiftamt')) {
    // −1 where there is no bit: all of them are zero.
    e.b.get(zeros, zeros).i32x4(bits).op('i32x4.eq', 'v128.or');
  } else
    e.b
      .i32x4(bits - 1)
      .get(zeros)
      .op('i32x4.sub');
}

/** Highest bit that differs from the sign. */
const findHighest = (signed: boolean): LaneEmitter =>
  toWord((e) => {
    const value = e.temporary(0);
    e.word(1);
    if (signed) words(e, 1).i32(31).op('i32x4.shr_s', 'v128.xor');
    e.b.set(value);
    countLeadingZeros(e, value);
    pushHighest(e, value, 32);
  });

const findHighest64 = (signed: boolean): LaneEmitter =>
  toWord((e) => {
    const zeros = e.temporary(0);
    countLeadingZeros64(e, zeros, (part) => {
      e.part(1, part);
      if (signed) parts(e, part, 1).i32(63).op('i64x2.shr_s', 'v128.xor');
    });
    pushHighest(e, zeros, 64);
  });

/** Exchanges neighbouring groups of `bits` bits in the vector on the stack. */
function swapNeighbours(e: LaneContext, bits: number, mask: number): void {
  const value = e.temporary(0);
  e.b.set(value);
  e.b.get(value).i32(bits).op('i32x4.shr_u').i32x4(mask).op('v128.and');
  e.b.get(value).i32x4(mask).op('v128.and').i32(bits).op('i32x4.shl', 'v128.or');
}

/** Reverses the bits of the `bytes`-byte values on the stack: bytes by a shuffle, then bits within each byte. */
function reverse(e: LaneContext, bytes: number): void {
  const value = e.temporary(1);
  e.b.set(value);
  const order = Array.from({ length: 16 }, (_, i) => i - (i % bytes) + (bytes - 1 - (i % bytes)));
  e.b.get(value, value).shuffle(order);
  swapNeighbours(e, 4, 0x0f0f0f0f);
  swapNeighbours(e, 2, 0x33333333);
  swapNeighbours(e, 1, 0x55555555);
}

const reverseBits = toWord((e) => {
  e.word(1);
  reverse(e, 4);
});

const reverseBits64 = toParts((e, part) => {
  e.part(1, part);
  reverse(e, 8);
});

/** Replaces the words on the stack by the numbers of their ones. */
const countOnes = (b: FunctionBuilder): FunctionBuilder =>
  b.op('i8x16.popcnt', 'i16x8.extadd_pairwise_i8x16_u', 'i32x4.extadd_pairwise_i16x8_u');

const population = toWord((e) => countOnes(words(e, 1)));

/** Ones of 64-bit values: counted per word, then the two words of each added. */
const population64 = toWord((e) => {
  const counts = [e.temporary(0), e.temporary(1)] as const;
  for (const part of PARTS) countOnes(parts(e, part, 1)).set(counts[part]);
  addNeighbours(e, counts);
});

/** Pushes the sums of neighbouring words of two locals: the four of the first, then those of the second. */
export function addNeighbours({ b }: LaneContext, [first, second]: readonly [Local, Local]): void {
  b.get(first, second).shuffle32([0, 2, 4, 6]);
  b.get(first, second).shuffle32([1, 3, 5, 7]);
  b.op('i32x4.add');
}

/** Logical not: 1 for zero, else 0. */
const logicalNot = toWord((e) => words(e, 1).i32x4(0).op('i32x4.eq').i32x4(1).op('v128.and'));

const logicalNot64 = toParts((e, part) => parts(e, part, 1).i64x2(0n).op('i64x2.eq').i64x2(1n).op('v128.and'));

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  forms.set('clz.b32', leadingZeros);
  forms.set('clz.b64', leadingZeros64);
  for (const shiftamt of ['', '.shiftamt']) {
    for (const sign of ['s', 'u']) {
      forms.set(`bfind${shiftamt}.${sign}32`, findHighest(sign === 's'));
      forms.set(`bfind${shiftamt}.${sign}64`, findHighest64(sign === 's'));
    }
  }
  forms.set('brev.b32', reverseBits);
  forms.set('brev.b64', reverseBits64);
  forms.set('popc.b32', population);
  forms.set('popc.b64', population64);
  for (const type of ['b16', 'b32']) forms.set(`cnot.${type}`, logicalNot);
  forms.set('cnot.b64', logicalNot64);
  return forms;
}

export const BIT_FORMS: ReadonlyMap<string, LaneEmitter> = build();
