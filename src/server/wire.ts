/** What the page and its server tell each other. The page imports these types and nothing else of the server. */

export type { DevicesReport } from '../app/devices.ts';
export type { CandidatePage } from '../app/page/candidate-page.ts';
export type { StoredRun } from '../app/page/stored-run.ts';
export type { RunChange, WatchedOption } from '../app/page/watch-run.ts';
export type {
  Draft,
  DraftTrace,
  JudgedDraft,
  Look,
  OpenedKernel,
  OpenedLesson,
  ShownLaunch,
} from '../app/page/workshop.ts';
export type { DeviceSpec } from '../core/device-spec.ts';
export type { Finding } from '../core/finding.ts';
export type { TracedRequest, WarpTrace, WarpTurn } from '../core/warp-trace.ts';
export type { CourseView } from '../reports/documents/course.ts';
export type { ListedRun, RunsReport } from '../reports/documents/runs.ts';
export type { InspectedLine, InspectView } from '../reports/inspect-view.ts';
export type { EvaluationRow } from '../store/index/rows.ts';
