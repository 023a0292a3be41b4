import type { ArgumentMismatch, DeviceFault } from '../../core/device-values.ts';
import type { Correctness, Coverage } from '../../core/evaluation.ts';
import type { FailureStatus } from '../../core/status.ts';

/** Why a candidate is not believed, and on which check that showed. */
export interface Refused {
  readonly ok: false;
  readonly status: FailureStatus;
  readonly reason: string;
  readonly failedCheck?: string;
  readonly fault?: DeviceFault;
  readonly mismatch?: ArgumentMismatch;
  readonly correctness?: Correctness;
  readonly coverage?: Coverage;
}
