import type { Diagnostic } from './compiled-code.ts';
import type { Counters } from './counters.ts';
import type { DeviceFault, DeviceIdentity } from './device.ts';
import type { ErrorDetails } from './errors.ts';
import type { Finding } from './finding.ts';
import type { Candidate, ParameterValues } from './kernel.ts';
import type { Dimensions, Problem, Workload } from './problem.ts';
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

export interface Correctness {
  /** Largest |output − oracle| over all checks; `null` when it was not a number. */
  maxAbsoluteError: number | null;
  /** Tolerance at the element that came nearest to (or went furthest over) it. */
  tolerance: number;
  /** Launch sequences whose every output was compared. */
  checksRun: number;
  firstWrong?: WrongElement;
  /** Largest |error| ÷ tolerance. Passes if ≤ 1. */
  worstErrorRatio?: number;
  /** Largest RMS error of an output ÷ its limit; 0 where the comparison sets none. Passes if ≤ 1. */
  rmsErrorRatio?: number;
}

/** One candidate judged on one workload and device. Plain JSON: what `evaluate --json` prints. */
export interface Evaluation {
  schemaVersion: 1;
  /** `e1`, `e2`, … within a run; `e0` for a lone evaluation. */
  id: string;
  candidate: { id: string; kernel: string; folder: string; parameters: ParameterValues };
  device: DeviceIdentity;
  workload: { name: string; dimensions: Dimensions };
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
  counters?: Counters;
  findings: Finding[];
  /** Wall time spent, by phase. */
  elapsedMs: { compile: number; verify: number; time: number; total: number };
}

export interface EvaluationRequest {
  problem: Problem;
  candidate: Candidate;
  workload: Workload;
  /** Seeds inputs, orders and poisons; never reaches a kernel. */
  seed: number;
  id?: string;
  signal?: AbortSignal;
}

/** Seam 2: judges candidates. Never rejects for anything a candidate did; rejects only when aborted or misused. */
export interface Evaluator {
  evaluate(request: EvaluationRequest): Promise<Evaluation>;
  close(): Promise<void>;
}
