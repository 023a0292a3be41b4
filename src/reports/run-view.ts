import type { Energy } from '../core/energy.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Finding } from '../core/finding.ts';
import { sum } from '../core/values.ts';
import {
  type Budgets,
  type CandidateReference,
  type EvaluationFinishedEvent,
  type EventType,
  type Goal,
  ofType,
  type RankedOption,
  type RecordedEvent,
  type RepositoryState,
  type RunFinishedEvent,
  type RunStartedEvent,
  type Said,
  said,
} from '../store/events.ts';
import { standingDecisions } from '../store/standing-decisions.ts';
import { formatMove } from './format.ts';
import { type HotLines, hotLinesOf } from './inspect-view.ts';
import { type AuthoredView, authoredView } from './view/authored.ts';
import { type LedgerView, ledgerView } from './view/ledger.ts';
import { type MinimisedEnergy, minimisedEnergy } from './view/minimised-energy.ts';
import { type Objective, objectiveOf } from './view/objective.ts';
import { type BestChanges, bestChanges, speedupOf } from './view/outcome.ts';
import {
  candidateOf,
  describeUndone,
  joinEvaluations,
  type ProgressionRow,
  progressionRow,
  type TimeFigure,
  timeFigure,
  withConfirmedProfiles,
} from './view/progression.ts';
import { reproductionCommand } from './view/reproduction.ts';
import { type ResourcesView, resourcesOf } from './view/resources.ts';
import { type RooflineView, rooflineView } from './view/roofline.ts';
import { type ReadSource, type SourceDiffs, sourceDiffs } from './view/source-diffs.ts';

export type { ProgressionRow, Stage, TimeFigure } from './view/progression.ts';

/** Findings of one evaluation. */
export interface FindingsPart {
  evaluationId: string;
  findings: Finding[];
}

/** One change of the best, undone. The change is what the best has → what the ablated candidate has instead. */
export type AblationRow = Said<'ablation'> & { change: string };

/** What a guided run could have tried at one turn, best expected return first. Gains are expectations, not results. */
export type OptionsTable = Omit<Said<'options-ranked'>, 'options'> & {
  /** With the change that its next candidate would make, in words. */
  options: (Omit<RankedOption, 'move'> & { change: string })[];
};

/** Everything a run's report says. `report.json` is exactly this. */
export interface RunView {
  schemaVersion: 2;
  kind: 'run-report';
  runId: string;
  /** False when the log has no end: the run is still going, or died. */
  complete: boolean;
  tornLastLine: boolean;
  startedAt: string;
  finishedAt: string | null;
  problem: { name: string };
  /** The first workload: the one the progression and the roofline are of. */
  workload: RunStartedEvent['workload'];
  device: RunStartedEvent['device'];
  seed: number;
  budgets: Budgets;
  evaluationsUsed: number;
  /** Those of them that were made after the search had ended: to confirm, to ablate, to advise. */
  evaluationsAfterSearch: number;
  /** Evaluations that were not made in this run, but when exactly the same was evaluated before; `null` without any. */
  repeats: Repeats | null;
  goal: Goal | null;
  environment: Readonly<Record<string, string>>;
  stop: { reason: RunFinishedEvent['stopReason']; detail: string } | null;
  start: (TimeFigure & { candidate: CandidateReference }) | null;
  best: (TimeFigure & { candidate: CandidateReference }) | null;
  /**
   * Start's time ÷ best's time, over several workloads their weighted geometric mean; measured ones as the confirmation
   * measured them, `null` where there was none.
   */
  speedup: number | null;
  /** Only of a run that minimises energy. */
  minimisedEnergy?: MinimisedEnergy;
  objective: Objective;
  /** Measured only: in the order made; a refused winner gives way to the best before it. */
  confirmations: Said<'confirmation'>[];
  /** If asked for: of the best and the start, by workload, measured when the best was confirmed. */
  energy?: { workload: string; energy: Energy }[];
  bounds: { vetoNs: number; attainableNs: number } | null;
  roofline: RooflineView | null;
  progression: ProgressionRow[];
  changes: BestChanges | null;
  /** What each change of the best is worth; empty where there was no budget left for it. */
  ablation: AblationRow[];
  sources: SourceDiffs;
  /** Decided against: not faster, or not valid. */
  reverted: ProgressionRow[];
  /** Not valid, where nothing was to be decided: a winner that could not be measured again, an undone change. */
  failed: ProgressionRow[];
  /** Moves that were given up. */
  abandoned: Said<'move-abandoned'>[];
  /** One table per turn of a guided run. */
  options: OptionsTable[];
  advice: { pattern: string; finding: string; evaluationId: string; text: string }[];
  /** How the best fills the device as the work grows. Never a speed-up. */
  workloadAdvice: Said<'workload-advice'>[];
  findings: { before: FindingsPart | null; after: FindingsPart | null };
  /** How near each resource is to its limit. */
  resources: { before: ResourcesView | null; after: ResourcesView | null };
  /** The best's costliest lines, or the start's where nothing is better; `null` where no counters have lines. */
  hotLines: HotLines | null;
  /** State of the start kernel's folder when the run began; `null`: no git repository, or a version that did not look. */
  repository: RepositoryState | null;
  ledger: LedgerView;
  /** Only of a run in which somebody wrote kernels. */
  authored?: AuthoredView;
  /** A shell command that does the same run again. */
  reproduction: string;
}

/** What the events alone don't hold. */
export interface RunViewOptions {
  /** The log's last line was cut off. */
  tornLastLine?: boolean;
  /** Reads the run's stored sources; without it there are no diffs. */
  readSource?: ReadSource;
  /** Absolute path of the store that the run lies in, unless it is the default one. */
  store?: string;
}

/** What each change of `best`, an evaluation's id, is worth beside the others, the most valuable first. */
const ablationRows = (events: readonly RecordedEvent[], best: string | undefined): AblationRow[] =>
  said(events, 'ablation')
    .filter((event) => event.best === best)
    .map((event) => ({ ...event, change: describeUndone(event.undone) }))
    .toSorted((a, b) => worth(b) - worth(a));

/** Of what the run minimises. */
const worth = ({ ratio, energy }: Said<'ablation'>): number => energy?.ratio ?? ratio ?? 0;

const optionsTables = (events: readonly RecordedEvent[]): OptionsTable[] =>
  said(events, 'options-ranked').map(({ options, ...turn }) => ({
    ...turn,
    options: options.map(({ move, ...rest }) => ({ ...rest, change: formatMove(move) })),
  }));

const adviceOf = (events: readonly RecordedEvent[]): RunView['advice'] =>
  said(events, 'advice').map(({ pattern, finding, text }) => ({
    pattern: pattern.id,
    finding: finding.id,
    evaluationId: finding.evaluationId,
    text,
  }));

/** `null` if nobody looked: it was not evaluated, or measured and not profiled. */
function findingsOf(evaluation: Evaluation | undefined): FindingsPart | null {
  if (!evaluation) return null;
  const { id, findings, timing, countersSource } = evaluation;
  const isUnseen = timing?.kind === 'measured' && !countersSource && findings.length === 0;
  return isUnseen ? null : { evaluationId: id, findings };
}

function candidateTime(evaluation: Evaluation | undefined): RunView['start'] {
  const time = evaluation ? timeFigure(evaluation) : null;
  return evaluation && time ? { ...time, candidate: candidateOf(evaluation) } : null;
}

/** Predicted, over several workloads: the product of the ratios that were kept; measured ones are confirmed instead. */
function objectiveRatio(started: RunStartedEvent, kept: readonly ProgressionRow[]): number | null {
  if (started.workloads.length === 1) return null;
  return kept.reduce((product, { ratioToPreviousBest }) => product * (ratioToPreviousBest ?? 1), 1);
}

/** What a run did not evaluate again. */
export interface Repeats {
  count: number;
  /** When they were made, as ISO 8601. */
  firstAt: string;
  lastAt: string;
  /** How long they took then. */
  elapsedMs: number;
}

function repeatsOf(evaluations: readonly Evaluation[]): Repeats | null {
  const repeated = evaluations.flatMap((evaluation) => evaluation.repeated ?? []);
  const times = repeated.map(({ evaluatedAt }) => evaluatedAt).sort();
  if (times.length === 0) return null;
  return {
    count: times.length,
    firstAt: times[0]!,
    lastAt: times.at(-1)!,
    elapsedMs: sum(repeated.map(({ elapsedMs }) => elapsedMs)),
  };
}

/** Where a search goes on after it had ended. */
const GOES_ON: readonly EventType[] = ['move-proposed', 'budgets-extended'];

/** Evaluations made while no candidates were looked for any more. */
export function countAfterSearch(events: readonly RecordedEvent[]): number {
  let hasEnded = false;
  let count = 0;
  for (const { type } of events) {
    if (type === 'search-ended') hasEnded = true;
    else if (GOES_ON.includes(type)) hasEnded = false;
    else if (type === 'evaluation-finished' && hasEnded) count++;
  }
  return count;
}

/** What the last confirmation measured beside times. A refused winner is not the best. */
function energyOf(
  joined: readonly { readonly finished: EvaluationFinishedEvent }[],
  confirmation: Said<'confirmation'> | undefined,
): Pick<RunView, 'energy'> {
  if (confirmation?.outcome === 'refused') return {};
  const ids = confirmation?.perWorkload?.map(({ evaluationId }) => evaluationId) ?? [confirmation?.evaluationId];
  const found = joined.flatMap(({ finished: { evaluation } }) =>
    evaluation.energy && ids.includes(evaluation.id)
      ? [{ workload: evaluation.workload.name, energy: evaluation.energy }]
      : [],
  );
  return found.length === 0 ? {} : { energy: found };
}

/** Builds the one view model of a run from its events; every format of report shows nothing else. */
export function buildRunView(
  runId: string,
  events: readonly RecordedEvent[],
  { tornLastLine = false, readSource, store }: RunViewOptions = {},
): RunView {
  const started = ofType(events, 'run-started')[0];
  if (!started) throw new Error(`the log of run ${runId} has no run-started event`);
  const finished = ofType(events, 'run-finished').at(-1);
  const joined = withConfirmedProfiles(joinEvaluations(events));
  const startEvaluation = joined[0]?.finished.evaluation;
  const start = candidateTime(startEvaluation);
  const first = { workload: started.workload.name, startNs: start?.medianNs ?? null };
  const authored = authoredView(events, readSource);
  const rows = joined.map((one) => progressionRow(one, first, started.minimised === 'energy'));
  const confirmations = said(events, 'confirmation');
  const standing = new Set(standingDecisions(events).map(({ evaluationId }) => evaluationId));
  const kept = rows.filter(({ evaluationId }) => standing.has(evaluationId));
  const bestId = kept.at(-1)?.evaluationId;
  const bestEvaluation = joined.find(({ finished: { evaluation } }) => evaluation.id === bestId)?.finished.evaluation;
  const best = candidateTime(bestEvaluation);
  const bestCandidateId = bestEvaluation?.candidate.id;
  const ofEnergy = minimisedEnergy(started, startEvaluation, bestEvaluation, confirmations.at(-1));
  const { problem, workload, device, seed, goal, environment, roofline } = started;
  const budgets = ofType(events, 'budgets-extended').at(-1)?.budgets ?? started.budgets;
  return {
    schemaVersion: 2,
    kind: 'run-report',
    runId,
    complete: finished !== undefined,
    tornLastLine,
    startedAt: started.time,
    finishedAt: finished?.time ?? null,
    problem: { name: problem.name },
    ...{ workload, device, seed, budgets, goal, environment },
    evaluationsUsed: rows.length,
    evaluationsAfterSearch: countAfterSearch(events),
    repeats: repeatsOf(joined.map(({ finished }) => finished.evaluation)),
    stop: finished ? { reason: finished.stopReason, detail: finished.detail } : null,
    start,
    best,
    speedup: speedupOf(start, best, confirmations, objectiveRatio(started, kept)),
    minimisedEnergy: ofEnergy,
    objective: objectiveOf({ started, joined, rows, bestCandidateId, confirmation: confirmations.at(-1) }),
    confirmations,
    ...energyOf(joined, confirmations.at(-1)),
    bounds: startEvaluation?.timing
      ? { vetoNs: startEvaluation.timing.vetoNs, attainableNs: startEvaluation.timing.attainableNs }
      : null,
    roofline: rooflineView({ roofline, cache: workload.cache, joined, rows, bestId }),
    progression: rows,
    changes: bestEvaluation ? bestChanges(started.start, candidateOf(bestEvaluation), kept) : null,
    ablation: ablationRows(events, bestId),
    sources: readSource ? sourceDiffs(joined, kept, readSource) : { startToBest: null, kept: [] },
    reverted: rows.filter(({ decision }) => decision === 'revert'),
    failed: rows.filter(({ decision, status }) => decision === null && status !== 'passed'),
    abandoned: said(events, 'move-abandoned'),
    options: optionsTables(events),
    advice: adviceOf(events),
    workloadAdvice: said(events, 'workload-advice'),
    findings: { before: findingsOf(startEvaluation), after: findingsOf(bestEvaluation) },
    resources: { before: resourcesOf(startEvaluation), after: resourcesOf(bestEvaluation) },
    hotLines: readSource ? hotLinesOf(joined, bestId, readSource) : null,
    repository: started.repository ?? null,
    ledger: ledgerView(events, budgets),
    authored,
    reproduction: reproductionCommand({ ...started, budgets }, store),
  };
}
