import { WINDOW } from '../../../layout.ts';
import { type LaneContext, type LaneEmitter, PARTS } from '../context.ts';

const moveWord: LaneEmitter = (e) => {
  const [to, from] = [e.instruction.operands[0]!, e.instruction.operands[1]!];
  if (from.kind === 'vector') return packWord(e);
  if (to.kind === 'vector') return unpackWord(e);
  e.word(1);
  e.setWord();
};

/** mov.b32 d, {lo, hi}: two 16-bit registers into one word. */
function packWord(e: LaneContext): void {
  // Vector elements follow the plain operands: operand 1 is the first element, 2 the second.
  e.word(1);
  e.word(2);
  e.b.i32(16).op('i32x4.shl').op('v128.or');
  e.setWord();
}

function unpackWord(e: LaneContext): void {
  const count = e.instruction.operands[0]!.kind === 'vector' ? e.instruction.operands[0]!.elements.length : 1;
  e.word(count);
  e.b.i32x4(0xffff).op('v128.and');
  e.setWord(0);
  e.word(count);
  e.b.i32(16).op('i32x4.shr_u');
  e.setWord(1);
}

const moveDouble: LaneEmitter = (e) => {
  const [to, from] = [e.instruction.operands[0]!, e.instruction.operands[1]!];
  if (from.kind === 'vector') return packDouble(e, from.elements.length);
  if (to.kind === 'vector') return unpackDouble(e, to.elements.length);
  for (const part of PARTS) {
    e.part(1, part);
    e.setPart(part);
  }
};

/** mov.b64 d, {lo, hi} from two words, or from four 16-bit registers. */
function packDouble(e: LaneContext, count: number): void {
  const low = e.temporary(0);
  const high = e.temporary(1);
  pushPacked(e, count, 0);
  e.b.set(low);
  pushPacked(e, count, 1);
  e.b.set(high);
  e.b.get(low).get(high).shuffle32([0, 4, 1, 5]);
  e.setPart(0);
  e.b.get(low).get(high).shuffle32([2, 6, 3, 7]);
  e.setPart(1);
}

function pushPacked(e: LaneContext, count: number, word: number): void {
  if (count === 2) return e.word(1 + word);
  e.word(1 + word * 2);
  e.word(2 + word * 2);
  e.b.i32(16).op('i32x4.shl').op('v128.or');
}

function unpackDouble(e: LaneContext, count: number): void {
  for (const word of [0, 1]) {
    const pushWord = () => {
      e.part(count, 0);
      e.part(count, 1);
      e.b.shuffle32(word === 0 ? [0, 2, 4, 6] : [1, 3, 5, 7]);
    };
    if (count === 2) {
      pushWord();
      e.setWord(word);
      continue;
    }
    pushWord();
    e.b.i32x4(0xffff).op('v128.and');
    e.setWord(word * 2);
    pushWord();
    e.b.i32(16).op('i32x4.shr_u');
    e.setWord(word * 2 + 1);
  }
}

const movePredicate: LaneEmitter = (e) => {
  e.predicate(1);
  e.setPredicate();
};

/** Device memory's generic addresses are its global ones; the other spaces get their window added or removed. */
const sameAddress: LaneEmitter = moveDouble;

/** True where a generic address lies in a space. */
const isInWindow =
  (window: number): LaneEmitter =>
  (e) => {
    e.part(1, 0);
    e.part(1, 1);
    e.b.shuffle32([1, 3, 5, 7]).i32x4(window).op('i32x4.eq');
    e.setPredicate();
  };

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const type of ['b16', 's16', 'u16', 'f16', 'b32', 's32', 'u32', 'f32']) forms.set(`mov.${type}`, moveWord);
  for (const type of ['b64', 's64', 'u64', 'f64']) forms.set(`mov.${type}`, moveDouble);
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
    forms.set(`cvta.${space}.u64`, (e) => {
      for (const part of PARTS) {
        e.part(1, part);
        e.b.i64x2(BigInt(window) << 32n).op('v128.or');
        e.setPart(part);
      }
    });
    forms.set(`cvta.to.${space}.u64`, (e) => {
      for (const part of PARTS) {
        e.part(1, part);
        e.b.i64x2(0xffffffffn).op('v128.and');
        e.setPart(part);
      }
    });
  }
  return forms;
}

export const MOVE_FORMS: ReadonlyMap<string, LaneEmitter> = build();
