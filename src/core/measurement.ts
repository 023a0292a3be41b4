/** State of a GPU at one moment, from NVML. Values that NVML does not report are absent. */
export interface GpuState {
  smClockMhz?: number;
  memoryClockMhz?: number;
  temperatureC?: number;
  powerW?: number;
  powerLimitW?: number;
  /** e.g. `sw-power-cap`, `hw-thermal-slowdown`; idle is none. */
  throttleReasons?: ThrottleReason[];
  /** Processes with a context on this GPU that are not ours. */
  otherProcessCount?: number;
}

export const THROTTLE_REASONS = [
  'sw-power-cap',
  'sw-thermal-slowdown',
  'hw-slowdown',
  'hw-thermal-slowdown',
  'hw-power-brake',
  'sync-boost',
  'applications-clocks',
  'display-clocks',
] as const;
export type ThrottleReason = (typeof THROTTLE_REASONS)[number];

/** `screen`: enough to tell whether a candidate is worth more time; `accept`: enough for a verdict. */
export type Tier = 'screen' | 'accept';

/** Samples of one contender in one block: device time of one launch sequence, in ns, each the mean over one sample. */
export interface BlockSamples {
  contender: string;
  samplesNs: number[];
}

/** One fresh allocation with fresh inputs, in which all contenders are timed in a random order. */
export interface MeasuredBlock {
  samples: BlockSamples[];
  before: GpuState;
  after: GpuState;
  /** Why the block does not count, e.g. `thermal-slowdown`; absent if it counts. */
  discarded?: string;
  powerCapped?: boolean;
  /** Baselines whose median is more than 2 % off that of earlier blocks. */
  unsteadyBaselines?: string[];
}

/** Summary of samples, in ns. */
export interface SampleSummary {
  minNs: number;
  p5Ns: number;
  medianNs: number;
  p95Ns: number;
  maxNs: number;
  meanNs: number;
  /** Standard deviation ÷ mean. */
  coefficientOfVariation: number;
  sampleCount: number;
  blockCount: number;
  /** 95 % bootstrap interval of the median over blocks. */
  intervalNs: [low: number, high: number];
}

export const VERDICTS = ['faster', 'slower', 'same', 'ambiguous'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** Comparison of a candidate's samples with a baseline's, from the same blocks. */
export interface Comparison {
  candidate: string;
  baseline: string;
  verdict: Verdict;
  /** Baseline time ÷ candidate time: above 1 the candidate is faster. Geometric mean over blocks. */
  ratio: number;
  /** 95 % bootstrap interval of the ratio over blocks (10,000 resamples). */
  intervalRatio: [low: number, high: number];
  blockCount: number;
  mannWhitney: {
    /** U of the candidate's samples. */
    u: number;
    /** Two-sided, normal approximation with tie correction. */
    pValue: number;
  };
  /** P(candidate faster) − P(candidate slower) over all pairs of samples, from −1 to 1. */
  cliffsDelta: number;
  /**
   * Baseline's time beside the candidate ÷ its time in blocks without it; above 1, the candidate slows it down. Only for
   * baseline kernels, if a verdict was requested.
   */
  baselineSlowdown?: number;
}

/** What the samples were taken on. */
export interface MeasurementConditions {
  tier: Tier;
  /** `cold`: a ring of at least 3 × L2, no flush; `hot`: a ring of at most half of L2. */
  cache: 'hot' | 'cold';
  /** Of the smallest block. */
  ringBytes: number;
  l2Bytes: number;
  /** Most slots of a block; the number in each block, at least `fewestSlotCount`, is secret. */
  slotCount: number;
  fewestSlotCount?: number;
  /** Launch sequences in one graph replay: as many as the block has slots. */
  sequencesPerReplay: number;
  /** Replays whose times are added up for one sample. */
  replaysPerSample: number;
  /**
   * Device time of a replay beyond its launches. It is subtracted from every replay before the division by its sequences.
   */
  replayOverheadNs: number;
  /** Where the inputs of every sample come from. */
  inputs: 'drawn-on-device' | 'drawn-on-host';
}

/** Everything measured about one contender. Plain JSON. */
export interface Measurement {
  contender: string;
  conditions: MeasurementConditions;
  summary: SampleSummary;
  /** Median device time of one sequence launched alone, outside a graph, between two events. */
  eagerNs?: number;
  blocks: MeasuredBlock[];
  discardedBlockCount: number;
  /** Some blocks ran at the power cap. */
  powerCapped: boolean;
  /** Other activity on the GPU, in words; empty if there was none. */
  disturbances: string[];
  /** Slots that were compared with the oracle. */
  checkedSlotCount: number;
  /** Launch sequences that ran again alone and were compared with the replay's results. */
  rerunCount?: number;
}
