import type { ArgumentMismatch, DeviceFault } from '../../core/device-values.ts';
import type { Correctness, Coverage, Evaluation } from '../../core/evaluation.ts';
import type { FailureStatus } from '../../core/status.ts';

/** Why a candidate is refused, and the check that showed it. */
export interface Refused {
  readonly ok: false;
  readonly status: FailureStatus;
  readonly reason: string;
  readonly failedCheck?: string;
  readonly fault?: DeviceFault;
  /** What the kernels printed. */
  readonly printed?: Evaluation['printed'];
  /** Who wrote the first wrong element. */
  readonly writer?: Evaluation['writer'];
  readonly mismatch?: ArgumentMismatch;
  readonly correctness?: Correctness;
  readonly coverage?: Coverage;
  /** Baselines that failed in the same blocks: each may be why the candidate could not be measured. */
  readonly missingBaselines?: Evaluation['missingBaselines'];
}
