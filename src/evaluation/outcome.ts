import type { CompileFailure } from '../core/compiled-code.ts';
import type { ArgumentMismatch } from '../core/device-values.ts';
import type { ErrorDetails } from '../core/errors.ts';
import type { Coverage, Evaluation } from '../core/evaluation.ts';
import type { Kernel } from '../core/kernel.ts';
import { placedLaunches } from '../core/plan/declared-steps.ts';
import type { Timing } from '../core/timing.ts';
import type { Refused } from './launches/refusal.ts';

/** How an evaluation ended, with its results so far. */
export type Outcome = Pick<Evaluation, 'status'> & Partial<Evaluation>;

export const compileRefusal = (outcome: CompileFailure): Outcome => ({
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

/** What was not verified at the workload is never `passed`: nothing may be kept, confirmed or handed over for it. */
export const unverified = (outcome: Outcome, reason: string | undefined): Outcome =>
  outcome.status === 'passed' && reason !== undefined ? { ...outcome, status: 'unverified', reason } : outcome;

/** Of a quick look. */
export const QUICK = 'two checks were run; leave --quick out to verify it';

/** Why what a sample of the workload's CTAs shows is not verified; undefined if there was no sample. */
export function whySampled({ sampledCtas, compared }: Coverage): string | undefined {
  if (!sampledCtas) return undefined;
  const [run, of] = [sampledCtas.run, sampledCtas.of].map((count) => count.toLocaleString('en-US'));
  const others = compared
    ? 'only other shapes were verified'
    : 'the kernel takes no other shape, so nothing was verified';
  return `${run} of ${of} CTAs of the workload ran, and ${others}; leave --sample-ctas out to verify it`;
}

/** A time below that of the minimum work on the fastest pipe is implausible. */
export const implausibility = ({ medianNs, vetoNs }: Timing, arithmetic: string): string | undefined =>
  medianNs >= vetoNs
    ? undefined
    : `${medianNs.toFixed(1)} ns is below the provable lower bound of ${vetoNs.toFixed(1)} ns: ${arithmetic}`;
