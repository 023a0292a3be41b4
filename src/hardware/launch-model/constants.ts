/*
 * Constants for properties of machine code that counters do not show. Each has a physical reason; the comment says if a
 * measurement set the figure. docs/decisions has the equations and the known errors.
 */

/** Lanes of a warp. */
export const LANES_PER_WARP = 32;
/** Bytes of a sector, the unit of L1, L2 and DRAM traffic. */
export const SECTOR_BYTES = 32;

/**
 * Independent instructions in flight at once in one warp, which cover each other's latency. Arithmetic: compilers
 * interleave about two chains. Shared loads: hoisted far ahead of their use. Shuffles and votes: two rows' reductions
 * interleave. Atomics and barriers: nothing after them starts before. Global loads: see `globalLoadsInFlight`.
 * Calibrated on one H200 (docs/decisions, time model): stall cycles per instruction class of 32 attention kernels.
 */
export const INDEPENDENT_INSTRUCTIONS = {
  arithmetic: 2,
  sharedLoad: 8,
  exchange: 2,
  none: 1,
} as const;

/** Bytes per lane that copy loops keep in flight: narrow loads are unrolled (by up to four), wide ones are not. */
const GLOBAL_BYTES_IN_FLIGHT = 8;
const MOST_GLOBAL_LOADS_IN_FLIGHT = 4;

/** Global loads in flight at once in one warp, from the bytes each lane loads. Calibrated like the others. */
export const globalLoadsInFlight = (bytesPerLane: number): number =>
  Math.min(MOST_GLOBAL_LOADS_IN_FLIGHT, Math.max(1, GLOBAL_BYTES_IN_FLIGHT / bytesPerLane));

/**
 * An instruction with at most this many active lanes belongs to a serial walk: a few lanes step through elements that
 * a whole warp could have taken side by side.
 */
export const SERIAL_LANES = 4;

/**
 * Exponent of the norm that combines resources: 1 would be no overlap at all (times add), infinity perfect overlap
 * (the slowest alone counts). At 4 two equally slow resources cost 19 % more than one, three 32 %.
 */
export const OVERLAP_EXPONENT = 4;

/**
 * Clocks that one warp's global load takes per line beyond the first, however many loads it has in flight: the lines
 * of one request are looked up one after the other. Measured: 54 to 59 clocks per load of 16.5 lines in the mean, with
 * one warp per scheduler (calibrated like above).
 */
export const CLOCKS_PER_LINE_OF_ONE_WARP = 3.5;

/**
 * Clocks that L2 takes for one warp's global atomics: 32 lanes on one address take turns, spread ones flow.
 * Source: own measurement on one H200, float atomicAdd: 17.8 and 7570 warp requests per µs at 1.98 GHz.
 */
export const ATOMIC_CLOCKS = { oneAddress: 111, spread: 0.26 } as const;
