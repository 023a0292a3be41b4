import { formatMove, formatNs, formatRatio } from '../reports/format.ts';
import type { BudgetEvent, EvaluationFinishedEvent, RecordedEvent } from '../store/events.ts';
import { paintFor } from './output.ts';
import { createStatusLine } from './status-line.ts';

/** Live progress of a run on stderr: what is tried, why, result, best so far, budget left. */
export interface Progress {
  onEvent(this: void, event: RecordedEvent): void;
  /** Clears the redrawn line; harmless when called twice. */
  end(): void;
}

function describeBudget({ evaluationsLeft, minutesLeft }: BudgetEvent): string {
  const parts: string[] = [];
  if (evaluationsLeft !== null) parts.push(`${evaluationsLeft} evaluation${evaluationsLeft === 1 ? '' : 's'}`);
  if (minutesLeft !== null) parts.push(`${minutesLeft.toFixed(1)} minutes`);
  return parts.length > 0 ? `budget left: ${parts.join(', ')}` : 'no budget limit';
}

function describeResult({ evaluation }: EvaluationFinishedEvent): string {
  const { status, timing, reason } = evaluation;
  if (status !== 'passed' || !timing) return `${status}: ${reason ?? 'no reason given'}`;
  const bound = timing.kind === 'predicted' ? `, bound by ${timing.bindingResource}` : '';
  return `passed, ${timing.kind} ${formatNs(timing.medianNs)}${bound}`;
}

type Handlers = { [T in RecordedEvent['type']]: (event: Extract<RecordedEvent, { type: T }>) => void };

/** Keeps what the lines need to remember between events. */
export function createProgress(stream: NodeJS.WriteStream): Progress {
  const paint = paintFor(stream);
  const status = createStatusLine(stream);
  let startNs: number | undefined;
  let last = '';
  let best = 'none';

  const describeCandidate = ({ id, timing }: EvaluationFinishedEvent['evaluation']): string => {
    if (!timing) return id;
    startNs ??= timing.medianNs;
    return `${id}, ${timing.kind} ${formatNs(timing.medianNs)}, ${formatRatio(startNs / timing.medianNs)} the start's speed`;
  };
  const handlers: Handlers = {
    'run-started': ({ problem, workload, device, start, goal }) => {
      status.print(`Optimising ${problem.name} ${workload.name} on ${device.name}${goal ? `, goal ${goal.text}` : ''}`);
      status.busy(`e1: the start, ${start.kernel}`);
    },
    'move-proposed': ({ iteration, move, finding, pattern }) => {
      status.print(`${paint('bold', `[${iteration}]`)} trying ${formatMove(move)}`);
      status.print(
        `    why: ${finding.id} of ${finding.evaluationId}: ${finding.evidence} (pattern: ${pattern.title})`,
      );
      status.busy(`[${iteration}] ${formatMove(move)}`);
    },
    'evaluation-finished': (event) => {
      const { evaluation, iteration } = event;
      last = describeCandidate(evaluation);
      status.busy(undefined);
      const prefix = iteration === 0 ? `${paint('bold', '[0]')} start ${evaluation.candidate.kernel}, ` : '    result ';
      status.print(`${prefix}${evaluation.id}: ${describeResult(event)}`);
    },
    decision: ({ decision, reason, comparedWith }) => {
      if (decision === 'keep') best = last;
      if (comparedWith === null) return;
      status.print(`    ${decision === 'keep' ? paint('green', 'keep') : paint('yellow', 'revert')}: ${reason}`);
    },
    'move-abandoned': ({ moveKey, reason }) => status.print(`    giving up ${moveKey}: ${reason}`),
    advice: ({ finding, text }) => status.print(`    advice for ${finding.id}: ${text}`),
    confirmation: ({ evaluationId, candidate, outcome, reason }) =>
      status.print(`Confirming ${candidate.kernel} on fresh blocks (${evaluationId}): ${outcome}: ${reason}`),
    budget: (event) => status.print(`    best so far: ${best}; ${describeBudget(event)}`),
    'run-finished': ({ stopReason, detail }) => {
      status.clear();
      status.print(`Stopped: ${stopReason}: ${detail}`);
    },
  };
  return {
    onEvent: (event) => (handlers[event.type] as (event: RecordedEvent) => void)(event),
    end: () => status.clear(),
  };
}
