import { byKind } from '../../core/by-kind.ts';
import type { Evaluation } from '../../core/evaluation.ts';
import type { ParameterValues } from '../../core/kernel.ts';
import type { Timing } from '../../core/timing.ts';
import type { DecisionEvent, MoveProposedEvent, MoveRecord } from '../../store/events.ts';
import type { EvaluationRow, MoveRow } from '../../store/index/rows.ts';
import * as doc from '../document.ts';
import { formatKindAndTime, formatMove, formatParameters, formatRatio } from '../format.ts';
import { choiceLine } from '../sections/arms.ts';
import { writtenParts } from '../sections/authored.ts';
import { NO_FINDING } from '../sections/findings.ts';
import type { ChoiceRow } from '../view/arms.ts';
import type { WrittenRow } from '../view/authored.ts';
import { evaluationDocument } from './evaluation.ts';
import { describeSpeedup, type ListedRun } from './runs.ts';

/** A source file of a candidate as the run stored it. */
export interface StoredSource {
  file: string;
  /** SHA-256 of its contents. */
  hash: string;
  path: string;
  state: 'stored' | 'missing' | 'damaged';
}

/** A run in short: what it was about, what came of it, where it lies. */
export interface ShownRun {
  schemaVersion: 1;
  kind: 'run';
  run: ListedRun;
  /** What was kept, in order. */
  kept: MoveRow[];
  /** How many moves were judged and not kept. */
  revertedCount: number;
  files: { log: string; report: string | null; best: string | null };
}

/** One evaluation of a run, with what led to it and what was decided. */
export interface ShownEvaluation {
  schemaVersion: 1;
  kind: 'evaluation';
  run: string;
  evaluation: Evaluation;
  /** Absent for the start. */
  proposal: MoveProposedEvent | null;
  decision: DecisionEvent | null;
  /** Where several share the run: who was asked for this move, and why. */
  choice?: ChoiceRow;
  /** Of a kernel that an author wrote. */
  written?: WrittenRow;
  sources: StoredSource[];
}

/** A candidate, wherever it was evaluated. */
export interface ShownCandidate {
  schemaVersion: 1;
  kind: 'candidate';
  id: string;
  kernel: string;
  parameters: ParameterValues;
  evaluations: EvaluationRow[];
  /** As the newest run stored them. */
  sources: StoredSource[];
}

export type Shown = ShownRun | ShownEvaluation | ShownCandidate;

const sources = (stored: readonly StoredSource[]): doc.Section[] =>
  doc.section('sources', 'Sources', [
    doc.list(stored.map(({ file, path, state }) => `${file}: ${path}${state === 'stored' ? '' : ` (${state})`}`)),
  ]);

function keptLine(
  { evaluation, change, finding, findingEvaluation, ratio, pattern }: MoveRow,
  kind: Timing['kind'] | null,
): doc.Item {
  const why =
    finding === NO_FINDING
      ? `asked for by ${pattern}`
      : `because of ${finding} of ${findingEvaluation} (pattern ${pattern})`;
  const move = formatMove(JSON.parse(change) as MoveRecord);
  return { term: evaluation, text: `${move}: ${kind} ${formatRatio(ratio)} faster than the best before, ${why}` };
}

/** What a run did; of one whose log cannot be read, only why. */
function summaryOf({ run, kept, revertedCount }: ShownRun): string[] {
  if (run.error !== null) return [`unreadable: ${run.error}`];
  const { kind, startNs, bestNs } = run;
  const further = run.workloads > 1 ? ` and ${run.workloads - 1} more` : '';
  return [
    `${run.problem}, ${run.workload}${further}, on ${run.device}; ${run.strategy ?? 'guided'}, seed ${run.seed}`,
    run.stopReason === null ? run.state : `${run.state}: ${run.stopReason}: ${run.detail}`,
    `start: ${run.startKernel}${startNs === null ? '' : `, ${formatKindAndTime({ kind, medianNs: startNs })}`}`,
    `best: ${run.best === null || bestNs === null ? 'none' : `${run.best}, ${run.bestKernel}, candidate ${run.bestCandidate}, ${formatKindAndTime({ kind, medianNs: bestNs })}`}`,
    `speed-up: ${describeSpeedup(run)}`,
    `${run.evaluations} evaluations; ${kept.length} changes kept, ${revertedCount} reverted`,
  ];
}

function runDocument(shown: ShownRun): doc.Document {
  const { run, kept, files } = shown;
  return doc.documentOf(
    `Run ${run.id}`,
    [doc.list(summaryOf(shown))],
    [
      doc.section('kept', 'Kept', [doc.list(kept.map((move) => keptLine(move, run.kind)))]),
      doc.section('files', 'Files', [
        doc.list([
          `events: ${files.log}`,
          `report: ${files.report ?? 'none yet'}`,
          `best kernel: ${files.best ?? 'none'}`,
          run.state === 'died' && `Continue it: warpsmith resume ${run.id}`,
        ]),
      ]),
    ],
  );
}

/** A strategy that asks no findings expects no gain either. */
function proposalLines({ move, finding, pattern, reason, expectedGain }: MoveProposedEvent): string[] {
  if (finding.id === NO_FINDING && move.kind !== 'written')
    return [formatMove(move), `asked for by ${pattern.id}: ${finding.evidence}`];
  const what = `${formatMove(move)}, for ${finding.id} of ${finding.evaluationId}: ${finding.evidence}`;
  // What its author said is told apart from what warpsmith found.
  if (move.kind === 'written') return [what];
  return [what, `pattern ${pattern.id}: ${reason}; expected ${formatRatio(expectedGain)}`];
}

function oneEvaluation(shown: ShownEvaluation): doc.Document {
  const { run, evaluation, proposal, choice, decision, written, sources: stored } = shown;
  const { title, lead, sections } = evaluationDocument(evaluation);
  return doc.documentOf(
    `Evaluation ${evaluation.id} of run ${run}`,
    [],
    [
      doc.section('why', 'Why', [
        doc.list(proposal ? proposalLines(proposal) : ['the start, or a confirmation']),
        choice && doc.list([choiceLine(choice)]),
      ]),
      written ? doc.section('written', 'What its author said, and what came of it', [writtenParts(written)]) : [],
      doc.section('decision', 'Decision', [decision && doc.text(`${decision.decision}: ${decision.reason}`)]),
      doc.section('result', 'Result', [doc.text(title), lead]),
      sections,
      sources(stored),
    ],
  );
}

function oneCandidate({ id, kernel, parameters, evaluations, sources: stored }: ShownCandidate): doc.Document {
  const values = formatParameters(parameters);
  const judged = doc.table('Evaluations', evaluations, [
    doc.names('run', ({ run }) => run),
    doc.names('evaluation', (row) => row.id),
    doc.words('workload', ({ workload }) => workload, 1),
    doc.words('result', ({ status }) => status),
    doc.figures('time', formatKindAndTime),
    doc.words('decision', ({ decision }) => decision),
  ]);
  return doc.documentOf(`Candidate ${id}: ${kernel}${values && ` (${values})`}`, [judged], [sources(stored)]);
}

/** What `warpsmith show` prints of a run, an evaluation or a candidate. */
export const showDocument = byKind<Shown, doc.Document>({
  run: runDocument,
  evaluation: oneEvaluation,
  candidate: oneCandidate,
});
