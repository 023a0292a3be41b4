/** A figure with where it comes from. */
export interface Sourced {
  readonly value: number;
  readonly source: string;
}

/**
 * The origin of the time model's figures for a device: measurements of this board, measurements of another board with the
 * same chip, or published figures alone. It determines the width of a prediction's interval.
 */
export type CalibrationBasis = 'measured' | 'same-chip' | 'published';

export interface Calibration {
  readonly basis: CalibrationBasis;
  /** Says which figures were measured, and the board from which the others come. */
  readonly note: string;
}

/** The capabilities of a GPU. Rates are per SM per clock unless the name says otherwise; peaks are dense, never sparse. */
export interface DeviceSpec {
  readonly id: string;
  readonly name: string;
  /** e.g. `sm_89`. */
  readonly architecture: string;
  readonly smCount: Sourced;
  readonly boostClockHz: Sourced;
  /** Clock the model assumes under sustained load. */
  readonly sustainedClockHz: Sourced;
  readonly schedulersPerSm: Sourced;
  readonly maximumWarpsPerSm: Sourced;
  readonly maximumCtasPerSm: Sourced;
  readonly maximumThreadsPerCta: Sourced;
  readonly registersPerSm: Sourced;
  readonly registerAllocationUnit: Sourced;
  readonly maximumRegistersPerThread: Sourced;
  readonly sharedBytesPerSm: Sourced;
  /** Opt-in maximum for one CTA. */
  readonly sharedBytesPerCta: Sourced;
  /** Shared memory the driver reserves per CTA. */
  readonly reservedSharedBytesPerCta: Sourced;
  readonly sharedAllocationUnitBytes: Sourced;
  /** Lane-level operations per clock per SM; a fused multiply-add is one operation. */
  readonly fp32PerClock: Sourced;
  readonly fp16PerClock: Sourced;
  readonly fp64PerClock: Sourced;
  readonly integerPerClock: Sourced;
  readonly specialPerClock: Sourced;
  readonly conversionPerClock: Sourced;
  /** Dense fp16 with fp32 accumulation, FLOP per clock per SM (multiply-add = 2). */
  readonly tensorFp16FlopPerClock: Sourced;
  readonly sharedWavefrontsPerClock: Sourced;
  /** Load/store unit: warp requests per clock per SM. */
  readonly lsuRequestsPerClock: Sourced;
  readonly l1BytesPerClock: Sourced;
  readonly l2BytesPerClock: Sourced;
  readonly l2Bytes: Sourced;
  readonly dramBytesPerSecond: Sourced;
  /** Fraction of the DRAM rate that streaming kernels reach. */
  readonly dramAttainableRatio: Sourced;
  readonly dramBytes: Sourced;
  readonly latencyClocks: {
    readonly fp32: Sourced;
    readonly integer: Sourced;
    readonly special: Sourced;
    readonly shared: Sourced;
    readonly l1: Sourced;
    readonly l2: Sourced;
    readonly dram: Sourced;
    readonly barrier: Sourced;
    readonly shuffle: Sourced;
    readonly atomic: Sourced;
  };
  /** Device-side cost of one launch in a stream of launches. */
  readonly launchOverheadNs: Sourced;
  /** A memset of few bytes, with the gaps around it. Absent in recordings made before it was kept. */
  readonly memsetNs?: Sourced;
  /** Absent in recordings made before it was kept: then published. */
  readonly calibration?: Calibration;
}
