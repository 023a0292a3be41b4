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
  /** Why the block does not count, e.g. `thermal-slowdown`; absent when it does. */
  discarded?: string;
  powerCapped?: boolean;
  /** Baselines whose median is more than 2 % off that of the blocks before. */
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

/** How a candidate's samples compare with a baseline's, from the same blocks. */
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
   * Baseline's time beside the candidate ÷ its time in blocks of its own: above 1, the candidate slows it down. Kernels, where
   * a verdict was asked for.
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
  /** Most slots of a block; how many each has, from `fewestSlotCount` on, is secret. */
  slotCount: number;
  fewestSlotCount?: number;
  /** Launch sequences in one graph replay: as many as the block has slots. */
  sequencesPerReplay: number;
  /** Replays whose times are added up for one sample. */
  replaysPerSample: number;
  /** Device time that a replay takes beside its launches; taken off every replay before it is divided by its sequences. */
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
  /** What else was going on, in words; empty when the GPU was ours alone. */
  disturbances: string[];
  /** Slots that were compared with the oracle. */
  checkedSlotCount: number;
  /** Launch sequences that were run again by themselves and compared with what the replay left. */
  rerunCount?: number;
}
