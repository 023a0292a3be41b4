/*
 * Constants for properties of machine code that counters do not show. Each has a physical reason; the comment says if a
 * measurement set the figure. docs/decisions has the equations and the known errors.
 */

/** How far the times of resources overlap. */
export interface Overlap {
  /**
   * The resources of an SM with each other, and L2 with DRAM, if an SM holds one CTA: its warps meet at barriers, so all of them load,
   * then all compute, then all store.
   */
  readonly oneCta: number;
  /** The same in the limit of many CTAs, each somewhere else in the code. */
  readonly manyCtas: number;
  /** An SM's time with L2 and DRAM, if its CTAs are all resident at once: all load, then all compute. */
  readonly oneRound: number;
  /** The same in the limit of many rounds: some CTAs load while others compute. */
  readonly manyRounds: number;
  /** Atomics with all else: CTAs that have ended with them leave the SM to others. */
  readonly atomics: number;
  /** The same where warps wait for what atomics return: a CTA that has no number yet can do nothing else. */
  readonly awaitedAtomics: number;
  /** The chain through CTAs that look back with atomics: it grows while later ones still take their numbers. */
  readonly chain: number;
}

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
   * Exponents of the norms that combine resources: 1 would be no overlap at all (times add), infinity perfect overlap (the
   * slowest alone counts). At 4 two equally slow resources cost 19 % more than one, at 2.5 32 %.
   */
  readonly overlap: Overlap;
  /** Without `warpTime`: set together with the instructions in flight above, whose error it evens out. */
  readonly overlapUnscheduled: Overlap;
}

export const MACHINE_CODE: MachineCode = {
  independentArithmetic: 2,
  independentSharedLoads: 8,
  independentExchanges: 2,
  globalBytesInFlight: 8,
  mostGlobalLoadsInFlight: 4,
  clocksPerLineOfOneWarp: 3.5,
  overlap: { oneCta: 1.5, manyCtas: 2.5, oneRound: 1.2, manyRounds: 5, atomics: 2, awaitedAtomics: 1, chain: 2 },
  overlapUnscheduled: { oneCta: 4, manyCtas: 4, oneRound: 4, manyRounds: 4, atomics: 4, awaitedAtomics: 4, chain: 4 },
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
 * Clocks that L2 takes for global atomics. One line's take turns: a lane after the other on one address, and a little more
 * where a request goes on to another sector. Lines are served side by side. Where turns were not counted, 32 lanes on one address make
 * one request.
 * Source: own measurements on one H200. One address, float: 17.8 requests of 32 lanes per µs at 1.98 GHz. Spread: 7570 requests
 * per µs. 256 counters (docs/results/h200-times.json): 18.4 clocks for 32 lanes on the four sectors of a line.
 */
export const ATOMIC_CLOCKS = {
  turn: 3.47,
  anotherSector: 1.4,
  oneAddress: 111,
  spread: 0.26,
} as const;

/**
 * Clocks between the starts of two CTAs on one SM: their number, shared memory and parameters are set up, and beside that their warps,
 * one after the other, with registers. From the kernels with thousands of CTAs, small and large, in docs/results/h200-times.json.
 */
export const START_CLOCKS = { cta: 45, warp: 8 } as const;

/**
 * Clocks from a branch to the instruction after it, for a warp alone. Set on half of the kernels in docs/results/h200-times.json; more
 * would fit them a little better still.
 */
export const BRANCH_CLOCKS = 16;
