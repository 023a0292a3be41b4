import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { NOTHING_KEPT, type RecordedEvent, type RunEvent, UNLIMITED } from '../../src/store/events.ts';
import { CUDA, fakeGpu } from './fake-gpu.ts';
import { finding, kernel, pattern, problem, runLoop, tile } from './fakes.ts';
import { record } from './going-on.ts';

const rungs = [kernel('01_first', { parameters: { TILE: { values: [16, 32, 64, 128, 256], default: 32 } } })];
/** A measured run with an event of every kind that the loop logs by itself. */
const options = (): Partial<OptimizeOptions> => ({
  device: CUDA,
  problem: { ...problem, file: { ...problem.file, independentDimensions: ['N'] } },
  rungs,
  start: makeCandidate(rungs[0]!, { TILE: 32 }),
  patterns: [
    pattern(
      'tiles',
      'bank-conflicts',
      [64, 16, 128, 256].map((value) => tile(value)),
    ),
    pattern('advice', 'bank-conflicts', [{ kind: 'advice', text: 'use tensor cores' }]),
  ],
  ablation: true,
  budgets: UNLIMITED,
});
const run = async (overrides: Partial<OptimizeOptions> = {}) => {
  const evaluator = fakeGpu({
    ns: { '01_first TILE=64': 900 },
    sanitizer: 'clean',
    findings: [finding('bank-conflicts'), finding('parallelism')],
  });
  const events: RunEvent[] = [];
  const done = runLoop({ ...options(), evaluator, emit: (event) => void events.push(event), ...overrides });
  return { done, events, requests: evaluator.requests };
};

const whole = async (): Promise<RecordedEvent[]> => {
  const { done, events } = await run();
  await done;
  return record(events.slice(0, -1));
};

type Elsewhere =
  | 'run-finished'
  | 'budgets-extended'
  | `arm-${'chosen' | 'closed'}`
  | `author-${'asked' | 'redirected' | 'step-began' | 'step-ended'}`;

/** One field of each kind of event that this run has, said otherwise. */
const CHANGES: Readonly<Record<Exclude<RunEvent['type'], Elsewhere>, object>> = {
  'run-started': { seed: 99 },
  'move-proposed': { expectedGain: 1.4999 },
  'evaluation-finished': { iteration: 77 },
  decision: { reason: 'it felt faster' },
  confirmation: { outcome: 'refused' },
  'move-abandoned': { failureCount: 2 },
  advice: { text: 'use fewer tensor cores' },
  'options-ranked': { omitted: 3 },
  ablation: { best: 'e9' },
  'workload-advice': { saturatedAt: 1 },
  budget: { evaluationsUsed: 99 },
  'search-ended': { reason: 'goal-reached' },
};

describe('a log that is not what these options give', () => {
  it.each(Object.entries(CHANGES))('%s: says in which event it differs, and logs nothing', async (type, change) => {
    const history = await whole();
    const place = history.findIndex((event) => event.type === type);
    expect(place).toBeGreaterThanOrEqual(0);
    history[place] = { ...history[place]!, ...change } as RecordedEvent;
    const { done, events, requests } = await run({ history });
    await expect(done).rejects.toMatchObject({
      details: { code: 'history-differs', path: `event ${place + 1}`, expected: type, received: type },
    });
    expect(events).toEqual([]);
    expect(requests).toEqual([]);
  });

  it.each(['decision', 'evaluation-finished', 'move-proposed', 'ablation', 'confirmation'])(
    'a %s that is missing is noticed at the one after it',
    async (type) => {
      const history = await whole();
      const place = history.findIndex((event) => event.type === type);
      history.splice(place, 1);
      const { done, events } = await run({ history });
      await expect(done).rejects.toMatchObject({
        details: { code: 'history-differs', path: `event ${history[place]!.sequence}` },
      });
      expect(events).toEqual([]);
    },
  );

  it('is noticed where it says more than the run does', async () => {
    const { done, events } = await run({ history: await whole(), ablation: false });
    await expect(done).rejects.toMatchObject({ details: { code: 'history-differs' } });
    expect(events).toEqual([]);
  });

  it.each([
    ['seed', { seed: 2 }],
    ['strategy', { strategy: 'random' }],
    ['start', { start: makeCandidate(rungs[0]!, { TILE: 128 }) }],
    ['budgets', { budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 50 } }],
    [
      'another kernel',
      {
        rungs: [kernel('01_first', { description: 'changed' })],
        patterns: [pattern('tiles', 'bank-conflicts', [tile(128)])],
      },
    ],
  ] as const)('is noticed with another %s', async (_name, changed) => {
    const { done, requests } = await run({ history: await whole(), ...changed });
    await expect(done).rejects.toMatchObject({ details: { code: 'history-differs' } });
    expect(requests).toEqual([]);
  });

  it('does not differ by times and by what the machine says of itself', async () => {
    const later = (await whole()).map((event): RecordedEvent => {
      const at = { ...event, time: '2031-01-01T00:00:00.000Z' };
      if (at.type === 'run-started') return { ...at, environment: { driver: 'another' } };
      return at.type === 'budget' ? { ...at, minutesUsed: 12, ledger: { ...at.ledger, compileMs: 3 } } : at;
    });
    const { done, events, requests } = await run({ history: later });
    await done;
    expect(events.map(({ type }) => type)).toEqual(['run-finished']);
    expect(requests).toEqual([]);
  });
});
