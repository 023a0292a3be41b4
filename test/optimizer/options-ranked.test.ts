import { describe, expect, it } from 'vitest';
import { WHILE_TIMED } from '../../src/core/evaluation.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { NOTHING_KEPT, type OptionsRankedEvent, UNLIMITED } from '../../src/store/events.ts';
import { finding, kernel, ofType, pattern, rung, runLoop, scriptedEvaluator, tile } from './fakes.ts';

const climb = pattern('climb', 'bank-conflicts', [rung('02_second', 3, 0.6)]);
const tiles = pattern('tiles', 'bank-conflicts', [tile(16), tile(64), tile(128)]);
const depths = pattern('depths', 'bank-conflicts', [
  { kind: 'parameter', parameter: 'DEPTH', from: 1, value: 2, expectedGain: 1.2, confidence: 0.5, reason: '' },
]);
const parameters = { TILE: { values: [16, 32, 64, 128], default: 32 }, DEPTH: { values: [1, 2], default: 1 } };
const rungs = [kernel('01_first', { parameters }), kernel('02_second', { parameters, remedies: ['bank-conflicts'] })];

const states = ({ options }: OptionsRankedEvent) => options.map(({ moveKey, state }) => `${state} ${moveKey}`);

describe('the options at each turn', () => {
  it('are logged before the move that is next, with the figures it was chosen by', async () => {
    const { events } = await runLoop({
      evaluator: scriptedEvaluator({ '*': { ns: 1000 } }),
      rungs,
      patterns: [tiles, depths, climb],
    });
    const turns = ofType(events, 'options-ranked');
    expect(states(turns[0]!)).toEqual([
      'next climb/02_second',
      'open tiles/01_first.TILE',
      'open depths/01_first.DEPTH',
    ]);
    expect(turns[0]).toMatchObject({ iteration: 0, share: 19 / 3, omitted: 0 });
    expect(turns[0]!.options[0]).toMatchObject({
      finding: { id: 'bank-conflicts', evaluationId: 'e1' },
      move: { kind: 'rung', from: '01_first', to: '02_second' },
      arithmetic: '(3.00 − 1) × 0.60 ÷ (1.0 + 0.0) = 1.200',
    });
    for (const [i, event] of events.entries()) {
      if (event.type !== 'move-proposed') continue;
      const ranked = events[i - 1];
      expect(ranked).toMatchObject({ type: 'options-ranked' });
      expect((ranked as OptionsRankedEvent).options[0]).toMatchObject({ moveKey: event.moveKey, state: 'next' });
    }
    // The rung has failed: its pattern is trusted less, and nothing is left of it.
    expect(states(turns[1]!)).toEqual(['next tiles/01_first.TILE', 'open depths/01_first.DEPTH']);
    expect(turns[2]!.options.find(({ pattern: { id } }) => id === 'tiles')).toMatchObject({
      used: 1,
      failures: 1,
      evidence: { attempts: 1, kept: 0 },
      confidence: 0.4,
    });
  });

  it('list twenty, and say how many more there are', async () => {
    const many = Array.from({ length: 27 }, (_, i) => pattern(`p${i}`, 'bank-conflicts', [tile(i + 1, 1.5)]));
    const wide = kernel('01_first', {
      parameters: { TILE: { values: [32, ...many.map((_, i) => i + 1)], default: 32 } },
    });
    const { events } = await runLoop({
      evaluator: scriptedEvaluator({ '*': { ns: 1000 } }),
      rungs: [wide],
      patterns: many,
      budgets: UNLIMITED,
    });
    const turns = ofType(events, 'options-ranked');
    expect(turns.map(({ options, omitted }) => [options.length, omitted]).slice(0, 9)).toEqual([
      [20, 7],
      [20, 6],
      [20, 5],
      [20, 4],
      [20, 3],
      [20, 2],
      [20, 1],
      [20, 0],
      [19, 0],
    ]);
    expect(turns[0]!.share).toBeNull();
  });

  it('are shifted by what earlier runs realised', async () => {
    const patterns = [{ pattern: 'climb', attempts: 30, kept: 0, realisedGain: 1, scope: 'device' as const }];
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    const priors = { patterns, costs: [] };
    const { events } = await runLoop({ evaluator, rungs, patterns: [tiles, depths, climb], priors });
    expect(states(ofType(events, 'options-ranked')[0]!)[0]).toBe('next tiles/01_first.TILE');
    expect(ofType(events, 'run-started')[0]!.priors).toEqual(priors);
  });

  it('are none of a strategy that asks no findings', async () => {
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    const { events } = await runLoop({ evaluator, rungs, patterns: [tiles], strategy: 'random' });
    expect(ofType(events, 'options-ranked')).toEqual([]);
  });
});

describe('candidates that compile ahead', () => {
  const sizes = [1, 2, 3, 4, 5, 6, 7, 8];
  const wide = kernel('01_first', { parameters: { TILE: { values: [...sizes, 32], default: 32 } } });
  const preparedWith = async (maximumEvaluations: number | null): Promise<number[]> => {
    const prepared: number[] = [];
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    await runLoop({
      evaluator: { ...evaluator, prepare: (candidates) => prepared.push(candidates.length) },
      rungs: [wide],
      patterns: sizes.map((size) => pattern(`p${size}`, 'bank-conflicts', [tile(size, 1.5)])),
      budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations },
    });
    return prepared;
  };

  it('are six of the next ones, and no more than the evaluations left could ask for', async () => {
    expect(await preparedWith(null)).toEqual([6, 6, 5, 4, 3, 2, 1, 0]);
    // The start takes one of three, and the first move another.
    expect(await preparedWith(3)).toEqual([1, 0]);
    expect(await preparedWith(2)).toEqual([0]);
  });

  it('are what a blind strategy asks for next, where that depends on no answer', async () => {
    const searched = async (
      maximumEvaluations: number,
      more: Partial<OptimizeOptions> & { capacity?: number } = {},
    ) => {
      const prepared: string[][] = [];
      const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
      const { capacity, ...options } = more;
      const { events } = await runLoop({
        evaluator: {
          ...evaluator,
          ...(capacity !== undefined && { capacity }),
          prepare: (candidates) => prepared.push(candidates.map(({ id }) => id)),
        },
        rungs: [wide],
        patterns: [],
        strategy: 'random',
        budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations },
        ...options,
      });
      return { prepared, proposed: ofType(events, 'move-proposed').map(({ candidate }) => candidate.id) };
    };
    const { prepared, proposed } = await searched(6);
    expect(proposed).toHaveLength(5);
    expect(prepared).toEqual(proposed.map((_, at) => proposed.slice(at + 1)));
    // Where cores are idle, while the start is judged, too: six for each worker.
    const more = await searched(9, { preparesMore: true });
    expect(more.prepared[0]).toEqual(more.proposed.slice(0, 6));
    const ofTwo = await searched(9, { preparesMore: true, capacity: 2 });
    expect(ofTwo.prepared[0]).toEqual(ofTwo.proposed);
    expect(ofTwo.proposed).toHaveLength(8);
  });

  it('are more where many cores are idle: what follows the start on later rungs, and what follows a candidate if it is kept', async () => {
    const prepared: string[][] = [];
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 }, '02_second': { ns: 500 } });
    const { events } = await runLoop({
      evaluator: {
        ...evaluator,
        prepare: (candidates) =>
          prepared.push(candidates.map(({ kernel, parameters }) => `${kernel.file.name} ${Object.values(parameters)}`)),
      },
      rungs,
      patterns: [tiles, depths, climb],
      preparesMore: true,
    });
    expect(ofType(events, 'move-proposed')[0]!.candidate).toMatchObject({ kernel: '02_second' });
    expect(prepared.slice(0, 2)).toEqual([
      ['02_second 32,1'],
      [
        ...['01_first 16,1', '01_first 32,2'],
        ...['02_second 16,1', '02_second 32,2', '02_second 64,1', '02_second 128,1'],
      ],
    ]);
    // It was kept, and what follows was compiled.
    const next = ofType(events, 'move-proposed')[1]!.candidate;
    expect(prepared[1]).toContain(`${next.kernel} ${Object.values(next.parameters)}`);
  });
});

describe('a move that is given up', () => {
  it('for having used twice its share while another has not, in the same turn’s table', async () => {
    const { events } = await runLoop({
      evaluator: scriptedEvaluator({ '*': { ns: 1000 } }),
      rungs,
      patterns: [pattern('tiles', 'bank-conflicts', [tile(16, 2), tile(64, 2), tile(128, 2)]), depths],
      // The start leaves three; a failure leaves two for two moves: one each, and twice that after two.
      budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 4 },
    });
    expect(ofType(events, 'move-abandoned')).toEqual([
      {
        type: 'move-abandoned',
        iteration: 2,
        moveKey: 'tiles/01_first.TILE',
        failureCount: 2,
        why: 'overspent',
        reason: 'no gain after 2 evaluations, twice its share of 0.50 (1 left ÷ 2 moves)',
      },
    ]);
    const last = ofType(events, 'options-ranked').at(-1)!;
    expect(states(last)).toEqual(['next depths/01_first.DEPTH', 'abandoned tiles/01_first.TILE']);
    expect(ofType(events, 'move-proposed').at(-1)!.moveKey).toBe('depths/01_first.DEPTH');
  });

  it('is not when it is all there is', async () => {
    const { events, result } = await runLoop({
      evaluator: scriptedEvaluator({ '*': { ns: 1000 } }),
      patterns: [pattern('tiles', 'bank-conflicts', [tile(16), tile(64)])],
      budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 3 },
    });
    expect(ofType(events, 'move-abandoned')).toEqual([]);
    expect(result.evaluationsUsed).toBe(3);
  });

  it('for three failures, right after the third', async () => {
    const { events } = await runLoop({
      evaluator: scriptedEvaluator({ '*': { ns: 1000 }, '01_first TILE=64': { status: 'crashed' } }),
      patterns: [tiles],
    });
    const abandoned = events.findIndex(({ type }) => type === 'move-abandoned');
    expect(events[abandoned]).toMatchObject({ moveKey: 'tiles/01_first.TILE', failureCount: 3, why: 'failed' });
    expect(events[abandoned - 1]).toMatchObject({ type: 'decision', decision: 'revert' });
  });

  it('stays given up when another candidate becomes the best', async () => {
    const wide = { TILE: { values: [8, 16, 32, 64, 128, 256], default: 32 }, DEPTH: { values: [1, 2], default: 1 } };
    const evaluator = scriptedEvaluator((name) => ({ ns: name.includes('DEPTH=2') ? 500 : 1000 }));
    await runLoop({
      evaluator,
      rungs: [kernel('01_first', { parameters: wide })],
      patterns: [pattern('tiles', 'bank-conflicts', [tile(8), tile(16), tile(64), tile(128)]), depths],
    });
    expect(evaluator.judged.filter((name) => !name.includes('TILE=32'))).toHaveLength(3);
  });
});

describe('a kernel that was right when verified and wrong when timed', () => {
  const lying = (kernelName: string) =>
    scriptedEvaluator((name) =>
      name.startsWith(kernelName) && !name.includes('TILE=32')
        ? { status: 'wrong', failedCheck: WHILE_TIMED, reason: 'right when verified, not when timed: …' }
        : { ns: 1000 },
    );

  it('twice, is tried no more, and that is said', async () => {
    const evaluator = lying('01_first');
    const { events } = await runLoop({ evaluator, rungs, patterns: [tiles, depths, climb] });
    expect(evaluator.judged.filter((name) => name.startsWith('01_first'))).toEqual([
      '01_first TILE=32 DEPTH=1',
      '01_first TILE=16 DEPTH=1',
      '01_first TILE=64 DEPTH=1',
    ]);
    expect(ofType(events, 'move-abandoned').map(({ reason }) => reason)).toEqual([
      '01_first was right when verified and wrong when timed, for the second time; no further setting of it is tried',
    ]);
  });

  it('is tried no more by a strategy that asks no findings, either', async () => {
    const evaluator = lying('02_second');
    await runLoop({ evaluator, rungs, patterns: [], strategy: 'exhaustive' });
    const lies = evaluator.judged.filter((name) => name.startsWith('02_second') && !name.includes('TILE=32'));
    expect(lies).toHaveLength(2);
    expect(evaluator.judged.filter((name) => name.startsWith('01_first'))).toHaveLength(8);
  });

  it('is not distrusted for what verification refuses', async () => {
    const evaluator = scriptedEvaluator((name) => (name.includes('TILE=32') ? { ns: 1000 } : { status: 'wrong' }));
    await runLoop({ evaluator, rungs, patterns: [], strategy: 'exhaustive' });
    expect(evaluator.judged).toHaveLength(16);
  });
});

it('findings that are no longer found suggest nothing', async () => {
  const evaluator = scriptedEvaluator((name) => ({
    ns: name.startsWith('02') ? 500 : 1000,
    findings: [finding(name.startsWith('02') ? 'divergence' : 'bank-conflicts')],
  }));
  await runLoop({ evaluator, rungs, patterns: [tiles, climb] });
  expect(evaluator.judged).toEqual(['01_first TILE=32 DEPTH=1', '02_second TILE=32 DEPTH=1']);
});
