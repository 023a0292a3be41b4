import { ModuleBuilder } from '../../wasm/module-builder.ts';
import {
  A_EXPONENTS,
  A_VALUES,
  B_EXPONENTS,
  B_VALUES,
  ProductEmitter,
  SCRATCH_MEMORY,
  type TensorKernelForm,
} from '../product-emitter.ts';

/** Products of one warp of a warpgroup: sixteen rows of A, and a tile of eight columns of B at a time. */
export interface WarpgroupKernel {
  /** Byte addresses of A's pieces of eight halves: two of each of 16 rows. */
  readonly aPieces: Int32Array;
  /** The same of B, sixteen of each tile: two of each column, or one of each row. */
  readonly bPieces: Int32Array;
  /** Decodes A and `tiles` tiles of B. Returns 0 if f32 arithmetic could not follow the model. */
  decode(tiles: number, isByRow: 0 | 1): number;
  /** D = A B + C for a tile. Takes byte addresses of the registers of C and D. Returns 0, with D unchanged, as above. */
  multiply(tile: number, ...registers: number[]): number;
}

/** Layout of the scratch memory behind the part that the emitter uses for itself. */
const A_ROWS = 2048;
const A_ROW_EXPONENTS = 3072;
const B_TILES = 4096;
const B_TILE_EXPONENTS = 20_480;
const A_PIECES = 28_672;
const B_PIECES = 28_800;

const ROWS = 16;
/** Of a row of A, and of a tile of B, as f32; their exponents take half of it. */
const A_ROW_BYTES = 64;
const B_TILE_BYTES = 512;
/** Addresses of a tile's pieces. */
const TILE_PIECES = 16;
const MOST_TILES = 32;

const modules = new Map<string, WebAssembly.Module>();

/** @param memory where operands and registers lie. */
export function createWarpgroupKernel(memory: WebAssembly.Memory, form: TensorKernelForm): WarpgroupKernel {
  const key = JSON.stringify(form);
  const module = modules.get(key) ?? new WebAssembly.Module(emit(form));
  modules.set(key, module);
  const scratch = new WebAssembly.Memory({ initial: 1 });
  const { exports } = new WebAssembly.Instance(module, { env: { memory, scratch } });
  return {
    aPieces: new Int32Array(scratch.buffer, A_PIECES, ROWS * 2),
    bPieces: new Int32Array(scratch.buffer, B_PIECES, MOST_TILES * TILE_PIECES),
    decode: exports.decode as WarpgroupKernel['decode'],
    multiply: exports.multiply as WarpgroupKernel['multiply'],
  };
}

function emit(form: TensorKernelForm): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder();
  module.importMemory({ name: 'memory', minimumPages: 1 });
  module.importMemory({ name: 'scratch', minimumPages: 1 });
  emitDecode(module, form);
  emitMultiply(module, form);
  return module.encode();
}

/** (tiles, isByRow) → whether everything is in range. */
function emitDecode(module: ModuleBuilder, form: TensorKernelForm): void {
  const f = module.defineFunction({ parameters: ['i32', 'i32'], results: ['i32'] });
  const emitter = new ProductEmitter(f, form, { c: [], d: [] });
  const [table, end] = [f.local('i32'), f.local('i32')];
  const pushPiece = (index: number) =>
    f
      .get(table)
      .memory('i32.load', index * 4, SCRATCH_MEMORY)
      .memory('v128.load', 0);
  const advance = (base: { values: number; exponents: number }, bytes: number): void => {
    f.get(base.values).i32(bytes).op('i32.add').set(base.values);
    f.get(base.exponents)
      .i32(bytes / 2)
      .op('i32.add')
      .set(base.exponents);
  };
  const forEach = (pieces: number, emitOne: () => void): void => {
    f.loop(() => {
      emitOne();
      f.get(table)
        .i32(pieces * 4)
        .op('i32.add')
        .tee(table)
        .get(end)
        .op('i32.lt_u')
        .brIf(0);
    });
  };
  emitter.begin();
  f.i32(A_PIECES).set(table);
  f.i32(A_PIECES + ROWS * 2 * 4).set(end);
  f.i32(A_ROWS - A_VALUES).set(emitter.a.values);
  f.i32(A_ROW_EXPONENTS - A_EXPONENTS).set(emitter.a.exponents);
  forEach(2, () => {
    emitter.decodeRowOfA(pushPiece);
    advance(emitter.a, A_ROW_BYTES);
  });
  f.i32(B_PIECES).tee(table);
  f.get(0)
    .i32(TILE_PIECES * 4)
    .op('i32.mul')
    .op('i32.add')
    .set(end);
  f.i32(B_TILES - B_VALUES).set(emitter.b.values);
  f.i32(B_TILE_EXPONENTS - B_EXPONENTS).set(emitter.b.exponents);
  f.get(1);
  f.if(
    () =>
      forEach(TILE_PIECES, () => {
        for (let row = 0; row < form.k; row++) emitter.decodeRowOfB(row, () => pushPiece(row));
        advance(emitter.b, B_TILE_BYTES);
      }),
    () =>
      forEach(TILE_PIECES, () => {
        for (const slice of [0, 1]) emitter.decodeColumns(slice, (column) => pushPiece(2 * column + slice));
        advance(emitter.b, B_TILE_BYTES);
      }),
  );
  emitter.pushIsInRange();
  module.exportFunction('decode', f);
}

/** (tile, C's four registers, D's four registers) → whether everything is in range. */
function emitMultiply(module: ModuleBuilder, form: TensorKernelForm): void {
  const f = module.defineFunction({ parameters: new Array(9).fill('i32'), results: ['i32'] });
  const emitter = new ProductEmitter(f, form, { c: [1, 2, 3, 4], d: [5, 6, 7, 8] });
  emitter.begin();
  const ofTile = (start: number, bytes: number) => f.get(0).i32(bytes).op('i32.mul').i32(start).op('i32.add');
  ofTile(B_TILES - B_VALUES, B_TILE_BYTES).set(emitter.b.values);
  ofTile(B_TILE_EXPONENTS - B_EXPONENTS, B_TILE_BYTES / 2).set(emitter.b.exponents);
  emitter.forRows((half) => {
    // A row of D's registers has 16 bytes, one of A 64, and its exponents 32.
    const ofRow = (start: number, factor: number) =>
      f.get(emitter.row).i32(factor).op('i32.mul').i32(start).op('i32.add');
    ofRow(A_ROWS - A_VALUES + half * 8 * A_ROW_BYTES, 4).set(emitter.a.values);
    ofRow(A_ROW_EXPONENTS - A_EXPONENTS + half * 4 * A_ROW_BYTES, 2).set(emitter.a.exponents);
    emitter.multiplyRow(half);
  });
  emitter.pushIsInRange();
  f.if(() => emitter.writeResult());
  emitter.pushIsInRange();
  module.exportFunction('multiply', f);
}
