import type { ProfileLevel } from '../../../core/profile.ts';
import { STALL_REASONS, type StallReason } from '../../../core/vocabulary.ts';

/** Warp instructions by opcode with its modifiers: a count for each, e.g. `LDG.E.128`. */
export const OPCODE_METRIC = 'sass__inst_executed_per_opcode_with_modifier_all';
/** Lane instructions whose predicate held, by opcode without modifiers. */
export const LANE_OPCODE_METRIC = 'sass__thread_inst_executed_true_per_opcode';

/** The metrics from which counters are computed, by counter. Names: Nsight Compute 2025.3 on GH100. */
export const COUNTER_METRICS = {
  instructions: 'smsp__inst_executed.sum',
  threadInstructions: 'smsp__thread_inst_executed.sum',
  globalLoadRequests: 'l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum',
  globalLoadSectors: 'l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum',
  globalStoreRequests: 'l1tex__t_requests_pipe_lsu_mem_global_op_st.sum',
  globalStoreSectors: 'l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum',
  sharedLoadWavefronts: 'l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum',
  sharedLoadBankConflicts: 'l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum',
  sharedStoreWavefronts: 'l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum',
  sharedStoreBankConflicts: 'l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum',
  divergentBranches: 'smsp__sass_branch_targets_threads_divergent.sum',
  registersPerThread: 'launch__registers_per_thread',
  staticSharedBytes: 'launch__shared_mem_per_block_static',
} as const;
export type CounterMetric = keyof typeof COUNTER_METRICS;

/** Share of the time in which the tensor pipe was busy, in per cent. */
export const TENSOR_PIPE_METRIC = 'sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active';
/** Clocks from one instruction of a warp to its next. */
export const ISSUE_INTERVAL_METRIC = 'smsp__average_warp_latency_per_inst_issued.ratio';
/** The part of these clocks that a warp waits for one reason. */
export const stallMetric = (reason: StallReason): string =>
  `smsp__average_warps_issue_stalled_${reason}_per_issue_active.ratio`;

/** Further metrics that the report keeps: memory traffic and utilisation of the SMs. */
const CONTEXT_METRICS = [
  'dram__bytes_read.sum',
  'dram__bytes_write.sum',
  'lts__t_sectors_op_read.sum',
  'lts__t_sectors_op_write.sum',
  'sm__warps_active.avg.pct_of_peak_sustained_active',
  'gpu__time_duration.sum',
];

/** Names to ask for with `--metrics`. */
export const requestedMetrics = (): string[] => [
  ...Object.values(COUNTER_METRICS),
  OPCODE_METRIC,
  LANE_OPCODE_METRIC,
  TENSOR_PIPE_METRIC,
  ISSUE_INTERVAL_METRIC,
  ...STALL_REASONS.map(stallMetric),
  ...CONTEXT_METRICS,
];

/**
 * Sections whose rules estimate a speed-up. Every pass of counters runs the kernel again. The light sections need no passes
 * beyond those of the metrics; SpeedOfLight and WarpStateStats would take most of the passes.
 */
export const SECTIONS: Readonly<Record<ProfileLevel, readonly string[]>> = {
  light: ['LaunchStats', 'Occupancy'],
  full: [
    'LaunchStats',
    'Occupancy',
    'SpeedOfLight',
    'WarpStateStats',
    'SchedulerStats',
    'ComputeWorkloadAnalysis',
    'MemoryWorkloadAnalysis',
    'MemoryWorkloadAnalysis_Tables',
    'InstructionStats',
    'SourceCounters',
    'WorkloadDistribution',
  ],
};
