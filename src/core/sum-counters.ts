import type { Counters, LaunchCounters } from './counters.ts';
import { emptyTotals } from './empty-totals.ts';

type Sums = { [name: string]: number | Sums };

/** Adds every number of `into`'s shape, nested ones too. */
function addInto(into: Sums, from: Sums): void {
  for (const [name, value] of Object.entries(into)) {
    if (typeof value === 'number') into[name] = value + (from[name] as number);
    else addInto(value, from[name] as Sums);
  }
}

/** Totals over a launch sequence, spread at the top level and under `totals`, beside the launches. */
export function sumCounters(launches: LaunchCounters[]): Counters {
  const totals = emptyTotals();
  for (const launch of launches) addInto(totals as unknown as Sums, launch as unknown as Sums);
  return { ...totals, totals, launches };
}
