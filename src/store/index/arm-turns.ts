import { type BudgetEvent, ofType, type RecordedEvent, type Spending } from '../events.ts';
import { standingDecisions } from '../standing-decisions.ts';

/** One turn of those who shared a run: what it gave and took. */
export interface TurnRow extends Spending {
  run: string;
  /** Number of the event that began it. */
  sequence: number;
  arm: string;
  /** ln(old time ÷ new time) of all that it kept. */
  gain: number;
}

type Chosen = RecordedEvent<'arm-chosen'>;

/** Every turn of a run. What a confirmation refused is no gain. */
export function turnRows(run: string, events: readonly RecordedEvent[]): TurnRow[] {
  const standing = new Set(standingDecisions(events).map(({ evaluationId }) => evaluationId));
  const chosen = ofType(events, 'arm-chosen');
  return chosen.flatMap((choice, index) => {
    const next = chosen[index + 1];
    const during = eventsDuring(choice, next, events);
    if (!tookATurn(choice, during)) return [];
    // The choice after it says what it took; the last turn of a run has none.
    const used = next?.last?.used ?? usedDuring(choice, during, events);
    return [{ run, sequence: choice.sequence, arm: choice.arm, gain: gainOf(during, standing), ...used }];
  });
}

/** Up to the next choice. What follows the search is nobody's turn. */
function eventsDuring(choice: Chosen, next: Chosen | undefined, events: readonly RecordedEvent[]): RecordedEvent[] {
  const during = events.filter(
    ({ sequence }) => sequence > choice.sequence && (next === undefined || sequence < next.sequence),
  );
  const end = during.findIndex(({ type }) => type === 'search-ended');
  return during.slice(0, end < 0 ? undefined : end);
}

/** One that had no move took none. */
const tookATurn = ({ arm }: Chosen, during: readonly RecordedEvent[]): boolean =>
  during.some(
    (event) =>
      event.type === 'evaluation-finished' ||
      (event.type === 'author-asked' && event.tokens.input + event.tokens.output > 0),
  ) ||
  (during.some(({ type }) => type === 'author-step-ended') &&
    !during.some((event) => event.type === 'arm-closed' && event.arm === arm));

const gainOf = (during: readonly RecordedEvent[], standing: ReadonlySet<string>): number =>
  ofType([...during], 'decision')
    .filter(({ evaluationId, decision }) => decision === 'keep' && standing.has(evaluationId))
    .reduce((total, { ratio }) => total + Math.log(ratio ?? 1), 0);

const SECONDS = 60;
const MS = 1000;

function usedDuring(choice: Chosen, during: readonly RecordedEvent[], events: readonly RecordedEvent[]): Spending {
  const before = budgetIn(events.filter(({ sequence }) => sequence < choice.sequence));
  const after = budgetIn(during) ?? before;
  const asked = ofType([...during], 'author-asked');
  const spent = (of: (budget: BudgetEvent) => number): number =>
    after === undefined ? 0 : of(after) - (before === undefined ? 0 : of(before));
  return {
    evaluations: spent(({ evaluationsUsed }) => evaluationsUsed),
    seconds: spent(({ minutesUsed }) => minutesUsed) * SECONDS,
    gpuSeconds: spent(({ ledger }) => ledger.gpuMs) / MS,
    money: spent(({ ledger }) => ledger.money ?? 0),
    tokens: asked.reduce((total, { tokens }) => total + tokens.input + tokens.output, 0),
    tokenMoney: asked.reduce((total, { money }) => total + (money ?? 0), 0),
  };
}

const budgetIn = (events: readonly RecordedEvent[]): BudgetEvent | undefined => ofType(events, 'budget').at(-1);
