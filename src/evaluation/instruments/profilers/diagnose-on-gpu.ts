import type { LaunchCounters } from '../../../core/counters.ts';
import type { Finding } from '../../../core/finding.ts';
import type { CountersSource } from '../../../core/profile.ts';
import { sumCounters } from '../../../core/sum-counters.ts';
import { diagnoseWhole } from '../../../diagnosis/diagnose.ts';
import { DECLARED } from '../../oracle/check.ts';
import { hasHalfPrecisionMatrixWork } from '../half-precision-matrix-work.ts';
import type { Diagnosed, ProfileSubject } from '../instruments.ts';
import { type ProfileOutcome, profile } from './profile.ts';
import { resourceFindings } from './resource-findings.ts';
import { virtualCounters } from './virtual-counters.ts';

/**
 * Finds what limits a measured candidate: from hardware counters and the profiler's own rules; without them, from a virtual
 * GPU's counters of the same source; if that can't run it, from resources and occupancy alone.
 *
 * @param ordinal number of the GPU in the driver's order.
 */
export async function diagnoseOnGpu(subject: ProfileSubject, ordinal: number): Promise<Diagnosed> {
  const profiled = await profileSubject(subject, ordinal);
  if (profiled.ok) {
    const { report, counters, countersSource, findings } = profiled;
    return { profile: report, ...fromCounters(subject, counters, countersSource, findings) };
  }
  const because = `no hardware counters: ${profiled.detail}`;
  const { problem, candidate, workload, seed, device, signal } = subject;
  const counted = await virtualCounters({
    problem,
    candidate,
    workload,
    seed,
    spec: device.spec,
    because,
    signal,
  });
  if (counted.ok) return fromCounters(subject, counted.counters, counted.countersSource, []);
  const { plan, module } = subject;
  return {
    findings: resourceFindings({
      plan,
      resources: module.resources ?? {},
      spec: device.spec,
      because: `${because}; ${counted.detail}`,
    }),
  };
}

function profileSubject(subject: ProfileSubject, ordinal: number): Promise<ProfileOutcome> {
  const { device, oracle, problem, workload, seed, module, plan, level, candidate, keepReportIn, signal } = subject;
  const { dimensions, cache } = workload;
  const request = {
    ordinal,
    code: module.code,
    plan,
    contents: oracle.check({ problem, seed, dimensions, generatorSet: DECLARED }).inputs.bytes,
    level,
    cacheControl: cache === 'cold' ? ('all' as const) : ('none' as const),
    resources: module.resources,
    sources: candidate.kernel.sources,
    keepReportIn,
    signal,
  };
  return device.measuring!.use.alone(() => profile(request));
}

function fromCounters(
  { problem, workload, timing, device, module }: ProfileSubject,
  launches: LaunchCounters[],
  countersSource: CountersSource,
  others: readonly Finding[],
): Diagnosed {
  const counters = sumCounters(launches);
  const halfPrecisionMatrixWork = hasHalfPrecisionMatrixWork(problem.file, workload.dimensions);
  const { findings, hiddenFindings } = diagnoseWhole({
    counters,
    timing,
    spec: device.spec,
    halfPrecisionMatrixWork,
    diagnostics: module.code.diagnostics,
  });
  return {
    counters,
    countersSource,
    findings: [...findings, ...others],
    hiddenFindings: hiddenFindings.length > 0 ? hiddenFindings : undefined,
  };
}
