import type { CompiledCode, Diagnostic } from '../core/compiled-code.ts';
import type { Device } from '../core/device.ts';
import type { Problem, Workload } from '../core/problem.ts';
import { sumCounters } from '../core/sum-counters.ts';
import { diagnoseWhole } from '../diagnosis/diagnose.ts';
import { attainableBoundNs, vetoBoundNs } from '../hardware/bounds.ts';
import { type Wait, waitsIn } from '../ptx/waits.ts';
import { hasHalfPrecisionMatrixWork } from './instruments/half-precision-matrix-work.ts';
import { timedPlan } from './measure/timed-plan.ts';
import { implausibility, type Outcome } from './outcome.ts';
import { problemWork } from './problem-work.ts';
import type { Verified } from './verify/verify-request.ts';

/** Predicts the time of a verified candidate from its counters, and diagnoses it. */
export function predictOutcome(
  { device, problem, workload }: { device: Device; problem: Problem; workload: Workload },
  { correctness, coverage, plan, counters: launches, printed }: Verified,
): Outcome {
  const { spec } = device;
  const work = problemWork(problem, workload);
  const veto = vetoBoundNs(work, spec);
  const timing = device.predict(launches, timedPlan(plan), {
    vetoNs: veto.ns,
    attainableNs: attainableBoundNs(work, spec).ns,
  });
  const counters = sumCounters(launches);
  const evidence = { printed, timing, correctness, coverage, counters };
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
}

const LEFT_OUT: Readonly<Record<Wait['kind'], string>> = {
  sleep: 'the prediction leaves out __nanosleep: the kernel sleeps, and is slower than predicted',
  poll:
    'the prediction leaves out waiting for other CTAs, unless a warp looks back at many at once: a loop reads what they may write; a ' +
    'chain of CTAs that wait for one another is slower than predicted',
  mbarrier:
    'waits at mbarriers are predicted from what warps execute before they arrive: how long a copy or a product is on its way ' +
    'is left out, and the kernel may be slower',
  cluster:
    'waits for other CTAs of the cluster are predicted from what warps execute before they arrive: the way to their shared memory is ' +
    'left out, and the kernel may be slower',
  print: 'the prediction leaves out what printf does: the kernel prints, and is slower than predicted',
};

/** Notes on effects that a prediction leaves out; one note per kind, at its first place. */
export function predictionCaveats(code: CompiledCode): Diagnostic[] {
  if (code.kind !== 'ptx') return [];
  const waits = waitsIn(code.text);
  return (Object.keys(LEFT_OUT) as Wait['kind'][]).flatMap((kind) => {
    const first = waits.find((wait) => wait.kind === kind);
    return first ? [{ severity: 'note', message: LEFT_OUT[kind], location: first.source }] : [];
  });
}
