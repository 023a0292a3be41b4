import { describePrior } from '../reports/describe-prior.ts';
import { formatCount, formatElapsed, formatMove, formatRatio, formatTime } from '../reports/format.ts';
import { cutText } from '../reports/print/wrap.ts';
import { describeStepBegan, describeStepEnded } from '../reports/sections/authored.ts';
import type { EvaluationFinishedEvent, EventType, RecordedEvent } from '../store/events.ts';
import { createBestSoFar } from './best-so-far.ts';
import { columnsOf, createLiveArea, type LiveArea } from './live-area.ts';
import { paintFor } from './output.ts';
import { describeAim, describeUndone, type Progress } from './plain-progress.ts';
import { sparkline } from './sparkline.ts';
import { describeStage } from './status-line.ts';

/** Most columns of the sparkline. */
const WIDEST_SPARKLINE = 30;
const MINUTE_MS = 60_000;
const LONGEST_WORD = 'reverted'.length;

/** Times of the run in ms. */
interface Clock {
  readonly startedMs: number;
  /** Duration of the earlier parts of a resumed run. */
  readonly beforeMs: number;
}

function describeResult({ evaluation: { status, timing, reason } }: EvaluationFinishedEvent): string {
  if (status !== 'passed' || !timing) return `${status}: ${reason ?? 'no reason given'}`;
  return `${timing.kind} ${formatTime(timing.kind, timing.medianNs)}`;
}

/**
 * Shows four lines at the bottom of the terminal: evaluations with a sparkline of speeds, the best, elapsed and remaining
 * time, and the current step. One line per decision stays above them. The log and the report have everything else.
 */
export function createLiveProgress(stream: NodeJS.WriteStream): Progress {
  const paint = paintFor(stream);
  const best = createBestSoFar();
  let area: LiveArea | undefined;
  let clock: Clock = { startedMs: performance.now(), beforeMs: 0 };
  let limit: number | null = null;
  let isSearching = true;
  let evaluationCount = 0;
  /** Evaluations that earlier parts of a resumed run made. */
  let earlierCount = 0;
  let minutesLeft: { readonly value: number; readonly sinceMs: number } | undefined;
  /** Start's speed = 1; `null` where there was no valid time. */
  let speeds: (number | null)[] = [];
  /** The same by evaluation id, for evaluations that others are compared with. */
  const speedOf = new Map<string, number>();
  /** True while the events of an old log are replayed. */
  let isQuiet = false;
  /** Moves that are being judged, by iteration; the start as 0. */
  const moves = new Map<number, string>();
  /** Evaluations of moves that are not decided on. */
  let undecided: EvaluationFinishedEvent[] = [];
  let running: { readonly what: string; readonly sinceMs: number } | undefined;
  let stage = '';

  const print = (line: string, style?: 'green' | 'red' | 'yellow'): void => {
    if (isQuiet) return;
    const text = cutText(line, columnsOf(stream));
    stream.write(`${style === undefined ? text : paint(style, text)}\n`);
  };
  const start = (what: string): void => {
    running = { what, sinceMs: performance.now() };
    stage = '';
    area?.refresh();
  };

  /** What is being judged: the move begun last, and how many others. */
  const showMoves = (): void => {
    const [iteration, move] = [...moves].at(-1)!;
    const others = moves.size > 1 ? ` and ${moves.size - 1} more` : '';
    start(`[${iteration}] ${move}${others}`);
  };

  /** Estimates the remaining time from the mean time per evaluation, limited by the budget in minutes. */
  const remaining = (): string => {
    if (!isSearching) return '';
    const nowMs = performance.now();
    const made = evaluationCount - earlierCount;
    const byCount =
      limit === null || made === 0 ? [] : [((nowMs - clock.startedMs) / made) * (limit - evaluationCount)];
    const byTime = minutesLeft ? [minutesLeft.value * MINUTE_MS - (nowMs - minutesLeft.sinceMs)] : [];
    const both = [...byCount, ...byTime];
    return both.length === 0 ? '' : `, at most about ${formatElapsed(Math.max(0, Math.min(...both)))} left`;
  };
  const lines = (width: number): string[] => {
    const elapsedMs = performance.now() - clock.startedMs + clock.beforeMs;
    const count = limit === null ? `${evaluationCount} evaluations` : `${evaluationCount} of ${limit} evaluations`;
    const graph = sparkline(speeds, Math.min(WIDEST_SPARKLINE, Math.max(0, width - count.length - 2)));
    const now = running
      ? `${running.what}${stage && `: ${stage}`} (${formatElapsed(performance.now() - running.sinceMs)})`
      : 'finishing';
    return [
      cutText(`${count}  ${graph}`, width),
      cutText(`best ${best.describe()}`, width),
      paint('dim', cutText(`${formatElapsed(elapsedMs)} elapsed${remaining()}`, width)),
      paint('dim', cutText(`… ${now}`, width)),
    ];
  };

  const handlers: { [T in EventType]?: (event: RecordedEvent<T>) => void } = {
    'run-started': (event) => {
      const { problem, workloads, device, budgets, priors } = event;
      const { kernel } = event.start;
      const { times } = priors;
      const over = workloads.map(({ name }) => name).join(', ');
      print(`Optimising ${problem.name} ${over} on ${device.name}${describeAim(event)}`);
      if (times) print(describePrior(times));
      limit = budgets.maximumEvaluations;
      moves.set(0, kernel);
      start(`the start, ${kernel}`);
    },
    'author-asked': ({ iteration, author, outcome, code }) => {
      start(`[${iteration}] ${author}: ${outcome}${code === null ? '' : `: ${code}`}; asking again`);
    },
    'author-step-began': (event) => {
      print(describeStepBegan(event));
      start(`[${event.iteration}] ${event.author} works`);
    },
    'author-step-ended': (event) => print(describeStepEnded(event)),
    'arm-chosen': ({ iteration, arm }) => start(`[${iteration}] ${arm} is next`),
    'arm-closed': ({ arm, reason, isForNow }) => {
      if (!isForNow) print(`${arm} proposes no more: ${reason}`, 'yellow');
    },
    'author-redirected': ({ step, reason }) => print(`${step}: ${reason}`, 'yellow'),
    'move-proposed': ({ iteration, move: change }) => {
      isSearching = true;
      moves.set(iteration, formatMove(change));
      showMoves();
    },
    'evaluation-finished': (event) => {
      evaluationCount += 1;
      undecided.push(event);
    },
    decision: ({ iteration, decision, evaluationId, ratio: timeRatio, energy, comparedWith }) => {
      const ratio = energy?.ratio ?? timeRatio;
      const speed = comparedWith === null ? 1 : ratio === null ? null : (speedOf.get(comparedWith) ?? 1) * ratio;
      speeds.push(speed);
      if (speed !== null) speedOf.set(evaluationId, speed);
      const isKept = decision === 'keep';
      const word = comparedWith === null ? 'start' : isKept ? 'kept' : 'reverted';
      const gain =
        comparedWith === null || ratio === null ? '' : `, ${formatRatio(ratio)}${energy ? ' by energy' : ''}`;
      // With several workloads, shows the time of the first one, unless one of them failed.
      const own = undecided.filter((event) => event.iteration === iteration);
      undecided = undecided.filter((event) => event.iteration !== iteration);
      const isFailed = ratio === null && comparedWith !== null;
      const shown = isFailed ? own.at(-1) : own.find(({ evaluation }) => evaluation.id === evaluationId);
      print(
        `[${iteration}] ${word.padEnd(LONGEST_WORD)} ${moves.get(iteration)}, ${shown ? describeResult(shown) : 'not judged'}${gain}`,
        comparedWith === null ? undefined : isKept ? 'green' : 'yellow',
      );
      moves.delete(iteration);
      if (moves.size > 0) showMoves();
    },
    confirmation: ({ candidate, outcome, reason }) => {
      const isFine = outcome !== 'refused';
      print(`Confirming ${candidate.kernel}: ${outcome}${isFine ? '' : `: ${reason}`}`, isFine ? 'green' : 'red');
    },
    'search-ended': ({ reason }) => {
      isSearching = false;
      start(`the search ended (${reason}); confirming its best`);
    },
    ablation: (event) => start(`undid ${describeUndone(event)}; what the best’s other changes are worth`),
    'workload-advice': () => start('how the best fills the device'),
    budget: ({ minutesLeft: value }) => {
      minutesLeft = value === null ? undefined : { value, sinceMs: performance.now() };
    },
    'budgets-extended': ({ budgets }) => {
      limit = budgets.maximumEvaluations;
    },
  };
  const handle = (event: RecordedEvent): void => {
    best.note(event);
    (handlers[event.type] as ((event: RecordedEvent) => void) | undefined)?.(event);
  };
  /** Forgets the last run when another one starts. */
  const reset = (): void => {
    close();
    [evaluationCount, earlierCount, speeds, minutesLeft, isSearching] = [0, 0, [], undefined, true];
    speedOf.clear();
    clock = { startedMs: performance.now(), beforeMs: 0 };
  };
  const close = (): void => {
    area?.close();
    area = undefined;
  };
  const open = (): void => {
    area ??= createLiveArea(stream, lines);
  };
  return {
    onEvent(event) {
      if (event.type === 'run-started') reset();
      handle(event);
      if (event.type === 'run-finished') close();
      else open();
      area?.refresh();
    },
    onStage(what) {
      stage = describeStage(what);
      area?.refresh();
    },
    onHistory(events) {
      isQuiet = true;
      for (const event of events) handle(event);
      isQuiet = false;
      earlierCount = evaluationCount;
      const spentMinutes = events.findLast((event) => event.type === 'budget')?.minutesUsed ?? 0;
      clock = { startedMs: performance.now(), beforeMs: spentMinutes * MINUTE_MS };
      print(`Going on after ${formatCount(evaluationCount, 'evaluation')}; best so far: ${best.describe()}`);
      open();
    },
    end: close,
  };
}
