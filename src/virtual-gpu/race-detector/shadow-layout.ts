/**
 * Layout of the memories in which a worker keeps what the race detector knows of shared and device memory: compiled code compares and
 * notes the usual accesses there, JavaScript all others. All figures in bytes.
 */
import { LANES } from '../layout.ts';

/** Words at the beginning, one i32 each. */
export const SHADOW = {
  /** Address of the block of the CTA that runs; 0 where every access is left to JavaScript. */
  cta: 0,
  /** Warps of a CTA, and from one array of a block to the next. */
  warps: 4,
  stride: 8,
  /** Address of the {@link BLOCK} of the CTA that runs; and of its first warp among the owners of {@link CELL}. */
  block: 12,
  owner: 16,
  /** The latest time of any warp; and that when the launch began. */
  time: 20,
  launchStart: 32,
  /** Counts executions of groups and of requests, so that what lanes do by one of them is known to belong together. */
  execution: 24,
  /** Binary logarithm of a cell's bytes in device memory. */
  deviceShift: 28,
  /** By access group. Of shared memory: address of its first {@link SHAPE}, or 0. Of device memory: see {@link DEVICE_HEAD}. */
  heads: 1024,
} as const;

/** What the head of a group of accesses to device memory says, if it is not the address of its {@link ACCESS} list. */
export const DEVICE_HEAD = {
  /** The launch does not both read and write what it touches. */
  unwatched: 0,
  leftToJavaScript: 1,
} as const;

/**
 * A list of a group's accesses to device memory: their number, then for each its distance from the address that the group records, its
 * bytes, the number of the access × 32, and whether it writes.
 */
export const ACCESS = { list: 16, offset: 0, bytes: 4, where: 8, isWrite: 12, size: 16 } as const;

/** For shapes of all groups; groups that find it full are left to JavaScript. */
export const SHAPE_BYTES = 4 << 20;

/** What is known of one CTA: these words, a state for each warp, then arrays with an i32 for each cell. */
export const BLOCK = {
  /** Times of this CTA lie after it. */
  start: 0,
  /** Not 0 after a strong access: then writes are left to JavaScript. */
  hasStrong: 4,
  states: 16,
  stateBytes: 32,
  /** By warp a row: for each warp, the time up to which its work happened before the current access of the row's warp. */
  rows: 16 + LANES * 32,
  arrays: 16 + LANES * 32 + LANES * LANES * 4,
} as const;

/**
 * State of one warp: its time; the latest writes that are ordered before its reads, and before its writes; when its lanes met; and when
 * they did as far as device memory is concerned.
 */
export const STATE = { time: 0, readsAfter: 4, writesAfter: 8, met: 12, metForDevice: 16 } as const;

/**
 * Arrays of a block. Each cell's last plain write: time, {@link META}, access × 32 + lane; one bit for each warp that has read the cell
 * since; then by warp the time of its last read, and by warp {@link READ_BY}. Behind them the contents after the last write.
 */
export const ARRAY = { writeTime: 0, writeMeta: 1, writeWhere: 2, readers: 3, reads: 4 } as const;

/** Of a cell's last plain write: the warp; another lane that wrote the same by the same instruction, or 0; whether it is agreed. */
export const META = { warp: 31, otherShift: 8, other: 31 << 8, agreed: 1 << 16 } as const;

/**
 * Of a warp's last read of a cell: access × 32 + lane; if more than one lane has read the cell since the lanes met, the sign says so, and the bits
 * below it have another lane.
 */
export const READ_BY = { place: 2 ** 26 - 1, otherShift: 26, many: 1 << 31 } as const;

/**
 * How the lanes of a warp lie to each other in one execution of a group: the next shape of the group or 0, the active lanes, each lane's
 * distance from the first active one, the number of phases, then these.
 */
export const SHAPE = { next: 0, bits: 4, phases: 8, deltas: 16, body: 16 + LANES * 4 } as const;

/**
 * Reads, or writes, of a group that follow each other: what they note, as steps of four neighbouring cells. Steps whose cells are all
 * touched come first.
 */
export const PHASE = { flags: 0, whole: 4, partial: 8, steps: 16 } as const;
export const PHASE_FLAGS = {
  write: 1,
  /** Several lanes read one cell. */
  byMany: 2,
  /** Notes reads that the warp has made since it last synchronised, too. */
  always: 4,
  /** Of one access: cells that the warp has read since are noted again with those that it has not. */
  single: 8,
} as const;

/** A step: distance of its first cell from that of the first active lane, in bytes of an array; what is noted; the cells touched. */
export const STEP = { delta: 0, where: 16, meta: 32, mask: 48, bytes: 64 } as const;

/**
 * A cell of device memory that one warp alone has accessed in this launch, by plain accesses: the warp (its CTA's linear index × 32 + warp,
 * plus 1; or {@link SHARED_CELL}), then of its last write and of its last read the time, the execution and access × 32 + lane. Times up to
 * the launch's start: none. A read may be older than the write.
 */
export const CELL = { owner: 0, writeTime: 4, writeExecution: 8, writeWhere: 12, bytes: 16 } as const;
export const CELL_READ = { time: 0, execution: 4, where: 8 } as const;

/** Owner of a cell of which JavaScript keeps what is known. */
export const SHARED_CELL = -1;

/** Of device memory: wider accesses touch several cells. */
export const MOST_CELL_BYTES = 16;

/**
 * Neighbouring cells that lanes of one warp have accessed side by side, the whole of them by one instruction: what {@link CELL} and
 * {@link CELL_READ} say of one cell, said once for all. `where` is that of the first cell; its upper bits hold the binary logarithm of
 * cells per lane. Nothing of it counts once the cells are told `apart`, which is a time: then their own words do, for the rest of the launch.
 */
export const SPAN = {
  cells: 32,
  ...{ owner: 0, writeTime: 4, writeExecution: 8, writeWhere: 12 },
  ...{ readTime: 16, readExecution: 20, readWhere: 24, apart: 28 },
  bytes: 32,
  cellsPerLaneShift: 28,
} as const;

/**
 * A page of device memory: whether any cell has been read; then its cells, what is known of their reads, the contents after the last
 * write, and its {@link SPAN}s. Pages' addresses, or 0, are at the beginning of the memory.
 */
const PAGE_CELLS = 4096;
const PAGE_VALUES = 64 + 2 * PAGE_CELLS * CELL.bytes;
const PAGE_SPANS = PAGE_VALUES + PAGE_CELLS * MOST_CELL_BYTES;
export const CELL_PAGE = {
  cells: PAGE_CELLS,
  hasReads: 0,
  writes: 64,
  reads: 64 + PAGE_CELLS * CELL.bytes,
  values: PAGE_VALUES,
  spans: PAGE_SPANS,
  bytes: PAGE_SPANS + (PAGE_CELLS / SPAN.cells) * SPAN.bytes,
} as const;

export const cellsOf = (bytes: number, unitBytes: number): number => Math.ceil(bytes / unitBytes);

export const strideOf = (cells: number): number => (cells * 4 + 31) & ~15;

/** Bytes of a CTA's block. */
export const blockBytes = (warps: number, cells: number, unitBytes: number): number =>
  (BLOCK.arrays + (ARRAY.reads + 2 * warps) * strideOf(cells) + cells * unitBytes + 15) & ~15;
