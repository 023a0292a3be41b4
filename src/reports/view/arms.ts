import type { RecordedEvent, Said } from '../../store/events.ts';

/** One of those who share a run: what it was asked for, took and gave. */
export interface ArmRow {
  arm: string;
  turns: number;
  evaluations: number;
  kept: number;
  /** Old time ÷ new time, of all its kept changes together. */
  gain: number;
  /** Wall time of its evaluations and its steps. */
  seconds: number;
  tokens: number;
  /** For tokens; `null` without a price. */
  money: number | null;
  /** Why it proposed no more, if that was for good. */
  ended: string | null;
}

/** Who was asked, and what that rested on. */
export type ChoiceRow = Omit<Said<'arm-chosen'>, 'last'>;

export interface ArmsView {
  rows: ArmRow[];
  choices: ChoiceRow[];
}

const NOTHING: Omit<ArmRow, 'arm'> = {
  turns: 0,
  evaluations: 0,
  kept: 0,
  gain: 1,
  seconds: 0,
  tokens: 0,
  money: null,
  ended: null,
};

const MS = 1000;

/** Undefined for a run that nobody shares. */
export function armsView(events: readonly RecordedEvent[]): ArmsView | undefined {
  const rows = new Map<string, ArmRow>();
  const choices: ChoiceRow[] = [];
  const rowOf = (arm: string): ArmRow => {
    const row = rows.get(arm) ?? { arm, ...NOTHING };
    rows.set(arm, row);
    return row;
  };
  let current: ArmRow | undefined;
  for (const event of events) {
    if (event.type === 'arm-chosen') {
      const { iteration, arm, reason, arms } = event;
      choices.push({ iteration, arm, reason, arms });
      current = rowOf(arm);
      current.turns += 1;
    } else if (event.type === 'arm-closed') {
      rowOf(event.arm).ended = event.isForNow ? null : `${event.reason}: ${event.detail}`;
    } else if (event.type === 'search-ended') current = undefined;
    else if (current) count(current, event);
  }
  return rows.size === 0 ? undefined : { rows: [...rows.values()], choices };
}

function count(row: ArmRow, event: RecordedEvent): void {
  if (event.type === 'evaluation-finished') {
    row.evaluations += 1;
    row.seconds += event.evaluation.elapsedMs.total / MS;
  } else if (event.type === 'decision' && event.decision === 'keep') {
    row.kept += 1;
    row.gain *= event.ratio ?? 1;
  } else if (event.type === 'author-asked') {
    row.tokens += event.tokens.input + event.tokens.output;
    if (event.money !== null) row.money = (row.money ?? 0) + event.money;
    row.seconds += event.seconds ?? 0;
  }
}
