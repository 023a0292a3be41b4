import type { FindingId } from '../../../src/core/vocabulary.ts';
import type { KernelRun } from './diagnose-kernel.ts';

/** 348 CTAs of 256 threads fill the 58 SMs of an L4 with 48 warps each. */
const FULL = 58 * 6;
const i32 = (value: number) => ({ i32: value });
const floats = (count: number) => ({ bytes: 4 * count });

type Launch = Pick<KernelRun, 'functionName' | 'grid'> & Partial<KernelRun>;

/** As the toolchains report it. */
export const SERIALIZED_BY_PTXAS =
  'the assembler says: (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ' +
  "insufficient register resources for the wgmma pipeline in the function 'reads_too_early'";

/** A kernel with a defect, and one without. */
export interface KernelCase {
  readonly id: FindingId;
  readonly shared: Omit<KernelRun, 'functionName' | 'grid'>;
  readonly defect: Launch;
  readonly healthy: Launch;
  /** Line of the defect in the source, where the counters of one line show it. */
  readonly line?: string;
}

export const KERNEL_CASES: readonly KernelCase[] = [
  {
    id: 'parallelism',
    shared: { file: 'parallelism.cu', block: 128, arguments: [floats(116 * 128), i32(116 * 128), i32(100)] },
    defect: { functionName: 'iterate', grid: 2 },
    healthy: { functionName: 'iterate', grid: 116 },
  },
  {
    id: 'tail-effect',
    shared: { file: 'tail_effect.cu', block: 256, arguments: [floats(116 * 256), i32(5000)] },
    defect: { functionName: 'iterate', grid: 64 },
    healthy: { functionName: 'iterate', grid: 116 },
  },
  {
    id: 'occupancy',
    shared: { file: 'occupancy.cu', block: 128, arguments: [floats(58 * 12 * 128), i32(200)] },
    defect: { functionName: 'chain', grid: 58 * 12, dynamicSharedBytes: 57 * 1024 },
    healthy: { functionName: 'chain', grid: 58 * 12, dynamicSharedBytes: 2048 },
  },
  {
    id: 'serial-sections',
    shared: { file: 'serial_sections.cu', block: 128, arguments: [floats(16 * 128), floats(58 * 16)] },
    defect: { functionName: 'one_thread', grid: 58 },
    healthy: { functionName: 'every_lane', grid: 58 },
    line: 'serial_sections.cu:16',
  },
  {
    id: 'warp-imbalance',
    shared: { file: 'warp_imbalance.cu', block: 256, arguments: [floats(58 * 256), i32(1000)] },
    defect: { functionName: 'one_warp', grid: 58 },
    healthy: { functionName: 'every_warp', grid: 58 },
  },
  {
    id: 'uncoalesced-access',
    shared: { file: 'uncoalesced_access.cu', block: 128, arguments: [] },
    defect: {
      functionName: 'lane_reads_row',
      grid: FULL,
      arguments: [floats(FULL * 128 * 32), floats(FULL * 128), i32(FULL * 128), i32(32), i32(2)],
    },
    healthy: {
      functionName: 'lane_reads_column',
      grid: FULL,
      arguments: [floats(FULL * 128 * 32), floats(FULL * 128), i32(32), i32(FULL * 128), i32(2)],
    },
    line: 'uncoalesced_access.cu:6',
  },
  {
    id: 'bank-conflicts',
    shared: { file: 'bank_conflicts.cu', block: 256, arguments: [floats(1024), floats(FULL * 256), i32(200)] },
    defect: { functionName: 'rows_of_32', grid: FULL },
    healthy: { functionName: 'rows_of_33', grid: FULL },
    line: 'bank_conflicts.cu:9',
  },
  {
    id: 'divergence',
    shared: { file: 'divergence.cu', block: 256, arguments: [floats(FULL * 256), i32(300)] },
    defect: { functionName: 'by_lane', grid: FULL },
    healthy: { functionName: 'by_warp', grid: FULL },
  },
  {
    id: 'barrier-heavy',
    shared: { file: 'barrier_heavy.cu', block: 256, arguments: [floats(256), floats(58 * 256), i32(10)] },
    defect: { functionName: 'tree', grid: 58 },
    healthy: { functionName: 'shuffles', grid: 58 },
  },
  {
    id: 'narrow-loads',
    shared: {
      file: 'narrow_loads.cu',
      block: 256,
      arguments: [{ bytes: 8192 }, floats(116 * 256), i32(4096), i32(20)],
    },
    defect: { functionName: 'two_bytes', grid: 116 },
    healthy: { functionName: 'sixteen_bytes', grid: 116 },
    line: 'narrow_loads.cu:7',
  },
  {
    id: 'redundant-global-loads',
    shared: { file: 'redundant_global_loads.cu', block: 256, arguments: [floats(1024), floats(FULL * 256), i32(1024)] },
    defect: { functionName: 'from_global', grid: FULL },
    healthy: { functionName: 'from_shared', grid: FULL },
    line: 'redundant_global_loads.cu:11',
  },
  {
    // 54 MiB; L2 has 48.
    id: 'cache-reuse',
    shared: {
      file: 'cache_reuse.cu',
      block: 1024,
      arguments: [{ bytes: 54 * 2 ** 20 }, floats(54 * 1024), i32(54 * 2 ** 16), i32(2)],
    },
    defect: { functionName: 'pass_after_pass', grid: 54 },
    healthy: { functionName: 'part_after_part', grid: 54 },
    line: 'cache_reuse.cu:10',
  },
  {
    id: 'register-spills',
    shared: {
      file: 'register_spills.cu',
      block: 256,
      arguments: [{ bytes: 2000, word: (index) => index % 7 }, floats(116 * 256), i32(500)],
    },
    defect: { functionName: 'indexed_by_data', grid: 116 },
    healthy: { functionName: 'indexed_by_constants', grid: 116 },
  },
  {
    id: 'atomics-contention',
    shared: {
      file: 'atomics_contention.cu',
      block: 256,
      arguments: [floats(58 * 256 * 16), floats(1), i32(58 * 256 * 16)],
    },
    defect: { functionName: 'every_element', grid: 58 },
    healthy: { functionName: 'once_per_cta', grid: 58 },
    line: 'atomics_contention.cu:3',
  },
  {
    id: 'tensor-cores-unused',
    shared: {
      file: 'tensor_cores_unused.cu',
      block: 128,
      arguments: [{ bytes: 512 }, { bytes: 256 }, floats(116 * 128 * 4), i32(40)],
      halfPrecisionMatrixWork: true,
    },
    defect: { functionName: 'on_fp32', grid: 116 },
    healthy: { functionName: 'on_tensor_cores', grid: 116 },
  },
  {
    id: 'tensor-pipe-idle',
    shared: {
      file: 'tensor_pipe_idle.cu',
      block: 128,
      arguments: [floats(128), floats(58 * 2 * 128), i32(40)],
      halfPrecisionMatrixWork: true,
    },
    defect: { functionName: 'in_turns', grid: 58 * 2 },
    healthy: { functionName: 'products_alone', grid: 58 * 2 },
  },
  {
    id: 'exposed-copies',
    shared: {
      file: 'copies.cu',
      block: 128,
      arguments: [{ bytes: 40 * 2048 }, floats(58 * 128), i32(40)],
      halfPrecisionMatrixWork: true,
    },
    defect: { functionName: 'through_registers', grid: 58 },
    healthy: { functionName: 'two_stages', grid: 58 },
    line: 'copies.cu:29',
  },
  {
    id: 'few-stages',
    shared: {
      file: 'copies.cu',
      block: 128,
      arguments: [{ bytes: 40 * 2048 }, floats(58 * 128), i32(40)],
      halfPrecisionMatrixWork: true,
    },
    defect: { functionName: 'two_stages', grid: 58 },
    healthy: { functionName: 'twenty_stages', grid: 58 },
  },
  {
    // No virtual GPU has wgmma: what ptxas 13.0 says of wgmma_serialized.cu (test/toolchains has it compiled), beside a
    // kernel that has tensor work.
    id: 'wgmma-serialized',
    shared: {
      file: 'tensor_pipe_idle.cu',
      block: 128,
      arguments: [floats(128), floats(58 * 2 * 128), i32(40)],
      halfPrecisionMatrixWork: true,
    },
    defect: {
      functionName: 'products_alone',
      grid: 58 * 2,
      diagnostics: [{ severity: 'note', message: SERIALIZED_BY_PTXAS }],
    },
    healthy: { functionName: 'products_alone', grid: 58 * 2 },
  },
  {
    id: 'special-function-bound',
    shared: { file: 'special_functions.cu', block: 256, arguments: [floats(FULL * 256), i32(200)] },
    defect: { functionName: 'exponentials', grid: FULL },
    healthy: { functionName: 'polynomials', grid: FULL },
  },
  {
    id: 'memory-bound',
    shared: {
      file: 'bound_by.cu',
      block: 256,
      arguments: [{ bytes: FULL * 4096 }, { bytes: FULL * 4096 }, i32(FULL * 256)],
    },
    defect: { functionName: 'copy', grid: FULL },
    healthy: { functionName: 'multiply_add', grid: FULL, arguments: [floats(FULL * 256), i32(200)] },
  },
  {
    id: 'compute-bound',
    shared: { file: 'bound_by.cu', block: 256, arguments: [floats(FULL * 256), i32(500)] },
    defect: { functionName: 'multiply_add', grid: FULL },
    healthy: {
      functionName: 'copy',
      grid: FULL,
      arguments: [{ bytes: FULL * 4096 }, { bytes: FULL * 4096 }, i32(FULL * 256)],
    },
  },
  {
    id: 'latency-bound',
    shared: {
      file: 'bound_by.cu',
      block: 32,
      arguments: [{ bytes: 4096 * 4, word: (index) => (index * 5 + 1) % 4096 }, floats(58 * 32), i32(500)],
    },
    defect: { functionName: 'chase', grid: 58 },
    healthy: { functionName: 'multiply_add', grid: FULL, block: 256, arguments: [floats(FULL * 256), i32(500)] },
  },
  {
    id: 'launch-bound',
    shared: { file: 'launch_bound.cu', block: 128, arguments: [floats(58 * 128), i32(1)] },
    defect: { functionName: 'add', grid: 58, launchCount: 2 },
    healthy: { functionName: 'add', grid: 58, launchCount: 2, arguments: [floats(58 * 128), i32(20_000)] },
  },
];
