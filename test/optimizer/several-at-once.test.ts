import { describe, expect, it } from 'vitest';
import type { Evaluator } from '../../src/core/evaluation.ts';
import { STRATEGY_NAMES } from '../../src/core/vocabulary.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { integerBelow } from '../../src/search/draw.ts';
import { randomSource } from '../../src/stats/random.ts';
import { type RunEvent, UNLIMITED } from '../../src/store/events.ts';
import { CUDA, fakeGpu } from './fake-gpu.ts';
import { finding, kernel, nameOf, ofType, pattern, rung, runLoop, scriptedEvaluator, tile } from './fakes.ts';
import { record, withoutTimes } from './going-on.ts';

const parameters = { TILE: { values: [16, 32, 64, 128], default: 32 }, DEPTH: { values: [1, 2, 4], default: 1 } };
const rungs = [
  kernel('01_first', { parameters }),
  kernel('02_second', { parameters, remedies: ['bank-conflicts'] }),
  kernel('03_third', { parameters, remedies: ['parallelism'] }),
];
const patterns = [
  pattern('tiles', 'bank-conflicts', [tile(16), tile(64), tile(128)]),
  pattern('climb', 'bank-conflicts', [rung('02_second')]),
  pattern('climb-on', 'parallelism', [rung('03_third'), { kind: 'advice', text: 'more work' }]),
];
const findings = [finding('bank-conflicts'), finding('parallelism')];
const figure = (name: string, key: string): number => Number(new RegExp(`${key}=(\\d+)`).exec(name)![1]);
const nsOf = (name: string): number =>
  (1200 - 200 * Number(name.slice(1, 2))) * (1 + Math.abs(Math.log2(figure(name, 'TILE') / 64)) / 10) -
  7 * figure(name, 'DEPTH');

interface Pool extends Evaluator {
  most: number;
  readonly asked: string[];
}

/** Judges `capacity` requests at a time, which end in an order drawn from `seed`. */
function pooled(evaluator: Evaluator, capacity: number, seed: number): Pool {
  const random = randomSource(seed);
  let running = 0;
  const pool: Pool = {
    capacity,
    most: 0,
    asked: [],
    async evaluate(request) {
      // Not to judge a candidate, but to profile one that was judged.
      if (!request.passedBefore) pool.asked.push(`${nameOf(request.candidate)} on ${request.workload.name}`);
      running += 1;
      pool.most = Math.max(pool.most, running);
      for (let turn = integerBelow(random, 8); turn > 0; turn -= 1) await new Promise(setImmediate);
      running -= 1;
      return evaluator.evaluate(request);
    },
    close: async () => {},
  };
  return pool;
}

const predicting = () =>
  scriptedEvaluator((name) =>
    figure(name, 'TILE') === 16 ? { status: 'compile-failed', reason: 'too small' } : { ns: nsOf(name), findings },
  );
const measuring = () => fakeGpu({ ns: nsOf, findings, spreadShare: 0.02, sanitizer: 'clean' });
/** What takes least time needs most energy. */
const thrifty = () =>
  fakeGpu({ ns: nsOf, joules: (name) => 100 / nsOf(name), findings, spreadShare: 0.02, sanitizer: 'clean', idleW: 1 });

const small = { name: 'n1024', dimensions: { N: 1024 }, cache: 'hot', weight: 1 } as const;
const large = { name: 'n4096', dimensions: { N: 4096 }, cache: 'hot', weight: 2 } as const;
const SITUATIONS: Readonly<Record<string, [() => Evaluator, Partial<OptimizeOptions>]>> = {
  guided: [predicting, { exploring: true }],
  'guided only': [predicting, {}],
  'several workloads': [predicting, { exploring: true, workloads: [small, large] }],
  measured: [measuring, { exploring: true, device: CUDA }],
  'measured, for less energy': [thrifty, { exploring: true, device: CUDA, minimised: 'energy' }],
  'measured, several workloads': [measuring, { exploring: true, device: CUDA, workloads: [small, large] }],
  ...Object.fromEntries(STRATEGY_NAMES.map((strategy) => [strategy, [predicting, { strategy }]])),
};

const LIMIT = 18;
const search = (evaluator: Evaluator, options: Partial<OptimizeOptions>) =>
  runLoop({
    evaluator,
    rungs,
    patterns,
    ablation: true,
    budgets: { ...UNLIMITED, maximumEvaluations: LIMIT },
    ...options,
  });

const finishedIds = (events: readonly RunEvent[]): string[] =>
  ofType(events, 'evaluation-finished').map(({ evaluation }) => evaluation.id);

describe.each(Object.entries(SITUATIONS))('several candidates at a time: %s', (_name, [fakes, options]) => {
  it('are as many as there is room for; each is judged once, and numbered as it ends', async () => {
    const pool = pooled(fakes(), 3, 5);
    const { events } = await search(pool, options);
    expect(pool.most).toBe(3);
    expect(finishedIds(events)).toEqual(pool.asked.map((_, index) => `e${index + 1}`));
    expect(pool.asked.length).toBeLessThanOrEqual(LIMIT);
    const proposed = ofType(events, 'move-proposed').map(({ candidate }) => candidate.id);
    expect(new Set(proposed).size).toBe(proposed.length);
    const decided = ofType(events, 'decision').map(({ iteration }) => iteration);
    expect(decided.toSorted((a, b) => a - b)).toEqual([0, ...proposed.map((_, index) => index + 1)]);
  });

  it('give a log that replays, whatever it is cut after and however many there is room for then', async () => {
    const whole = await search(pooled(fakes(), 3, 6), options);
    const replayed = pooled(fakes(), 1, 7);
    const again = await search(replayed, { ...options, history: record(whole.events.slice(0, -1)) });
    expect(withoutTimes(again.events)).toEqual(withoutTimes(whole.events.slice(-1)));
    expect(replayed.asked).toEqual([]);
    for (let kept = 2; kept < whole.events.length; kept += 3) {
      const before = whole.events.slice(0, kept);
      const pool = pooled(fakes(), 1 + (kept % 4), kept);
      const rest = await search(pool, { ...options, history: record(before) });
      const both = [...before, ...rest.events];
      expect(finishedIds(both)).toEqual(finishedIds(both).map((_, index) => `e${index + 1}`));
      expect(finishedIds(both).length).toBe(finishedIds(before).length + pool.asked.length);
      expect(finishedIds(both).length).toBeLessThanOrEqual(LIMIT);
      expect(ofType(both, 'decision').length).toBe(ofType(both, 'move-proposed').length + 1);
    }
  });
});

/** A GPU beside the first, on which everything takes half as long again. */
const SLOW = { ...CUDA, id: 'cuda:1', name: CUDA.name };

/** Judges two at a time; `order` says which of the running requests ends next, by the candidate's name. */
function twoGpus(
  ns: (name: string) => number,
  order: readonly string[],
  slow: readonly string[] = [],
  screened: Readonly<Record<string, number>> = {},
  joules: Readonly<Record<string, number>> = {},
) {
  const gpu = fakeGpu({ ns, findings, sanitizer: 'clean', screened, joules });
  const ends = [...order];
  const running = new Map<string, () => void>();
  const next = (): void => {
    const end = running.get(ends[0]!);
    if (!end) return;
    running.delete(ends.shift()!);
    end();
  };
  const evaluator: Evaluator = {
    capacity: 2,
    close: async () => {},
    async evaluate(request) {
      const name = nameOf(request.candidate);
      if (ends.includes(name)) {
        await new Promise<void>((resolve) => {
          running.set(name, resolve);
          setImmediate(next);
        });
        setImmediate(next);
      }
      const { timing, ...evaluation } = await gpu.evaluate(request);
      const share = slow.includes(name) ? 1.5 : 1;
      return {
        ...evaluation,
        device: share === 1 ? CUDA : SLOW,
        ...(timing && { timing: { ...timing, medianNs: share * timing.medianNs, measurement: undefined } }),
      };
    },
  };
  return { evaluator, requests: gpu.requests };
}

describe('two GPUs', () => {
  const only = kernel('01_first');
  const moves = [pattern('tiles', 'bank-conflicts', [tile(64, 3), tile(128, 2)])];
  const times: Readonly<Record<string, number>> = { 'TILE=32': 1000, 'TILE=64': 900, 'TILE=128': 800, 'TILE=16': 5000 };
  const ns = (name: string): number => times[name.split(' ')[1]!]!;
  const options = { device: CUDA, rungs: [only], patterns: moves };
  const [B64, B128] = ['01_first TILE=64', '01_first TILE=128'];

  it('measure again what was measured beside a best that is none any more, and keep it if it is faster than the new one', async () => {
    // Screens of both, then of both the longer measurement: TILE=64 is kept while TILE=128 is measured beside the start.
    const { evaluator, requests } = twoGpus(ns, [B64, B128, B64, B128]);
    const { events } = await runLoop({ evaluator, ...options });
    const beside = requests
      .filter((one) => nameOf(one.candidate) === B128 && one.tier === 'accept' && !one.blocks && !one.passedBefore)
      .map(({ against }) => nameOf(against![0]!.candidate));
    expect(beside).toEqual(['01_first TILE=32', B64]);
    expect(ofType(events, 'decision').slice(1, 3)).toMatchObject([
      { decision: 'keep', comparedWith: 'e1' },
      { decision: 'keep', comparedWith: 'e4', verdict: 'faster' },
    ]);
  });

  it('do not keep what was only faster than the best of before, and say what it was measured beside', async () => {
    const { evaluator, requests } = twoGpus(ns, [B64, B128, B128, B64]);
    const { events } = await runLoop({ evaluator, ...options });
    const measured = requests.filter(({ candidate, tier }) => nameOf(candidate) === B64 && tier === 'accept');
    expect(measured).toHaveLength(1);
    expect(ofType(events, 'decision')[2]).toMatchObject({
      ...{ decision: 'revert', comparedWith: 'e1', verdict: 'faster' },
      reason: expect.stringContaining('it was not measured beside e4, which was kept meanwhile'),
    });
  });

  it('measure the energy again of what was measured beside a best that is none any more', async () => {
    const joules = { '01_first TILE=32': 4e-4, [B64]: 3e-4, [B128]: 2e-4 };
    const { evaluator, requests } = twoGpus(ns, [B64, B128, B64, B128], [], {}, joules);
    const { events, result } = await runLoop({ evaluator, ...options, minimised: 'energy' });
    const beside = requests
      .filter((one) => nameOf(one.candidate) === B128 && one.tier === 'accept' && !one.blocks && !one.passedBefore)
      .map(({ against, energy }) => [nameOf(against![0]!.candidate), energy]);
    expect(beside).toEqual([
      ['01_first TILE=32', true],
      [B64, true],
    ]);
    expect(ofType(events, 'decision').slice(1, 3)).toMatchObject([
      { decision: 'keep', energy: { verdict: 'less', ratio: expect.closeTo(4 / 3) } },
      { decision: 'keep', energy: { verdict: 'less', ratio: expect.closeTo(3 / 2) } },
    ]);
    expect(result.best!.energyToStart).toBeCloseTo(2);
  });

  it('profile only what would be kept, apart and while the other goes on, and keep it with its findings', async () => {
    // TILE=64 is kept, and profiled for that, while TILE=128 is measured beside the start; so that is measured again before it is profiled.
    const { evaluator, requests } = twoGpus(ns, [B64, B128, B64, B64, B128]);
    const asking: Evaluator = {
      ...evaluator,
      async evaluate(request) {
        const evaluation = await evaluator.evaluate(request);
        return request.profile === 'light' ? evaluation : { ...evaluation, findings: [] };
      },
    };
    const { events } = await runLoop({ evaluator: asking, ...options });
    const asked = requests.slice(1).filter(({ tier, blocks }) => tier === 'accept' && !blocks);
    expect(asked.map((one) => [nameOf(one.candidate), one.profile, one.passedBefore !== undefined])).toEqual([
      [B64, 'none', false],
      [B64, 'light', true],
      [B128, 'none', false],
      [B128, 'none', false],
      [B128, 'light', true],
    ]);
    expect(asked[1]!.passedBefore!.timing).toMatchObject({ medianNs: 900, measurement: undefined });
    const [, ...kept] = ofType(events, 'decision').filter(({ decision }) => decision === 'keep');
    expect(kept).toHaveLength(2);
    for (const { evaluationId } of kept) {
      const { evaluation } = ofType(events, 'evaluation-finished').find((one) => one.evaluation.id === evaluationId)!;
      // It is the measurement, with what the profile found.
      expect(evaluation.findings).toEqual(findings);
      expect(evaluation.comparisons![0]!.verdict).toBe('faster');
    }
  });

  it('keep what could not be profiled all the same', async () => {
    const { evaluator, requests } = twoGpus(ns, [B64, B128]);
    const failing: Evaluator = {
      ...evaluator,
      async evaluate(request) {
        const evaluation = await evaluator.evaluate(request);
        return request.passedBefore ? { ...evaluation, status: 'device-failed', findings: [] } : evaluation;
      },
    };
    const { events } = await runLoop({ evaluator: failing, ...options });
    expect(requests.some(({ passedBefore }) => passedBefore)).toBe(true);
    expect(ofType(events, 'decision')[1]).toMatchObject({ decision: 'keep' });
  });

  it.each([
    ['nothing', [B64, B64], [pattern('tiles', 'bank-conflicts', [tile(64, 3)])]],
    ['another candidate', [B64, B128, B64], moves],
  ])('keep what is being profiled when the user interrupts, beside %s', async (_beside, order, ask) => {
    const { evaluator, requests } = twoGpus(ns, order);
    const controller = new AbortController();
    const stopping: Evaluator = {
      ...evaluator,
      evaluate(request) {
        const goesOn = nameOf(request.candidate) === B128 && request.tier === 'accept';
        if (request.passedBefore) setImmediate(() => controller.abort());
        return request.passedBefore || goesOn ? new Promise(() => {}) : evaluator.evaluate(request);
      },
    };
    const search = { ...options, patterns: ask, evaluator: stopping };
    const { events, result } = await runLoop({ ...search, signal: controller.signal });
    expect(result).toMatchObject({ stopReason: 'interrupted', best: { candidate: { parameters: { TILE: 64 } } } });
    const [, kept] = ofType(events, 'decision');
    expect(kept).toMatchObject({ decision: 'keep', verdict: 'faster' });
    const measured = () =>
      requests.filter((one) => nameOf(one.candidate) === B64 && one.tier === 'accept' && !one.passedBefore);
    expect(measured()).toHaveLength(1);
    // A run that goes on from the log does not measure it again, but for its confirmation.
    await runLoop({ ...search, evaluator, history: record(events.slice(0, -1)) });
    expect(measured().filter(({ blocks }) => !blocks)).toHaveLength(1);
  });

  it('do not measure longer what a candidate that promises more may make pointless', async () => {
    // TILE=128 is being measured longer when the screen of TILE=64 has ended.
    const { evaluator, requests } = twoGpus(ns, [B128, B64, B128]);
    const { events } = await runLoop({ evaluator, ...options });
    const tiers = requests.filter(({ candidate }) => nameOf(candidate) === B64).map(({ tier }) => tier);
    expect(tiers).toEqual(['screen']);
    // It is looked at once TILE=128 is kept, and then too slow.
    const ended = ofType(events, 'evaluation-finished').map(({ evaluation }) => evaluation.candidate.parameters.TILE);
    expect(ended.slice(0, 4)).toEqual([32, 128, 128, 64]);
    expect(ofType(events, 'decision').slice(1, 3)).toMatchObject([
      { decision: 'keep', evaluationId: 'e3' },
      {
        decision: 'revert',
        evaluationId: 'e4',
        comparedWith: 'e1',
        reason: expect.stringContaining('e3, which was kept meanwhile'),
      },
    ]);
  });

  it('measure it all the same if the other is not kept', async () => {
    const misread = { [B128]: 2 };
    const { evaluator, requests } = twoGpus(
      (name) => (name === B128 ? 1100 : ns(name)),
      [B128, B64, B128],
      [],
      misread,
    );
    const { events } = await runLoop({ evaluator, ...options });
    const tiers = requests.filter(({ candidate }) => nameOf(candidate) === B64).map(({ tier }) => tier);
    expect(tiers.slice(0, 2)).toEqual(['screen', 'accept']);
    expect(
      ofType(events, 'decision').find(({ decision, iteration }) => iteration > 0 && decision === 'keep'),
    ).toBeDefined();
  });

  it('are compared by ratios, each from blocks of one of them: a goal is a time on the first', async () => {
    const run = (text: string, goalNs: number) =>
      runLoop({
        ...options,
        evaluator: twoGpus(ns, [], [B64, B128]).evaluator,
        goal: { kind: 'time', ns: goalNs, text },
      });
    // The other GPU reads 1,200 ns where the first would read 800. Nothing but the best is measured beside a candidate.
    const { events } = await run('850ns', 850);
    expect(ofType(events, 'search-ended')[0]).toMatchObject({ reason: 'goal-reached' });
    expect((await run('750ns', 750)).result.stopReason).not.toBe('goal-reached');
  });
});
