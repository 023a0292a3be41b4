import type { Measurement } from './measurement.ts';

/**
 * A device time. `measured` and `predicted` are never compared or printed as one.
 * Predicted times carry a model interval; measured ones a 95 % confidence interval.
 */
export interface Timing {
  kind: 'measured' | 'predicted';
  medianNs: number;
  intervalNs: [low: number, high: number];
  /** Provable lower bound; a time below it is implausible. */
  vetoNs: number;
  /** What realistic peaks allow. */
  attainableNs: number;
  /** The resource that bounds the prediction, e.g. `fp32`, `shared`, `l2`, `dram`, `latency`, `issue`. */
  bindingResource: string;
  /** Predicted only: every bound considered, slowest first. */
  bounds?: { resource: string; ns: number; arithmetic: string }[];
  /** Predicted only: per launch of the sequence. */
  launches?: LaunchTiming[];
  /** Measured only: samples, conditions and statistics. */
  measurement?: Measurement;
}

export interface LaunchTiming {
  functionName: string;
  medianNs: number;
  bindingResource: string;
  bounds: { resource: string; ns: number; arithmetic: string }[];
  occupancy: import('./counters.ts').Occupancy;
  ctaCount: number;
  /** Waves of CTAs, e.g. 1.3. */
  waves: number;
  /** Whole waves ÷ waves: the cost of the last, partly filled wave. */
  tailRatio: number;
  launchOverheadNs: number;
  dramBytesEstimate: number;
  /** Estimated from what misses L1, stores and atomics. */
  l2BytesEstimate?: number;
  /** Share of the loads' L2 traffic that L2 serves without DRAM. */
  l2HitRatioEstimate?: number;
  /** The share of L2's sets in the sample from which DRAM traffic comes; absent if it follows from capacities. */
  cacheSampledRatio?: number;
}
