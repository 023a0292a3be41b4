import { numbersBelow } from '../core/values.ts';

/**
 * Layout of a worker's private memory (memory 0 of a compiled kernel). Device memory, which all workers share, is memory 1.
 * All figures in bytes. The first 1024 are always zero; inactive lanes read there.
 */

/** Launch-wide values, one i32 each. */
export const LAUNCH = {
  blockX: 1024,
  blockY: 1028,
  blockZ: 1032,
  gridX: 1036,
  gridY: 1040,
  gridZ: 1044,
  ctaX: 1048,
  ctaY: 1052,
  ctaZ: 1056,
  dynamicSharedBytes: 1060,
  totalSharedBytes: 1064,
  localBytes: 1068,
  /** Address of the map with one byte per 32-byte sector of device memory (bit 0 read, bit 1 written, bit 2 sampled). */
  sectorMap: 1072,
  smIndex: 1076,
  smCount: 1080,
  warpsPerSm: 1084,
  /** i64, always 0. */
  gridId: 1088,
  /** Where to record the next access to a sampled line, and the end of the buffer. */
  sampleCursor: 1096,
  sampleEnd: 1100,
  /** Budget of the warp's slice that remained when the current block began. Kept only while counting. */
  budget: 1104,
  /** CTAs of a cluster along each axis, this CTA's place among them, the cluster's place among the clusters, and their number. */
  clusterX: 1108,
  clusterY: 1112,
  clusterZ: 1116,
  ctaInClusterX: 1120,
  ctaInClusterY: 1124,
  ctaInClusterZ: 1128,
  clusterIndexX: 1132,
  clusterIndexY: 1136,
  clusterIndexZ: 1140,
  clustersX: 1144,
  clustersY: 1148,
  clustersZ: 1152,
  clusterRank: 1156,
  clusterCtas: 1160,
  /** 1 where CTAs take turns: a warp that polls device memory, or sleeps, gives way. */
  givesWay: 1164,
  /** What the driver keeps for the barrier of a cooperative grid: upper and lower half of its address, 0 in other launches. */
  gridBarrierHigh: 1168,
  gridBarrierLow: 1172,
  /** 1 once a warp of counted code has come to where it draws work. */
  drawsNext: 1176,
  /** Instructions of the slice that at most SERIAL_LANES lanes executed. Kept only while counting. */
  narrow: 1180,
} as const;

/**
 * From this bit on, an address of shared memory holds the rank of its CTA in the cluster, its own CTA's, too; the bits below are the
 * offset. Code in which that makes no difference ({@link namesCtas}) leaves its own rank out.
 */
export const CLUSTER_RANK_SHIFT = 24;
export const OFFSET_IN_CTA = 2 ** CLUSTER_RANK_SHIFT - 1;

/** A recorded access to a sampled line: sector number × 4 + bits (1 read, 2 written), and LAUNCH.budget. */
export const SAMPLE = { entry: 0, budget: 4, bytes: 8 } as const;

/** Constants of functions that compiled code calls often: see `ConstantPool`. */
export const POOL = { start: 1280, bytes: 768 } as const;

/** 1 KiB for moving lane values to and from JavaScript and between lanes. */
export const SCRATCH = 2048;
/** Kernel parameters, as the ABI lays them out. */
export const PARAMETERS = 4096;
export const PARAMETER_BYTES = 4096;
/** Module-scope .const variables. */
export const CONSTANTS = 8192;
export const CONSTANT_BYTES = 65536;
/** Tables sized by the kernel (block weights, counters, check caches) start here. */
export const TABLES = CONSTANTS + CONSTANT_BYTES;
export const TABLE_BYTES = 8 << 20;
/** Shared memory of the running CTA; 256 KiB is more than any GPU has. */
export const SHARED = TABLES + TABLE_BYTES;
const SHARED_BYTES = 256 << 10;
/** States of the CTA's warps, then their local memory, then the sector map. */
export const WARPS = SHARED + SHARED_BYTES + (64 << 10);

/** Bounds of one access group: the start of its range, and the number of valid start addresses. */
export const BOUNDS = { start: 0, count: 4, bytes: 8 } as const;

/** A counted access group: its lanes' addresses and mask, and the last pattern of each way. */
export const PATTERN = {
  addresses: 0,
  mask: 128,
  ways: 256,
  wayBytes: 144,
  wayCount: 4,
  bytes: 256 + 4 * 144,
} as const;

/** One remembered pattern. */
export const PATTERN_WAY = {
  /** Address of each lane minus lane 0's. */
  deltas: 0,
  /** The part of lane 0's address that costs depend on. */
  phase: 128,
  hits: 132,
  valid: 136,
} as const;

/**
 * The part of an address on which a request's cost depends besides the lanes' differences, and its bits that choose the
 * way: the position in a sector for device memory, in a word for shared memory (whole words only rotate the banks). Places where lanes
 * of swizzled rows begin choose it, too: they lie to each other in another way at each of them.
 */
export const PATTERN_PHASE = {
  global: { mask: 31, wayShift: 3, wayMask: 3 },
  shared: { mask: 3, wayShift: 1, wayMask: 3 },
} as const;
/** The bits that choose the way are these xor those that lie so much higher. */
export const WAY_FOLDS = [3, 5] as const;

/** Fields of one warp's state, relative to its address. */
export const WARP = {
  /** i32 per lane: the block to run next, with the flags below. */
  programCounters: 0,
  /** i32 per lane, −1 where active; valid while diverged. */
  mask: 128,
  warpIndex: 256,
  /** Address of lane 0's local memory. */
  localBase: 268,
  nextBlock: 272,
  converged: 276,
  activeBits: 280,
  remainingBudget: 284,
  /** i64: instructions executed up to the end of the current block; kept only by kernels that read a clock. */
  clock: 288,
  /**
   * i32: not 0 if the warp gives way at its next block, because it polls an mbarrier, or device memory in a cooperative launch; or
   * {@link HELD_BACK}.
   */
  yields: 296,
  threadX: 320,
  threadY: 448,
  threadZ: 576,
  registers: 704,
} as const;

/** The warp gives way because lanes that its mask names still wait for an mbarrier. */
export const HELD_BACK = 2;

/** One decision's record: a byte that is 1 once it was false for some thread, then one for true. */
export const DECISION = { wasFalse: 0, wasTrue: 1, bytes: 2 } as const;

/** Flags in a lane's program counter. Larger values run later, so waiting and finished lanes never run. */
export const PC = {
  blockMask: 0x0fffffff,
  /** The block starts with a warp-synchronous instruction, so other lanes of the warp run first. */
  syncPoint: 0x10000000,
  /** The block holds values common to the warp, so it runs only when all lanes that have not exited have arrived. */
  convergent: 0x20000000,
  /** Waiting at a CTA barrier. */
  waiting: 0x40000000,
  /** Waiting for a phase of an mbarrier; the runner keeps the block. */
  polling: 0x50000000,
  exited: 0x7fffffff,
} as const;

/** Return values of a block's function that are not the index of the next block. */
export const CONTROL = { diverged: -1, exited: -2, barrier: -3 } as const;

/** What `run` returns. */
export const RUN_STATUS = { exited: 0, barrier: 1, budgetSpent: 2, lanesWaiting: 3 } as const;

/**
 * Upper 32 bits of generic addresses. Device memory's lower bits are offsets into memory 1, so a generic
 * address, a global address and a pointer argument are the same number. Device memory lies where the driver places it on
 * Linux, just below 2^47, so that a kernel can't tell a simulator by small addresses.
 */
export const WINDOW = { shared: 1, local: 2, constant: 3, parameter: 4, global: 0x7f_2e } as const;

export const LANES = 32;
export const ALL_LANES: readonly number[] = numbersBelow(LANES);
/** Bytes of one chunk (four 32-bit lanes) in a register slot. */
export const CHUNK_BYTES = 16;
export const CHUNKS = 8;

/**
 * No buffer lies below this address in device memory: null pointers and inactive lanes point there. In the write map
 * (memory 2, with device memory's offsets) the page flags lie there.
 */
export const DEVICE_START = 2 * 65536;
export const WRITE_PAGE_BYTES = 65536;
export const WRITE_FLAGS = 65536;

/** Of WebAssembly's memories. */
export const PAGE_BYTES = 65536;
/** Device memory is shared between threads and may take all of a 32-bit address space. */
export const DEVICE_MEMORY_MAXIMUM_PAGES = 65536;
