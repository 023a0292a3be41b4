import { describe, expect, test } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import { decide, isTimed, KEEP_RATIO, type TimedEvaluation } from '../../src/optimizer/decision.ts';
import { kernel, nameOf, ofType, pattern, rung, runLoop, scriptedEvaluator, tile } from './fakes.ts';

const one = pattern('one', 'bank-conflicts', [tile(16)]);

async function decisionFor(candidateNs: number, startNs = 10_300) {
  const evaluator = scriptedEvaluator({ '01_first TILE=32': { ns: startNs }, '01_first TILE=16': { ns: candidateNs } });
  const { events, result } = await runLoop({ evaluator, patterns: [one] });
  return { decision: ofType(events, 'decision')[1]!, result };
}

describe('keep or revert', () => {
  test('keeps at exactly 3 % gain', async () => {
    const { decision, result } = await decisionFor(10_000);
    expect(decision).toMatchObject({ decision: 'keep', ratio: KEEP_RATIO, comparedWith: 'e1', evaluationId: 'e2' });
    expect(result.best?.evaluation.id).toBe('e2');
    expect(decision.reason).toBe('predicted 1.03× faster than e1');
  });

  test('reverts just below 3 %, saying so', async () => {
    const { decision, result } = await decisionFor(10_001);
    expect(decision.decision).toBe('revert');
    expect(decision.reason).toContain('below the 3.0 % needed');
    expect(result.best?.evaluation.id).toBe('e1');
  });

  test('reverts a slower candidate and one without a valid time', async () => {
    expect((await decisionFor(20_600)).decision.reason).toBe('predicted 2.00× slower than e1');
    for (const tie of [10_300, 10_301, 10_299]) {
      expect((await decisionFor(tie)).decision.reason).toBe('predicted as fast as e1');
    }
    expect((await decisionFor(10_200)).decision.reason).toMatch(/^predicted 1\.01× faster than e1: a gain of 1\.0 %/);
    expect((await decisionFor(Number.NaN)).decision).toMatchObject({ decision: 'revert', ratio: null });
  });

  test.each(['wrong', 'unsafe', 'compile-failed', 'timed-out', 'crashed', 'implausible', 'unsupported'] as const)(
    'reverts %s with the referee’s reason, however fast it claims to be',
    async (status) => {
      const evaluator = scriptedEvaluator({
        '01_first TILE=32': { ns: 1000 },
        '01_first TILE=16': { status, reason: 'because' },
      });
      const { events } = await runLoop({ evaluator, patterns: [one] });
      expect(ofType(events, 'decision')[1]).toMatchObject({
        decision: 'revert',
        ratio: null,
        reason: `${status}: because`,
      });
    },
  );

  test('never compares a measured time with a predicted one', async () => {
    const { result } = await decisionFor(10_000);
    const start = result.start!;
    const best = result.best!.evaluation;
    expect(isTimed(start)).toBe(true);
    const measured: TimedEvaluation = { ...best, timing: { ...best.timing, kind: 'measured' } };
    expect(() => decide(start as TimedEvaluation, measured)).toThrow("can't be compared");
  });
});

describe('what is tried', () => {
  test('one change per iteration, always from the best so far', async () => {
    const relative = pattern('relative', 'bank-conflicts', ({ candidate }) => [
      tile((candidate.parameters.TILE ?? 0) * 2),
    ]);
    const evaluator = scriptedEvaluator({
      '01_first TILE=32': { ns: 1000 },
      '01_first TILE=64': { ns: 500 },
      '01_first TILE=128': { ns: 250 },
    });
    const { events, result } = await runLoop({ evaluator, patterns: [relative] });
    expect(ofType(events, 'move-proposed').map(({ move }) => move)).toEqual([
      { kind: 'parameter', kernel: '01_first', parameter: 'TILE', from: 32, to: 64 },
      { kind: 'parameter', kernel: '01_first', parameter: 'TILE', from: 64, to: 128 },
    ]);
    expect(ofType(events, 'move-proposed').map(({ finding: { evaluationId } }) => evaluationId)).toEqual(['e1', 'e2']);
    expect(result.speedup).toBe(4);
  });

  test('the most promising first: expected gain × confidence', async () => {
    const moves = pattern('moves', 'bank-conflicts', [tile(16, 1.2, 0.9), tile(64, 3, 0.2), tile(128, 1.5, 0.8)]);
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    await runLoop({ evaluator, patterns: [moves] });
    expect(evaluator.judged).toEqual(['01_first TILE=32', '01_first TILE=128', '01_first TILE=16', '01_first TILE=64']);
  });

  test('no candidate is judged twice, whoever proposes it', async () => {
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    await runLoop({ evaluator, patterns: [one, pattern('other', 'bank-conflicts', [tile(16), tile(32)])] });
    expect(evaluator.judged).toEqual(['01_first TILE=32', '01_first TILE=16']);
  });

  test('constraints and allowed values are honoured', async () => {
    const constrained = kernel('01_first', { constraints: ['TILE <= 64'] });
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    const moves = pattern('moves', 'bank-conflicts', [tile(128), tile(48), tile(64)]);
    await runLoop({ evaluator, rungs: [constrained], patterns: [moves] });
    expect(evaluator.judged).toEqual(['01_first TILE=32', '01_first TILE=64']);
  });

  test('a move is given up after three failures in a row', async () => {
    const values = [16, 64, 128, 256, 512];
    const wide = kernel('01_first', { parameters: { TILE: { values: [32, ...values], default: 32 } } });
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    const { events, result } = await runLoop({
      evaluator,
      rungs: [wide],
      patterns: [
        pattern(
          'tiles',
          'bank-conflicts',
          values.map((value) => tile(value)),
        ),
      ],
    });
    expect(evaluator.judged).toHaveLength(4);
    expect(ofType(events, 'move-abandoned')).toMatchObject([
      { moveKey: 'tiles/01_first.TILE', failureCount: 3, iteration: 3 },
    ]);
    expect(result.stopReason).toBe('no-moves-left');
  });

  test('a success clears the failures of its move', async () => {
    const values = [16, 64, 128, 256, 512];
    const wide = kernel('01_first', { parameters: { TILE: { values: [32, ...values], default: 32 } } });
    const evaluator = scriptedEvaluator((name) => ({ ns: name.endsWith('=128') ? 500 : 1000 }));
    await runLoop({
      evaluator,
      rungs: [wide],
      patterns: [
        pattern(
          'tiles',
          'bank-conflicts',
          values.map((value) => tile(value)),
        ),
      ],
    });
    expect(evaluator.judged).toHaveLength(6);
  });

  test('the same advice is recorded once', async () => {
    const advice = pattern('advice', 'bank-conflicts', [{ kind: 'advice', text: 'use tensor cores' }]);
    const { events } = await runLoop({ evaluator: scriptedEvaluator({ '*': { ns: 1000 } }), patterns: [advice, one] });
    expect(ofType(events, 'advice')).toMatchObject([
      { text: 'use tensor cores', finding: { id: 'bank-conflicts', evaluationId: 'e1' } },
    ]);
  });
});

describe('rungs', () => {
  const first = kernel('01_first');
  const second = kernel('02_second', { remedies: ['serial-sections'] });
  const third = kernel('03_third', {
    remedies: ['bank-conflicts'],
    parameters: { TILE: { values: [16, 32], default: 16 }, DEPTH: { values: [1, 2], default: 2 } },
  });
  const climb = pattern('climb', 'bank-conflicts', [rung('02_second'), rung('03_third')]);

  test('only one that lists the finding under remedies is tried, whatever a pattern says', async () => {
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    await runLoop({ evaluator, rungs: [first, second, third], patterns: [climb] });
    expect(evaluator.judged).toEqual(['01_first TILE=32', '03_third TILE=32 DEPTH=2']);
  });

  test('none is tried when no pattern’s finding fired', async () => {
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    await runLoop({
      evaluator,
      rungs: [first, second, third],
      patterns: [pattern('climb', 'divergence', [rung('03_third')])],
    });
    expect(evaluator.judged).toEqual(['01_first TILE=32']);
  });

  test('an earlier rung is never proposed', async () => {
    const answering = kernel('01_first', { remedies: ['bank-conflicts'] });
    const back = pattern('back', 'bank-conflicts', ({ candidate }) =>
      nameOf(candidate).startsWith('03') ? [rung('01_first')] : [rung('03_third')],
    );
    const evaluator = scriptedEvaluator((name) => ({ ns: name.startsWith('03') ? 500 : 1000 }));
    await runLoop({ evaluator, rungs: [answering, second, third], patterns: [back] });
    expect(evaluator.judged).toEqual(['01_first TILE=32', '03_third TILE=32 DEPTH=2']);
  });

  test('values the new rung does not allow fall back to its default', async () => {
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 }, '01_first TILE=128': { ns: 500 } });
    const patterns = [pattern('tiles', 'bank-conflicts', [tile(128, 9, 1)]), climb];
    await runLoop({ evaluator, rungs: [first, second, third], patterns });
    expect(evaluator.judged.at(-1)).toBe('03_third TILE=16 DEPTH=2');
  });

  test('a broken constraint falls back to defaults, then to the nearest valid assignment', async () => {
    const parameters = { TILE: { values: [16, 32], default: 16 }, DEPTH: { values: [1, 2], default: 2 } };
    const defaults = { ...third, file: { ...third.file, parameters, constraints: ['TILE * DEPTH <= 32'] } };
    const byDefault = scriptedEvaluator({ '*': { ns: 1000 } });
    await runLoop({ evaluator: byDefault, rungs: [first, defaults], patterns: [climb] });
    expect(byDefault.judged.at(-1)).toBe('03_third TILE=16 DEPTH=2');
    const nearest = { ...third, file: { ...third.file, parameters, constraints: ['DEPTH == 1'] } };
    const byAgreement = scriptedEvaluator({ '*': { ns: 1000 } });
    await runLoop({ evaluator: byAgreement, rungs: [first, nearest], patterns: [climb] });
    expect(byAgreement.judged.at(-1)).toBe('03_third TILE=32 DEPTH=1');
  });

  test('a rung whose limits refuse the workload is not proposed', async () => {
    const limited = kernel('03_third', { remedies: ['bank-conflicts'], limits: ['N <= 512'] });
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    await runLoop({ evaluator, rungs: [first, second, limited], patterns: [climb] });
    expect(evaluator.judged).toEqual(['01_first TILE=32']);
  });
});

describe('a kernel that is not on the ladder', () => {
  test('has no rungs after it, so that no finding sends it back to the first ones', async () => {
    const ladder = ['01_first', '02_second'].map((name) => kernel(name, { remedies: ['bank-conflicts'] }));
    const climb = pattern('climb', 'bank-conflicts', ({ laterRungs }) => laterRungs.map(({ file }) => rung(file.name)));
    const jump = pattern('jump', 'bank-conflicts', [rung('01_first')]);
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    const start = makeCandidate(kernel('mine'), {});
    const { result } = await runLoop({ evaluator, start, rungs: ladder, patterns: [climb, jump] });
    expect(evaluator.judged).toEqual(['mine TILE=32']);
    expect(result.stopReason).toBe('no-moves-left');
  });
});

describe('determinism', () => {
  test('the same seed gives the same events', async () => {
    const patterns = [
      pattern('tiles', 'bank-conflicts', [tile(16), tile(64), tile(128)]),
      pattern('more', 'bank-conflicts', [tile(64, 2, 0.9)]),
    ];
    const script = { '*': { ns: 1000 }, '01_first TILE=64': { ns: 700 } };
    const logs = await Promise.all(
      [1, 2].map(() => runLoop({ evaluator: scriptedEvaluator(script), patterns, seed: 7 })),
    );
    expect(logs[0]!.events).toEqual(logs[1]!.events);
    expect(logs[0]!.events.length).toBeGreaterThan(8);
  });

  test('the seed reaches the evaluator, and the log', async () => {
    const seeds: number[] = [];
    const evaluator = scriptedEvaluator((_name, { seed }) => {
      seeds.push(seed);
      return { ns: 1000 };
    });
    const { events } = await runLoop({ evaluator, patterns: [one], seed: 42 });
    expect(seeds).toEqual([42, 42]);
    expect(ofType(events, 'run-started')[0]?.seed).toBe(42);
  });
});
