/*
 * Constants for properties of machine code that counters do not show. Each has a physical reason; the comment says if a
 * measurement set the figure. docs/decisions has the equations and the known errors.
 */

/** Lanes of a warp. */
export const LANES_PER_WARP = 32;
/** Bytes of a sector, the unit of L1, L2 and DRAM traffic. */
export const SECTOR_BYTES = 32;

/**
 * What measurements set: `bench/time-model/fit.ts` sets them anew. Independent instructions are those in flight at once in one
 * warp, which cover each other's latency; atomics and barriers have none, because nothing after them starts before. Calibrated
 * on one H200 (docs/decisions, time model): stall cycles per instruction class of 32 attention kernels.
 */
export interface MachineCode {
  /** Compilers interleave about two chains. */
  readonly independentArithmetic: number;
  /** Hoisted far ahead of their use. */
  readonly independentSharedLoads: number;
  /** Shuffles and votes: two rows' reductions interleave. */
  readonly independentExchanges: number;
  /** Bytes per lane that copy loops keep in flight: narrow loads are unrolled, wide ones are not. */
  readonly globalBytesInFlight: number;
  readonly mostGlobalLoadsInFlight: number;
  /**
   * Clocks that one warp's global load takes per line beyond the first, however many loads it has in flight: the lines
   * of one request are looked up one after the other. Measured: 54 to 59 clocks per load of 16.5 lines in the mean, with
   * one warp per scheduler.
   */
  readonly clocksPerLineOfOneWarp: number;
  /**
   * Exponent of the norm that combines resources: 1 would be no overlap at all (times add), infinity perfect overlap
   * (the slowest alone counts). At 4 two equally slow resources cost 19 % more than one, three 32 %.
   */
  readonly overlapExponent: number;
}

export const MACHINE_CODE: MachineCode = {
  independentArithmetic: 2,
  independentSharedLoads: 8,
  independentExchanges: 2,
  globalBytesInFlight: 8,
  mostGlobalLoadsInFlight: 4,
  clocksPerLineOfOneWarp: 3.5,
  overlapExponent: 4,
};

/** Global loads in flight at once in one warp, from the bytes each lane loads. */
export const globalLoadsInFlight = (bytesPerLane: number, code: MachineCode): number =>
  Math.min(code.mostGlobalLoadsInFlight, Math.max(1, code.globalBytesInFlight / bytesPerLane));

/**
 * An instruction with at most this many active lanes belongs to a serial walk: a few lanes step through elements that
 * a whole warp could have taken side by side.
 */
export const SERIAL_LANES = 4;

/**
 * Clocks that L2 takes for one warp's global atomics: 32 lanes on one address take turns, spread ones flow.
 * Source: own measurement on one H200, float atomicAdd: 17.8 and 7570 warp requests per µs at 1.98 GHz.
 */
export const ATOMIC_CLOCKS = { oneAddress: 111, spread: 0.26 } as const;
