import type { KernelSpace } from '../../search/kernel-space.ts';
import type { Outcome, SearchPrior } from '../../search/strategy.ts';
import type { KnownTimes } from '../../store/events.ts';

/** What the times known beforehand say of a space; undefined if they say nothing of it. */
export function searchPriorOf(known: KnownTimes | undefined, { find }: KernelSpace): SearchPrior | undefined {
  const outcomes = new Map<number, Outcome>();
  for (const { kernel, parameters, rows } of known?.kernels ?? []) {
    for (const row of rows) {
      const index = find(kernel, Object.fromEntries(parameters.map((name, place) => [name, row[place]!])));
      if (index !== undefined) outcomes.set(index, outcomeOf(row.at(-1)!));
    }
  }
  return outcomes.size > 0 ? { outcomes } : undefined;
}

const outcomeOf = (time: number | null): Outcome =>
  time === null ? { kind: 'failed' } : { kind: 'timed', timeNs: time };
