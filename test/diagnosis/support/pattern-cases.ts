import type { ParameterDeclaration } from '../../../src/core/kernel.ts';
import type { FindingId } from '../../../src/core/vocabulary.ts';
import { attentionShape } from '../../support/attention-problem.ts';
import { kernel, type Situation } from './pattern-context.ts';

/** A situation in which a pattern has a move to offer, and one in which it has none (advice at most). */
export interface PatternCase {
  readonly pattern: string;
  readonly trigger: FindingId;
  readonly answers: Situation;
  /** The parameter or the rung that it turns to. */
  readonly with: string;
  readonly silent: Situation;
}

const MIDDLE: ParameterDeclaration = { values: [1, 2, 4], default: 2 };

/** A kernel with one parameter, in the middle of its values; one with a parameter of no known role. */
const has = (parameter: string): Situation => ({ own: kernel('02_middle', [], { [parameter]: MIDDLE }) });
const hasNothing: Situation = { own: kernel('02_bare', [], {}) };
const nextRung = (remedy: FindingId): Situation => ({ ...hasNothing, laterRungs: [kernel('03_next', [remedy])] });

/** One CTA of 48 KiB fits on an SM twice, if it takes a stage less three times; it was counted. */
const staged = (sharedBytes: string): Situation => {
  const own = kernel('02_staged', [], { STAGES: { values: [1, 2, 3], default: 3 } });
  own.file.steps = [{ function: 'f', grid: [58 * 8], block: [128], sharedBytes, arguments: [] }];
  return { own, counted: { ctaCount: 58 * 8, sharedBytes: 48 * 1024 } };
};

export const PATTERN_CASES: readonly PatternCase[] = [
  {
    pattern: 'parallelism-first',
    trigger: 'parallelism',
    answers: { dimensions: attentionShape({ B: 1, H: 1, S: 128, D: 64, causal: 0 }) },
    with: 'BLOCK_M',
    silent: has('WARPS'),
  },
  {
    pattern: 'warp-parallel-reductions',
    trigger: 'serial-sections',
    answers: has('WARPS'),
    with: 'WARPS',
    silent: has('PAD'),
  },
  {
    pattern: 'tiles-in-shared-memory',
    trigger: 'redundant-global-loads',
    answers: has('BLOCK_M'),
    with: 'BLOCK_M',
    silent: has('PAD'),
  },
  {
    pattern: 'vectorised-loads',
    trigger: 'narrow-loads',
    answers: has('VECTOR_WIDTH'),
    with: 'VECTOR_WIDTH',
    silent: has('PAD'),
  },
  { pattern: 'pad-shared-rows', trigger: 'bank-conflicts', answers: has('PAD'), with: 'PAD', silent: has('WARPS') },
  {
    pattern: 'fit-ctas',
    trigger: 'occupancy',
    answers: staged('16384 * STAGES'),
    with: 'STAGES',
    silent: staged('49152'),
  },
  { pattern: 'raise-occupancy', trigger: 'occupancy', answers: has('UNROLL'), with: 'UNROLL', silent: has('PAD') },
  // 64 CTAs of 64 rows on 58 SMs are uneven; where nothing changes the grid, nothing helps.
  { pattern: 'whole-waves', trigger: 'tail-effect', answers: {}, with: 'BLOCK_M', silent: has('WARPS') },
  {
    pattern: 'tensor-cores',
    trigger: 'tensor-cores-unused',
    answers: nextRung('tensor-cores-unused'),
    with: '03_next',
    silent: nextRung('bank-conflicts'),
  },
  {
    pattern: 'overlap-softmax',
    trigger: 'tensor-pipe-idle',
    answers: has('CONSUMERS'),
    with: 'CONSUMERS',
    silent: hasNothing,
  },
  { pattern: 'copies-ahead', trigger: 'few-stages', answers: has('STAGES'), with: 'STAGES', silent: has('PAD') },
  {
    pattern: 'asynchronous-products',
    trigger: 'wgmma-serialized',
    answers: has('BLOCK_N'),
    with: 'BLOCK_N',
    silent: has('PAD'),
  },
  {
    pattern: 'more-work-in-flight',
    trigger: 'latency-bound',
    answers: has('STAGES'),
    with: 'STAGES',
    silent: has('PAD'),
  },
  { pattern: 'larger-tiles', trigger: 'memory-bound', answers: has('BLOCK_N'), with: 'BLOCK_N', silent: has('PAD') },
  {
    pattern: 'keep-arrays-in-registers',
    trigger: 'register-spills',
    answers: has('ROWS_PER_WARP'),
    with: 'ROWS_PER_WARP',
    silent: has('PAD'),
  },
  {
    pattern: 'aggregate-atomics',
    trigger: 'atomics-contention',
    answers: nextRung('atomics-contention'),
    with: '03_next',
    silent: nextRung('bank-conflicts'),
  },
  {
    pattern: 'order-ctas-for-reuse',
    trigger: 'cache-reuse',
    answers: has('GROUP_M'),
    with: 'GROUP_M',
    silent: has('PAD'),
  },
  {
    pattern: 'fewer-special-functions',
    trigger: 'special-function-bound',
    answers: nextRung('special-function-bound'),
    with: '03_next',
    silent: nextRung('bank-conflicts'),
  },
  {
    pattern: 'fuse-launches',
    trigger: 'launch-bound',
    answers: nextRung('launch-bound'),
    with: '03_next',
    silent: nextRung('bank-conflicts'),
  },
  {
    pattern: 'uniform-branches',
    trigger: 'divergence',
    answers: nextRung('divergence'),
    with: '03_next',
    silent: nextRung('bank-conflicts'),
  },
  {
    pattern: 'fewer-instructions',
    trigger: 'compute-bound',
    answers: has('UNROLL'),
    with: 'UNROLL',
    silent: has('PAD'),
  },
  { pattern: 'tune-neighbours', trigger: 'compute-bound', answers: has('SCALE'), with: 'SCALE', silent: hasNothing },
];
