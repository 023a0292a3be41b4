/** One counter that supports a finding. */
export interface EvidenceItem {
  /** Counter or derived figure, e.g. `sectors per global load request`. */
  counter: string;
  value: number;
  unit?: string;
  threshold: number;
  /** How value relates to threshold when the rule fires. */
  comparison: 'above' | 'below';
  /** Function, and source line if known. */
  where?: string;
}

/** A diagnosis: what limits the kernel, with evidence and the estimated gain of a fix. */
export interface Finding {
  /** Kebab-case rule id, e.g. `bank-conflicts`; kernel.json's `remedies` name these. A profiler's own rule: `ncu/CPIStall`. */
  id: string;
  title: string;
  /** Old time ÷ new time if the defect vanished; ≥ 1. An estimate, never a result. */
  estimatedSpeedup: number;
  /** The estimate's arithmetic, in words and numbers. */
  arithmetic: string;
  evidence: EvidenceItem[];
  advice: string;
}

/** Ids of all rules, in the order of their evaluation; parallelism first. */
export const FINDING_IDS = [
  'parallelism',
  'tail-effect',
  'occupancy',
  'serial-sections',
  'warp-imbalance',
  'uncoalesced-access',
  'bank-conflicts',
  'divergence',
  'barrier-heavy',
  'narrow-loads',
  'redundant-global-loads',
  'cache-reuse',
  'register-spills',
  'atomics-contention',
  'tensor-cores-unused',
  'tensor-pipe-idle',
  'exposed-copies',
  'few-stages',
  'wgmma-serialized',
  'special-function-bound',
  'memory-bound',
  'compute-bound',
  'latency-bound',
  'launch-bound',
] as const;
export type FindingId = (typeof FINDING_IDS)[number];
