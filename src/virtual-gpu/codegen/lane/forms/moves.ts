import { WINDOW } from '../../../layout.ts';
import type { FunctionBuilder } from '../../../wasm/function-builder.ts';
import { type LaneContext, type LaneEmitter, PARTS, parts, toParts, toPredicate, words } from '../context.ts';

const moveWord: LaneEmitter = (e) => {
  const [to, from] = [e.instruction.operands[0]!, e.instruction.operands[1]!];
  if (from.kind === 'vector') return packWord(e);
  if (to.kind === 'vector') return unpackWord(e);
  e.word(1);
  e.setWord();
};

const F32_NAN = 0x7fffffff;

/** Bits of an f32; of every NaN those that GPUs compute: `withCanonicalNans`. */
const moveCanonical: LaneEmitter = (e) => {
  const value = e.temporary(0);
  e.word(1);
  e.b.set(value).get(value).i32x4(F32_NAN).get(value, value).op('f32x4.eq', 'v128.bitselect');
  e.setWord();
};

/** mov.b32 d, {lo, hi}: two 16-bit registers into one word. */
function packWord(e: LaneContext): void {
  // Vector elements follow the plain operands: operand 1 is the first element, 2 the second.
  words(e, 1, 2).i32(16).op('i32x4.shl', 'v128.or');
  e.setWord();
}

function unpackWord(e: LaneContext): void {
  const count = e.instruction.operands[0]!.kind === 'vector' ? e.instruction.operands[0]!.elements.length : 1;
  words(e, count).i32x4(0xffff).op('v128.and');
  e.setWord(0);
  words(e, count).i32(16).op('i32x4.shr_u');
  e.setWord(1);
}

const moveDouble: LaneEmitter = (e) => {
  const [to, from] = [e.instruction.operands[0]!, e.instruction.operands[1]!];
  if (from.kind === 'vector') return packDouble(e, from.elements.length);
  if (to.kind === 'vector') return unpackDouble(e, to.elements.length);
  copyParts(e);
};

const copyParts = toParts((e, part) => e.part(1, part));

/** mov.b64 d, {lo, hi} from two words, or from four 16-bit registers. */
function packDouble(e: LaneContext, count: number): void {
  const [low, high] = [e.temporary(0), e.temporary(1)];
  for (const [word, local] of [low, high].entries()) {
    pushPacked(e, count, word);
    e.b.set(local);
  }
  e.b.get(low, high).shuffle32([0, 4, 1, 5]);
  e.setPart(0);
  e.b.get(low, high).shuffle32([2, 6, 3, 7]);
  e.setPart(1);
}

function pushPacked(e: LaneContext, count: number, word: number): void {
  if (count === 2) return e.word(1 + word);
  words(e, 1 + word * 2, 2 + word * 2)
    .i32(16)
    .op('i32x4.shl', 'v128.or');
}

function unpackDouble(e: LaneContext, count: number): void {
  for (const word of [0, 1]) {
    const pushed = () => eitherHalf(e, count, word);
    if (count === 2) {
      pushed();
      e.setWord(word);
      continue;
    }
    pushed().i32x4(0xffff).op('v128.and');
    e.setWord(word * 2);
    pushed().i32(16).op('i32x4.shr_u');
    e.setWord(word * 2 + 1);
  }
}

/** Pushes the low (0) or high (1) words of a 64-bit operand. */
export function eitherHalf(e: LaneContext, index: number, word: number): FunctionBuilder {
  for (const part of PARTS) e.part(index, part);
  return e.b.shuffle32(word === 0 ? [0, 2, 4, 6] : [1, 3, 5, 7]);
}

const movePredicate = toPredicate((e) => e.predicate(1));

/** Device memory's generic addresses are its global ones; the other spaces get their window added or removed. */
const sameAddress: LaneEmitter = moveDouble;

/** True where a generic address lies in a space. */
const isInWindow = (window: number): LaneEmitter =>
  toPredicate((e) => eitherHalf(e, 1, 1).i32x4(window).op('i32x4.eq'));

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const type of ['b16', 's16', 'u16', 'f16', 'b32', 's32', 'u32', 'f32']) forms.set(`mov.${type}`, moveWord);
  for (const type of ['b64', 's64', 'u64', 'f64']) forms.set(`mov.${type}`, moveDouble);
  forms.set('mov.canonical.b32', moveCanonical);
  forms.set('mov.pred', movePredicate);
  forms.set('cvta.to.global.u64', sameAddress);
  forms.set('cvta.global.u64', sameAddress);
  forms.set('isspacep.global', isInWindow(WINDOW.global));
  for (const [space, window] of [
    ['shared', WINDOW.shared],
    ['local', WINDOW.local],
    ['const', WINDOW.constant],
    ['param', WINDOW.parameter],
  ] as const) {
    forms.set(`isspacep.${space}`, isInWindow(window));
    forms.set(
      `cvta.${space}.u64`,
      toParts((e, part) =>
        parts(e, part, 1)
          .i64x2(BigInt(window) << 32n)
          .op('v128.or'),
      ),
    );
    forms.set(
      `cvta.to.${space}.u64`,
      toParts((e, part) => parts(e, part, 1).i64x2(0xffffffffn).op('v128.and')),
    );
  }
  return forms;
}

export const MOVE_FORMS: ReadonlyMap<string, LaneEmitter> = build();
