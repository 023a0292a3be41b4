import { type LaneContext, type LaneEmitter, toWord, words } from '../context.ts';
import { addNeighbours } from './bits.ts';

/** Two 16-bit integers per lane, as SIMD has them. */
const packed = (op: string): LaneEmitter =>
  toWord((e) => {
    words(e, 1, 2).op(`i16x8.${op}`);
    if (e.instruction.modifiers.includes('relu')) e.b.i32x4(0).op('i16x8.max_s');
  });

/** Pushes the bytes of an operand's lanes 2·half and 2·half + 1, each extended to 16 bits. */
function pushBytes(e: LaneContext, index: number, half: 'low' | 'high', signed: boolean): void {
  words(e, index).op(`i16x8.extend_${half}_i8x16_${signed ? 's' : 'u'}`);
}

/** Four byte products per lane, added up and onto operand 3. */
const dotBytes = (aSigned: boolean, bSigned: boolean): LaneEmitter =>
  toWord((e) => {
    const sums = [e.temporary(0), e.temporary(1)] as const;
    // Each dot product leaves the sums of two neighbouring products: two words a lane.
    for (const [i, half] of (['low', 'high'] as const).entries()) {
      pushBytes(e, 1, half, aSigned);
      pushBytes(e, 2, half, bSigned);
      e.b.op('i32x4.dot_i16x8_s').set(sums[i]!);
    }
    addNeighbours(e, sums);
    words(e, 3).op('i32x4.add');
  });

/** Pushes bits [position, position + bits) of an operand, extended to 32. */
function pushField(e: LaneContext, index: number, position: number, bits: number, signed: boolean): void {
  words(e, index)
    .i32(32 - bits - position)
    .op('i32x4.shl');
  e.b.i32(32 - bits).op(signed ? 'i32x4.shr_s' : 'i32x4.shr_u');
}

/** Products of a's two halves with two bytes of b (the upper two under `.hi`), added onto operand 3. */
const dotHalves = (upper: boolean, aSigned: boolean, bSigned: boolean): LaneEmitter =>
  toWord((e) => {
    e.word(3);
    for (const i of [0, 1]) {
      pushField(e, 1, 16 * i, 16, aSigned);
      pushField(e, 2, 8 * (i + (upper ? 2 : 0)), 8, bSigned);
      e.b.op('i32x4.mul', 'i32x4.add');
    }
  });

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const sign of ['s', 'u']) {
    forms.set(`add.${sign}16x2`, packed('add'));
    for (const op of ['min', 'max']) forms.set(`${op}.${sign}16x2`, packed(`${op}_${sign}`));
  }
  for (const op of ['min', 'max']) forms.set(`${op}.relu.s16x2`, packed(`${op}_s`));
  for (const a of ['s32', 'u32']) {
    for (const b of ['s32', 'u32']) {
      forms.set(`dp4a.${a}.${b}`, dotBytes(a === 's32', b === 's32'));
      for (const half of ['lo', 'hi'])
        forms.set(`dp2a.${half}.${a}.${b}`, dotHalves(half === 'hi', a === 's32', b === 's32'));
    }
  }
  return forms;
}

export const PACKED_INTEGER_FORMS: ReadonlyMap<string, LaneEmitter> = build();
