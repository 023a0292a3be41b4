import { LANES, PATTERN, WARP } from '../../layout.ts';
import {
  ACCESS,
  BLOCK,
  CELL,
  CELL_PAGE,
  CELL_READ,
  DEVICE_HEAD,
  SHADOW,
  SPAN,
  STATE,
} from '../../race-detector/shadow-layout.ts';
import type { FunctionBuilder, Local, MemoryIndex } from '../../wasm/function-builder.ts';
import type { ModuleBuilder } from '../../wasm/module-builder.ts';
import { chunkOffsets } from '../control/runtime-functions.ts';
import type { Imports } from '../kernel-context.ts';
import {
  emitActiveLanes,
  GROUP,
  HOW,
  ifHow,
  PLACE,
  pushMasked,
  THE_HOW,
  WARP_STATE,
  WATCH_PARAMETERS,
} from './active-lanes.ts';
import { COPIES, SHADOW_MEMORY } from './phase-functions.ts';

const DEVICE_MEMORY: MemoryIndex = 1;
/** The memory that holds {@link CELL}. */
const CELL_MEMORY: MemoryIndex = 4;
const { writes: WRITES, reads: READS } = CELL_PAGE;

/** (group, place, warp, how): notes a group's accesses to device memory, or leaves them to JavaScript. */
export function defineDeviceWatch(module: ModuleBuilder, imports: Imports): number {
  const note = new NoteFunction(
    module.defineFunction({ parameters: [...WATCH_PARAMETERS, 'i32', 'i32'], results: [] }),
    imports,
  );
  note.emit();
  const b = module.defineFunction({ parameters: WATCH_PARAMETERS, results: [] });
  const head = b.local('i32');
  b.get(GROUP).i32(2).op('i32.shl').load(SHADOW.heads, SHADOW_MEMORY).tee(head).op('i32.eqz');
  b.if(() => b.op('return'));
  const execution = b.local('i32');
  b.i32(0).loadAt(SHADOW.execution, SHADOW_MEMORY).add(1).tee(execution);
  b.store(SHADOW.execution, SHADOW_MEMORY);
  ifHow(b, HOW.uniform, () => {
    b.get(GROUP, PLACE, WARP_STATE);
    pushMasked(b).i32(0).call(imports.watchUniform).op('return');
  });
  b.get(head).i32(DEVICE_HEAD.leftToJavaScript).op('i32.eq');
  b.if(() => {
    b.get(GROUP, WARP_STATE);
    pushMasked(b).i32(0).call(imports.watchGroup).op('return');
  });
  b.get(GROUP, PLACE, WARP_STATE, THE_HOW, head, execution).call(note.index);
  return b.index;
}

const [ACCESSES, EXECUTION] = [4, 5] as const;

/** Where nobody but one warp has accessed a cell, and each of its lanes for itself since they met, the next access is only noted. */
class NoteFunction {
  readonly #b: FunctionBuilder;
  readonly #imports: Imports;
  /** Of the warp. */
  readonly #owner: Local;
  readonly #time: Local;
  readonly #met: Local;
  readonly #start: Local;
  readonly #shift: Local;
  /** The access at hand: its place in the list, how many come before it, its fields, and what it notes of a lane. */
  readonly #access: Local;
  readonly #before: Local;
  readonly #offset: Local;
  readonly #bytes: Local;
  readonly #number: Local;
  readonly #isWrite: Local;
  readonly #noted: Local;
  /** The lane at hand and those after it, its address and place. */
  readonly #lane: Local;
  readonly #rest: Local;
  readonly #address: Local;
  readonly #where: Local;
  /** The cell at hand, where the access ends, and address of what is known of the cell. */
  readonly #cell: Local;
  readonly #end: Local;
  readonly #at: Local;
  /**
   * Of lanes that access memory side by side: one bit for each that begins where the one before it ends, when that goes for accesses of so
   * many bytes; the binary logarithm of cells per lane; a bit for each lane of a span but the first; whether a span has just been noted.
   */
  readonly #following: Local;
  readonly #followingBytes: Local;
  readonly #perLane: Local;
  readonly #others: Local;
  readonly #isNoted: Local;
  /** The page at hand: its number, its address, and whether any of its cells has been read. */
  readonly #pageNumber: Local;
  readonly #page: Local;
  readonly #hasReads: Local;

  constructor(b: FunctionBuilder, imports: Imports) {
    this.#b = b;
    this.#imports = imports;
    [this.#owner, this.#time, this.#met, this.#start, this.#shift] = b.locals('i32', 5);
    [this.#access, this.#before, this.#lane, this.#rest, this.#address, this.#where] = b.locals('i32', 6);
    this.#noted = b.local('v128');
    [this.#offset, this.#bytes, this.#number, this.#isWrite] = b.locals('i32', 4);
    [this.#cell, this.#end, this.#at, this.#pageNumber, this.#page, this.#hasReads] = b.locals('i32', 6);
    [this.#following, this.#followingBytes, this.#perLane, this.#others, this.#isNoted] = b.locals('i32', 5);
  }

  get index(): number {
    return this.#b.index;
  }

  emit(): void {
    const b = this.#b;
    const bits = b.local('i32');
    emitActiveLanes(b, bits);
    b.get(bits).op('i32.eqz');
    b.if(() => b.op('return'));
    this.#loadState();
    b.i32(-1).set(this.#pageNumber);
    b.get(ACCESSES).add(ACCESS.list).set(this.#access);
    b.loop(() => {
      b.get(bits).set(this.#rest);
      this.#takeAccess();
      b.get(this.#bytes, this.#followingBytes).op('i32.ne');
      b.if(() => this.#findFollowing(bits));
      b.loop(() => this.#noteLanes());
      b.advance(this.#access, ACCESS.size);
      b.get(this.#before).add(1).tee(this.#before);
      b.get(ACCESSES).load(0, SHADOW_MEMORY).op('i32.lt_s').brIf(0);
    });
  }

  #loadState(): void {
    const b = this.#b;
    const state = b.local('i32');
    const header = (field: number): FunctionBuilder => b.loadAt(field, SHADOW_MEMORY);
    const warp = (): FunctionBuilder => b.get(WARP_STATE).load(WARP.warpIndex);
    header(SHADOW.block);
    warp().i32(BLOCK.stateBytes).op('i32.mul', 'i32.add').set(state);
    b.get(state)
      .load(BLOCK.states + STATE.time, SHADOW_MEMORY)
      .set(this.#time);
    b.get(state)
      .load(BLOCK.states + STATE.metForDevice, SHADOW_MEMORY)
      .set(this.#met);
    header(SHADOW.owner);
    warp().op('i32.add').set(this.#owner);
    header(SHADOW.launchStart).set(this.#start);
    header(SHADOW.deviceShift).set(this.#shift);
  }

  /** Notes owner, time and execution of a write; or time and execution of a read. The lane's place comes last. */
  #takeAccess(): void {
    const b = this.#b;
    for (const [field, local] of [
      [ACCESS.offset, this.#offset],
      [ACCESS.bytes, this.#bytes],
      [ACCESS.where, this.#number],
      [ACCESS.isWrite, this.#isWrite],
    ] as const)
      b.get(this.#access).load(field, SHADOW_MEMORY).set(local);
    const put = (local: Local, lane: number): FunctionBuilder =>
      b.get(this.#noted, local).lane('i32x4.replace_lane', lane).set(this.#noted);
    b.get(this.#isWrite);
    b.if(
      () => {
        put(this.#owner, 0);
        put(this.#time, 1);
        put(EXECUTION, 2);
      },
      () => {
        put(this.#time, 0);
        put(EXECUTION, 1);
      },
    );
  }

  /** What follows from the access's bytes. */
  #findFollowing(bits: Local): void {
    const b = this.#b;
    b.get(this.#bytes).set(this.#followingBytes);
    b.i32(0);
    for (const [chunk, offset] of chunkOffsets.entries()) {
      const recorded = (distance: number) =>
        b
          .get(PLACE)
          .add(offset - distance)
          .memory('v128.load', PATTERN.addresses);
      recorded(0);
      recorded(4).op('i32x4.sub').get(this.#bytes).op('i32x4.splat', 'i32x4.eq', 'i32x4.bitmask');
      b.i32(chunk * 4).op('i32.shl', 'i32.or');
    }
    b.get(bits).op('i32.and').get(bits).i32(1).op('i32.shl', 'i32.and').set(this.#following);
    b.get(this.#bytes).op('i32.ctz').get(this.#shift).op('i32.sub').set(this.#perLane);
    const lanes = () => b.i32(SPAN.cells).get(this.#perLane).op('i32.shr_u');
    b.i32(1);
    lanes().i32(1).op('i32.sub', 'i32.shl').i32(1).op('i32.sub').set(this.#others);
  }

  /** In the loop over lanes. */
  #noteLanes(): void {
    const b = this.#b;
    this.#recorded(this.#lane).get(this.#offset).op('i32.add').tee(this.#address);
    b.get(this.#shift).op('i32.shr_u').set(this.#cell);
    b.get(this.#number, this.#lane).op('i32.add').set(this.#where);
    b.i32(0).set(this.#isNoted);
    b.get(this.#following, this.#lane).op('i32.shr_u').i32(1).op('i32.shr_u').get(this.#others).op('i32.and');
    b.get(this.#others).op('i32.eq');
    b.get(this.#cell)
      .i32(SPAN.cells - 1)
      .op('i32.and', 'i32.eqz', 'i32.and');
    b.if(() => this.#noteSpan());
    b.get(this.#isNoted).op('i32.eqz');
    b.if(() => this.#noteLane());
    b.get(this.#rest).brIf(0);
  }

  /** Pushes the address that the first lane that is left has recorded, and finds out which lane that is. */
  #recorded(lane: Local): FunctionBuilder {
    return this.#b
      .get(this.#rest)
      .op('i32.ctz')
      .tee(lane)
      .i32(2)
      .op('i32.shl')
      .get(PLACE)
      .op('i32.add')
      .load(PATTERN.addresses);
  }

  /** Lanes access the whole of a span side by side: notes that at once, if nobody else has accessed it, and none in another way since its lanes met. */
  #noteSpan(): void {
    const b = this.#b;
    this.#findPage();
    b.get(this.#cell)
      .i32(CELL_PAGE.cells - 1)
      .op('i32.and')
      .i32(SPAN.bytes / SPAN.cells)
      .op('i32.mul');
    b.get(this.#page).op('i32.add').set(this.#at);
    const place = b.get(this.#where, this.#perLane).i32(SPAN.cellsPerLaneShift).op('i32.shl', 'i32.or').pop('i32');
    const field = (at: number) => b.get(this.#at).load(CELL_PAGE.spans + at, CELL_MEMORY);
    const isBefore = (time: number) => field(time).get(this.#start).op('i32.le_s');
    isBefore(SPAN.writeTime);
    isBefore(SPAN.readTime).op('i32.and');
    field(SPAN.owner).get(this.#owner).op('i32.eq');
    for (const [when, where] of [
      [SPAN.writeTime, SPAN.writeWhere],
      [SPAN.readTime, SPAN.readWhere],
    ] as const) {
      field(when).get(this.#met).op('i32.lt_s');
      field(where)
        .get(place)
        .op('i32.xor')
        .i32((LANES - 1) | (-1 << SPAN.cellsPerLaneShift))
        .op('i32.and', 'i32.eqz', 'i32.or', 'i32.and');
    }
    b.op('i32.or');
    isBefore(SPAN.apart).op('i32.and').tee(this.#isNoted);
    b.if(() => {
      const noted = (lane: number) => b.get(this.#at, this.#noted, place).lane('i32x4.replace_lane', lane);
      b.get(this.#isWrite);
      b.if(
        () => {
          noted(3).memory('v128.store', CELL_PAGE.spans + SPAN.owner, CELL_MEMORY);
          this.#keepSpan();
        },
        () => {
          b.get(this.#at, this.#owner).store(CELL_PAGE.spans + SPAN.owner, CELL_MEMORY);
          noted(2).memory('v128.store', CELL_PAGE.spans + SPAN.readTime, CELL_MEMORY);
        },
      );
      b.get(this.#others).i32(1).op('i32.shl').i32(1).op('i32.or').get(this.#lane).op('i32.shl').i32(-1).op('i32.xor');
      b.get(this.#rest).op('i32.and').set(this.#rest);
    });
  }

  /** Contents of a span, 32 bytes at a time. */
  #keepSpan(): void {
    const b = this.#b;
    const [to, end] = b.locals('i32', 2);
    this.#pushPlaceOfContents().set(to);
    b.get(this.#address).i32(SPAN.cells).get(this.#shift).op('i32.shl', 'i32.add').set(end);
    b.loop(() => {
      for (const offset of [0, 16])
        b.get(to, this.#address)
          .memory('v128.load', offset, DEVICE_MEMORY)
          .memory('v128.store', CELL_PAGE.values + offset, CELL_MEMORY);
      b.advance(to, 32);
      b.get(this.#address).add(32).tee(this.#address).get(end).op('i32.ne').brIf(0);
    });
  }

  #noteLane(): void {
    const b = this.#b;
    b.get(this.#rest, this.#rest).i32(1).op('i32.sub', 'i32.and').tee(this.#rest);
    b.if(() => {
      // Neighbours that do the same count as one.
      this.#recorded(b.local('i32')).get(this.#offset).op('i32.add').get(this.#address).op('i32.eq');
      b.if(() => this.#leave());
    });
    b.get(this.#address, this.#bytes).op('i32.add').get(this.#shift).op('i32.shr_u').set(this.#end);
    b.loop(() => {
      this.#noteCell();
      b.get(this.#cell).add(1).tee(this.#cell).get(this.#end).op('i32.ne').brIf(0);
    });
    b.get(this.#isWrite);
    b.if(() => this.#keepContents());
  }

  #noteCell(): void {
    const b = this.#b;
    this.#findCell();
    const field = (at: number): FunctionBuilder => b.get(this.#at).load(at, CELL_MEMORY);
    const isTouched = (time: number): FunctionBuilder => field(time).get(this.#start).op('i32.gt_s');
    const touched = isTouched(WRITES + CELL.writeTime).pop('i32');
    b.get(this.#hasReads);
    b.if(() =>
      isTouched(READS + CELL_READ.time)
        .get(touched)
        .op('i32.or')
        .set(touched),
    );
    b.get(touched);
    b.if(() => {
      field(WRITES + CELL.owner)
        .get(this.#owner)
        .op('i32.ne');
      for (const [when, where] of [
        [WRITES + CELL.writeTime, WRITES + CELL.writeWhere],
        [READS + CELL_READ.time, READS + CELL_READ.where],
      ] as const) {
        field(when).get(this.#met).op('i32.ge_s');
        field(where)
          .get(this.#where)
          .op('i32.xor')
          .i32(LANES - 1)
          .op('i32.and');
        b.i32(0).op('i32.ne', 'i32.and', 'i32.or');
      }
      b.if(() => this.#leave());
    });
    const noted = (lane: number): FunctionBuilder =>
      b.get(this.#at, this.#noted, this.#where).lane('i32x4.replace_lane', lane);
    b.get(this.#isWrite);
    b.if(
      () => noted(3).memory('v128.store', WRITES + CELL.owner, CELL_MEMORY),
      () => {
        b.get(this.#at, this.#owner).store(WRITES + CELL.owner, CELL_MEMORY);
        noted(2).memory('v128.store', READS + CELL_READ.time, CELL_MEMORY);
        b.get(this.#page).i32(1).tee(this.#hasReads).store(CELL_PAGE.hasReads, CELL_MEMORY);
      },
    );
  }

  #findPage(): void {
    const b = this.#b;
    const number = b.local('i32');
    b.get(this.#cell).i32(Math.log2(CELL_PAGE.cells)).op('i32.shr_u').tee(number).get(this.#pageNumber).op('i32.ne');
    b.if(() => {
      b.get(number).i32(2).op('i32.shl').load(0, CELL_MEMORY).tee(this.#page).op('i32.eqz');
      b.if(() => {
        b.get(this.#cell).call(this.#imports.newCellPage).tee(this.#page).op('i32.eqz');
        b.if(() => this.#leave());
      });
      b.get(number).set(this.#pageNumber);
      this.#readHasReads();
    });
  }

  #readHasReads(): void {
    this.#b.get(this.#page).load(CELL_PAGE.hasReads, CELL_MEMORY).set(this.#hasReads);
  }

  /** Of an access that is noted cell by cell. */
  #findCell(): void {
    const b = this.#b;
    this.#findPage();
    const [inPage, span] = b.locals('i32', 2);
    b.get(this.#cell)
      .i32(CELL_PAGE.cells - 1)
      .op('i32.and')
      .tee(inPage)
      .i32(Math.log2(SPAN.cells))
      .op('i32.shr_u')
      .i32(Math.log2(SPAN.bytes))
      .op('i32.shl')
      .get(this.#page)
      .op('i32.add')
      .tee(span);
    b.load(CELL_PAGE.spans + SPAN.apart, CELL_MEMORY)
      .get(this.#start)
      .op('i32.le_s');
    b.if(() => {
      b.get(this.#cell).call(this.#imports.tellCellsApart);
      this.#readHasReads();
    });
    b.get(inPage).i32(Math.log2(CELL.bytes)).op('i32.shl').get(this.#page).op('i32.add').set(this.#at);
  }

  /** Pushes where the contents at the access's address are kept, without CELL_PAGE.values. */
  #pushPlaceOfContents(): FunctionBuilder {
    const b = this.#b;
    b.get(this.#address).i32(CELL_PAGE.cells).get(this.#shift).op('i32.shl').i32(1).op('i32.sub', 'i32.and');
    return b.get(this.#page).op('i32.add');
  }

  /** What an access has written lies in one page, since it is aligned. */
  #keepContents(): void {
    const b = this.#b;
    const to = this.#pushPlaceOfContents().pop('i32');
    const copy = (index: number): void => {
      const bytes = SIZES[index]!;
      const [load, store] = COPIES[bytes]!;
      const move = () =>
        b.get(to, this.#address).memory(load, 0, DEVICE_MEMORY).memory(store, CELL_PAGE.values, CELL_MEMORY);
      if (index === SIZES.length - 1) {
        move();
        return;
      }
      b.get(this.#bytes).i32(bytes).op('i32.eq');
      b.if(move, () => copy(index + 1));
    };
    copy(0);
  }

  /** JavaScript goes on from this lane of this access. */
  #leave(): void {
    const b = this.#b;
    b.get(GROUP, WARP_STATE);
    pushMasked(b).get(this.#before).i32(Math.log2(LANES)).op('i32.shl').get(this.#lane).op('i32.or');
    b.call(this.#imports.watchGroup).op('return');
  }
}

/** Bytes of an access: the usual first. */
const SIZES: readonly number[] = [4, 16, 8, 2, 1];
