import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import { RUN_STRATEGIES } from '../../src/core/requests/options.ts';
import { STRATEGY_NAMES } from '../../src/core/vocabulary.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';
import { CUDA, fakeGpu } from './fake-gpu.ts';
import { finding, kernel, ofType, pattern, runLoop, scriptedEvaluator, tile, type Verdict } from './fakes.ts';

const TILES = [16, 32, 64, 128];
const rungs = [
  kernel('01_first'),
  kernel('02_second', {
    parameters: { TILE: { values: TILES, default: 32 }, DEPTH: { values: [1, 2, 4], default: 1 } },
    constraints: ['TILE * DEPTH <= 256'],
  }),
  // Does not take the workload.
  kernel('03_third', { limits: ['N <= 512'] }),
];
/** 4 settings of the first rung; 12 of the second but for 128 × 4. */
const SPACE = 4 + 12 - 1;

const figure = (name: string, key: string): number => Number(new RegExp(`${key}=(\\d+)`).exec(name)?.[1] ?? 1);
const failing = (name: string) => name.startsWith('02') && figure(name, 'TILE') === 16;
const nsOf = (name: string): number =>
  (name.startsWith('02') ? 600 : 1000) + Math.abs(figure(name, 'TILE') - 64) + 20 * figure(name, 'DEPTH');
/** The best is in the middle of the second rung; its smallest tile does not compile. */
const script = (name: string): Verdict => (failing(name) ? { status: 'compile-failed' } : { ns: nsOf(name) });

const search = async (strategy: string, options: Partial<OptimizeOptions> = {}) => {
  const evaluator = scriptedEvaluator(script);
  const run = await runLoop({ evaluator, rungs, strategy, budgets: UNLIMITED, ...options });
  return { ...run, judged: evaluator.judged };
};

describe('a run over ranges too large to list', () => {
  const range = { values: { from: 1, to: 4096, step: 1 }, default: 32 };
  const huge = [rungs[0]!, kernel('02_second', { parameters: { TILE: range, DEPTH: range, UNUSED: range } })];
  const budgets = { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 6 };

  it('goes by findings, and lists no settings for them', async () => {
    const patterns = [pattern('more', 'tail-effect', [tile(64)])];
    const start = makeCandidate(huge[1]!, {});
    const evaluator = scriptedEvaluator((name) => ({
      ns: 1000 - 2 * figure(name, 'TILE'),
      findings: [finding('tail-effect')],
    }));
    const { result } = await search('guided', { rungs: huge, start, patterns, budgets, evaluator });
    expect(result.best!.candidate.parameters).toEqual({ TILE: 64, DEPTH: 32, UNUSED: 32 });
    expect(result.stopReason).toBe('no-moves-left');
  });

  it('is refused by strategies that list all settings', async () => {
    await expect(search('bayesian', { rungs: huge, budgets })).rejects.toMatchObject({
      details: { code: 'too-many-assignments', hint: expect.stringContaining('--strategy guided') },
    });
  });
});

describe.each(STRATEGY_NAMES)('a run searched with %s', (strategy) => {
  it('evaluates each configuration of every rung once, failed ones too, and says that the space is exhausted', async () => {
    const { result, judged, events } = await search(strategy);
    expect(judged).toHaveLength(SPACE);
    expect(new Set(judged).size).toBe(SPACE);
    expect(judged.some((name) => name.startsWith('03'))).toBe(false);
    expect(judged).not.toContain('02_second TILE=128 DEPTH=4');
    expect(judged.filter(failing)).toHaveLength(3);
    expect(result).toMatchObject({ stopReason: 'space-exhausted', evaluationsUsed: SPACE + 1 });
    expect(result.detail).toBe(`all ${SPACE} configurations have been evaluated`);
    expect(result.best!.candidate.parameters).toEqual({ TILE: 64, DEPTH: 1 });
    expect(ofType(events, 'run-started')[0]!.strategy).toBe(strategy);
  });

  it('spends an evaluation on a failed configuration', async () => {
    const { result, judged, events } = await search(strategy, {
      budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 14 },
    });
    expect(result).toMatchObject({ stopReason: 'evaluations-spent', evaluationsUsed: 14 });
    expect(judged.filter(failing).length).toBeGreaterThan(1);
    expect(ofType(events, 'decision').filter(({ ratio }) => ratio === null)).toHaveLength(
      judged.filter(failing).length + 1,
    );
  });

  it('says what it asked for, and that no finding did', async () => {
    const { events } = await search(strategy);
    const moves = ofType(events, 'move-proposed');
    expect(moves).toHaveLength(SPACE - 1);
    for (const { move, candidate, pattern: asked, finding } of moves) {
      expect(move).toEqual({
        kind: 'configuration',
        kernel: candidate.kernel,
        parameters: candidate.parameters,
      });
      expect([asked.id, finding.id]).toEqual([strategy, 'none']);
    }
    expect(new Set(moves.map(({ moveKey }) => moveKey)).size).toBe(moves.length);
    expect(ofType(events, 'move-abandoned')).toEqual([]);
  });

  it('does the same with the same seed', async () => {
    const [one, other] = await Promise.all([search(strategy, { seed: 3 }), search(strategy, { seed: 3 })]);
    expect(one.events).toEqual(other.events);
  });

  it('asks again for what the device failed at: nothing was learnt of it', async () => {
    let requests = 0;
    let failed: string | undefined;
    const evaluator = scriptedEvaluator((name) => {
      requests += 1;
      if (requests !== 4) return script(name);
      failed = name;
      return { status: 'device-failed', reason: 'a worker died' };
    });
    const { result } = await search(strategy, { evaluator });
    expect(evaluator.judged.filter((name) => name === failed)).toHaveLength(2);
    expect(new Set(evaluator.judged).size).toBe(SPACE);
    expect(result).toMatchObject({ stopReason: 'space-exhausted', evaluationsUsed: SPACE + 2 });
  });

  it('searches by measured times as well', async () => {
    const evaluator = fakeGpu({ ns: nsOf, sanitizer: 'clean' });
    const { result } = await search(strategy, { evaluator, device: CUDA });
    const screened = evaluator.requests.filter(({ tier }) => tier === 'screen').map(({ candidate }) => candidate.id);
    expect(new Set(screened).size).toBe(SPACE - 1);
    expect(screened).toHaveLength(SPACE - 1);
    expect(result).toMatchObject({
      stopReason: 'space-exhausted',
      best: { candidate: { parameters: { TILE: 64, DEPTH: 1 } } },
      confirmation: { outcome: 'accepted' },
    });
  });

  it('leaves out what does not take every workload', async () => {
    const { judged } = await search(strategy, {
      rungs: [rungs[0]!, kernel('02_second', { constraints: ['N >= 16 * TILE'] })],
      workloads: [
        { name: 'n1024', dimensions: { N: 1024 }, cache: 'hot', weight: 1 },
        { name: 'n512', dimensions: { N: 512 }, cache: 'hot', weight: 1 },
      ],
    });
    expect([...new Set(judged)].filter((name) => name.startsWith('02')).sort()).toEqual([
      '02_second TILE=16',
      '02_second TILE=32',
    ]);
  });
});

it.each(STRATEGY_NAMES.filter((name) => name !== 'exhaustive'))('%s: another seed asks otherwise', async (strategy) => {
  const orders = await Promise.all([1, 2, 3].map((seed) => search(strategy, { seed })));
  expect(new Set(orders.map(({ judged }) => judged.join())).size).toBeGreaterThan(1);
});

describe('what is told', () => {
  it.each(['tpe', 'evolutionary', 'bayesian'])('%s goes where times are good', async (strategy) => {
    const wide = kernel('01_first', {
      parameters: {
        TILE: { values: Array.from({ length: 32 }, (_, i) => i + 1), default: 32 },
        DEPTH: { values: Array.from({ length: 16 }, (_, i) => i + 1), default: 16 },
      },
    });
    const evaluator = scriptedEvaluator((name) => ({
      ns: 1000 + 30 * Math.abs(figure(name, 'TILE') - 7) + 50 * Math.abs(figure(name, 'DEPTH') - 3),
    }));
    const mean = (names: readonly string[]) =>
      names.reduce((sum, name) => sum + Math.abs(figure(name, 'TILE') - 7), 0) / names.length;
    await runLoop({
      evaluator,
      rungs: [wide],
      start: makeCandidate(wide, { TILE: 32, DEPTH: 16 }),
      strategy,
      budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 100 },
    });
    // Drawn at random, either mean would be near 11.
    expect(mean(evaluator.judged.slice(-30))).toBeLessThan(6);
  });

  it('is not asked for again though the start is not on the ladder', async () => {
    const own = kernel('00_own');
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    await runLoop({
      evaluator,
      rungs: [rungs[0]!],
      start: makeCandidate(own, { TILE: 64 }),
      strategy: 'exhaustive',
      budgets: UNLIMITED,
    });
    expect(evaluator.judged).toHaveLength(8);
    expect(evaluator.judged.filter((name) => name === '00_own TILE=64')).toHaveLength(1);
  });
});

describe('the choice of a strategy', () => {
  it('is guided, or one of search/', () => {
    expect(RUN_STRATEGIES).toEqual(['guided', ...STRATEGY_NAMES]);
  });

  it('refuses another name, with the ones there are', async () => {
    const evaluator = scriptedEvaluator({ '*': {} });
    await expect(runLoop({ evaluator, strategy: 'gradient' })).rejects.toMatchObject({
      details: { code: 'unknown-strategy', received: 'gradient' },
    });
    expect(evaluator.judged).toEqual([]);
  });
});

describe('guided without diagnosis', () => {
  const patterns = [
    pattern('tiles', 'bank-conflicts', [tile(64, 9, 1)]),
    pattern('advice', 'bank-conflicts', [{ kind: 'advice', text: 'use tensor cores' }]),
  ];
  const undirected = (options: Partial<OptimizeOptions> = {}) =>
    search('guided', { patterns, request: { target: 'problems/scale', diagnosis: false }, ...options });

  it('tries every change of a parameter and of the rung, whatever the findings say, and advises nothing', async () => {
    const { events, result } = await undirected({
      evaluator: scriptedEvaluator({ '*': { ns: 1000, findings: [] } }),
      rungs: rungs.slice(0, 2),
    });
    const tried = ofType(events, 'move-proposed').map(({ move }) =>
      move.kind === 'parameter' ? `${move.parameter}=${move.to}` : move.kind === 'rung' ? move.to : move.kind,
    );
    expect(tried.sort()).toEqual(['02_second', 'TILE=128', 'TILE=16', 'TILE=64']);
    expect(new Set(ofType(events, 'move-proposed').map(({ pattern: { id } }) => id))).toEqual(new Set(['undirected']));
    expect(ofType(events, 'advice')).toEqual([]);
    expect(result.stopReason).toBe('no-moves-left');
  });

  it('in an order that the seed decides', async () => {
    const orders = await Promise.all([1, 2, 3, 4, 1].map((seed) => undirected({ seed })));
    const judged = orders.map((order) => order.judged.join());
    expect(judged[4]).toBe(judged[0]);
    expect(new Set(judged).size).toBeGreaterThan(1);
  });

  it('asks patterns where it is not switched off', async () => {
    const { judged } = await search('guided', { patterns });
    expect(judged[1]).toBe('01_first TILE=64');
  });
});
