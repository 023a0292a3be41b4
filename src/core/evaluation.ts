import type { EvaluationArtifacts, KeepRequest } from './artifacts.ts';
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
  /** Largest |output − oracle| over all checks; `null` when it was not a number. */
  maxAbsoluteError: number | null;
  /** Tolerance at the element that came nearest to (or went furthest over) it. */
  tolerance: number;
  /** That element. Absent if every output equals its wanted value. */
  nearest?: ComparedElement;
  /** Launch sequences whose every output was compared. */
  checksRun: number;
  firstWrong?: WrongElement;
  /** Largest |error| ÷ tolerance. Passes if ≤ 1. */
  worstErrorRatio?: number;
  /** Largest RMS error of an output ÷ its limit; 0 where the comparison sets none. Passes if ≤ 1. */
  rmsErrorRatio?: number;
}

/** What a candidate was verified on beside the timed workload's own inputs. */
export interface Coverage {
  /** How many of the problem's check shapes the kernel takes. */
  checkShapes: number;
  /** Check shapes that the kernel's limits or constraints exclude. */
  excludedShapes: Dimensions[];
  /** Shapes that the seed chose, within the kernel's limits. */
  drawnShapes: Dimensions[];
  /** Generator sets that the timed workload was run with, beside the declared inputs. */
  generatorSets: string[];
  /** Checks that were left out, and why; `code` of the error that kept one from being run. */
  leftOut: { check: string; reason: string; code?: string }[];
  /** Dimensions of which the kernel takes no value but the timed one, though the problem has others. */
  fixedDimensions: string[];
  /** The kernel was verified at no shape but the timed one: nothing is known of any other. */
  timedShapeOnly: boolean;
}

/** The problem that judged a kernel. */
export interface JudgingProblem {
  name: string;
  folder: string;
  /** The kernel does not lie directly below that folder, as a rung of its ladder would. */
  elsewhere: boolean;
}

/** Where what was judged stands in the journal of its store, or why it does not. */
export type JournalMark = { attempt: string; parent: string | null } | { notKept: string };

/** One candidate judged on one workload and device. Plain JSON: what `evaluate --json` prints. */
export interface Evaluation {
  schemaVersion: 1;
  /** Of the document that `evaluate --json` prints; evaluations inside others have none. */
  kind?: 'evaluate';
  /** `e1`, `e2`, … within a run; `e0` for a lone evaluation. */
  id: string;
  candidate: { id: string; kernel: string; folder: string; parameters: ParameterValues };
  /** Whose reference and checks judged; told by commands that judge a folder. */
  problem?: JudgingProblem;
  /** Told by commands that judge what somebody tries. */
  journal?: JournalMark;
  device: DeviceIdentity;
  workload: { name: string; dimensions: Dimensions };
  /** Seeded inputs, orders and drawn shapes. Absent from evaluations of versions that did not say. */
  seed?: number;
  status: EvaluationStatus;
  /** Why the status is not `passed`: what, where, how many. */
  reason?: string;
  /** Which check found it: shape, generator set, poison, order. */
  failedCheck?: string;
  fault?: DeviceFault;
  /** The mistake in kernel.json that made the candidate `invalid`, with its file and path, where there is one. */
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
  /** Beyond their threshold, and worth nothing as long as something else binds; absent where there are none. */
  hiddenFindings?: Finding[];
  /** Not evaluated now: virtual devices find the same each time, and this is what was found then, in so many ms. */
  repeated?: { evaluatedAt: string; elapsedMs: number };
  /** PTX and machine code of the candidate, if the request asked to keep them. */
  artifacts?: EvaluationArtifacts;
  /** Wall time spent, by phase. */
  elapsedMs: { compile: number; verify: number; time: number; total: number };
}

/** `failedCheck` of a candidate that was right as long as it was verified. */
export const WHILE_TIMED = 'while it was timed';

/** Right when verified, wrong or unsafe when timed: a kernel that tells the two apart, or comes out right by chance. */
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
  /** The `index`-th of `count` checks; there may turn out to be one more. */
  | { readonly stage: 'verify'; readonly check: string; readonly index: number; readonly count: number }
  | { readonly stage: 'time'; readonly kind: 'measured' | 'predicted' };

export interface EvaluationRequest {
  problem: Problem;
  candidate: Candidate;
  workload: Workload;
  /** Seeds inputs, orders, poisons and drawn shapes; never reaches a kernel. */
  seed: number;
  /** Virtual devices: two checks, then counters and a prediction; what gets through is `unverified`. */
  quick?: boolean;
  /** Verify on more drawn shapes, with every generator set, as a winner is. */
  thorough?: boolean;
  id?: string;
  signal?: AbortSignal;
  /**
   * What was found when the candidate passed on this workload; it is counted then, not compared again. A real GPU needs its
   * time as well, and profiles instead of measuring.
   */
  passedBefore?: { correctness: Correctness; coverage: Coverage; timing?: Timing };
  /** Real GPUs: how long to measure; `screen` when absent. */
  tier?: Tier;
  /** Real GPUs: a fixed number of blocks; what confirms a winner. */
  blocks?: number;
  /** Real GPUs: candidates to measure beside this one, in the same blocks. They must have passed before. */
  against?: readonly { name: string; candidate: Candidate }[];
  /** Real GPUs: library baselines to measure beside it, by the names baseline.py gives them. */
  libraryBaselines?: readonly string[];
  /** Real GPUs: profile as well, unless it is not faster than a kernel it ran `against`; `none` when absent. */
  profile?: ProfileLevel | 'none';
  /** Real GPUs: run the sanitizer as well. */
  sanitize?: boolean;
  /** Keep the code and the profiler's report. Never changes a result. */
  keep?: KeepRequest;
  /** Told before each stage. Never changes a result. */
  onStage?: (stage: EvaluationStage) => void;
}

/** Seam 2: judges candidates. Never rejects for anything a candidate did; rejects only when aborted or misused. */
export interface Evaluator {
  evaluate(request: EvaluationRequest): Promise<Evaluation>;
  /** Starts work ahead (compiling) for candidates that may be asked for soon. Never changes a result, never fails. */
  prepare?(candidates: readonly Candidate[]): void;
  close(): Promise<void>;
}
