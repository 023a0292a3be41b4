import { describe, expect, it } from 'vitest';
import type { Evaluator } from '../../src/core/evaluation.ts';
import { createHistory } from '../../src/optimizer/history.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { type Budgets, type RecordedEvent, type RunEvent, UNLIMITED } from '../../src/store/events.ts';
import { finding, kernel, pattern, problem, rung, runLoop, scriptedEvaluator, tile } from './fakes.ts';
import { expectToGoOnAnywhere, record } from './going-on.ts';

const EVALUATION_MS = 10_000;

/** A clock that moves with every evaluation, as elapsed times say, and with what goes on between them. */
function timedLoop(overrides: Partial<OptimizeOptions>): {
  evaluator: Evaluator;
  clockMs: () => number;
  judged: string[];
} {
  let nowMs = 500_000;
  const scripted = scriptedEvaluator((name, { workload }) => ({
    ns: (name.startsWith('02') ? 500 : 1000) + (name.length % 7) * 10 - Number(/TILE=(\d+)/.exec(name)?.[1] ?? 0),
    findings: [
      finding('bank-conflicts'),
      finding('parallelism'),
      ...(workload.dimensions.N === 1024 ? [finding('tail-effect')] : []),
    ],
  }));
  return {
    judged: scripted.all,
    clockMs: () => nowMs,
    evaluator: {
      ...scripted,
      async evaluate(request) {
        nowMs += EVALUATION_MS;
        const evaluation = await scripted.evaluate(request);
        return { ...evaluation, elapsedMs: { compile: 1000, verify: 4000, time: 5000, total: EVALUATION_MS } };
      },
    },
    ...overrides,
  };
}

const rungs = [kernel('01_first'), kernel('02_second', { remedies: ['bank-conflicts'] })];
const patterns = [
  pattern('rungs', 'bank-conflicts', [rung('02_second')]),
  pattern('tiles', 'parallelism', [tile(16), tile(64), tile(128)]),
];
const growing = { ...problem, file: { ...problem.file, independentDimensions: ['N'] } };

async function run(options: Partial<OptimizeOptions>): Promise<{ events: RunEvent[]; judged: string[] }> {
  const timed = timedLoop({});
  const { events } = await runLoop({ problem: growing, rungs, patterns, ablation: true, ...timed, ...options });
  return { events, judged: timed.judged };
}

describe('a run that goes on from its log', () => {
  const cases: [name: string, limits: Budgets, end: RunEvent['type'][]][] = [
    ['no budget', UNLIMITED, ['evaluation-finished', 'workload-advice', 'budget', 'run-finished']],
    [
      'a budget in evaluations',
      { ...UNLIMITED, allowance: { confirmation: 0, ablation: 2, advice: 3 }, maximumEvaluations: 9 },
      ['workload-advice', 'budget', 'run-finished'],
    ],
    [
      'time that the search spends',
      { ...UNLIMITED, maximumMinutes: 0.55 },
      ['confirmation', 'ablation', 'ablation', 'run-finished'],
    ],
    [
      'time that ends what follows',
      { ...UNLIMITED, maximumMinutes: 0.95 },
      ['confirmation', 'ablation', 'ablation', 'run-finished'],
    ],
  ];
  it.each(cases)('%s: does what it would have done, wherever its log ends', async (_name, limits, end) => {
    const whole = await run({ budgets: limits });
    expect(whole.events.slice(-end.length).map(({ type }) => type)).toEqual(end);
    await expectToGoOnAnywhere((history) => run({ budgets: limits, ...history }), whole);
  });

  it('says in which event it differs', async () => {
    const { events } = await run({ budgets: UNLIMITED });
    const history = record(events.slice(0, 8));
    const changed = history.findIndex(({ type }) => type === 'move-proposed');
    history[changed] = { ...history[changed]!, confidence: 0.123 } as RecordedEvent;
    await expect(run({ budgets: UNLIMITED, history })).rejects.toMatchObject({
      details: { code: 'history-differs', path: `event ${changed + 1}` },
    });
  });
});

describe('the clock of a run that goes on', () => {
  const budgetAfter = (minutesUsed: number): RunEvent => ({
    type: 'budget',
    iteration: 1,
    evaluationsUsed: 1,
    evaluationsLeft: null,
    minutesUsed,
    minutesLeft: null,
    ledger: { compileMs: 0, verifyMs: 0, timeMs: 0, gpuMs: 0, money: null },
  });

  it('leaves out the night between its parts', async () => {
    const { events } = await run({ budgets: UNLIMITED });
    const evaluated = events.find(({ type }) => type === 'evaluation-finished')!;
    // Two days between the budget and the evaluation: the run was killed, and resumed.
    const days = [0, 0, 2 * 86_400_000];
    const logged = record([events[0]!, budgetAfter(3), evaluated], () => days.shift()!);
    let nowMs = 1e9;
    const history = createHistory(logged, () => nowMs);
    expect(history.clockMs()).toBe(0);
    for (const event of [events[0]!, budgetAfter(3)]) expect(history.accountsFor(event)).toBe(true);
    expect(history.clockMs()).toBe(180_000);
    expect(history.accountsFor(evaluated)).toBe(true);
    expect(history.isOver).toBe(true);
    nowMs += 5_000;
    expect(history.clockMs()).toBe(180_000 + EVALUATION_MS + 5_000);
  });
});
