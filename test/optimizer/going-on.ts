import { expect } from 'vitest';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { EVENT_SCHEMA_VERSION, type RecordedEvent, type RunEvent } from '../../src/store/events.ts';

/** Events as they come back from a log. */
export const record = (events: readonly RunEvent[], time = () => 0): RecordedEvent[] =>
  events.map((event, index) => ({
    schemaVersion: EVENT_SCHEMA_VERSION,
    sequence: index + 1,
    time: new Date(time()).toISOString(),
    ...JSON.parse(JSON.stringify(event)),
  }));

/** What differs from run to run. */
const TIMES = ['minutesUsed', 'minutesLeft'];
export const withoutTimes = (events: readonly RunEvent[]): unknown[] =>
  events.map((event) => Object.fromEntries(Object.entries(event).filter(([name]) => !TIMES.includes(name))));

/** What a run logged, and what its evaluator was asked. */
export interface Scripted {
  events: readonly RunEvent[];
  judged: readonly string[];
}

/**
 * A run that goes on from its log does what the uninterrupted one did, wherever the log ends, and evaluates nothing that
 * the log holds.
 *
 * @param run the same run each time, with fresh fakes.
 */
export async function expectToGoOnAnywhere(
  run: (options: Pick<OptimizeOptions, 'history'>) => Promise<Scripted>,
  whole: Scripted,
  from = 1,
): Promise<void> {
  for (let kept = from; kept < whole.events.length; kept += 1) {
    const history = record(whole.events.slice(0, kept));
    const known = history.filter(({ type }) => type === 'evaluation-finished').length;
    const rest = await run({ history });
    const after = `after event ${kept}, ${whole.events[kept - 1]!.type}`;
    expect(withoutTimes(rest.events), after).toEqual(withoutTimes(whole.events.slice(kept)));
    expect(rest.judged, after).toEqual(whole.judged.slice(known));
  }
}
