/**
 * warpsmith's programming interface: the use cases that the command line has, each asked as its command is, and the types of what
 * they return. docs/reference/api.md shows them with examples.
 *
 * @packageDocumentation
 */
export { audit } from './app/audit.ts';
export { checkTarget } from './app/check.ts';
export { type DevicesReport, devices } from './app/devices.ts';
export { diagnoseKernel } from './app/diagnose.ts';
export { type DispatchOutcome, optimizePerWorkload } from './app/dispatch.ts';
export type { DoctorCheck } from './app/doctor/check.ts';
export { type DoctorReport, doctor } from './app/doctor/doctor.ts';
export type { ExportReport } from './app/export.ts';
export type { TorchExportReport } from './app/export-torch.ts';
export { type Asked, compare, evaluate, exportForTorch, exportKernel, gate, inspect, optimize } from './app/library.ts';
export { loadKernel } from './app/loading/load-kernel.ts';
export { loadProblem } from './app/loading/load-problem.ts';
export { measureProblem } from './app/measure.ts';
export type { OptimizeOutcome } from './app/optimize.ts';
export { patternRecords } from './app/patterns.ts';
export { compareReports, readReport } from './app/report.ts';
export { type ResumeOutcome, resumeRun } from './app/resume.ts';
export { listRuns, show } from './app/runs.ts';
export { searchBench } from './app/search-bench.ts';
export { type OnDevice, openSession, type Session, type SessionOptions, type Surroundings } from './app/session.ts';
export type { ArtifactStore, EvaluationArtifacts, KeepRequest } from './core/artifacts.ts';
export type { Counters, CounterTotals, LaunchCounters } from './core/counters.ts';
export type { Device, DeviceIdentity } from './core/device.ts';
export { type ErrorDetails, EXIT, WarpsmithError } from './core/errors.ts';
export type { Correctness, Evaluation, EvaluationRequest, Evaluator } from './core/evaluation.ts';
export type { EvidenceItem, Finding } from './core/finding.ts';
export type { Candidate, Kernel, KernelFile, ParameterValues } from './core/kernel.ts';
export type { LaunchPlan } from './core/launch-plan.ts';
export type { Comparison, Measurement, Tier } from './core/measurement.ts';
export type {
  Dimensions,
  Float64Matrix,
  Float64Room,
  Problem,
  ProblemFile,
  ReferenceFunction,
  Workload,
} from './core/problem.ts';
export type { ProfileReport, SanitizerReport } from './core/profile.ts';
export { COMMANDS, type CommandName } from './core/requests/commands.ts';
export type { RequestOf } from './core/requests/request.ts';
export { EVALUATION_STATUSES, type EvaluationStatus } from './core/status.ts';
export type { Timing } from './core/timing.ts';
export { STRATEGY_NAMES, type Verdict } from './core/vocabulary.ts';
export type { ListedDevice } from './devices/open-device.ts';
export type { AuditReport } from './evaluation/audit/audit.ts';
export { createRecordedEvaluator } from './evaluation/recording/replay.ts';
export { serveAgents } from './mcp/serve-agents.ts';
export type { Block, Document, Inline, Section } from './reports/document.ts';
export type { CheckReport } from './reports/documents/check.ts';
export type { ComparedSide, ComparedWorkload, CompareView } from './reports/documents/compare.ts';
export type { DiagnosisReport, SuggestedMove } from './reports/documents/diagnosis.ts';
export type {
  BestSoFar,
  GatedKernel,
  GatedWorkload,
  GateOutcome,
  GatePlace,
  GateView,
} from './reports/documents/gate.ts';
export { gateDocument } from './reports/documents/gate.ts';
export type { LadderCell, LadderRow, LadderView } from './reports/documents/ladder.ts';
export type { PatternRecord, PatternsReport, PatternTally } from './reports/documents/patterns.ts';
export { runDocument } from './reports/documents/run.ts';
export type { RunComparisonView } from './reports/documents/run-comparison.ts';
export { runComparisonDocument } from './reports/documents/run-comparison.ts';
export type { ListedRun, RunState, RunsReport } from './reports/documents/runs.ts';
export type { SearchBenchView } from './reports/documents/search-bench.ts';
export type { Shown, ShownCandidate, ShownEvaluation, ShownRun, StoredSource } from './reports/documents/show.ts';
export type { InspectedLine, InspectView } from './reports/inspect-view.ts';
export { printHtml } from './reports/print/html.ts';
export { printMarkdown } from './reports/print/markdown.ts';
export { printTerminal } from './reports/print/terminal.ts';
export type { RunView } from './reports/run-view.ts';
export { sarifOf } from './reports/sarif.ts';
export { type KernelSpace, kernelSpace } from './search/kernel-space.ts';
export { listSpace } from './search/list-space.ts';
export { createStrategy, DEFAULT_BLIND_STRATEGY } from './search/strategies.ts';
export type { Outcome, SearchDimension, SearchSpace, Strategy, StrategyOptions } from './search/strategy.ts';
export type { Budgets, RecordedEvent, RunEvent, StopReason } from './store/events.ts';
export { type Recording, readRecording } from './store/recording.ts';
