import type { Diagnostic } from '../core/compiled-code.ts';
import type { Counters, LaunchCounters } from '../core/counters.ts';
import type { DeviceSpec } from '../core/device-spec.ts';
import type { EvidenceItem, Finding } from '../core/finding.ts';
import type { Timing } from '../core/timing.ts';
import type { FindingId } from '../core/vocabulary.ts';
import type { LaunchModel } from '../hardware/launch-model/model-launch.ts';

/** What is diagnosed: one evaluation's counters and timing on one device. */
export interface DiagnosisInput {
  readonly counters: Counters;
  readonly timing: Timing;
  readonly spec: DeviceSpec;
  /** The problem multiplies matrices of fp16 or bf16, which tensor cores take. */
  readonly halfPrecisionMatrixWork: boolean;
  /** What the compiler said; nothing when absent. */
  readonly diagnostics?: readonly Diagnostic[];
}

/** A launch with its modelled time. */
export interface ModelledLaunch {
  readonly launch: LaunchCounters;
  readonly model: LaunchModel;
  /** Share of the sequence's modelled time. */
  readonly timeShare: number;
}

/** Warp instructions of the mean warp of a launch. */
export const meanWarpInstructions = ({ launch, model }: ModelledLaunch): number =>
  launch.instructions / (launch.ctaCount * model.schedule.warpsPerCta);

/** Modelled time that one resource alone takes for a launch, in ns. */
export const resourceNs = ({ model }: ModelledLaunch, resource: string): number =>
  model.bounds.find((bound) => bound.resource === resource)?.ns ?? 0;

export interface DiagnosisContext extends DiagnosisInput {
  /** Non-empty launches, the slowest first. */
  readonly launches: readonly ModelledLaunch[];
  /** Modelled time of the sequence. */
  readonly totalNs: number;
}

/** What a rule found; `diagnose` turns it into a `Finding`. */
export interface Observation {
  readonly title: string;
  readonly evidence: EvidenceItem[];
  readonly advice: string;
  readonly estimatedSpeedup: number;
  readonly arithmetic: string;
}

export interface Rule {
  readonly id: FindingId;
  /** Estimated gains below this are not worth a finding, e.g. 1.02. */
  readonly minimumSpeedup: number;
  observe(context: DiagnosisContext): Observation | undefined;
}

/** Turns an observation into a finding. The estimate is never below 1. */
export const toFinding = (rule: Rule, observation: Observation): Finding => ({
  id: rule.id,
  ...observation,
  estimatedSpeedup: Math.max(1, observation.estimatedSpeedup),
});
