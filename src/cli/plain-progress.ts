import type { EvaluationStage } from '../core/evaluation.ts';
import { describeAllowance } from '../optimizer/allowance.ts';
import { describePrior } from '../reports/describe-prior.ts';
import { names, table, words } from '../reports/document.ts';
import { formatCount, formatMove, formatNs, formatRatio, formatRatioInterval } from '../reports/format.ts';
import { printTable } from '../reports/print/terminal.ts';
import { describeStepBegan, describeStepEnded } from '../reports/sections/authored.ts';
import type {
  AblationEvent,
  BudgetEvent,
  Budgets,
  EvaluationFinishedEvent,
  EventType,
  MoveProposedEvent,
  OptionsRankedEvent,
  RecordedEvent,
} from '../store/events.ts';
import { createBestSoFar } from './best-so-far.ts';
import { paintFor } from './output.ts';

/** Shows the progress of a run on stderr. */
export interface Progress {
  onEvent(this: void, event: RecordedEvent): void;
  /** Shows the stage of the running evaluation. */
  onStage(this: void, stage: EvaluationStage): void;
  /** Takes in the events of a resumed run's log and prints one line about them. */
  onHistory(this: void, events: readonly RecordedEvent[]): void;
  /** Removes redrawn lines from the screen. Calling it twice is harmless. */
  end(this: void): void;
}

function describeBudget({ evaluationsLeft, minutesLeft, ledger }: BudgetEvent): string {
  const left: string[] = [];
  if (evaluationsLeft !== null) left.push(`${evaluationsLeft} evaluation${evaluationsLeft === 1 ? '' : 's'}`);
  if (minutesLeft !== null) left.push(`${minutesLeft.toFixed(1)} minutes`);
  const parts = [left.length > 0 ? `budget left: ${left.join(', ')}` : 'no budget limit'];
  if (ledger.gpuMs > 0) parts.push(`GPU worked ${(ledger.gpuMs / 60_000).toFixed(1)} minutes`);
  if (ledger.money !== null) parts.push(`money spent ${ledger.money.toFixed(2)}`);
  return parts.join('; ');
}

function describeLimits({ maximumEvaluations, maximumMinutes, maximumGpuMinutes, maximumMoney }: Budgets): string {
  const limits = [
    maximumEvaluations === null ? [] : [`${maximumEvaluations} evaluations`],
    maximumMinutes === null ? [] : [`${maximumMinutes} minutes`],
    maximumGpuMinutes === null ? [] : [`${maximumGpuMinutes} minutes of GPU time`],
    maximumMoney === null ? [] : [`${maximumMoney} of money`],
  ].flat();
  return limits.length > 0 ? `a budget of ${limits.join(', ')} in all` : 'no budget limit';
}

/** `, for less energy, goal 1.5x`: what a run is after, if that is anything beside time. */
export const describeAim = ({ minimised, goal }: RecordedEvent<'run-started'>): string =>
  `${minimised === 'energy' ? ', for less energy' : ''}${goal ? `, goal ${goal.text}` : ''}`;

/** `PAD 0 → 8`, or `kernel 02_tiled → 03_rows`. */
export const describeUndone = ({ undone }: AblationEvent): string =>
  `${undone.kind === 'rung' ? 'kernel' : undone.parameter} ${undone.from} → ${undone.to}`;

function describeAblation(event: AblationEvent): string {
  const { ratio, intervalRatio, energy, candidate, evaluationId, reason } = event;
  const what = describeUndone(event);
  if (ratio === null) return `${what}: not known: ${reason ?? 'no valid time'}`;
  const interval = intervalRatio ? ` ${formatRatioInterval(intervalRatio)}` : '';
  const saved = energy
    ? `, and of energy ${formatRatio(energy.ratio)} ${formatRatioInterval(energy.intervalRatio)}`
    : '';
  return `${what} (${candidate.kernel}, ${evaluationId ?? 'no evaluation'}): this change gives ${formatRatio(ratio)}${interval}${saved}`;
}

/** Only the guided strategy names a finding. */
const describeWhy = ({ finding, pattern, reason }: MoveProposedEvent): string =>
  finding.id === 'none'
    ? reason
    : `${finding.id} of ${finding.evaluationId}: ${finding.evidence} (pattern: ${pattern.title})`;

function describeResult({ evaluation }: EvaluationFinishedEvent): string {
  const { status, timing, reason, repeated } = evaluation;
  if (status !== 'passed' || !timing) return `${status}: ${reason ?? 'no reason given'}`;
  const bound = timing.kind === 'predicted' ? `, bound by ${timing.bindingResource}` : '';
  const again = repeated ? ', as evaluated before' : '';
  return `passed, ${timing.kind} ${formatNs(timing.medianNs)}${bound}${again}`;
}

/** `anthropic:NAME wrote for 03_rows: 5,120 tokens`, or what was wrong. */
function describeAsked({
  author,
  purpose,
  outcome,
  code,
  reason,
  tokens,
  tokensUsed,
  seconds,
}: RecordedEvent<'author-asked'>): string {
  const what = outcome === 'candidate' ? `${purpose === 'write' ? 'wrote' : 'mended'} a kernel` : `${outcome}: ${code}`;
  const why = outcome === 'candidate' ? '' : `: ${reason.split('\n')[0]!.slice(0, 120)}`;
  const cost =
    seconds === undefined ? `${tokens.input + tokens.output} tokens, ${tokensUsed} so far` : `after ${seconds} s`;
  return `${author}: ${what}${why}; ${cost}`;
}

type Handlers = { [T in EventType]: (event: RecordedEvent<T>) => void };

/** Lines that say everything: what is tried, why, result, best so far, budget left. For files, pipes and `--verbose`. */
export function createPlainProgress(stream: NodeJS.WriteStream): Progress {
  const paint = paintFor(stream);
  const print = (line: string): void => void stream.write(`${line}\n`);
  const best = createBestSoFar();
  let workloadCount = 1;
  /** Moves that are being judged, by iteration. */
  const pending = new Set<number>();
  /** Several were at once: lines then say which move they are about. */
  let isSeveralAtOnce = false;
  const handlers: Handlers = {
    'run-started': (event) => {
      const { problem, workloads, device, budgets } = event;
      const { times } = event.priors;
      workloadCount = workloads.length;
      const names = workloads.map(({ name }) => name).join(', ');
      print(`Optimising ${problem.name} ${names} on ${device.name}${describeAim(event)}`);
      const kept = budgets.allowance ? describeAllowance(budgets.allowance) : '';
      if (kept !== '') print(`At most ${budgets.maximumEvaluations} evaluations; reserved for the end: ${kept}`);
      if (times) print(describePrior(times));
    },
    'move-proposed': (event) => {
      const { iteration, move } = event;
      pending.add(iteration);
      isSeveralAtOnce ||= pending.size > 1;
      print(`${paint('bold', `[${iteration}]`)} trying ${formatMove(move)}`);
      print(`    why: ${describeWhy(event)}`);
    },
    'evaluation-finished': (event) => {
      const { evaluation, iteration } = event;
      const of = isSeveralAtOnce && pending.has(iteration) ? `[${iteration}] ` : '    ';
      const prefix =
        iteration === 0 ? `${paint('bold', '[0]')} start ${evaluation.candidate.kernel}, ` : `${of}result `;
      const on = workloadCount > 1 ? ` on ${evaluation.workload.name}` : '';
      print(`${prefix}${evaluation.id}${on}: ${describeResult(event)}`);
    },
    decision: ({ iteration, decision, reason, comparedWith }) => {
      if (comparedWith === null) return;
      pending.delete(iteration);
      print(
        `${isSeveralAtOnce ? `[${iteration}] ` : '    '}${decision === 'keep' ? paint('green', 'keep') : paint('yellow', 'revert')}: ${reason}`,
      );
    },
    'move-abandoned': ({ moveKey, reason }) => print(`    giving up ${moveKey}: ${reason}`),
    'author-asked': (event) => print(`    ${describeAsked(event)}`),
    'author-step-began': (event) => print(`    ${describeStepBegan(event)}`),
    'author-step-ended': (event) => print(`    ${describeStepEnded(event)}`),
    'arm-chosen': ({ arm, reason }) => print(`    ${paint('bold', arm)} is next: ${reason}`),
    'arm-closed': ({ arm, reason, detail }) => print(`    ${arm} proposes nothing: ${reason}: ${detail}`),
    'author-redirected': ({ step, reason }) => print(`    ${paint('yellow', step)}: ${reason}`),
    advice: ({ finding, text }) => print(`    advice for ${finding.id}: ${text}`),
    'options-ranked': (event) => {
      for (const line of optionsTable(event)) print(line);
    },
    ablation: (event) => print(`Undoing ${describeAblation(event)}`),
    'workload-advice': ({ text }) => print(`Workload: ${text}`),
    confirmation: ({ evaluationId, candidate, outcome, reason }) =>
      print(`Confirming ${candidate.kernel} with another seed (${evaluationId}): ${outcome}: ${reason}`),
    budget: (event) => print(`    best so far: ${best.describe()}; ${describeBudget(event)}`),
    'search-ended': ({ reason, detail }) => print(`The search ends: ${reason}: ${detail}`),
    'budgets-extended': ({ budgets }) => print(`Going on with ${describeLimits(budgets)}`),
    'run-finished': ({ stopReason, detail }) => print(`Stopped: ${stopReason}: ${detail}`),
  };
  return {
    onEvent(event) {
      best.note(event);
      (handlers[event.type] as (event: RecordedEvent) => void)(event);
    },
    onStage() {},
    onHistory(events) {
      for (const event of events) best.note(event);
      const [started] = events;
      if (started?.type === 'run-started') workloadCount = started.workloads.length;
      const count = events.filter(({ type }) => type === 'evaluation-finished').length;
      print(`Going on after ${count} ${count === 1 ? 'evaluation' : 'evaluations'}; best so far: ${best.describe()}`);
    },
    end() {},
  };
}

/** Rows on the screen at each turn; reports list more. */
const SHOWN = 4;

/** The moves that a guided run may try next, with the arithmetic of their value. The best comes first. */
function optionsTable({ iteration, options, omitted, share }: OptionsRankedEvent): string[] {
  const open = options.filter(({ state }) => state !== 'abandoned');
  if (open.length === 0) return [];
  const count = open.length + omitted;
  const ofShare = share === null ? '' : `, a share of ${share.toFixed(1)} evaluations each`;
  const listed = open.slice(0, SHOWN);
  const shown = table('Options', listed, [
    words('option', ({ move }) => formatMove(move)),
    names('(gain − 1) × confidence ÷ cost', ({ arithmetic }) => arithmetic),
    words('pattern', ({ pattern }) => pattern.id, 2),
    words(
      'kept before',
      ({ evidence }) => (evidence.attempts === 0 ? '–' : `${evidence.kept} of ${evidence.attempts}`),
      1,
    ),
  ]);
  return [
    `[${iteration}] ${formatCount(count, 'open move')}${ofShare}`,
    ...(shown ? printTable(shown, 76) : []).map((line) => `    ${line}`),
    ...(count > listed.length ? [`    and ${count - listed.length} more`] : []),
  ];
}
