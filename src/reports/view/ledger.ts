import { type Budgets, NO_TIMES, ofType, plusTimes, type RecordedEvent } from '../../store/events.ts';

const MS_PER_MINUTE = 60_000;
const MS_PER_HOUR = 3_600_000;

/** One budget: what was used of what was allowed. */
export interface LedgerLine {
  name: 'evaluations' | 'wall time' | 'GPU time' | 'money' | 'tokens' | 'money for tokens';
  used: number;
  /** `null`: not limited. */
  limit: number | null;
  /** Empty: a count, or the currency of the price. */
  unit: '' | 'min';
}

/** What a run has spent, and on what. */
export interface LedgerView {
  lines: LedgerLine[];
  /** Wall time of the phases of all evaluations. */
  phases: { compileMs: number; verifyMs: number; timeMs: number };
  /** Price of an hour of the GPU; `null`: money was not counted. */
  gpuPricePerHour: number | null;
  /** Where the price comes from; absent if the user gave it. */
  gpuPriceSource?: string;
}

/** Budgets and what was used of them: GPU time and money only where a GPU worked or a limit was set. */
export function ledgerView(events: readonly RecordedEvent[], budgets: Budgets): LedgerView {
  const evaluations = ofType(events, 'evaluation-finished');
  // Right at every event, also where a run died between an evaluation and its ledger.
  const { gpuMs, ...phases } = evaluations.map(({ evaluation }) => evaluation).reduce(plusTimes, NO_TIMES);
  const minutesUsed = ofType(events, 'budget').at(-1)?.minutesUsed ?? 0;
  const price = budgets.gpuPricePerHour;
  const lines: LedgerLine[] = [
    { name: 'evaluations', used: evaluations.length, limit: budgets.maximumEvaluations, unit: '' },
    { name: 'wall time', used: minutesUsed, limit: budgets.maximumMinutes, unit: 'min' },
  ];
  if (gpuMs > 0 || budgets.maximumGpuMinutes !== null)
    lines.push({ name: 'GPU time', used: gpuMs / MS_PER_MINUTE, limit: budgets.maximumGpuMinutes, unit: 'min' });
  if (price !== null)
    lines.push({ name: 'money', used: (gpuMs / MS_PER_HOUR) * price, limit: budgets.maximumMoney, unit: '' });
  return {
    lines: [...lines, ...tokenLines(events)],
    phases,
    gpuPricePerHour: price,
    gpuPriceSource: budgets.gpuPriceSource,
  };
}

/** Of a run in which a model wrote. */
function tokenLines(events: readonly RecordedEvent[]): LedgerLine[] {
  // Nobody counts the tokens of agent processes.
  const last = ofType(events, 'author-asked').findLast(({ seconds }) => seconds === undefined);
  if (!last) return [];
  const { maximumTokens = null, maximumCost = null } = ofType(events, 'run-started')[0]?.request ?? {};
  const { tokensUsed, moneyUsed } = last;
  return [
    { name: 'tokens', used: tokensUsed, limit: maximumTokens, unit: '' },
    ...(moneyUsed === null
      ? []
      : [{ name: 'money for tokens', used: moneyUsed, limit: maximumCost, unit: '' } as const]),
  ];
}
