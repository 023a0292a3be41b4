import type { Timing } from '../core/timing.ts';
import type { MoveProposedEvent, MoveRecord } from '../store/events.ts';
import type { EvaluationRow, MoveRow } from '../store/index/rows.ts';
import { evaluationTerminal } from './evaluation-terminal.ts';
import { formatMove, formatParameters, formatRatio, formatTime } from './format.ts';
import { type Paint, plainPaint } from './paint.ts';
import { NO_FINDING } from './run-text.ts';
import { describeSpeedup } from './runs-terminal.ts';
import type { Shown, ShownCandidate, ShownEvaluation, ShownRun, StoredSource } from './show-view.ts';
import { type Column, textTable } from './table.ts';

const indent = (lines: readonly string[]): string => lines.map((line) => `  ${line}`).join('\n');

const section = (paint: Paint, title: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : `${paint('bold', title)}\n${indent(lines)}`;

const sourceLine = ({ file, path, state }: StoredSource): string =>
  `${file}: ${path}${state === 'stored' ? '' : ` (${state})`}`;

const keptLine = (
  { evaluation, change, finding, findingEvaluation, ratio, pattern }: MoveRow,
  kind: Timing['kind'] | null,
): string => {
  const why =
    finding === NO_FINDING
      ? `asked for by ${pattern}`
      : `because of ${finding} of ${findingEvaluation} (pattern ${pattern})`;
  return `${evaluation}: ${formatMove(JSON.parse(change) as MoveRecord)}: ${kind} ${formatRatio(ratio)} faster than the best before, ${why}`;
};

function runText({ run, kept, revertedCount, files }: ShownRun, paint: Paint): string {
  const end = run.stopReason === null ? run.state : `${run.state}: ${run.stopReason}: ${run.detail}`;
  const best =
    run.best === null || run.kind === null || run.bestNs === null
      ? 'none'
      : `${run.best}, ${run.bestKernel}, candidate ${run.bestCandidate}, ${run.kind} ${formatTime(run.kind, run.bestNs)}`;
  const start = run.startNs === null || run.kind === null ? '' : `, ${run.kind} ${formatTime(run.kind, run.startNs)}`;
  return [
    paint('bold', `Run ${run.id}`),
    indent([
      `${run.problem}, ${run.workload}${run.workloads > 1 ? ` and ${run.workloads - 1} more` : ''}, on ${run.device}; ${run.strategy ?? 'guided'}, seed ${run.seed}`,
      end,
      `start: ${run.startKernel}${start}`,
      `best: ${best}`,
      `speed-up: ${describeSpeedup(run)}`,
      `${run.evaluations} evaluations; ${kept.length} changes kept, ${revertedCount} reverted`,
    ]),
    section(
      paint,
      'Kept',
      kept.map((move) => keptLine(move, run.kind)),
    ),
    section(paint, 'Files', [
      `events: ${files.log}`,
      `report: ${files.report ?? 'none yet'}`,
      `best kernel: ${files.best ?? 'none'}`,
    ]),
    run.state === 'died' ? `It can go on: warpsmith resume ${run.id}` : '',
  ]
    .filter((text) => text !== '')
    .join('\n\n');
}

/** A strategy that asks no findings expects no gain either. */
function proposalLines({ move, finding, pattern, reason, expectedGain }: MoveProposedEvent): string[] {
  if (finding.id === NO_FINDING) return [formatMove(move), `asked for by ${pattern.id}: ${finding.evidence}`];
  return [
    `${formatMove(move)}, for ${finding.id} of ${finding.evaluationId}: ${finding.evidence}`,
    `pattern ${pattern.id}: ${reason}; expected ${formatRatio(expectedGain)}`,
  ];
}

function evaluationText({ run, evaluation, proposal, decision, sources }: ShownEvaluation, paint: Paint): string {
  const why = proposal ? proposalLines(proposal) : ['the start, or a confirmation'];
  const decided = decision ? [`${decision.decision}: ${decision.reason}`] : [];
  return [
    paint('bold', `Evaluation ${evaluation.id} of run ${run}`),
    section(paint, 'Why', why),
    section(paint, 'Decision', decided),
    evaluationTerminal(evaluation, paint).trimEnd(),
    section(paint, 'Sources', sources.map(sourceLine)),
  ]
    .filter((text) => text !== '')
    .join('\n\n');
}

const CANDIDATE_COLUMNS: readonly Column[] = [
  { title: 'run' },
  { title: 'evaluation' },
  { title: 'workload' },
  { title: 'result' },
  { title: 'time', align: 'right' },
  { title: 'decision' },
];

const candidateCells = ({ run, id, workload, status, kind, medianNs, decision }: EvaluationRow): string[] => [
  run,
  id,
  workload,
  status,
  kind === null || medianNs === null ? '–' : `${kind} ${formatTime(kind, medianNs)}`,
  decision ?? '–',
];

function candidateText({ id, kernel, parameters, evaluations, sources }: ShownCandidate, paint: Paint): string {
  const values = formatParameters(parameters);
  return [
    `${paint('bold', `Candidate ${id}`)}: ${kernel}${values === '' ? '' : ` (${values})`}`,
    textTable(CANDIDATE_COLUMNS, evaluations.map(candidateCells), (text) => paint('dim', text)),
    section(paint, 'Sources', sources.map(sourceLine)),
  ]
    .filter((text) => text !== '')
    .join('\n\n');
}

/** What `warpsmith show` prints on a terminal. */
export function showTerminal(shown: Shown, paint: Paint = plainPaint): string {
  if (shown.kind === 'run') return `${runText(shown, paint)}\n`;
  if (shown.kind === 'evaluation') return `${evaluationText(shown, paint)}\n`;
  return `${candidateText(shown, paint)}\n`;
}
