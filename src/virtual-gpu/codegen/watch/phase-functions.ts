import { SHARED } from '../../layout.ts';
import {
  ARRAY,
  BLOCK,
  META,
  PHASE,
  PHASE_FLAGS,
  READ_BY,
  SHADOW,
  STATE,
  STEP,
} from '../../race-detector/shadow-layout.ts';
import { type FunctionBuilder, i32s, type Local, type MemoryIndex } from '../../wasm/function-builder.ts';
import type { ModuleBuilder } from '../../wasm/module-builder.ts';

/** The memory that holds {@link SHADOW}. */
export const SHADOW_MEMORY: MemoryIndex = 3;

const LANE_MASK = 31;

/** Parameters: a phase, address of its first active lane's cell without BLOCK.arrays, index of the warp, block of its CTA. */
const [THE_PHASE, AT, WARP_INDEX, THE_BLOCK] = [0, 1, 2, 3] as const;

/** (phase, at, warp, block) → 1 if the phase is noted, 0 if JavaScript must. */
export interface PhaseFunctions {
  read: number;
  write: number;
}

/** @param unitBytes size of a cell. */
export function definePhaseFunctions(module: ModuleBuilder, unitBytes: number): PhaseFunctions {
  const phase = (parameters = 4) =>
    new PhaseFunction(module.defineFunction({ parameters: i32s(parameters), results: ['i32'] }));
  const isOrdered = defineIsOrdered(phase());
  const checks = { isAfterReads: defineIsAfterReads(phase(5)), isOfSameLanes: defineIsOfSameLanes(phase()) };
  return { read: defineRead(phase(), isOrdered), write: defineWrite(phase(), checks, unitBytes) };
}

/** What the functions below have in common. */
class PhaseFunction {
  readonly b: FunctionBuilder;
  /** From one array to the next; and the step at hand: its address, and that of its first cell. */
  readonly stride: Local;
  readonly step: Local;
  readonly cell: Local;
  readonly #left: Local;

  constructor(b: FunctionBuilder) {
    this.b = b;
    this.stride = b.local('i32');
    this.step = b.local('i32');
    this.cell = b.local('i32');
    this.#left = b.local('i32');
    b.loadAt(SHADOW.stride, SHADOW_MEMORY).set(this.stride);
  }

  /** A local with a field of the warp's state, in all four lanes. */
  state(field: number): Local {
    const { b } = this;
    const local = b.local('v128');
    b.get(THE_BLOCK, WARP_INDEX).i32(BLOCK.stateBytes).op('i32.mul', 'i32.add');
    b.memory('v128.load32_splat', BLOCK.states + field, SHADOW_MEMORY).set(local);
    return local;
  }

  /** A local with the address of the warp's row of {@link BLOCK.rows}. */
  row(): Local {
    const { b } = this;
    b.loadAt(SHADOW.warps, SHADOW_MEMORY).get(WARP_INDEX).op('i32.mul').i32(2).op('i32.shl');
    return b.get(THE_BLOCK).op('i32.add').pop('i32');
  }

  /** Pushes whether the warp knows of these writes by warps whose number {@link META} has. */
  isKnown(row: Local, written: Local, meta: Local): FunctionBuilder {
    const { b } = this;
    const [writers, known] = b.locals('v128', 2);
    this.load(meta).i32x4(META.warp).op('v128.and').i32(2).op('i32x4.shl').set(writers);
    for (const lane of [0, 1, 2, 3]) {
      b.get(known, writers).lane('i32x4.extract_lane', lane).get(row).op('i32.add').load(BLOCK.rows, SHADOW_MEMORY);
      b.lane('i32x4.replace_lane', lane).set(known);
    }
    return b.get(written, known).op('i32x4.le_s');
  }

  splat(push: () => void): Local {
    const local = this.b.local('v128');
    push();
    this.b.op('i32x4.splat').set(local);
    return local;
  }

  /** A local with the distance of an array from the first: of the warp's, if there is one for each. */
  distance(array: number, afterWarps = false, ofWarp = false): Local {
    const { b } = this;
    const local = b.local('i32');
    b.i32(array);
    if (ofWarp) b.get(WARP_INDEX).op('i32.add');
    if (afterWarps) b.loadAt(SHADOW.warps, SHADOW_MEMORY).op('i32.add');
    b.get(this.stride).op('i32.mul').set(local);
    return local;
  }

  pushFlag(flag: number): void {
    this.b.get(THE_PHASE).load(PHASE.flags, SHADOW_MEMORY).i32(flag).op('i32.and');
  }

  /** Runs `body` for the steps whose cells are all touched, then with `masked` for the others. */
  eachStep(body: (masked: boolean) => void): void {
    const { b } = this;
    b.get(THE_PHASE).add(PHASE.steps).set(this.step);
    for (const masked of [false, true]) {
      b.get(THE_PHASE).load(masked ? PHASE.partial : PHASE.whole, SHADOW_MEMORY);
      this.#times(() => body(masked));
    }
  }

  /** Pops the number of steps. */
  #times(body: () => void): void {
    const { b } = this;
    b.tee(this.#left);
    b.if(() =>
      b.loop(() => {
        b.get(AT, this.step).load(STEP.delta, SHADOW_MEMORY).op('i32.add').set(this.cell);
        body();
        b.advance(this.step, STEP.bytes);
        b.get(this.#left).i32(1).op('i32.sub').tee(this.#left).brIf(0);
      }),
    );
  }

  /** The same for all steps, with their masks. */
  eachMaskedStep(body: () => void): void {
    const { b } = this;
    b.get(THE_PHASE).add(PHASE.steps).set(this.step);
    b.get(THE_PHASE).load(PHASE.whole, SHADOW_MEMORY);
    b.get(THE_PHASE).load(PHASE.partial, SHADOW_MEMORY).op('i32.add');
    this.#times(body);
  }

  /** Pushes the cells' values in an array at this distance. */
  load(distance?: Local): FunctionBuilder {
    this.#pushCell(distance);
    return this.b.memory('v128.load', BLOCK.arrays, SHADOW_MEMORY);
  }

  /** Stores what `push` pushes for the cells that are touched. */
  store(distance: Local | undefined, masked: boolean, push: () => void): void {
    this.#pushCell(distance);
    push();
    if (masked) {
      this.load(distance);
      this.mask().op('v128.bitselect');
    }
    this.b.memory('v128.store', BLOCK.arrays, SHADOW_MEMORY);
  }

  #pushCell(distance: Local | undefined): void {
    this.b.get(this.cell);
    if (distance !== undefined) this.b.get(distance).op('i32.add');
  }

  /** Pushes a field of the step. */
  noted(field: number): FunctionBuilder {
    return this.b.get(this.step).memory('v128.load', field, SHADOW_MEMORY);
  }

  mask(): FunctionBuilder {
    return this.noted(STEP.mask);
  }

  /** Pops lanes, of which only those count that are touched, and adds them to `sum`. */
  collect(sum: Local, masked: boolean): void {
    if (masked) this.mask().op('v128.and');
    this.b.get(sum).op('v128.or').set(sum);
  }

  /** Pushes whether the lane of the step, and no other, made the access there and makes this one. */
  isOfSameLane(where: Local): FunctionBuilder {
    this.load(where);
    this.noted(STEP.where).op('v128.xor').i32x4(LANE_MASK).op('v128.and').i32x4(0).op('i32x4.eq');
    this.load(where);
    return this.noted(STEP.where).op('v128.or').i32x4(0).op('i32x4.ge_s', 'v128.and');
  }

  /** Pushes {@link isKnownRead} of the reads that the array has and those of the step. */
  isKnownRead(where: Local): FunctionBuilder {
    this.load(where);
    this.noted(STEP.where)
      .op('v128.xor')
      .i32x4(LANE_MASK | READ_BY.many)
      .op('v128.and')
      .i32x4(0)
      .op('i32x4.eq');
    return this.load(where).i32x4(0).op('i32x4.lt_s', 'v128.or');
  }

  /** Pushes {@link readAfter} of the reads that the array has, where they are `recent`, and those of the step. */
  readAfter(where: Local, recent: Local): FunctionBuilder {
    const { b } = this;
    const [before, read] = b.locals('v128', 2);
    this.load(where).set(before);
    this.noted(STEP.where).tee(read);
    b.get(before).i32(READ_BY.otherShift).op('i32x4.shl').i32x4(READ_BY.many).op('v128.or');
    b.get(before).i32x4(~READ_BY.place).op('v128.and');
    b.get(before, read).op('v128.xor').i32x4(LANE_MASK).op('v128.and').i32x4(0).op('i32x4.ne', 'v128.bitselect');
    b.get(recent).op('v128.and');
    return b.get(read).i32x4(0).op('i32x4.lt_s', 'v128.andnot', 'v128.or');
  }

  /** Pushes whether the last plain write is the warp's own. */
  isOwn(meta: Local, warp: Local): FunctionBuilder {
    return this.load(meta).i32x4(META.warp).op('v128.and').get(warp).op('i32x4.eq');
  }

  returnUnless(push: () => void): void {
    push();
    this.b.op('i32.eqz');
    this.b.if(() => this.b.i32(0).op('return'));
  }

  index(): number {
    this.b.i32(1);
    return this.b.index;
  }
}

/**
 * Whether the writes that reads find are ordered before them, one by one; those of the warp's own are if made before its lanes met, by the
 * lane that reads, or by several lanes.
 */
function defineIsOrdered(f: PhaseFunction): number {
  const { b } = f;
  const [start, met, row] = [splatStart(f), f.state(STATE.met), f.row()];
  const warp = f.splat(() => b.get(WARP_INDEX));
  const [meta, where] = [f.distance(ARRAY.writeMeta), f.distance(ARRAY.writeWhere)];
  const [bad, written] = b.locals('v128', 2);
  f.eachMaskedStep(() => {
    f.load().tee(written).get(met).op('i32x4.lt_s');
    f.isOfSameLane(where).op('v128.or');
    f.load(meta).i32x4(META.other).op('v128.and').i32x4(0).op('i32x4.ne', 'v128.or');
    f.isOwn(meta, warp).op('v128.not', 'v128.or');
    f.isKnown(row, written, meta).op('v128.and');
    b.get(written, start).op('i32x4.gt_s', 'v128.and', 'v128.not');
    f.collect(bad, true);
  });
  f.returnUnless(() => b.get(bad).op('v128.any_true', 'i32.eqz'));
  return f.index();
}

const splatStart = (f: PhaseFunction): Local => f.splat(() => f.b.get(THE_BLOCK).load(BLOCK.start, SHADOW_MEMORY));

/** Notes reads if the writes that they find are ordered before them. */
function defineRead(f: PhaseFunction, isOrdered: number): number {
  const { b } = f;
  const [start, after] = [splatStart(f), f.state(STATE.readsAfter)];
  const [time, met] = [f.state(STATE.time), f.state(STATE.met)];
  const [times, wheres] = [f.distance(ARRAY.reads, false, true), f.distance(ARRAY.reads, true, true)];
  const readers = f.distance(ARRAY.readers);
  const [bad, known, unknown] = b.locals('v128', 3);
  const [written, isKnown, isRecent] = b.locals('v128', 3);
  f.eachStep((masked) => {
    f.load().tee(written).get(after).op('i32x4.gt_s');
    b.get(written, start).op('i32x4.le_s', 'v128.or');
    f.collect(bad, masked);
    f.load(times).get(time).op('i32x4.eq');
    f.isKnownRead(wheres).op('v128.and').tee(isKnown);
    f.collect(known, masked);
    b.get(isKnown).op('v128.not');
    f.collect(unknown, masked);
  });
  f.pushFlag(PHASE_FLAGS.always);
  b.op('i32.eqz');
  b.if(() => {
    b.get(unknown).op('v128.any_true', 'i32.eqz');
    b.if(() => b.i32(1).op('return'));
    f.returnUnless(() => {
      b.get(known).op('v128.any_true', 'i32.eqz');
      f.pushFlag(PHASE_FLAGS.single);
      b.op('i32.or');
    });
  });
  b.get(bad).op('v128.any_true');
  b.if(() => {
    f.returnUnless(() => {
      f.pushFlag(PHASE_FLAGS.byMany);
      b.op('i32.eqz');
    });
    f.returnUnless(() => b.get(THE_PHASE, AT, WARP_INDEX, THE_BLOCK).call(isOrdered));
  });
  const bit = f.splat(() => b.i32(1).get(WARP_INDEX).op('i32.shl'));
  f.eachStep((masked) => {
    f.store(readers, masked, () => f.load(readers).get(bit).op('v128.or'));
    f.load(times).get(met).op('i32x4.ge_s').set(isRecent);
    f.store(wheres, masked, () => f.readAfter(wheres, isRecent));
    f.store(times, masked, () => b.get(time));
  });
  return f.index();
}

/** A fifth parameter: one bit for each other warp that has read any of the cells since its last write. */
const READERS = 4;

/** Whether all reads of these warps are ordered before the warp's writes. */
function defineIsAfterReads(f: PhaseFunction): number {
  const { b } = f;
  const [known, bad] = b.locals('v128', 2);
  const [row, times] = [f.row(), b.local('i32')];
  b.loop(() => {
    b.get(READERS).op('i32.ctz').i32(2).op('i32.shl').get(row).op('i32.add');
    b.memory('v128.load32_splat', BLOCK.rows, SHADOW_MEMORY).set(known);
    b.get(READERS).op('i32.ctz').add(ARRAY.reads).get(f.stride).op('i32.mul').set(times);
    f.eachMaskedStep(() => {
      f.load(times).get(known).op('i32x4.gt_s');
      f.collect(bad, true);
    });
    b.get(READERS, READERS).i32(1).op('i32.sub', 'i32.and').tee(READERS).brIf(0);
  });
  f.returnUnless(() => b.get(bad).op('v128.any_true', 'i32.eqz'));
  return f.index();
}

/** Whether writes are ordered before the warp's, one by one, and its reads since its lanes met are of the lane that writes. */
function defineIsOfSameLanes(f: PhaseFunction): number {
  const { b } = f;
  const [start, met, row] = [splatStart(f), f.state(STATE.met), f.row()];
  const meta = f.distance(ARRAY.writeMeta);
  const [times, wheres] = [f.distance(ARRAY.reads, false, true), f.distance(ARRAY.reads, true, true)];
  const [bad, written] = b.locals('v128', 2);
  f.eachMaskedStep(() => {
    f.load().tee(written).get(start).op('i32x4.le_s');
    f.isKnown(row, written, meta).op('v128.or');
    f.load(times).get(met).op('i32x4.lt_s');
    f.isOfSameLane(wheres).op('v128.or');
    b.op('v128.and', 'v128.not');
    f.collect(bad, true);
  });
  f.returnUnless(() => b.get(bad).op('v128.any_true', 'i32.eqz'));
  return f.index();
}

/** Notes writes if nobody else's accesses, and those of no other lane, are unordered with them. */
function defineWrite(
  f: PhaseFunction,
  { isAfterReads, isOfSameLanes }: { isAfterReads: number; isOfSameLanes: number },
  unitBytes: number,
): number {
  const { b } = f;
  const [time, after, met] = [f.state(STATE.time), f.state(STATE.writesAfter), f.state(STATE.met)];
  const warp = f.splat(() => b.get(WARP_INDEX));
  const others = f.splat(() => b.i32(1).get(WARP_INDEX).op('i32.shl').i32(-1).op('i32.xor'));
  const [meta, where] = [f.distance(ARRAY.writeMeta), f.distance(ARRAY.writeWhere)];
  const times = f.distance(ARRAY.reads, false, true);
  const readers = f.distance(ARRAY.readers);
  const [recent, read] = b.locals('v128', 2);
  f.eachStep((masked) => {
    f.load().get(after).op('i32x4.gt_s');
    f.load(times).get(met).op('i32x4.ge_s', 'v128.or');
    f.collect(recent, masked);
    f.load(readers).get(others).op('v128.and');
    f.collect(read, masked);
  });
  const pushArguments = () => b.get(THE_PHASE, AT, WARP_INDEX, THE_BLOCK);
  b.get(recent).op('v128.any_true');
  b.if(() => f.returnUnless(() => pushArguments().call(isOfSameLanes)));
  b.get(read).op('v128.any_true');
  b.if(() =>
    f.returnUnless(() => {
      pushArguments();
      for (const lane of [0, 1, 2, 3]) {
        b.get(read).lane('i32x4.extract_lane', lane);
        if (lane > 0) b.op('i32.or');
      }
      b.call(isAfterReads);
    }),
  );
  const values = new Values(f, unitBytes);
  f.eachStep((masked) => {
    f.store(undefined, masked, () => b.get(time));
    f.store(meta, masked, () => f.noted(STEP.meta).get(warp).op('v128.or'));
    f.store(where, masked, () => f.noted(STEP.where));
    f.store(readers, masked, () => b.i32x4(0));
    f.store(times, masked, () => b.i32x4(0));
    values.take(masked);
  });
  return f.index();
}

/** Copies of what shared memory holds. */
class Values {
  readonly #f: PhaseFunction;
  readonly #unitBytes: number;
  /** Distance of a cell's copy from its place in shared memory. */
  readonly #from: Local;
  readonly #place: Local;

  constructor(f: PhaseFunction, unitBytes: number) {
    const { b } = f;
    this.#f = f;
    this.#unitBytes = unitBytes;
    this.#place = b.local('i32');
    this.#from = b.local('i32');
    b.loadAt(SHADOW.warps, SHADOW_MEMORY).i32(1).op('i32.shl').add(ARRAY.reads);
    b.get(f.stride).op('i32.mul').get(THE_BLOCK).op('i32.add').add(BLOCK.arrays).set(this.#from);
  }

  take(masked: boolean): void {
    const { b, cell } = this.#f;
    const unit = this.#unitBytes;
    b.get(cell, THE_BLOCK).op('i32.sub');
    if (unit < 4) b.i32(Math.log2(4 / unit)).op('i32.shr_u');
    if (unit > 4) b.i32(Math.log2(unit / 4)).op('i32.shl');
    b.set(this.#place);
    if (!masked) this.#copy(0, 4 * unit);
    else
      for (let lane = 0; lane < 4; lane++) {
        this.#f.mask().lane('i32x4.extract_lane', lane);
        b.if(() => this.#copy(lane * unit, unit));
      }
  }

  #copy(offset: number, bytes: number): void {
    const width = Math.min(bytes, 16);
    for (let at = offset; at < offset + bytes; at += width) this.#copyOne(at, COPIES[width]!);
  }

  #copyOne(offset: number, [load, store]: readonly [string, string]): void {
    const { b } = this.#f;
    b.get(this.#place, this.#from).op('i32.add');
    b.get(this.#place)
      .memory(load, SHARED + offset)
      .memory(store, offset, SHADOW_MEMORY);
  }
}

/** What loads and stores so many bytes. */
export const COPIES: Readonly<Record<number, readonly [load: string, store: string]>> = {
  1: ['i32.load8_u', 'i32.store8'],
  2: ['i32.load16_u', 'i32.store16'],
  4: ['i32.load', 'i32.store'],
  8: ['i64.load', 'i64.store'],
  16: ['v128.load', 'v128.store'],
};
