import type { ArtifactStore } from '../../core/artifacts.ts';
import type { Device } from '../../core/device.ts';
import type { LoadedModule } from '../../core/device-values.ts';
import type { Evaluation } from '../../core/evaluation.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { Problem, Workload } from '../../core/problem.ts';
import type { ProfileLevel } from '../../core/profile.ts';
import type { Timing } from '../../core/timing.ts';
import type { LibraryContender } from '../measure/measure-candidate.ts';
import type { ExpectationCache } from '../oracle/expectation-cache.ts';
import type { DeviceReference } from '../oracle/expectations.ts';

/** A candidate that is loaded. */
export interface InstrumentSubject {
  readonly device: Device;
  readonly module: LoadedModule;
  /** Of the workload. */
  readonly plan: LaunchPlan;
  readonly problem: Problem;
  readonly candidate: Candidate;
  readonly workload: Workload;
  readonly seed: number;
  readonly oracle: ExpectationCache;
  readonly signal?: AbortSignal | undefined;
}

/** One that was verified and measured, to be profiled. */
export interface ProfileSubject extends InstrumentSubject {
  readonly level: ProfileLevel;
  readonly timing: Timing;
  /** Keeps the profiler's own report. */
  readonly keepReportIn?: ArtifactStore | undefined;
}

/** One to be sanitized. */
export interface SanitizerSubject extends InstrumentSubject {
  /** Time of one launch sequence, now or in an earlier measurement. */
  readonly sequenceNs: number;
}

/** What a diagnosis adds to an evaluation. */
export type Diagnosed = Pick<Evaluation, 'findings'> &
  Partial<Pick<Evaluation, 'counters' | 'countersSource' | 'profile' | 'hiddenFindings'>>;

/** What a real GPU's evaluations can be asked for beside a time. Each may be missing. */
export interface Instruments {
  /** Counters, where they come from, the profile and the findings. */
  readonly diagnose?: (subject: ProfileSubject) => Promise<Diagnosed>;
  readonly sanitize?: (subject: SanitizerSubject) => Promise<Pick<Evaluation, 'sanitizer'>>;
  /** A library's implementation of the problem, ready to be measured; a text says why not. */
  readonly baseline?: (request: {
    readonly name: string;
    readonly problem: Problem;
    readonly workload: Workload;
    readonly seed: number;
  }) => Promise<LibraryContender | string>;
  /** Names of all library baselines of a problem for a workload; a text says why there are none. */
  readonly baselineNames?: (problem: Problem, workload: Workload) => Promise<string[] | string>;
  readonly deviceReference?: DeviceReference;
}

/** The available library baselines, and why others are not. */
export async function librariesFor(
  instruments: Instruments | undefined,
  names: readonly string[],
  problem: Problem,
  workload: Workload,
  seed: number,
): Promise<{ found: LibraryContender[]; missing: { name: string; reason: string }[] }> {
  const found: LibraryContender[] = [];
  const missing: { name: string; reason: string }[] = [];
  for (const name of names) {
    const library =
      (await instruments?.baseline?.({ name, problem, workload, seed })) ?? 'this device has no library baselines';
    if (typeof library === 'string') missing.push({ name, reason: library });
    else found.push(library);
  }
  return { found, missing };
}
