import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Evaluation, EvaluationRequest, Evaluator } from '../../src/core/evaluation.ts';
import { STRATEGY_NAMES } from '../../src/core/vocabulary.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { type RunEvent, type StopReason, UNLIMITED, type WeightedWorkload } from '../../src/store/events.ts';
import { sampled } from '../support/sampling/matrix.ts';
import { CUDA, fakeGpu, type Script } from './fake-gpu.ts';
import {
  finding,
  kernel,
  nameOf,
  ofType,
  pattern,
  problem,
  rung,
  runLoop,
  scriptedEvaluator,
  tile,
  type Verdict,
} from './fakes.ts';
import { expectToGoOnAnywhere, type Scripted } from './going-on.ts';

const parameters = { TILE: { values: [16, 32, 64, 128], default: 32 }, DEPTH: { values: [1, 2], default: 1 } };
const rungs = [
  kernel('01_first', { parameters }),
  kernel('02_second', { parameters, remedies: ['bank-conflicts'] }),
  kernel('03_third', { parameters, remedies: ['parallelism'], constraints: ['TILE * DEPTH <= 128'] }),
];
const patterns = [
  pattern('tiles', 'bank-conflicts', [tile(16), tile(64), tile(128)]),
  pattern('climb', 'bank-conflicts', [rung('02_second')]),
  pattern('climb-on', 'parallelism', [rung('03_third'), { kind: 'advice', text: 'more work' }]),
];
const small: WeightedWorkload = { name: 'n1024', dimensions: { N: 1024 }, cache: 'hot', weight: 1 };
const large: WeightedWorkload = { name: 'n4096', dimensions: { N: 4096 }, cache: 'hot', weight: 2 };
const EVALUATION_MS = 10_000;
const elapsedMs = { compile: 2_000, verify: 3_000, time: 4_000, total: EVALUATION_MS };

const figure = (name: string, key: string): number => Number(new RegExp(`${key}=(\\d+)`).exec(name)![1]);
/** Later rungs are faster; the best tile is 64; on the larger workload a depth of 2 does not pay. */
const nsOf = (name: string, workload: string): number =>
  (1200 - 200 * Number(name.slice(1, 2))) * (1 + Math.abs(Math.log2(figure(name, 'TILE') / 64)) / 10) +
  (workload === 'n4096' ? 3 : -7) * figure(name, 'DEPTH');
const FINDINGS = [finding('bank-conflicts'), finding('parallelism')];

/** What became of an evaluator's requests, and the time they took. */
interface Fakes {
  evaluator: Evaluator;
  clockMs: () => number;
  judged: string[];
}

function observed(evaluator: Evaluator): Fakes {
  let nowMs = 1e6;
  const judged: string[] = [];
  return {
    judged,
    clockMs: () => nowMs,
    evaluator: {
      ...evaluator,
      async evaluate(request: EvaluationRequest): Promise<Evaluation> {
        const { id, candidate, workload, tier, blocks } = request;
        judged.push(`${id}: ${nameOf(candidate)} on ${workload.name} ${tier ?? ''} ${blocks ?? ''}`);
        nowMs += EVALUATION_MS;
        return { ...(await evaluator.evaluate(request)), elapsedMs };
      },
    },
  };
}

/** Fails by the evaluation's number, and by its kind; a fresh one for each part of a run. */
const predicting = (overrides: (id: string, name: string) => Verdict | undefined = () => undefined) =>
  observed(
    scriptedEvaluator((name, { workload, id }) => ({
      ns: nsOf(name, workload.name),
      findings: FINDINGS,
      ...(figure(name, 'TILE') === 16 ? { status: 'compile-failed' as const, reason: 'too small' } : {}),
      ...overrides(id!, name),
    })),
  );

const measuring = (script: Partial<Script> = {}) =>
  observed(fakeGpu({ ns: nsOf, sanitizer: 'clean', findings: FINDINGS, spreadShare: 0.02, ...script }));

const run = async (fakes: Fakes, options: Partial<OptimizeOptions>): Promise<Scripted> => {
  const { evaluator, clockMs, judged } = fakes;
  const { events } = await runLoop({
    evaluator,
    clockMs,
    rungs,
    start: makeCandidate(rungs[0]!, { TILE: 32, DEPTH: 1 }),
    patterns,
    budgets: UNLIMITED,
    ablation: true,
    ...options,
  });
  return { events, judged };
};

interface Scenario {
  fakes: () => Fakes;
  options?: Partial<OptimizeOptions>;
  /** Events it is about: without them it would show nothing. */
  has: readonly RunEvent['type'][];
  ends?: StopReason;
}

const within = (limits: Partial<typeof UNLIMITED>) => ({ budgets: { ...UNLIMITED, ...limits } });
const priors = {
  patterns: [{ pattern: 'tiles', attempts: 9, kept: 8, realisedGain: 1.7, scope: 'device' as const }],
  costs: [{ kernel: '02_second', compileMs: 500, runMs: 300 }],
};

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  guided: {
    fakes: predicting,
    options: { priors },
    has: ['options-ranked', 'advice', 'ablation'],
  },
  'guided, moves that fail': {
    fakes: () => predicting(() => ({ ns: 1000 })),
    has: ['move-abandoned'],
  },
  'guided, a move that overspends': {
    fakes: () => predicting(() => ({ ns: 1000 })),
    options: {
      patterns: [pattern('tiles', 'bank-conflicts', [tile(16, 4), tile(64, 4), tile(128, 4)]), patterns[1]!],
      ...within({ maximumEvaluations: 4 }),
    },
    has: ['move-abandoned'],
  },
  'guided without diagnosis': {
    fakes: predicting,
    options: { request: { target: 'problems/scale', diagnosis: false }, ...within({ maximumEvaluations: 12 }) },
    has: ['options-ranked', 'ablation'],
  },
  'guided, the device fails now and then': {
    fakes: () =>
      predicting((id) => (id === 'e3' || id === 'e5' ? { status: 'device-failed', reason: 'Xid' } : undefined)),
    has: ['ablation'],
  },
  'guided, the device fails for good': {
    fakes: () => predicting((id) => (Number(id.slice(1)) > 3 ? { status: 'device-failed' } : undefined)),
    has: ['search-ended'],
    ends: 'device-failed',
  },
  'a start that fails': {
    fakes: () => predicting(() => ({ status: 'wrong' })),
    has: ['search-ended'],
    ends: 'start-failed',
  },
  'a goal': {
    fakes: predicting,
    options: { goal: { kind: 'speed-up', ratio: 1.6, text: '1.6x' } },
    has: ['search-ended', 'ablation'],
    ends: 'goal-reached',
  },
  'several workloads': {
    fakes: predicting,
    options: { workloads: [small, large] },
    has: ['ablation'],
  },
  measured: { fakes: measuring, options: { device: CUDA }, has: ['confirmation', 'ablation'] },
  'measured, several workloads': {
    fakes: measuring,
    options: { device: CUDA, workloads: [small, large], ...within({ maximumEvaluations: 30 }) },
    has: ['confirmation', 'ablation'],
  },
  'measured, refused winners': {
    fakes: () => measuring({ sanitizer: 'errors' }),
    options: { device: CUDA, ...within({ maximumEvaluations: 12 }) },
    has: ['confirmation'],
  },
  'measured, a goal that is not confirmed': {
    fakes: () => measuring({ confirmedShare: 1.2 }),
    options: {
      device: CUDA,
      goal: { kind: 'speed-up', ratio: 1.6, text: '1.6x' },
      ...within({ maximumEvaluations: 16 }),
    },
    has: ['confirmation', 'ablation'],
  },
  'measured, the device fails while it accepts and confirms': {
    fakes: () => measuring({ deviceFailsAt: [3, 13] }),
    options: { device: CUDA, ...within({ maximumEvaluations: 12 }) },
    has: ['confirmation', 'ablation'],
  },
  'measured, the device fails for good while it confirms': {
    fakes: () => measuring({ deviceFailsAt: [7, 8] }),
    options: { device: CUDA, ...within({ maximumEvaluations: 9 }) },
    has: ['search-ended'],
    ends: 'device-failed',
  },
  'measured, the device fails while changes are undone': {
    fakes: () => measuring({ deviceFailsAt: [11, 12] }),
    options: { device: CUDA, ...within({ maximumEvaluations: 9 }) },
    has: ['confirmation', 'ablation'],
    ends: 'evaluations-spent',
  },
  'time that is spent in a search': {
    fakes: predicting,
    options: within({ maximumMinutes: 0.6 }),
    has: ['ablation'],
    ends: 'time-spent',
  },
  'time that is spent before the confirmation': {
    fakes: measuring,
    options: { device: CUDA, ...within({ maximumMinutes: 1.2 }) },
    has: ['confirmation', 'ablation'],
    ends: 'time-spent',
  },
  'time that is spent in the ablation': {
    // The eleventh evaluation, which undoes the first of two changes, spends it.
    fakes: measuring,
    options: { device: CUDA, ...within({ maximumMinutes: 1.8 }) },
    has: ['confirmation', 'ablation'],
    ends: 'no-moves-left',
  },
  'GPU time': {
    fakes: measuring,
    options: { device: CUDA, ...within({ maximumGpuMinutes: 0.95 }) },
    has: ['confirmation', 'ablation'],
    ends: 'gpu-time-spent',
  },
  money: {
    fakes: measuring,
    options: { device: CUDA, ...within({ maximumMoney: 5, gpuPricePerHour: 300 }) },
    has: ['confirmation', 'ablation'],
    ends: 'money-spent',
  },
  'a sweep of workloads': {
    fakes: () =>
      predicting((_id, name) => ({ ns: 1000, findings: [finding('tail-effect')], attainableNs: name.length })),
    options: { problem: { ...problem, file: { ...problem.file, independentDimensions: ['N'] } } },
    has: ['workload-advice'],
  },
};

describe('a run goes on from its log wherever that ends', () => {
  sampled('scenarios of going on', Object.entries(SCENARIOS), { oneIn: 3 })(
    '%s',
    async (_name, { fakes, options = {}, has, ends }) => {
      const whole = await run(fakes(), options);
      const types = whole.events.map(({ type }) => type);
      expect(types).toEqual(expect.arrayContaining([...has, 'run-finished']));
      if (ends) expect(whole.events.at(-1)).toMatchObject({ stopReason: ends });
      await expectToGoOnAnywhere((history) => run(fakes(), { ...options, ...history }), whole);
    },
  );

  describe.each(STRATEGY_NAMES)('%s', (strategy) => {
    it.each([
      ['predicted', predicting, {}],
      ['predicted on several workloads', predicting, { workloads: [small, large] }],
      ['measured', measuring, { device: CUDA }],
      ['measured, a device that fails', () => measuring({ deviceFailsAt: [5] }), { device: CUDA }],
    ] as const)('%s', async (_name, fakes, situation) => {
      const options = { strategy, ...situation, ...within({ maximumEvaluations: 14 }) };
      const whole = await run(fakes(), options);
      expect(ofType(whole.events, 'decision').length).toBeGreaterThan(4);
      await expectToGoOnAnywhere((history) => run(fakes(), { ...options, ...history }), whole);
    });
  });
});
