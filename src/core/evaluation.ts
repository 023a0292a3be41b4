import type { EvaluationArtifacts, KeepRequest } from './artifacts.ts';
import type { ComparedSizes } from './compared-sizes.ts';
import type { Diagnostic } from './compiled-code.ts';
import type { Counters } from './counters.ts';
import type { DeviceIdentity } from './device.ts';
import type { DeviceFault } from './device-values.ts';
import type { ErrorDetails } from './errors.ts';
import type { Finding } from './finding.ts';
import type { Candidate, ParameterValues } from './kernel.ts';
import type { Comparison, Measurement, Tier } from './measurement.ts';
import type { Dimensions, Problem, Workload } from './problem.ts';
import type { CountersSource, ProfileLevel, ProfileReport } from './profile.ts';
import type { SanitizerReport } from './sanitizer-report.ts';
import type { EvaluationStatus } from './status.ts';
import type { Timing } from './timing.ts';

/** The first element that failed, and how many did. */
export interface WrongElement {
  output: string;
  /** Multi-index, outermost first. */
  index: number[];
  got: number;
  want: number;
  tolerance: number;
  wrongCount: number;
  elementCount: number;
}

/** One element of an output and its wanted value. */
export interface ComparedElement {
  output: string;
  /** Multi-index, outermost first. */
  index: number[];
  got: number;
  want: number;
  /** |got − want|. */
  error: number;
  /** Largest error allowed at this element. */
  tolerance: number;
}

export interface Correctness {
  /** Largest |output − oracle| over all checks; `null` if it was not a number. */
  maxAbsoluteError: number | null;
  /** Tolerance at the element with the largest error ÷ tolerance. */
  tolerance: number;
  /** That element. Absent if every output equals its wanted value. */
  nearest?: ComparedElement;
  /** Launch sequences whose every output was compared. */
  checksRun: number;
  firstWrong?: WrongElement;
  /** Largest |error| ÷ tolerance. Passes if ≤ 1. */
  worstErrorRatio?: number;
  /** Largest RMS error of an output ÷ its limit; 0 if the comparison sets none. Passes if ≤ 1. */
  rmsErrorRatio?: number;
}

/** The shapes and inputs on which a candidate was verified, besides the timed workload's own inputs. */
export interface Coverage {
  /** How many of the problem's check shapes the kernel takes. */
  checkShapes: number;
  /** Check shapes that the kernel's limits or constraints exclude. */
  excludedShapes: Dimensions[];
  /** Shapes that the seed chose, within the kernel's limits. */
  drawnShapes: Dimensions[];
  /** Generator sets that the timed workload ran with, besides the declared inputs. */
  generatorSets: string[];
  /** Checks that did not run, with the reason, and the `code` of the error if one prevented it. */
  leftOut: { check: string; reason: string; code?: string }[];
  /** Dimensions for which the kernel takes only the timed value, although the problem allows others. */
  fixedDimensions: string[];
  /** True if the kernel was verified only at the timed shape, so that nothing is known of others. */
  timedShapeOnly: boolean;
  /** Where results were compared and right. Absent in evaluations of older versions and after quick looks. */
  compared?: ComparedSizes;
}

/** The problem that judged a kernel. */
export interface JudgingProblem {
  name: string;
  folder: string;
  /** True unless the kernel lies directly below that folder, like a rung of its ladder. */
  elsewhere: boolean;
}

/** The attempt's place in the store's journal, or why it has none. */
export type JournalMark = { attempt: string; parent: string | null } | { notKept: string };

/** One candidate judged on one workload and device. Plain JSON: what `evaluate --json` prints. */
export interface Evaluation {
  schemaVersion: 1;
  /** Only in the document that `evaluate --json` prints, not in evaluations inside other documents. */
  kind?: 'evaluate';
  /** `e1`, `e2`, … within a run; `e0` for a lone evaluation. */
  id: string;
  candidate: { id: string; kernel: string; folder: string; parameters: ParameterValues };
  /** The problem whose reference and checks judged it; only from commands that judge a folder. */
  problem?: JudgingProblem;
  /** Told by commands that judge what somebody tries. */
  journal?: JournalMark;
  device: DeviceIdentity;
  workload: { name: string; dimensions: Dimensions };
  /** The seed of inputs, orders and drawn shapes. Absent in evaluations of older versions. */
  seed?: number;
  status: EvaluationStatus;
  /** Why the status is not `passed`: what, where, how many. */
  reason?: string;
  /** Which check found it: shape, generator set, poison, order. */
  failedCheck?: string;
  fault?: DeviceFault;
  /** The mistake in kernel.json that made the candidate `invalid`, with file and path, if there is one. */
  error?: ErrorDetails;
  diagnostics?: Diagnostic[];
  timing?: Timing;
  correctness?: Correctness;
  /** Absent where verification did not begin. */
  coverage?: Coverage;
  counters?: Counters;
  /** Real GPUs: where `counters` were counted. */
  countersSource?: CountersSource;
  profile?: ProfileReport;
  sanitizer?: SanitizerReport;
  /** The candidate against its baselines, measured in the same blocks. */
  comparisons?: Comparison[];
  /** Those others' own measurements, the candidate's being in `timing`. */
  baselines?: BaselineMeasurement[];
  /** Baselines asked for that could not be measured, and why. */
  missingBaselines?: { name: string; reason: string }[];
  findings: Finding[];
  /** Findings beyond their threshold whose fix gains nothing while another resource binds; absent if there are none. */
  hiddenFindings?: Finding[];
  /** Set if the evaluation comes from the cache of a virtual device: when it was made, and how many ms it took. */
  repeated?: { evaluatedAt: string; elapsedMs: number };
  /** PTX and machine code of the candidate, if the request asked to keep them. */
  artifacts?: EvaluationArtifacts;
  /** Wall time spent, by phase. */
  elapsedMs: { compile: number; verify: number; time: number; total: number };
}

/** `failedCheck` of a candidate that was right when verified. */
export const WHILE_TIMED = 'while it was timed';

/**
 * Whether it was right when verified, and wrong or unsafe when timed: a kernel that distinguishes the two, or is right by
 * chance.
 */
export const isWrongWhenTimed = ({ status, failedCheck }: Pick<Evaluation, 'status' | 'failedCheck'>): boolean =>
  (status === 'wrong' || status === 'unsafe') && failedCheck === WHILE_TIMED;

/** A baseline as measured beside a candidate. */
export interface BaselineMeasurement {
  name: string;
  /** `library`: by the Python worker; `kernel`: another candidate. */
  kind: 'library' | 'kernel';
  measurement: Measurement;
  /** Libraries: e.g. torch and cuDNN versions. */
  versions?: Readonly<Record<string, string>>;
  /** Libraries: names of the GPU kernels that really ran. */
  gpuKernels?: string[];
}

/** What is being done of an evaluation. */
export type EvaluationStage =
  | { readonly stage: 'compile' }
  /** The `index`-th of `count` checks. One more check may be added later. */
  | { readonly stage: 'verify'; readonly check: string; readonly index: number; readonly count: number }
  | { readonly stage: 'time'; readonly kind: 'measured' | 'predicted' };

export interface EvaluationRequest {
  problem: Problem;
  candidate: Candidate;
  workload: Workload;
  /** Seeds inputs, orders, poisons and drawn shapes. It never reaches a kernel. */
  seed: number;
  /** Virtual devices: only two checks, then counters and a prediction. The result is at best `unverified`. */
  quick?: boolean;
  /** Verify as a winner: on more drawn shapes, with every generator set. */
  thorough?: boolean;
  id?: string;
  signal?: AbortSignal;
  /**
   * The result of an earlier run in which the candidate passed on this workload. It is then counted, not compared again. A
   * real GPU also needs its time, and profiles instead of measuring.
   */
  passedBefore?: { correctness: Correctness; coverage: Coverage; timing?: Timing };
  /** Real GPUs: how long to measure; `screen` when absent. */
  tier?: Tier;
  /** Real GPUs: a fixed number of blocks, for a confirmation. */
  blocks?: number;
  /** Real GPUs: candidates to measure in the same blocks. They must have passed before. */
  against?: readonly { name: string; candidate: Candidate }[];
  /** Real GPUs: library baselines to measure in the same blocks, by their names in baseline.py. */
  libraryBaselines?: readonly string[];
  /** Real GPUs: also profile, unless the candidate is not faster than a kernel in `against`; `none` by default. */
  profile?: ProfileLevel | 'none';
  /** Real GPUs: run the sanitizer as well. */
  sanitize?: boolean;
  /** Keep the code and the profiler's report. Never changes a result. */
  keep?: KeepRequest;
  /** Told before each stage. Never changes a result. */
  onStage?: (stage: EvaluationStage) => void;
}

/** Seam 2: judges candidates. Its promise rejects only if aborted or misused, never because of a candidate. */
export interface Evaluator {
  evaluate(request: EvaluationRequest): Promise<Evaluation>;
  /** Starts work ahead (compiling) for candidates that may be requested soon. Never changes a result, never fails. */
  prepare?(candidates: readonly Candidate[]): void;
  close(): Promise<void>;
}
