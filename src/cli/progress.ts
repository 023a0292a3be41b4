import { formatMove, formatNs, formatRatio } from '../reports/format.ts';
import type { BudgetEvent, RecordedEvent } from '../store/events.ts';
import { paintFor } from './output.ts';

/** Live progress on stderr. On a terminal the last line is redrawn; elsewhere every line is plain and stays. */
export interface Progress {
  onEvent(this: void, event: RecordedEvent): void;
  /** Clears the redrawn line; harmless when called twice. */
  end(): void;
}

const REDRAW_MS = 500;
const CLEAR_LINE = '\r\u001b[2K';

function describeBudget({ evaluationsLeft, minutesLeft }: BudgetEvent): string {
  const parts = [];
  if (evaluationsLeft !== null) parts.push(`${evaluationsLeft} evaluations`);
  if (minutesLeft !== null) parts.push(`${minutesLeft.toFixed(1)} minutes`);
  return parts.length > 0 ? `budget left: ${parts.join(', ')}` : 'no budget limit';
}

/** Keeps what the lines need to remember between events. */
export function createProgress(stream: NodeJS.WriteStream): Progress {
  const paint = paintFor(stream);
  let startNs: number | undefined;
  let bestText = '';
  let last: { id: string; text: string } | undefined;
  let status: { text: string; sinceMs: number } | undefined;
  let timer: NodeJS.Timeout | undefined;

  const clear = () => {
    if (stream.isTTY && status) stream.write(CLEAR_LINE);
  };
  const redraw = () => {
    if (!stream.isTTY || !status) return;
    const seconds = Math.floor((performance.now() - status.sinceMs) / 1000);
    const line = `… ${status.text} (${seconds} s)`;
    stream.write(CLEAR_LINE + paint('dim', [...line].slice(0, Math.max(20, stream.columns - 1)).join('')));
  };
  const print = (line: string) => {
    clear();
    stream.write(`${line}\n`);
    redraw();
  };
  const setStatus = (text: string | undefined) => {
    clear();
    status = text === undefined ? undefined : { text, sinceMs: performance.now() };
    redraw();
    if (stream.isTTY && timer === undefined) timer = setInterval(redraw, REDRAW_MS).unref();
  };

  const handlers: { [T in RecordedEvent['type']]: (event: Extract<RecordedEvent, { type: T }>) => void } = {
    'run-started': ({ problem, workload, device, start, goal }) => {
      print(`Optimising ${problem.name} ${workload.name} on ${device.name}${goal ? `, goal ${goal.text}` : ''}`);
      setStatus(`e1: the start, ${start.kernel}`);
    },
    'move-proposed': ({ iteration, move, finding, pattern }) => {
      print(`${paint('bold', `[${iteration}]`)} try ${formatMove(move)}`);
      print(`    why: ${finding.id} of ${finding.evaluationId} (${finding.evidence}); pattern: ${pattern.title}`);
      setStatus(`[${iteration}] ${formatMove(move)}`);
    },
    'evaluation-finished': ({ evaluation, iteration }) => {
      const { id, status: outcome, timing, reason } = evaluation;
      const text =
        outcome === 'passed' && timing
          ? `${timing.kind} ${formatNs(timing.medianNs)}, bound by ${timing.bindingResource}`
          : `${outcome}: ${reason ?? ''}`;
      if (timing && outcome === 'passed' && startNs === undefined) startNs = timing.medianNs;
      last = { id, text: timing ? `${timing.kind} ${formatNs(timing.medianNs)} (${id})` : '' };
      setStatus(undefined);
      print(`${iteration === 0 ? `${paint('bold', '[0]')} the start ` : '    '}${id}: ${text}`);
      if (timing && startNs !== undefined) last.text += `, ${formatRatio(startNs / timing.medianNs)} of the start`;
    },
    decision: ({ decision, reason, comparedWith }) => {
      if (decision === 'keep') bestText = last?.text ?? '';
      if (comparedWith === null) return;
      print(`    ${decision === 'keep' ? paint('green', 'keep') : paint('yellow', 'revert')}: ${reason}`);
    },
    'move-abandoned': ({ moveKey, reason }) => print(`    giving up ${moveKey}: ${reason}`),
    advice: ({ finding, text }) => print(`    advice (${finding.id}): ${text}`),
    budget: (event) => print(`    best so far: ${bestText || 'none'}; ${describeBudget(event)}`),
    'run-finished': ({ stopReason, detail }) => {
      setStatus(undefined);
      print(`Stopped: ${stopReason}: ${detail}`);
    },
  };
  return {
    onEvent: (event) => (handlers[event.type] as (event: RecordedEvent) => void)(event),
    end() {
      clearInterval(timer);
      clear();
      status = undefined;
    },
  };
}
