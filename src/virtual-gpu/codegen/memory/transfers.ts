import { sizeOfPtxType } from '../../../ptx/types.ts';
import { unsupported } from '../../unsupported.ts';
import type { FunctionBuilder, Local, MemoryIndex } from '../../wasm/function-builder.ts';
import { type LaneContext, PARTS, type Part, parts, words } from '../lane/context.ts';

/** One load or store of a chunk, with checked addresses. */
export interface Transfer {
  context: LaneContext;
  /** wasm addresses of the four lanes. */
  addresses: readonly Local[];
  /** All four are the same local. */
  uniform: boolean;
  /** Constant added to each. */
  offset: number;
  memory: MemoryIndex;
  /** Element type, and elements per lane. */
  type: string;
  count: number;
  /** Lanes that take part; all when undefined. */
  mask: Local | undefined;
  /** i32 local: the step between the lanes' addresses, −1 if there is none; undefined if not computed. */
  step: Local | undefined;
}

function signExtend(context: LaneContext, type: string): void {
  if (type === 's8') context.b.i32(24).op('i32x4.shl').i32(24).op('i32x4.shr_s');
  // s16 into a 16-bit register stays zero-extended there; wider registers get their sign from cvt.
}

/** Loads `count` elements per lane into destinations 0 … count − 1. */
export function emitLoad(t: Transfer): void {
  const bytes = sizeOfPtxType(t.type);
  if (t.uniform) return loadUniform(t, bytes);
  if (t.count === 1) return loadScalar(t, bytes);
  const load = VECTOR_LOADS.get(`${t.count}x${bytes}`);
  if (!load) throw unsupported(t.context.instruction);
  load(t);
}

function loadUniform(t: Transfer, bytes: number): void {
  const { b } = t.context;
  for (let element = 0; element < t.count; element++) {
    const offset = t.offset + element * bytes;
    b.get(t.addresses[0]!);
    if (bytes === 8) {
      b.memory('v128.load64_splat', offset, t.memory);
      const value = t.context.temporary(0);
      b.set(value);
      for (const part of PARTS) {
        b.get(value);
        t.context.setPart(part, element);
      }
      continue;
    }
    if (bytes === 4) b.memory('v128.load32_splat', offset, t.memory);
    else b.memory(bytes === 2 ? 'i32.load16_u' : 'i32.load8_u', offset, t.memory).op('i32x4.splat');
    signExtend(t.context, t.type);
    t.context.setWord(element);
  }
}

/** Pushes the four lanes' words (8, 16 or 32 bits each, zero-extended) at a further offset. */
function pushGathered(t: Transfer, bytes: number, extra = 0): void {
  const { b } = t.context;
  for (let lane = 3; lane >= 0; lane--) b.get(t.addresses[lane]!);
  const offset = t.offset + extra;
  if (bytes === 4) {
    b.memory('v128.load32_zero', offset, t.memory);
    for (let lane = 1; lane < 4; lane++) b.memoryLane('v128.load32_lane', offset, lane, t.memory);
    return;
  }
  b.i32x4(0);
  for (let lane = 0; lane < 4; lane++) {
    if (bytes === 2) b.memoryLane('v128.load16_lane', offset, lane * 2, t.memory);
    else b.memoryLane('v128.load8_lane', offset, lane * 4, t.memory);
  }
}

/** Pushes two lanes' 64 bits. */
function pushGathered64({ context, addresses, offset, memory }: Transfer, part: Part): FunctionBuilder {
  context.b.get(addresses[part * 2 + 1]!, addresses[part * 2]!);
  return context.b.memory('v128.load64_zero', offset, memory).memoryLane('v128.load64_lane', offset, 1, memory);
}

function loadScalar(t: Transfer, bytes: number): void {
  if (bytes === 8) {
    for (const part of PARTS) {
      pushGathered64(t, part);
      t.context.setPart(part);
    }
    return;
  }
  if (t.step === undefined || bytes === 1) pushGathered(t, bytes);
  else pushSteppedOrGathered(t, bytes, t.step);
  signExtend(t.context, t.type);
  t.context.setWord();
}

/** One wide load if the lanes' elements are adjacent, one splat if they are the same, else a gather. */
function pushSteppedOrGathered(t: Transfer, bytes: number, step: Local): void {
  const { b } = t.context;
  const value = t.context.temporary(0);
  b.get(step).i32(bytes).op('i32.eq');
  b.if(
    () => {
      b.get(t.addresses[0]!)
        .memory(bytes === 4 ? 'v128.load' : 'v128.load16x4_u', t.offset, t.memory)
        .set(value);
    },
    () => {
      pushGathered(t, bytes);
      b.set(value);
    },
  );
  b.get(value);
}

/** Splits each lane's word into `count` fields of `bits`. */
function splitFields(t: Transfer, bits: number, count: number, firstDestination: number, word: Local): void {
  const { b } = t.context;
  for (let field = 0; field < count; field++) {
    b.get(word)
      .i32(field * bits)
      .op('i32x4.shr_u')
      .i32x4(2 ** bits - 1)
      .op('v128.and');
    signExtend(t.context, t.type);
    t.context.setWord(firstDestination + field);
  }
}

function loadFields(bits: number, perWord: number, wordCount: number): (t: Transfer) => void {
  return (t) => {
    const word = t.context.temporary(0);
    for (let w = 0; w < wordCount; w++) {
      pushGathered(t, Math.min(4, (bits * perWord) / 8), w * 4);
      t.context.b.set(word);
      splitFields(t, bits, perWord, w * perWord, word);
    }
  };
}

function loadTwoWords(t: Transfer): void {
  const { b } = t.context;
  const [low, high] = [t.context.temporary(0), t.context.temporary(1)];
  pushGathered64(t, 0).set(low);
  pushGathered64(t, 1).set(high);
  for (const word of PARTS) {
    b.get(low, high).shuffle32(word === 0 ? [0, 2, 4, 6] : [1, 3, 5, 7]);
    t.context.setWord(word);
  }
}

/** The temporaries that hold each lane's 16 bytes as one row of a 4×4 matrix of words. */
const rowsOf = ({ context }: Transfer): Local[] => [0, 1, 2, 3].map((slot) => context.temporary(slot));

function loadRows(t: Transfer): Local[] {
  const rows = rowsOf(t);
  rows.forEach((row, lane) => {
    t.context.b.get(t.addresses[lane]!).memory('v128.load', t.offset, t.memory).set(row);
  });
  return rows;
}

/** Transposes four rows in place, leaving columns. */
function transpose(t: Transfer, rows: readonly Local[]): void {
  const { b } = t.context;
  const [r0, r1, r2, r3] = rows as [Local, Local, Local, Local];
  const [a, c] = [t.context.temporary(4), t.context.temporary(5)];
  b.get(r0, r1).shuffle32([0, 4, 1, 5]).set(a);
  b.get(r2, r3).shuffle32([0, 4, 1, 5]).set(c);
  b.get(r0, r1).shuffle32([2, 6, 3, 7]).set(r1);
  b.get(r2, r3).shuffle32([2, 6, 3, 7]).set(r3);
  b.get(a, c).shuffle32([0, 1, 4, 5]).set(r0);
  b.get(r1, r3).shuffle32([0, 1, 4, 5]).set(r2);
  b.get(r1, r3).shuffle32([2, 3, 6, 7]).set(r3);
  b.get(a, c).shuffle32([2, 3, 6, 7]).set(r1);
}

function loadFourWords(t: Transfer): void {
  const rows = loadRows(t);
  transpose(t, rows);
  rows.forEach((row, element) => {
    t.context.b.get(row);
    t.context.setWord(element);
  });
}

/** The first or the second pair of words of two rows. */
const PAIRS = [
  [0, 1, 4, 5],
  [2, 3, 6, 7],
] as const;

function loadTwoDoubles(t: Transfer): void {
  const { b } = t.context;
  const rows = loadRows(t);
  for (const element of PARTS)
    for (const part of PARTS) {
      b.get(rows[part * 2]!, rows[part * 2 + 1]!).shuffle32(PAIRS[element]);
      t.context.setPart(part, element);
    }
}

/** By "elements × bytes". */
const VECTOR_LOADS: ReadonlyMap<string, (t: Transfer) => void> = new Map([
  ['2x1', loadFields(8, 2, 1)],
  ['4x1', loadFields(8, 4, 1)],
  ['2x2', loadFields(16, 2, 1)],
  ['4x2', loadFields(16, 2, 2)],
  ['8x2', loadFields(16, 2, 4)],
  ['2x4', loadTwoWords],
  ['4x4', loadFourWords],
  ['2x8', loadTwoDoubles],
]);

/** Stores elements that are operands 1 … count of the (flattened) instruction. */
export function emitStore(t: Transfer, sourceCount: number): void {
  const bytes = sizeOfPtxType(t.type);
  if (sourceCount !== t.count) throw unsupported(t.context.instruction);
  const store = STORES.get(`${t.count}x${bytes}`);
  if (!store) throw unsupported(t.context.instruction);
  store(t);
}

/** Emits one lane's store, skipped when the lane is inactive. */
function forLane(t: Transfer, lane: number, emit: () => void): void {
  const { b } = t.context;
  if (t.mask === undefined) return emit();
  b.get(t.mask).lane('i32x4.extract_lane', lane);
  b.if(emit);
}

function scatter(t: Transfer, value: Local, bytes: number, extra = 0): void {
  const { b } = t.context;
  const name = bytes === 4 ? 'v128.store32_lane' : bytes === 2 ? 'v128.store16_lane' : 'v128.store8_lane';
  const step = 4 / bytes;
  for (let lane = 0; lane < 4; lane++)
    forLane(t, lane, () => {
      b.get(t.addresses[lane]!, value).memoryLane(name, t.offset + extra, lane * step, t.memory);
    });
}

/** Stores two lanes' 64 bits, for the first lanes and then the others. */
const storePairs =
  (push: (context: LaneContext, part: Part) => FunctionBuilder) =>
  (t: Transfer): void => {
    const value = t.context.temporary(0);
    for (const part of PARTS) {
      push(t.context, part).set(value);
      for (const half of PARTS)
        forLane(t, part * 2 + half, () => {
          t.context.b
            .get(t.addresses[part * 2 + half]!, value)
            .memoryLane('v128.store64_lane', t.offset, half, t.memory);
        });
    }
  };

function storeScalar(bytes: number): (t: Transfer) => void {
  return (t) => {
    const value = t.context.temporary(0);
    words(t.context, 1).set(value);
    scatter(t, value, bytes);
  };
}

/** Packs `perWord` fields of `bits` from consecutive operands into words, then stores those. */
function storeFields(bits: number, perWord: number, wordCount: number): (t: Transfer) => void {
  return (t) => {
    const { b } = t.context;
    const packed = t.context.temporary(0);
    for (let w = 0; w < wordCount; w++) {
      b.i32x4(0);
      for (let field = 0; field < perWord; field++) {
        words(t.context, 1 + w * perWord + field)
          .i32x4(2 ** bits - 1)
          .op('v128.and')
          .i32(field * bits)
          .op('i32x4.shl', 'v128.or');
      }
      b.set(packed);
      scatter(t, packed, Math.min(4, (bits * perWord) / 8), w * 4);
    }
  };
}

function storeRows(t: Transfer, rows: readonly Local[]): void {
  rows.forEach((row, lane) => {
    forLane(t, lane, () => {
      t.context.b.get(t.addresses[lane]!, row).memory('v128.store', t.offset, t.memory);
    });
  });
}

function storeFourWords(t: Transfer): void {
  const rows = rowsOf(t);
  rows.forEach((row, element) => void words(t.context, 1 + element).set(row));
  transpose(t, rows);
  storeRows(t, rows);
}

function storeTwoDoubles(t: Transfer): void {
  const rows = rowsOf(t);
  for (const part of PARTS)
    for (const half of PARTS)
      parts(t.context, part, 1, 2)
        .shuffle32(PAIRS[half])
        .set(rows[part * 2 + half]!);
  storeRows(t, rows);
}

const STORES: ReadonlyMap<string, (t: Transfer) => void> = new Map([
  ['1x1', storeScalar(1)],
  ['1x2', storeScalar(2)],
  ['1x4', storeScalar(4)],
  ['1x8', storePairs((context, part) => parts(context, part, 1))],
  ['2x1', storeFields(8, 2, 1)],
  ['4x1', storeFields(8, 4, 1)],
  ['2x2', storeFields(16, 2, 1)],
  ['4x2', storeFields(16, 2, 2)],
  ['2x4', storePairs((context, part) => words(context, 1, 2).shuffle32(part === 0 ? [0, 4, 1, 5] : [2, 6, 3, 7]))],
  ['4x4', storeFourWords],
  ['2x8', storeTwoDoubles],
]);
