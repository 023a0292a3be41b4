import { DEVICE_MEMORY_MAXIMUM_PAGES, LANES, SHARED, WINDOW } from '../layout.ts';
import { i32s, type MemoryIndex } from '../wasm/function-builder.ts';
import { ModuleBuilder } from '../wasm/module-builder.ts';
import { CHUNK_BYTES, CHUNK_SHIFT, ROW_SHIFT } from './bulk-copies/parts.ts';

/** A warp's copies from device memory to shared memory, in WebAssembly. */
export interface LaneCopier {
  /**
   * Copies the same number of bytes for each lane: 4, 8 or 16.
   * @param copy of each lane, the target in shared memory; then of each, the source; then of each, 0 where the target gets zeros.
   */
  copy(copy: Uint32Array, bytes: number): void;
  /**
   * Works out what `copy` takes. Undefined unless all targets are aligned and lie in shared memory, all sources are aligned addresses
   * of device memory, and each lane takes all of its bytes or none.
   */
  prepare(operands: CopyOperands, warp: number, sharedBytes: number): PreparedCopy | undefined;
  /** A place for `CopyOperands.shape`. */
  placeForShape(): number;
  /**
   * Copies a stretch of a bulk copy: `bytes`, a multiple of 16, to such an offset of shared memory, where chunks are exchanged as their rows of
   * 128 bytes say.
   * @param chunkBits those bits of a row's number that change the number of a chunk, as `swizzled` uses them.
   */
  copyPart(source: number, target: number, bytes: number, chunkBits: number): void;
}

/** Of one instruction. Registers are places in a warp's state. */
export interface CopyOperands {
  /** Holds 32-bit addresses in shared memory, to which the offset is added. */
  readonly target: number;
  readonly targetOffset: number;
  /** Holds 64-bit addresses in device memory, to which the offset is added. */
  readonly source: number;
  readonly sourceOffset: number;
  readonly bytes: number;
  /** Holds how many of the bytes come from device memory; undefined for all of them. */
  readonly taken: number | undefined;
  /** Where the copier keeps how the copy before lay. */
  readonly shape: number;
}

/** What `copy` takes, until the next one is prepared; and the least and the largest address of device memory. */
export interface PreparedCopy {
  readonly words: Uint32Array;
  least: number;
  most: number;
  /** Whether all lanes take all bytes, and their places lie beside that of the first one as those of the instruction's copy before. */
  liesAsBefore: boolean;
}

/** Words for each lane in what `copy` takes. */
export const COPY_WORDS = 3;

const [DEVICE, SCRATCH]: readonly MemoryIndex[] = [1, 2];
const [TARGETS, SOURCES, TAKEN] = [0, LANES * 4, LANES * 8];
/** Of four lanes each, the least and the largest sources. */
const LEAST = LANES * 4 * COPY_WORDS;
const MOST = LEAST + CHUNK_BYTES;
/** Of an instruction: distances of targets, and of sources, to those of the first lane. The last place is shared, and says nothing. */
const SHAPE_BYTES = 2 * LANES * 4;
const [FIRST_SHAPE, LAST_SHAPE] = [MOST + CHUNK_BYTES, 65_536 - SHAPE_BYTES];
/** Sources farther apart have the distances of others. */
const FAR = 2 ** 31;
/** What `prepare` of the module tells, bit by bit. */
const [IS_USUAL, LIES_AS_BEFORE] = [1, 2];

const SIZES = [
  { bytes: 4, name: 'copy4', load: 'i32.load', store: 'i32.store' },
  { bytes: 8, name: 'copy8', load: 'i64.load', store: 'i64.store' },
  { bytes: 16, name: 'copy16', load: 'v128.load', store: 'v128.store' },
] as const;

let compiled: WebAssembly.Module | undefined;

/** @param memory where shared memory lies. */
export function createLaneCopier(memory: WebAssembly.Memory, device: WebAssembly.Memory): LaneCopier {
  compiled ??= new WebAssembly.Module(emit());
  const scratch = new WebAssembly.Memory({ initial: 1 });
  const { exports } = new WebAssembly.Instance(compiled, { env: { memory, device, scratch } });
  const words = new Uint32Array(scratch.buffer, 0, COPY_WORDS * LANES);
  const extremes = new Uint32Array(scratch.buffer, LEAST, 8);
  const prepare = exports.prepare as (...values: number[]) => number;
  const prepared: PreparedCopy = { words, least: 0, most: 0, liesAsBefore: false };
  let nextShape = FIRST_SHAPE;
  const functions = new Map<number, () => void>(SIZES.map(({ bytes, name }) => [bytes, exports[name] as () => void]));
  return {
    copy(copy, bytes) {
      words.set(copy);
      functions.get(bytes)!();
    },
    prepare({ target, targetOffset, source, sourceOffset, bytes, taken, shape }, warp, sharedBytes) {
      const hasTaken = taken === undefined ? 0 : 1;
      const [from, to, of] = [warp + source, warp + target, warp + (taken ?? 0)];
      const told = prepare(to, targetOffset, from, sourceOffset, of, hasTaken, bytes, sharedBytes, shape);
      if ((told & IS_USUAL) === 0) return undefined;
      prepared.least = Math.min(extremes[0]!, extremes[1]!, extremes[2]!, extremes[3]!);
      prepared.most = Math.max(extremes[4]!, extremes[5]!, extremes[6]!, extremes[7]!);
      const isNear = prepared.most - prepared.least < FAR;
      prepared.liesAsBefore = (told & LIES_AS_BEFORE) !== 0 && isNear && shape < LAST_SHAPE;
      return prepared;
    },
    placeForShape() {
      const shape = nextShape;
      nextShape = Math.min(LAST_SHAPE, shape + SHAPE_BYTES);
      return shape;
    },
    copyPart: exports.copyPart as LaneCopier['copyPart'],
  };
}

function emit(): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder();
  module.importMemory({ name: 'memory', minimumPages: 1 });
  module.importMemory({ name: 'device', minimumPages: 1, sharedMaximumPages: DEVICE_MEMORY_MAXIMUM_PAGES });
  module.importMemory({ name: 'scratch', minimumPages: 1 });
  for (const { bytes, name, load, store } of SIZES) {
    const f = module.defineFunction({ parameters: [], results: [] });
    for (let lane = 0; lane < LANES; lane++) {
      const word = (place: number) => f.loadAt(place + lane * 4, SCRATCH);
      word(TARGETS);
      word(SOURCES).memory(load, 0, DEVICE);
      word(TAKEN).i32(0).op('i32.ne');
      if (bytes === 16) f.op('i32x4.splat', 'i32x4.neg', 'v128.and');
      else if (bytes === 8) f.op('i64.extend_i32_u', 'i64.mul');
      else f.op('i32.mul');
      f.memory(store, SHARED);
    }
    module.exportFunction(name, f);
  }
  definePrepare(module);
  defineCopyPart(module);
  return module.encode();
}

/** (source, target, bytes, bits of chunks): to addresses as `swizzled` gives them. */
function defineCopyPart(module: ModuleBuilder): void {
  const f = module.defineFunction({ parameters: i32s(4), results: [] });
  const [source, target, end] = [0, 1, f.local('i32')];
  f.get(source, 2).op('i32.add').set(end);
  f.get(source, end).op('i32.lt_u');
  f.if(() => {
    f.loop(() => {
      f.get(target).i32(ROW_SHIFT).op('i32.shr_u').get(3).op('i32.and').i32(CHUNK_SHIFT).op('i32.shl');
      f.get(target).op('i32.xor').get(source).memory('v128.load', 0, DEVICE).memory('v128.store', SHARED);
      f.advance(target, CHUNK_BYTES);
      f.advance(source, CHUNK_BYTES);
      f.get(source, end).op('i32.lt_u').brIf(0);
    });
  });
  module.exportFunction('copyPart', f);
}

/** (target, its offset, source, its offset, taken, whether that counts, bytes, bytes of shared memory, shape) → whether all is usual, and lies as before. */
function definePrepare(module: ModuleBuilder): void {
  const f = module.defineFunction({ parameters: i32s(9), results: ['i32'] });
  const [bytes, mask, end, offset] = f.locals('v128', 4);
  const [first, second, targets, sources, taken] = f.locals('v128', 5);
  const [unusual, least, most] = f.locals('v128', 3);
  const [other, distance] = f.locals('v128', 2);
  const firsts = f.locals('v128', 2);
  const note = () => f.get(unusual).op('v128.or').set(unusual);
  const save = (value: number, place: number) => f.i32(0).get(value).memory('v128.store', place, SCRATCH);
  f.get(6).op('i32x4.splat').tee(bytes).i32x4(-1).op('i32x4.add').set(mask);
  f.get(7).op('i32x4.splat').set(end);
  f.get(3).op('i64.extend_i32_s', 'i64x2.splat').set(offset);
  f.i32x4(-1).set(least);
  for (let chunk = 0; chunk < LANES * 4; chunk += CHUNK_BYTES) {
    f.get(0).memory('v128.load', chunk).get(1).op('i32x4.splat', 'i32x4.add').set(targets);
    for (const [i, half] of [first, second].entries())
      f.get(2)
        .memory('v128.load', 2 * chunk + i * CHUNK_BYTES)
        .get(offset)
        .op('i64x2.add')
        .set(half);
    f.get(first, second).shuffle32([0, 2, 4, 6]).set(sources);
    f.get(5);
    f.if(
      () => f.get(4).memory('v128.load', chunk).get(bytes).op('i32x4.min_u').set(taken),
      () => f.get(bytes).set(taken),
    );
    f.get(first, second).shuffle32([1, 3, 5, 7]).i32x4(WINDOW.global).op('v128.xor');
    note();
    f.get(targets, sources).op('v128.or').get(mask).op('v128.and');
    note();
    f.get(targets, mask).op('i32x4.add').get(end).op('i32x4.ge_u');
    note();
    f.get(taken, bytes).op('i32x4.ne').get(taken).i32x4(0).op('i32x4.ne', 'v128.and');
    note();
    f.get(sources, least).op('i32x4.min_u').set(least);
    f.get(sources, most).op('i32x4.max_u').set(most);
    for (const [i, places] of [targets, sources].entries()) {
      if (chunk === 0) f.get(places, places).shuffle32([0, 0, 0, 0]).set(firsts[i]!);
      f.get(places, firsts[i]!).op('i32x4.sub').set(distance);
      const at = i * LANES * 4 + chunk;
      f.get(8).memory('v128.load', at, SCRATCH).get(distance).op('v128.xor').get(other).op('v128.or').set(other);
      f.get(8, distance).memory('v128.store', at, SCRATCH);
    }
    f.get(taken, bytes).op('v128.xor').get(other).op('v128.or').set(other);
    save(targets, TARGETS + chunk);
    save(sources, SOURCES + chunk);
    save(taken, TAKEN + chunk);
  }
  save(least, LEAST);
  save(most, MOST);
  f.get(unusual).op('v128.any_true', 'i32.eqz');
  f.get(other).op('v128.any_true', 'i32.eqz').i32(LIES_AS_BEFORE).op('i32.mul', 'i32.or');
  module.exportFunction('prepare', f);
}
