import type { CompileOutcome } from '../core/compiled-code.ts';
import type { ArgumentMismatch } from '../core/device-values.ts';
import type { ErrorDetails } from '../core/errors.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Kernel } from '../core/kernel.ts';
import { placedLaunches } from '../core/plan/declared-steps.ts';
import type { Timing } from '../core/timing.ts';
import type { Refused } from './launches/refusal.ts';

/** How an evaluation ended, with its results so far. */
export type Outcome = Pick<Evaluation, 'status'> & Partial<Evaluation>;

export const compileRefusal = (outcome: Extract<CompileOutcome, { ok: false }>): Outcome => ({
  status: outcome.status,
  reason: outcome.message,
  diagnostics: outcome.diagnostics.length > 0 ? [...outcome.diagnostics] : undefined,
});

export const refusalOutcome = (
  kernel: Kernel,
  { status, reason, failedCheck, fault, printed, writer, mismatch, correctness, coverage, missingBaselines }: Refused,
): Outcome => ({
  status,
  reason,
  failedCheck,
  fault,
  printed,
  writer,
  error: mismatch ? mismatchError(kernel, mismatch, reason) : undefined,
  correctness,
  coverage,
  missingBaselines,
});

/** Arguments that do not fit the compiled function are a mistake at this place of kernel.json. */
function mismatchError(kernel: Kernel, mismatch: ArgumentMismatch, message: string): ErrorDetails {
  const { functionName, argumentIndex, received, expected } = mismatch;
  const path = placedLaunches(kernel.file.steps).find(({ step }) => step.function === functionName)?.path ?? 'steps';
  return {
    code: 'argument-mismatch',
    message,
    file: `${kernel.folder}/kernel.json`,
    path: `${path}.arguments${argumentIndex === undefined ? '' : `[${argumentIndex}]`}`,
    received,
    expected,
    hint: `Make the step's arguments match the parameters of ${functionName}, in order and in dtype.`,
  };
}

/** What only a quick look was taken at is never `passed`: nothing may be kept, confirmed or handed over for it. */
export const unverified = (outcome: Outcome): Outcome =>
  outcome.status === 'passed'
    ? { ...outcome, status: 'unverified', reason: 'two checks were run; leave --quick out to verify it' }
    : outcome;

/** A time below that of the minimum work on the fastest pipe is implausible. */
export const implausibility = ({ medianNs, vetoNs }: Timing, arithmetic: string): string | undefined =>
  medianNs >= vetoNs
    ? undefined
    : `${medianNs.toFixed(1)} ns is below the provable lower bound of ${vetoNs.toFixed(1)} ns: ${arithmetic}`;
