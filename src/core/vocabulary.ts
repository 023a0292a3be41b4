/** Words that documents and messages choose from. Their schemas are beside the types; here they need no library. */

/** Classes of warp instructions; every PTX instruction belongs to exactly one. */
export const INSTRUCTION_CLASSES = [
  'fp16',
  'fp32',
  'fp64',
  'integer',
  'conversion',
  'special',
  'tensor',
  'move',
  'predicate',
  'global-load',
  'global-store',
  'shared-load',
  'shared-store',
  'local-load',
  'local-store',
  'constant-load',
  'atomic',
  'shuffle',
  'vote',
  'barrier',
  'control',
  'async-copy',
] as const;
export type InstructionClass = (typeof INSTRUCTION_CLASSES)[number];

/** Why warps wait, as Nsight Compute calls it. */
export const STALL_REASONS = [
  'long_scoreboard',
  'short_scoreboard',
  'barrier',
  'membar',
  'sleeping',
  'gmma',
  'math_pipe_throttle',
] as const;
export type StallReason = (typeof STALL_REASONS)[number];

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

export const VERDICTS = ['faster', 'slower', 'same', 'ambiguous'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** What a search is to make less of. */
export const MINIMISED = ['time', 'energy'] as const;
export type Minimised = (typeof MINIMISED)[number];

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

export const SANITIZER_TOOLS = ['memcheck', 'racecheck', 'initcheck', 'synccheck'] as const;
export type SanitizerTool = (typeof SANITIZER_TOOLS)[number];

export const SPECIAL_VALUES = ['subnormal', '-infinity', 'infinity', 'nan', 'zero'] as const;
export type SpecialValue = (typeof SPECIAL_VALUES)[number];

/** Strategies that know only the space and the times they are told. */
export const STRATEGY_NAMES = ['exhaustive', 'random', 'tpe', 'evolutionary', 'bayesian'] as const;
export type StrategyName = (typeof STRATEGY_NAMES)[number];
