/** `light`: the sections that diagnosis needs; `full`: everything the profiler has, per source line. */
export type ProfileLevel = 'light' | 'full';

/** A profiler's metric, with the unit it was printed in. */
export interface ProfileMetric {
  value: number;
  unit: string;
}

/** One rule of the profiler itself. */
export interface ProfilerRule {
  id: string;
  title: string;
  message: string;
  /** Its own estimate; absent where it gives none. */
  estimatedSpeedupPercent?: number;
  /** The reference of the estimate: the launch’s time, or the inefficiency of one unit alone. */
  estimateScope?: 'launch' | 'unit';
  functionName: string;
}

/** A hardware profile of one launch sequence. Its times are never results. */
export interface ProfileReport {
  tool: 'ncu';
  version: string;
  level: ProfileLevel;
  /** As given to the profiler: clocks are never changed; caches are flushed before each pass (`all`) or left (`none`). */
  clockControl: 'none';
  cacheControl: 'all' | 'none';
  launches: { functionName: string; metrics: Readonly<Record<string, ProfileMetric>> }[];
  rules: ProfilerRule[];
  /** Where the profiler's own report is kept: a content hash of the store. */
  reportObject?: string;
  elapsedMs: number;
}

/** Where counters come from. `virtual-gpu`: counted exactly on a virtual GPU, not on this one. */
export interface CountersSource {
  kind: 'virtual-gpu' | 'ncu';
  /** e.g. `counted on virtual:h200 (hardware counters are not permitted: ERR_NVGPUCTRPERM)`. */
  detail: string;
}
