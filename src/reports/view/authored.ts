import type { Evaluation } from '../../core/evaluation.ts';
import type { Finding } from '../../core/finding.ts';
import { sum } from '../../core/values.ts';
import {
  type AuthorAskedEvent,
  type MoveProposedEvent,
  type MoveRecord,
  ofType,
  type RecordedEvent,
  type Said,
  said,
  type Tokens,
} from '../../store/events.ts';
import { type ArmsView, armsView } from './arms.ts';
import { counterChanges } from './counter-changes.ts';
import { lineageView, type SpentPoint, spentView } from './lineage.ts';
import { compareSources, type ReadSource, type SourceDiff } from './source-diffs.ts';

type WrittenMove = Extract<MoveRecord, { kind: 'written' }>;

/** One kernel that an author wrote: what it said, and what came of it. */
export interface WrittenRow
  extends Pick<WrittenMove, 'kernel' | 'mode' | 'hypothesis' | 'levers' | 'predictedRatio' | 'cost'> {
  evaluationId: string;
  iteration: number;
  author: string;
  parent: string;
  finding: string;
  /** Of the finding, at the parent. */
  evidence: string;
  /** Ids of its own findings, the largest estimated gain first. */
  findingsAfter: string[];
  /** Of the finding that it worked on, afterwards; `null` where it is gone, or nothing is known. */
  evidenceAfter: Finding['evidence'] | null;
  /** What moved against the parent, most first. */
  counters: string[];
  /** Who wrote its first wrong element. */
  writer?: Evaluation['writer'];
  /** Of its settings that were tried then: how many, and the fastest one's evaluation. */
  settings: { count: number; best: string | null };
  status: Evaluation['status'];
  /** Parent's time ÷ its time on the first workload; `null` without two times that may be compared. */
  ratioToParent: number | null;
  decision: 'keep' | 'revert' | null;
  reason: string;
  diff: Pick<SourceDiff, 'files' | 'missing'> | null;
}

/** What an author did in a run. */
export interface AuthoredView {
  author: string;
  requests: number;
  tokens: Tokens;
  /** `null` without a price. */
  money: number | null;
  /** Wall time of agent processes, whose tokens are not known; absent where a model was asked. */
  seconds?: number;
  written: WrittenRow[];
  /** What came and was no candidate, and requests without an answer. */
  refused: Pick<AuthorAskedEvent, 'request' | 'outcome' | 'code' | 'reason'>[];
  redirections: Said<'author-redirected'>[];
  /** Of agent processes: how each step began, and how it ended if it did. */
  steps: { began: Said<'author-step-began'>; ended?: Said<'author-step-ended'> }[];
  /** Where several shared the run. */
  arms?: ArmsView;
  lineage: ReturnType<typeof lineageView>;
  /** How fast the best was after what had been spent. */
  spent: SpentPoint[];
}

/** Undefined for a run in which nobody wrote. */
export function authoredView(events: readonly RecordedEvent[], readSource?: ReadSource): AuthoredView | undefined {
  const asked = said(events, 'author-asked');
  const began = said(events, 'author-step-began');
  const names = [...new Set([...began, ...asked].map(({ author }) => author))];
  const arms = armsView(events);
  if (names.length === 0 && !arms) return undefined;
  const ended = said(events, 'author-step-ended');
  const total = (name: keyof Omit<Tokens, 'isEstimate'>): number => sum(asked.map(({ tokens }) => tokens[name]));
  return {
    author: names.join(', ') || 'nobody was asked',
    requests: asked.length,
    tokens: {
      input: total('input'),
      cacheRead: total('cacheRead'),
      cacheWrite: total('cacheWrite'),
      output: total('output'),
      isEstimate: asked.some(({ tokens }) => tokens.isEstimate),
    },
    money: asked.findLast(({ moneyUsed }) => moneyUsed !== null)?.moneyUsed ?? null,
    seconds: began.length > 0 ? sum(ended.map(({ seconds }) => seconds)) : undefined,
    written: ofType(events, 'move-proposed').flatMap((event) => writtenRow(event, events, readSource) ?? []),
    refused: asked
      .filter(({ outcome }) => outcome !== 'candidate')
      .map(({ request, outcome, code, reason }) => ({ request, outcome, code, reason })),
    redirections: said(events, 'author-redirected'),
    // A step that was cut off has no end.
    steps: began.map((one) => ({ began: one, ended: ended.find(({ step }) => step === one.step) })),
    arms,
    lineage: lineageView(events),
    spent: spentView(events),
  };
}

function writtenRow(
  { move, iteration, candidate, finding }: MoveProposedEvent,
  events: readonly RecordedEvent[],
  readSource: ReadSource | undefined,
): WrittenRow | undefined {
  if (move.kind !== 'written') return undefined;
  const finished = ofType(events, 'evaluation-finished');
  const parent = finished.find(({ evaluation }) => evaluation.candidate.id === move.parent.id);
  const decision = ofType(events, 'decision').find((event) => event.iteration === iteration);
  // Without a decision, the run ended before it.
  const own = finished.find(({ evaluation }) =>
    decision ? evaluation.id === decision.evaluationId : evaluation.candidate.id === candidate.id,
  );
  if (!own) return undefined;
  const { kernel, mode, hypothesis, levers, predictedRatio, cost, author } = move;
  const { writer, findings } = own.evaluation;
  return {
    ...{ kernel, mode, hypothesis, levers, predictedRatio, cost, iteration, author },
    evaluationId: own.evaluation.id,
    parent: move.parent.kernel,
    finding: finding.id,
    evidence: finding.evidence,
    findingsAfter: findings.map(({ id }) => id),
    evidenceAfter: findings.find(({ id }) => id === finding.id)?.evidence ?? null,
    counters: parent ? counterChanges(parent.evaluation, own.evaluation) : [],
    writer,
    settings: settingsOf(kernel, events),
    status: own.evaluation.status,
    ratioToParent: parent ? ratioBetween(parent.evaluation, own.evaluation) : null,
    decision: decision?.decision ?? null,
    reason: decision?.reason ?? '',
    diff: parent && readSource ? compareSources(parent.sources, own.sources, readSource) : null,
  };
}

/** What came of a search over a written kernel's parameters, and of moves that changed one of them. */
function settingsOf(kernel: string, events: readonly RecordedEvent[]): WrittenRow['settings'] {
  const tried = ofType(events, 'move-proposed').filter(
    ({ move }) => move.kind !== 'written' && 'kernel' in move && move.kernel === kernel,
  );
  const iterations = new Set(tried.map(({ iteration }) => iteration));
  const kept = ofType(events, 'decision').findLast(
    ({ iteration, decision }) => decision === 'keep' && iterations.has(iteration),
  );
  return { count: tried.length, best: kept?.evaluationId ?? null };
}

/** Measured times are compared only within the same blocks. */
function ratioBetween(parent: Evaluation, own: Evaluation): number | null {
  if (parent.status !== 'passed' || own.status !== 'passed' || !parent.timing || !own.timing) return null;
  if (own.timing.kind === 'predicted') return parent.timing.medianNs / own.timing.medianNs;
  const beside = own.comparisons?.find(({ baseline }) => baseline === 'parent') ?? own.comparisons?.[0];
  return beside?.ratio ?? null;
}
