import { describe, expect, it } from 'vitest';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { type Budgets, NOTHING_KEPT, type RecordedEvent, type RunEvent, UNLIMITED } from '../../src/store/events.ts';
import { kernel, ofType, pattern, runLoop, scriptedEvaluator, tile } from './fakes.ts';
import { expectToGoOnAnywhere, record, type Scripted, withoutTimes } from './going-on.ts';

const values = [16, 32, 64, 128, 256, 512];
const rungs = [
  kernel('01_first', { parameters: { TILE: { values, default: 32 }, DEPTH: { values: [1, 2], default: 1 } } }),
];
/** A move each, so that no share of a budget gives one up. */
const patterns = [
  ...[64, 128, 256, 512, 16].map((value) => pattern(`tile-${value}`, 'bank-conflicts', [tile(value)])),
  pattern('depth', 'bank-conflicts', [
    { kind: 'parameter', parameter: 'DEPTH', from: 1, value: 2, expectedGain: 1.1, confidence: 0.5, reason: '' },
  ]),
];
const script = (name: string) => ({ ns: name.includes('DEPTH=2') ? 500 : 1000 });

const run = async (options: Partial<OptimizeOptions>): Promise<Scripted> => {
  const evaluator = scriptedEvaluator(script);
  const { events } = await runLoop({ evaluator, rungs, patterns, ablation: true, ...options });
  return { events, judged: evaluator.judged };
};

const few: Budgets = { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 3 };
const more: Budgets = { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 8 };

/** Where its search ended, as a run is cut that gets a larger budget. */
const untilEnded = (events: readonly RunEvent[]): RecordedEvent[] =>
  record(
    events.slice(
      0,
      events.findIndex(({ type }) => type === 'search-ended'),
    ),
  );

const searched = (events: readonly RunEvent[]) =>
  ofType(events, 'evaluation-finished').map(({ evaluation: { candidate } }) => JSON.stringify(candidate.parameters));

describe.each(['guided', 'random', 'bayesian'])('a run with a larger budget: %s', (strategy) => {
  it('goes on where its search ended, says so once, and finds what it would have found at once', async () => {
    const first = await run({ strategy, budgets: few });
    expect(ofType(first.events, 'search-ended')[0]!.reason).toBe('evaluations-spent');
    const history = untilEnded(first.events);
    const rest = await run({ strategy, budgets: few, history, extendedBudgets: more });
    expect(rest.events[0]).toEqual({
      type: 'budgets-extended',
      iteration: ofType(first.events, 'search-ended')[0]!.iteration,
      budgets: more,
    });
    expect(ofType(rest.events, 'budgets-extended')).toHaveLength(1);
    const atOnce = await run({ strategy, budgets: more });
    expect(searched([...history, ...rest.events])).toEqual(searched(atOnce.events));
    expect(rest.judged).toEqual(atOnce.judged.slice(3));
    expect(ofType(rest.events, 'budget').at(-1)!.evaluationsUsed).toBe(
      ofType(atOnce.events, 'budget').at(-1)!.evaluationsUsed,
    );
  });

  it('goes on from its log wherever that ends after that, without being told again', async () => {
    const first = await run({ strategy, budgets: few });
    const history = untilEnded(first.events);
    const rest = await run({ strategy, budgets: few, history, extendedBudgets: more });
    const whole = {
      events: [...(history as RunEvent[]), ...rest.events],
      judged: [...first.judged.slice(0, 3), ...rest.judged],
    };
    const plain = { ...whole, events: whole.events.map(unrecorded) };
    await expectToGoOnAnywhere((going) => run({ strategy, budgets: few, ...going }), plain, history.length + 1);
  });

  it('is extended again and again', async () => {
    let log: RecordedEvent[] = untilEnded((await run({ strategy, budgets: few })).events);
    for (const maximumEvaluations of [4, 6]) {
      const extendedBudgets = { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations };
      const { events } = await run({ strategy, budgets: few, history: log, extendedBudgets });
      expect(events[0]).toMatchObject({ type: 'budgets-extended', budgets: { maximumEvaluations } });
      expect(ofType(events, 'search-ended').at(-1)).toMatchObject({ reason: 'evaluations-spent' });
      log = untilEnded([...log.map(unrecorded), ...events]);
    }
    expect(ofType(log, 'budgets-extended')).toHaveLength(2);
    expect(ofType(log, 'evaluation-finished')).toHaveLength(6);
  });
});

const unrecorded = ({
  schemaVersion: _,
  sequence: __,
  time: ___,
  ...event
}: RunEvent & Partial<RecordedEvent>): RunEvent => event as RunEvent;

describe('a larger budget', () => {
  it('of a run that was killed before its budget was spent holds from its next turn on', async () => {
    const { events } = await run({ budgets: few });
    const history = record(
      events.slice(
        0,
        events.findIndex(({ type }) => type === 'decision'),
      ),
    );
    const rest = await run({ budgets: few, history, extendedBudgets: more });
    expect(rest.events.map(({ type }) => type).slice(0, 4)).toEqual([
      'decision',
      'budget',
      'budgets-extended',
      'options-ranked',
    ]);
  });

  it('changes nothing where there is none', async () => {
    const whole = await run({ budgets: few });
    const history = record(whole.events.slice(0, 5));
    const rest = await run({ budgets: few, history });
    expect(withoutTimes(rest.events)).toEqual(withoutTimes(whole.events.slice(5)));
  });

  it('in minutes adds to what the log says was used', async () => {
    const timed = () => {
      let nowMs = 7e9;
      const scripted = scriptedEvaluator(script);
      return {
        judged: scripted.judged,
        clockMs: () => nowMs,
        evaluator: {
          ...scripted,
          async evaluate(request: Parameters<typeof scripted.evaluate>[0]) {
            nowMs += 60_000;
            const evaluation = await scripted.evaluate(request);
            return { ...evaluation, elapsedMs: { compile: 0, verify: 0, time: 0, total: 60_000 } };
          },
        },
      };
    };
    const minutes = (maximumMinutes: number) => ({ ...UNLIMITED, maximumMinutes });
    const part = timed();
    const first = await run({ budgets: minutes(2), ...part });
    expect(ofType(first.events, 'search-ended')[0]).toMatchObject({ reason: 'time-spent' });
    const { judged, ...rest } = timed();
    const second = await run({
      budgets: minutes(2),
      history: untilEnded(first.events),
      extendedBudgets: minutes(4),
      ...rest,
    });
    expect(judged).toHaveLength(2);
    expect(ofType(second.events, 'search-ended')[0]).toMatchObject({
      reason: 'time-spent',
      detail: '4.0 of 4 minutes used',
    });
  });
});
