import { describe, expect, it } from 'vitest';
import type { Evaluation } from '../../src/core/evaluation.ts';
import type { Dimensions, ProblemFile } from '../../src/core/problem.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { NOTHING_KEPT, type RunEvent, UNLIMITED, type WorkloadAdviceEvent } from '../../src/store/events.ts';
import { CUDA, fakeGpu } from './fake-gpu.ts';
import { finding, kernel, ofType, problem, runLoop, scriptedEvaluator, type Verdict } from './fakes.ts';

/** Batch, heads and rows; the first two are independent. */
const growing = (overrides: Partial<ProblemFile> = {}) => ({
  ...problem,
  file: {
    ...problem.file,
    dimensions: { B: { description: 'batch' }, H: { description: 'heads' }, N: { description: 'length' } },
    inputs: { X: { dtype: 'f32', shape: ['B', 'H', 'N'], access: 'in' } },
    outputs: { Y: { dtype: 'f32', shape: ['B', 'H', 'N'], access: 'out' } },
    independentDimensions: ['B', 'H'],
    workloads: [{ name: 'usual', dimensions: { B: 4, H: 8, N: 64 } }],
    ...overrides,
  } as ProblemFile,
});

const start = { name: 'b1h8n64', dimensions: { B: 1, H: 8, N: 64 }, cache: 'cold', weight: 1 } as const;
const UNDER_FILLED = [finding('parallelism')];

/** Attains in proportion to B × H up to 32; more does not help. */
const attainedAt = ({ B, H }: Dimensions): number => Math.min(0.6, 0.6 * ((B! * H!) / 32));
const filling =
  (at: (dimensions: Dimensions) => number) =>
  (dimensions: Dimensions): Verdict => ({
    ns: 100 / at(dimensions),
    attainableNs: 100,
    findings: UNDER_FILLED,
  });

interface Options extends Partial<OptimizeOptions> {
  script?: (dimensions: Dimensions) => Verdict;
  instructions?: number;
}

const search = async ({ script = filling(attainedAt), instructions, ...options }: Options = {}) => {
  const asked: string[] = [];
  const scripted = scriptedEvaluator((_name, { workload }) => {
    asked.push(workload.name);
    return script(workload.dimensions);
  });
  const evaluator = {
    ...scripted,
    async evaluate(request: Parameters<typeof scripted.evaluate>[0]) {
      const evaluation = await scripted.evaluate(request);
      return instructions === undefined
        ? evaluation
        : { ...evaluation, counters: { totals: { instructions } } as unknown as Evaluation['counters'] & object };
    },
  };
  const { events, result } = await runLoop({
    problem: growing(),
    workloads: [start],
    evaluator,
    budgets: UNLIMITED,
    ...options,
  });
  return { events, result, asked, advice: ofType(events, 'workload-advice')[0] };
};

const productsOf = (advice: WorkloadAdviceEvent | undefined) => advice!.rows.map(({ product }) => product);

describe('where the device is under-filled', () => {
  it('the work is doubled until that no longer helps', async () => {
    const { advice, asked } = await search();
    expect(asked).toEqual(['b1h8n64', 'b2h8n64', 'usual', 'b8h8n64', 'b16h8n64']);
    expect(advice).toMatchObject({
      dimensions: ['B', 'H'],
      saturatedAt: 32,
      rows: [
        { product: 8, workload: 'b1h8n64', evaluationId: 'e1', kind: 'predicted', attainedRatio: expect.closeTo(0.15) },
        { product: 16, workload: 'b2h8n64', evaluationId: 'e2', attainedRatio: expect.closeTo(0.3) },
        { product: 32, workload: 'usual', evaluationId: 'e3', attainedRatio: expect.closeTo(0.6) },
        { product: 64, attainedRatio: expect.closeTo(0.6) },
        { product: 128, medianNs: expect.closeTo(100 / 0.6), attainableNs: 100, attainedRatio: expect.closeTo(0.6) },
      ],
    });
    expect(advice!.text).toBe(
      'the workload under-fills the device: at B·H = 8 it reaches predicted 15 % of attainable; at B·H ≥ 32 it reaches predicted 60 %',
    );
  });

  it('says so of a tail effect too, and nothing where neither is found', async () => {
    const having = (id: 'tail-effect' | 'bank-conflicts') => (dimensions: Dimensions) => ({
      ...filling(attainedAt)(dimensions),
      findings: [finding(id)],
    });
    expect((await search({ script: having('tail-effect') })).advice).toBeDefined();
    const { advice, asked } = await search({ script: having('bank-conflicts') });
    expect([advice, asked]).toEqual([undefined, ['b1h8n64']]);
  });

  it('needs dimensions that the problem calls independent', async () => {
    const { independentDimensions: _, ...file } = growing().file;
    const { advice, asked } = await search({ problem: { ...problem, file } });
    expect([advice, asked]).toEqual([undefined, ['b1h8n64']]);
  });

  it('is never a speed-up, a best or a move', async () => {
    const { result, events } = await search();
    expect(result).toMatchObject({ speedup: 1, stopReason: 'no-moves-left', best: { evaluation: { id: 'e1' } } });
    expect(ofType(events, 'decision')).toHaveLength(1);
    expect(ofType(events, 'run-finished')[0]).toMatchObject({ best: 'e1', speedup: 1 });
    expect(events.findIndex(({ type }) => type === 'workload-advice')).toBeGreaterThan(
      events.findIndex(({ type }) => type === 'search-ended'),
    );
  });

  it('is asked of the workload’s own cache, whatever a declared one of that size says', async () => {
    const caches: (string | undefined)[] = [];
    const evaluator = scriptedEvaluator((_name, { workload: { cache, dimensions } }) => {
      caches.push(cache);
      return filling(attainedAt)(dimensions);
    });
    await search({ evaluator });
    expect(caches).toEqual(Array(5).fill('cold'));
  });

  it('says where more work does not help', async () => {
    const { advice } = await search({ script: filling(() => 0.5) });
    expect(advice).toMatchObject({ saturatedAt: 8, rows: { length: 3 } });
    expect(advice!.text).toBe(
      'more work does not help: at B·H = 8 it reaches predicted 50 % of attainable, and at B·H = 32 predicted 50 %',
    );
  });

  it.each([
    [0.03, 8],
    [0.06, 16],
  ])('gains of %d from the first row to the third leave it full at %s', async (gain, saturatedAt) => {
    const script = filling(({ B, H }) => 0.5 * (1 + (gain / 2) * Math.min(2, Math.log2((B! * H!) / 8))));
    const { advice } = await search({ script });
    expect(advice!.saturatedAt).toBe(saturatedAt);
  });

  it('names measured times so', async () => {
    const evaluator = fakeGpu({ ns: {}, findings: UNDER_FILLED });
    const { events } = await runLoop({
      problem: growing(),
      workloads: [start],
      evaluator,
      device: CUDA,
      rungs: [kernel('01_first', { parameters: {} })],
      budgets: UNLIMITED,
    });
    const [advice] = ofType(events, 'workload-advice');
    expect(advice!.rows.map(({ kind }) => kind)).toEqual(['measured', 'measured', 'measured']);
    expect(advice!.text).toMatch(/reaches measured 0\.20 %/);
    expect(evaluator.requests.slice(1).every(({ against }) => against === undefined)).toBe(true);
  });
});

describe('how far it is looked', () => {
  const gaining = filling(({ B, H }) => 1e-6 * B! * H!);

  it('eight larger workloads', async () => {
    const { advice } = await search({ script: gaining });
    expect(productsOf(advice)).toEqual([8, 16, 32, 64, 128, 256, 512, 1024, 2048]);
    expect(advice!.saturatedAt).toBeNull();
    expect(advice!.text).toMatch(/; at B·H = 2048 it reaches predicted 0\.20 %, and larger workloads may still gain$/);
  });

  it('as far as dimensions may grow, one after another', async () => {
    const dimensions = {
      B: { description: 'batch', maximum: 3 },
      H: { description: 'heads', values: [8, 16, 32] },
      N: { description: 'length' },
    };
    const { advice } = await search({ script: gaining, problem: growing({ dimensions }) });
    expect(advice!.rows.map(({ workload }) => workload)).toEqual(['b1h8n64', 'b2h8n64', 'b2h16n64', 'b2h32n64']);
  });

  it('not beyond 2 GiB of buffers', async () => {
    // Two buffers of 4 bytes × 8 × N: 256 MiB at B = 1.
    const n = 2 ** 22;
    const workloads = [{ ...start, dimensions: { B: 1, H: 8, N: n } }];
    const { advice } = await search({ script: gaining, workloads });
    expect(productsOf(advice)).toEqual([8, 16, 32, 64]);
  });

  it('not beyond 50 million instructions of a prediction', async () => {
    const { advice } = await search({ script: gaining, instructions: 12_500_000 });
    expect(productsOf(advice)).toEqual([8, 16, 32]);
    expect((await search({ script: gaining, instructions: 25_000_001 })).advice).toBeUndefined();
  });

  it('not beyond 20 ms of a measurement', async () => {
    const evaluator = fakeGpu({ ns: () => 6e6, findings: UNDER_FILLED });
    const options = { problem: growing(), workloads: [start], evaluator, device: CUDA, budgets: UNLIMITED };
    const { events } = await runLoop({ ...options, rungs: [kernel('01_first', { parameters: {} })] });
    expect(productsOf(ofType(events, 'workload-advice')[0])).toEqual([8, 16]);
  });

  it('not where a row fails: it is the last, without figures', async () => {
    const { advice } = await search({
      script: (dimensions) => (dimensions.B === 4 ? { status: 'unsupported' } : gaining(dimensions)),
    });
    expect(productsOf(advice)).toEqual([8, 16, 32]);
    expect(advice!.rows[2]).toMatchObject({ evaluationId: 'e3', medianNs: null, attainedRatio: null });
    expect(advice!.text).toMatch(/; at B·H = 16 it reaches/);
    const alone = await search({
      script: (dimensions) => (dimensions.B === 2 ? { status: 'unsupported' } : gaining(dimensions)),
    });
    expect(alone.advice!.text).toMatch(/; larger workloads could not be judged$/);
  });

  it('as far as the evaluations go that were kept for it, and not beyond the budget of time', async () => {
    const unlimited = await search({ budgets: UNLIMITED });
    const none = await search({ budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 1 } });
    expect(none).toMatchObject({ asked: [expect.anything()], advice: undefined });
    const allowance = { ...NOTHING_KEPT, advice: 2 };
    const some = await search({ budgets: { ...UNLIMITED, allowance, maximumEvaluations: 3 } });
    expect(productsOf(some.advice)).toEqual(productsOf(unlimited.advice)!.slice(0, 3));
    let minutes = 0;
    const late = await search({ clockMs: () => 60_000 * minutes++, budgets: { ...UNLIMITED, maximumMinutes: 5 } });
    expect(late.asked.length).toBeLessThan(unlimited.asked.length);
  });

  it('not on when interrupted: half a table is no advice', async () => {
    const controller = new AbortController();
    const events: RunEvent[] = [];
    const emit = (event: RunEvent) => {
      events.push(event);
      // Between two rows.
      if (event.type === 'evaluation-finished' && event.evaluation.id === 'e3') controller.abort();
    };
    const { result, asked } = await search({ script: gaining, emit, signal: controller.signal });
    expect(asked).toHaveLength(3);
    expect(ofType(events, 'workload-advice')).toEqual([]);
    expect(result.stopReason).toBe('interrupted');
  });
});
