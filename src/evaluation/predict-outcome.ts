import type { Device } from '../core/device.ts';
import type { Problem, Workload } from '../core/problem.ts';
import { sumCounters } from '../core/sum-counters.ts';
import { diagnoseWhole } from '../diagnosis/diagnose.ts';
import { attainableBoundNs, vetoBoundNs } from '../hardware/bounds.ts';
import { hasHalfPrecisionMatrixWork } from './instruments/half-precision-matrix-work.ts';
import { implausibility, type Outcome } from './outcome.ts';
import { problemWork } from './problem-work.ts';
import type { Verified } from './verify/verify.ts';

/** Predicts the time of a verified candidate from its counters, and diagnoses it. */
export const predictOutcome = (
  { device, problem, workload }: { device: Device; problem: Problem; workload: Workload },
  { correctness, coverage, plan, counters: launches }: Verified,
): Outcome => {
  const { spec } = device;
  const work = problemWork(problem, workload);
  const veto = vetoBoundNs(work, spec);
  const timing = device.predict(launches, plan, {
    vetoNs: veto.ns,
    attainableNs: attainableBoundNs(work, spec).ns,
  });
  const counters = sumCounters(launches);
  const evidence = { timing, correctness, coverage, counters };
  const implausible = implausibility(timing, veto.arithmetic);
  if (implausible) return { status: 'implausible', reason: implausible, ...evidence };
  const halfPrecisionMatrixWork = hasHalfPrecisionMatrixWork(problem.file, workload.dimensions);
  const { findings, hiddenFindings } = diagnoseWhole({ counters, timing, spec, halfPrecisionMatrixWork });
  return {
    status: 'passed',
    ...evidence,
    findings,
    hiddenFindings: hiddenFindings.length > 0 ? hiddenFindings : undefined,
  };
};
