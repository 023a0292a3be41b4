import { CHUNKS, CONTROL, LAUNCH, PATTERN, PATTERN_WAY, PC, SAMPLE, WARP, WAY_FOLDS } from '../../layout.ts';
import { type FunctionBuilder, i32s } from '../../wasm/function-builder.ts';
import type { ModuleBuilder } from '../../wasm/module-builder.ts';
import type { Imports, Runtime } from '../kernel-context.ts';

/** Offsets of the warp's eight chunks in a vector of words, in bytes. */
export const chunkOffsets = Array.from({ length: CHUNKS }, (_, chunk) => chunk * 16);

/** Tables that the functions below count into. */
export interface CountTables {
  /** i64 per block: runs by a converged warp. */
  converged: number;
  /** i64 per block and number of active lanes (0…32): runs by part of a warp. */
  partial: number;
  /** i64 per block: conditional branches at its end at which lanes diverged. */
  divergences: number;
}

/** Defines the control and counting functions that blocks call. */
export function defineRuntime(module: ModuleBuilder, imports: Imports, tables: CountTables | undefined): Runtime {
  return {
    setProgramCounters: defineSetProgramCounters(module),
    countParting: defineCountParting(module, tables),
    split: defineSplit(module, tables),
    splitMasked: defineSplitMasked(module, tables),
    countPattern: defineCountPattern(module, imports.patternMiss),
    recordAccess: defineRecordAccess(module, imports.samplesFull),
  };
}

/** (warp, pc): gives every active lane that program counter. */
function defineSetProgramCounters(module: ModuleBuilder): number {
  const b = module.defineFunction({ parameters: i32s(2), results: [] });
  for (const offset of chunkOffsets) {
    b.get(0);
    b.get(1).op('i32x4.splat');
    b.get(0).memory('v128.load', WARP.programCounters + offset);
    b.get(0).memory('v128.load', WARP.mask + offset);
    b.op('v128.bitselect').memory('v128.store', WARP.programCounters + offset);
  }
  return b.index;
}

/** (warp, masked, block): counts a divergence if the lanes, which have their new program counters, have diverged. */
function defineCountParting(module: ModuleBuilder, tables: CountTables | undefined): number {
  const b = module.defineFunction({ parameters: i32s(3), results: [] });
  if (!tables) return b.index;
  const [all, lowest, highest, active] = b.locals('v128', 4);
  b.get(1).op('i32.eqz', 'i32x4.splat').i32x4(0).op('i32x4.ne').set(all);
  b.i32x4(PC.exited).set(lowest);
  for (const offset of chunkOffsets) {
    b.get(0)
      .memory('v128.load', WARP.mask + offset)
      .get(all)
      .op('v128.or')
      .set(active);
    const pushCounters = () => b.get(0).memory('v128.load', WARP.programCounters + offset);
    pushCounters().i32x4(PC.exited).get(active).op('v128.bitselect').get(lowest).op('i32x4.min_s').set(lowest);
    pushCounters().get(active).op('v128.and').get(highest).op('i32x4.max_s').set(highest);
  }
  reduce(b, lowest, 'min_s');
  reduce(b, highest, 'max_s');
  b.get(lowest, highest).op('i32x4.eq', 'i32x4.all_true', 'i32.eqz');
  b.if(() => increment(b, () => b.get(2).i32(3).op('i32.shl'), tables.divergences));
  return b.index;
}

/** Combines the four lanes of a vector, leaving the result in all of them. */
export function reduce(b: FunctionBuilder, vector: number, op: 'min_s' | 'max_s'): void {
  b.get(vector, vector, vector).shuffle32([2, 3, 0, 1]).op(`i32x4.${op}`).set(vector);
  b.get(vector, vector, vector).shuffle32([1, 0, 3, 2]).op(`i32x4.${op}`).set(vector);
}

export function increment(b: FunctionBuilder, pushAddress: () => void, table: number): void {
  pushAddress();
  pushAddress();
  b.memory('i64.load', table).i64(1n).op('i64.add').memory('i64.store', table);
}

/** The parameters, then the local with the predicate's address. */
function splitFunction(module: ModuleBuilder) {
  const b = module.defineFunction({ parameters: i32s(6), results: ['i32'] });
  const slot = b.get(0, 1).op('i32.add').pop('i32');
  return {
    b,
    pushPredicate: (offset: number) => b.get(slot).memory('v128.load', offset).get(2).op('i32x4.splat', 'v128.xor'),
    pushTargets: () => b.get(3).op('i32x4.splat').get(4).op('i32x4.splat'),
  };
}

/** (warp, predicate slot, invert, taken pc, fall-through pc, block) → 1 all taken, 0 none, −1 diverged. */
function defineSplit(module: ModuleBuilder, tables: CountTables | undefined): number {
  const { b, pushPredicate, pushTargets } = splitFunction(module);
  const [all, any, p] = b.locals('v128', 3);
  b.i32x4(-1).set(all);
  for (const offset of chunkOffsets) {
    pushPredicate(offset).tee(p);
    b.get(all).op('v128.and').set(all);
    b.get(p, any).op('v128.or').set(any);
  }
  b.get(all).op('i32x4.all_true');
  b.if(() => b.i32(1).op('return'));
  b.get(any).op('v128.any_true', 'i32.eqz');
  b.if(() => b.i32(0).op('return'));
  for (const offset of chunkOffsets) {
    b.get(0);
    pushTargets();
    pushPredicate(offset)
      .op('v128.bitselect')
      .memory('v128.store', WARP.programCounters + offset);
  }
  if (tables) increment(b, () => b.get(5).i32(3).op('i32.shl'), tables.divergences);
  b.i32(CONTROL.diverged);
  return b.index;
}

/** The same for the active lanes of a diverged warp. Its result is meaningless. */
function defineSplitMasked(module: ModuleBuilder, tables: CountTables | undefined): number {
  const { b, pushPredicate, pushTargets } = splitFunction(module);
  const [taken, fallen, p, m] = b.locals('v128', 4);
  for (const offset of chunkOffsets) {
    pushPredicate(offset).set(p);
    b.get(0)
      .memory('v128.load', WARP.mask + offset)
      .set(m);
    b.get(0);
    pushTargets().get(p).op('v128.bitselect');
    b.get(0).memory('v128.load', WARP.programCounters + offset);
    b.get(m)
      .op('v128.bitselect')
      .memory('v128.store', WARP.programCounters + offset);
    b.get(p, m).op('v128.and').get(taken).op('v128.or').set(taken);
    b.get(m, p).op('v128.andnot').get(fallen).op('v128.or').set(fallen);
  }
  if (tables) {
    b.get(taken).op('v128.any_true').get(fallen).op('v128.any_true', 'i32.and');
    b.if(() => increment(b, () => b.get(5).i32(3).op('i32.shl'), tables.divergences));
  }
  b.i32(0);
  return b.index;
}

/**
 * (pattern, group, warp, phase mask, way shift, way mask): counts one more execution if all lanes' addresses have the same
 * differences and phase as the last time in this way. Sectors and wavefronts are then the same. Otherwise calls out.
 */
function defineCountPattern(module: ModuleBuilder, patternMiss: number): number {
  const b = module.defineFunction({ parameters: i32s(6), results: [] });
  const [difference, first, way] = [b.local('v128'), b.local('i32'), b.local('i32')];
  b.get(0).load(PATTERN.addresses).set(first);
  b.get(first);
  for (const fold of WAY_FOLDS) b.get(first).i32(fold).op('i32.shr_u', 'i32.xor');
  b.get(4).op('i32.shr_u').get(5).op('i32.and').i32(PATTERN.wayBytes).op('i32.mul');
  b.get(0).add(PATTERN.ways).op('i32.add').set(way);
  for (const offset of chunkOffsets) {
    b.get(0)
      .memory('v128.load', PATTERN.addresses + offset)
      .get(first)
      .op('i32x4.splat', 'i32x4.sub');
    b.get(way)
      .memory('v128.load', PATTERN_WAY.deltas + offset)
      .op('v128.xor');
    b.get(difference).op('v128.or').set(difference);
  }
  b.get(difference).op('v128.any_true');
  b.get(first, 3).op('i32.and').get(way).load(PATTERN_WAY.phase).op('i32.xor', 'i32.or');
  b.get(way).load(PATTERN_WAY.valid).op('i32.eqz', 'i32.or');
  b.if(
    () => b.get(1, 2).i32(0).call(patternMiss),
    () => b.get(way, way).load(PATTERN_WAY.hits).add(1).store(PATTERN_WAY.hits),
  );
  return b.index;
}

/** (sector, bits): records an access to a sampled line, unless it is the same sector as the last one. */
function defineRecordAccess(module: ModuleBuilder, samplesFull: number): number {
  const b = module.defineFunction({ parameters: i32s(2), results: [] });
  const [cursor, entry] = b.locals('i32', 2);
  b.loadAt(LAUNCH.sampleCursor).set(cursor);
  b.get(0).i32(2).op('i32.shl').get(1).op('i32.or').set(entry);
  b.get(cursor).i32(SAMPLE.bytes).op('i32.sub').load(SAMPLE.entry).get(entry).op('i32.eq');
  b.if(() => b.op('return'));
  b.get(cursor, entry).store(SAMPLE.entry);
  b.get(cursor).loadAt(LAUNCH.budget).store(SAMPLE.budget);
  b.advance(cursor, SAMPLE.bytes);
  b.i32(0).get(cursor).store(LAUNCH.sampleCursor);
  b.get(cursor).loadAt(LAUNCH.sampleEnd).op('i32.eq');
  b.if(() => b.call(samplesFull));
  return b.index;
}
