import { rememberedAt } from '../../../core/once-for.ts';
import { PAGE_BYTES } from '../../layout.ts';
import { type FunctionBuilder, i32s } from '../../wasm/function-builder.ts';
import { ModuleBuilder } from '../../wasm/module-builder.ts';
import { emitFindSlot, emitRemember, endOf, fillWithZeros, operandSlots } from '../decoded-operands.ts';
import {
  A_BYTES,
  defineWideMultiply,
  FREE,
  ProductEmitter,
  SCRATCH_MEMORY,
  type TensorKernelForm,
} from '../product-emitter.ts';

/**
 * wgmma by one warp of a warpgroup: sixteen rows of A, and a tile of eight columns of B at a time. Of A's rows and B's columns it takes the byte
 * addresses of pieces of eight halves: two of each row of A; of each tile of B sixteen, two of each column or one of each row. Of registers it takes byte
 * offsets from the warp's state: four of each tile of D; then, where it lies in registers, four of A.
 */
export interface WarpgroupKernel {
  /** Where it has a list of addresses or offsets; it keeps a copy until others need the room. */
  placeOf(list: KeptList): number;
  /** Decodes A. Returns 0 if f32 arithmetic could not follow the model. */
  decode(aPieces: number): number;
  /** The same of A in registers, which follow so many of D. */
  decodeRegisters(warp: number, ofD: number, registers: number): number;
  /**
   * D = A B + D, or A B, from tile `first` on. Returns the first one, whose D is unchanged, that is out of range as above; or `tiles`.
   * @param keepsD all ones, or 0.
   */
  multiply(
    first: number,
    tiles: number,
    isByRow: 0 | 1,
    warp: number,
    keepsD: number,
    bPieces: number,
    registers: number,
  ): number;
}

/** A list that a kernel reads over and over. */
export class KeptList {
  readonly values: Int32Array;
  /** Who has a copy, and where. */
  keeper: object | undefined;
  at = 0;

  constructor(values: Int32Array) {
    this.values = values;
  }
}

const ROWS = 16;
/** Addresses of a tile's pieces, and of its registers. */
const TILE_PIECES = 16;
const TILE_REGISTERS = 4;

/** Layout of the scratch memory behind the part that the emitter uses for itself. */
const A = FREE;
const A_REGISTERS = 4;
/**
 * Tiles of B stay decoded for the other warps of a group, and the next group: a power of two by the address of their first piece, of
 * tiles by column and of those by row.
 */
const SLOTS = 512;
const BY_COLUMN = operandSlots('b', A + A_BYTES, SLOTS, TILE_PIECES);
const BY_ROW = operandSlots('b', endOf(BY_COLUMN), SLOTS, TILE_PIECES);
/** Lists, in two halves: of the longest 128 each. */
const LISTS = endOf(BY_ROW);
const HALF_BYTES = 2 ** 18;

const modules = new Map<string, WebAssembly.Module>();

/** @param memory where operands and registers lie. */
export function createWarpgroupKernel(memory: WebAssembly.Memory, form: TensorKernelForm): WarpgroupKernel {
  const module = rememberedAt(modules, JSON.stringify(form), () => new WebAssembly.Module(emit(form)));
  const scratch = new WebAssembly.Memory({ initial: Math.ceil((LISTS + 2 * HALF_BYTES) / PAGE_BYTES) });
  for (const slots of [BY_COLUMN, BY_ROW]) fillWithZeros(scratch, slots);
  const { exports } = new WebAssembly.Instance(module, { env: { memory, scratch } });
  const lists = new Int32Array(scratch.buffer, LISTS, (2 * HALF_BYTES) / 4);
  const half = lists.length / 2;
  // A full half makes room in the other one. What lies there is copied again when it is asked for, so that what a product has asked for stays
  // until half of all lists are new.
  const keepers = [{}, {}];
  let [current, used] = [0, 0];
  return {
    placeOf(list) {
      const { keeper, values } = list;
      if (keeper === keepers[current]) return list.at;
      if (used + values.length > half) {
        [current, used] = [1 - current, 0];
        keepers[current] = {};
      }
      const at = current * half + used;
      lists.set(values, at);
      [list.keeper, list.at] = [keepers[current], LISTS + at * 4];
      used += values.length;
      return list.at;
    },
    decode: exports.decode as WarpgroupKernel['decode'],
    decodeRegisters: exports.decodeRegisters as WarpgroupKernel['decodeRegisters'],
    multiply: exports.multiply as WarpgroupKernel['multiply'],
  };
}

function emit(form: TensorKernelForm): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder();
  module.importMemory({ name: 'memory', minimumPages: 1 });
  module.importMemory({ name: 'scratch', minimumPages: 1 });
  defineDecodeA(module, form);
  defineDecodeRegisters(module, form);
  const multiplyTile = defineMultiplyTile(module, form);
  const byColumn = defineTile(module, form, { isByRow: false, multiplyTile });
  const byRow = defineTile(module, form, { isByRow: true, multiplyTile });
  defineMultiply(module, { byColumn, byRow });
  return module.encode();
}

/** (pieces) → whether everything is in range. */
function defineDecodeA(module: ModuleBuilder, form: TensorKernelForm): void {
  const f = module.defineFunction({ parameters: i32s(1), results: ['i32'] });
  const emitter = new ProductEmitter(f, form);
  const decoder = emitter.beginDecoding();
  const table = 0;
  f.i32(A).set(emitter.a);
  emitter.forRows(() => {
    decoder.rowsOfA((half, slice) => {
      pushPiece(f, table, half * ROWS + slice);
    });
    f.advance(table, 8);
  });
  decoder.pushIsOutOfRange().op('v128.any_true', 'i32.eqz');
  module.exportFunction('decode', f);
}

/** (warp, registers of D before those of A, registers) → whether everything is in range. */
function defineDecodeRegisters(module: ModuleBuilder, form: TensorKernelForm): void {
  const f = module.defineFunction({ parameters: i32s(3), results: ['i32'] });
  const emitter = new ProductEmitter(f, form);
  const decoder = emitter.beginDecoding();
  const registers = Array.from({ length: A_REGISTERS }, (_, register) => {
    const local = f.local('i32');
    f.get(1).i32(4).op('i32.mul').get(2).op('i32.add');
    f.load(register * 4, SCRATCH_MEMORY)
      .get(0)
      .op('i32.add')
      .set(local);
    return local;
  });
  f.i32(A).set(emitter.a);
  decoder.registersOfA(registers);
  decoder.pushIsOutOfRange().op('v128.any_true', 'i32.eqz');
  module.exportFunction('decodeRegisters', f);
}

/** Piece `index` of those whose addresses begin at an address of the scratch memory. */
const pushPiece = (f: FunctionBuilder, table: number, index: number): FunctionBuilder =>
  f
    .get(table)
    .load(index * 4, SCRATCH_MEMORY)
    .memory('v128.load', 0);

/** (decoded tile, C's four registers, D's four registers) → whether everything is in range. */
function defineMultiplyTile(module: ModuleBuilder, form: TensorKernelForm): number {
  const wide = defineWideMultiply(module, form);
  const f = module.defineFunction({ parameters: i32s(9), results: ['i32'] });
  const emitter = new ProductEmitter(f, form);
  f.i32(A).set(emitter.a);
  f.get(0).set(emitter.b);
  emitter.multiply({ c: [1, 2, 3, 4], d: [5, 6, 7, 8] }, wide);
  return f.index;
}

/** (slot, table of pieces): decodes a tile. */
function defineDecodeTile(module: ModuleBuilder, form: TensorKernelForm, isByRow: boolean): number {
  const f = module.defineFunction({ parameters: i32s(2), results: [] });
  const emitter = new ProductEmitter(f, form);
  const decoder = emitter.beginDecoding();
  f.get(0).set(emitter.b);
  if (isByRow) for (let row = 0; row < form.k; row++) decoder.rowOfB(row, () => pushPiece(f, 1, row));
  else for (const slice of [0, 1]) decoder.columnsOfB(slice, (column) => pushPiece(f, 1, 2 * column + slice));
  emitRemember(f, isByRow ? BY_ROW : BY_COLUMN, {
    slot: 0,
    pushSource: (i) => pushPiece(f, 1, i),
    pushIsOutOfRange: () => decoder.pushIsOutOfRange(),
  });
  return f.index;
}

/** (tile, warp, whether D is kept, pieces, registers) → whether everything is in range. */
function defineTile(
  module: ModuleBuilder,
  form: TensorKernelForm,
  { isByRow, multiplyTile }: { isByRow: boolean; multiplyTile: number },
): number {
  const decodeTile = defineDecodeTile(module, form, isByRow);
  const slots = isByRow ? BY_ROW : BY_COLUMN;
  const f = module.defineFunction({ parameters: i32s(5), results: ['i32'] });
  const [table, slot, registers] = f.locals('i32', 3);
  f.get(0)
    .i32(TILE_PIECES * 4)
    .op('i32.mul')
    .get(3)
    .op('i32.add')
    .set(table);
  // Tiles lie at regular distances: their numbers are those of the address times the golden ratio.
  f.get(table).load(0, SCRATCH_MEMORY).i32(0x9e37_79b1).op('i32.mul');
  f.i32(32 - Math.log2(SLOTS)).op('i32.shr_u');
  emitFindSlot(f, slots, {
    slot,
    pushSource: (i) => pushPiece(f, table, i),
    decode: () => f.get(slot, table).call(decodeTile),
  });
  f.get(0)
    .i32(TILE_REGISTERS * 4)
    .op('i32.mul')
    .get(4)
    .op('i32.add')
    .set(registers);
  f.get(slot);
  for (const isC of [true, false])
    for (let r = 0; r < TILE_REGISTERS; r++) {
      f.get(registers)
        .load(r * 4, SCRATCH_MEMORY)
        .get(1)
        .op('i32.add');
      // The first bytes of memory are zeros.
      if (isC) f.get(2).op('i32.and');
    }
  f.call(multiplyTile);
  return f.index;
}

/** (first, tiles, whether B is by row, warp, whether D is kept, pieces, registers) → the first tile that is out of range, or `tiles`. */
function defineMultiply(module: ModuleBuilder, tile: { byColumn: number; byRow: number }): void {
  const f = module.defineFunction({ parameters: i32s(7), results: ['i32'] });
  const isInRange = f.local('i32');
  f.loop(() => {
    f.get(2);
    f.if(
      () => f.get(0, 3, 4, 5, 6).call(tile.byRow).set(isInRange),
      () => f.get(0, 3, 4, 5, 6).call(tile.byColumn).set(isInRange),
    );
    f.get(0, isInRange).op('i32.add').set(0);
    f.get(isInRange, 0, 1).op('i32.lt_u', 'i32.and').brIf(0);
  });
  f.get(0);
  module.exportFunction('multiply', f);
}
