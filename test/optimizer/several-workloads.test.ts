import { describe, expect, it } from 'vitest';
import { decideObjective, VETO_RATIO } from '../../src/optimizer/objective.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { UNLIMITED, type WeightedWorkload } from '../../src/store/events.ts';
import { finding, kernel, ofType, pattern, runLoop, scriptedEvaluator, tile, type Verdict } from './fakes.ts';

const workload = (n: number, weight = 1): WeightedWorkload => ({
  name: `n${n}`,
  dimensions: { N: n },
  cache: 'hot',
  weight,
});
const SMALL = workload(1024);
const LARGE = workload(4096);

/** Times by candidate's tile, one of each workload. */
type Times = Readonly<Record<number, Readonly<Record<string, number | Verdict>>>>;

const search = async (times: Times, options: Partial<OptimizeOptions> = {}) => {
  const asked: string[] = [];
  const evaluator = scriptedEvaluator((name, { workload: { name: on } }) => {
    const value = Number(/TILE=(\d+)/.exec(name)![1]);
    asked.push(`${value} on ${on}`);
    const said = times[value]?.[on] ?? 1000;
    return typeof said === 'number' ? { ns: said } : said;
  });
  const tiles = Object.keys(times).map(Number);
  const { result, events } = await runLoop({
    evaluator,
    workloads: [SMALL, LARGE],
    patterns: [
      pattern(
        'tiles',
        'bank-conflicts',
        tiles.map((value) => tile(value)),
      ),
    ],
    budgets: UNLIMITED,
    ...options,
  });
  return { result, asked, events, decisions: ofType(events, 'decision') };
};

describe('several workloads, predicted', () => {
  it('keep a gain of the geometric mean, and say what each gave', async () => {
    const { decisions, result, asked } = await search({ 64: { n1024: 500, n4096: 1000 } });
    expect(decisions[1]).toMatchObject({
      decision: 'keep',
      ratio: expect.closeTo(Math.SQRT2, 12),
      evaluationId: 'e3',
      comparedWith: 'e1',
      reason: 'predicted 1.41× faster over 2 workloads',
      perWorkload: [
        { workload: 'n1024', weight: 1, evaluationId: 'e3', ratio: 2, vetoes: false },
        { workload: 'n4096', weight: 1, evaluationId: 'e4', ratio: 1, vetoes: false },
      ],
    });
    const confirmation = ['64 on n1024', '64 on n4096'];
    expect(asked).toEqual(['32 on n1024', '32 on n4096', '64 on n1024', '64 on n4096', ...confirmation]);
    expect(result.speedup).toBeCloseTo(Math.SQRT2, 12);
    expect(result.best!.evaluations.get('n4096')!.id).toBe('e4');
  });

  it('weigh each ratio', async () => {
    // 2^(3/4) × 1^(1/4).
    const { decisions, events, result } = await search(
      { 64: { n1024: 500, n4096: 1000 } },
      { workloads: [workload(1024, 3), workload(4096, 1)] },
    );
    expect(decisions[1]!.ratio).toBeCloseTo(2 ** 0.75, 12);
    expect(result.speedup).toBeCloseTo(2 ** 0.75, 12);
    expect(ofType(events, 'run-started')[0]).toMatchObject({
      workload: { name: 'n1024' },
      workloads: [
        { name: 'n1024', weight: 3 },
        { name: 'n4096', weight: 1 },
      ],
    });
  });

  it('need as large a gain together as one workload does', async () => {
    // √(1.07 × 1) is a gain of 3.4 %, √(1.05 × 1) one of 2.5 %.
    const enough = await search({ 64: { n1024: 1000 / 1.07 } });
    expect(enough.decisions[1]!.decision).toBe('keep');
    const tooLittle = await search({ 64: { n1024: 1000 / 1.05 } });
    expect(tooLittle.decisions[1]).toMatchObject({ decision: 'revert', ratio: expect.closeTo(Math.sqrt(1.05), 12) });
  });

  it.each([
    [1019, 'keep', false],
    [1021, 'revert', true],
  ] as const)('at %d ns instead of 1000 on one of them: %s', async (ns, decision, vetoes) => {
    const { decisions } = await search({ 64: { n1024: 100, n4096: ns } });
    expect(decisions[1]).toMatchObject({ decision, perWorkload: [{ vetoes: false }, { vetoes }] });
    if (vetoes) {
      expect(decisions[1]).toMatchObject({ ratio: null, reason: 'n4096 vetoes it: predicted 1.02× slower than e2' });
    }
  });

  it('revert what fails on one of them, however fast it is on the others', async () => {
    const { decisions, result } = await search({
      64: { n1024: 10, n4096: { status: 'wrong', reason: 'last row is zero' } },
    });
    expect(decisions[1]).toMatchObject({
      decision: 'revert',
      ratio: null,
      perWorkload: [{ ratio: 100 }, { ratio: null, vetoes: true }],
      reason: 'n4096 vetoes it: wrong: last row is zero',
    });
    expect(result.speedup).toBe(1);
  });

  it('look at the first alone where that is a veto already', async () => {
    const { asked, decisions } = await search({
      16: { n1024: 1500, n4096: 1 },
      64: { n1024: { status: 'crashed' }, n4096: 1 },
    });
    expect(asked.slice(2)).toEqual(['16 on n1024', '64 on n1024']);
    expect(decisions.slice(1).map(({ perWorkload }) => perWorkload!.length)).toEqual([1, 1]);
  });

  it('stop at the first veto', async () => {
    const { asked } = await search(
      { 64: { n1024: 500, n2048: 2000, n4096: 1 } },
      { workloads: [SMALL, workload(2048), LARGE] },
    );
    expect(asked).toEqual(['32 on n1024', '32 on n2048', '32 on n4096', '64 on n1024', '64 on n2048']);
  });

  it('count what a move cost by its evaluations', async () => {
    const { events } = await search({ 16: { n1024: 1000 }, 64: { n1024: 1000 }, 128: { n1024: 1000 } });
    expect(ofType(events, 'options-ranked').map(({ options }) => options[0]!.used)).toEqual([0, 2, 4]);
    expect(ofType(events, 'options-ranked')[0]!.options[0]!.cost.evaluations).toBe(1.5);
  });

  it('compare with the best so far on each, not with the start', async () => {
    const { decisions, result } = await search({
      64: { n1024: 500, n4096: 1000 },
      128: { n1024: 505, n4096: 500 },
    });
    expect(decisions[2]!.perWorkload!.map(({ ratio }) => ratio)).toEqual([500 / 505, 2]);
    expect(result.speedup).toBeCloseTo(Math.sqrt((1000 / 505) * 2), 12);
  });

  it('suggest nothing that does not take all of them', async () => {
    const limited = kernel('01_first', { constraints: ['TILE * 8 <= N'] });
    const { asked } = await search({ 64: {}, 128: {} }, { workloads: [SMALL, workload(512)], rungs: [limited] });
    expect(asked.filter((one) => one.endsWith('n1024'))).toEqual(['32 on n1024', '64 on n1024']);
  });

  it('end with the start where it fails on one, and name that one', async () => {
    const { result, asked } = await search({ 32: { n4096: { status: 'wrong', reason: 'row 3' } }, 64: {} });
    expect(result).toMatchObject({ stopReason: 'start-failed', detail: 'the start is wrong on n4096: row 3' });
    expect(result.best).toBeUndefined();
    expect(asked).toEqual(['32 on n1024', '32 on n4096']);
  });

  it('take the findings of the first only', async () => {
    const { events } = await search({
      32: { n1024: { ns: 1000, findings: [] }, n4096: { ns: 1000, findings: [finding('bank-conflicts')] } },
      64: {},
    });
    expect(ofType(events, 'move-proposed')).toEqual([]);
  });

  it('name the number in the end', async () => {
    const { events } = await search({ 64: { n1024: 500, n4096: 500 } });
    expect(ofType(events, 'run-finished')[0]).toMatchObject({
      detail: expect.stringContaining('best e3, predicted 2.00× faster than the start over 2 workloads'),
      speedup: 2,
    });
  });
});

describe('goals over several workloads', () => {
  const faster = (ratio: number) => ({ kind: 'speed-up', ratio, text: `${ratio}x` }) as const;

  it('are of the geometric mean', async () => {
    const times = { 64: { n1024: 250, n4096: 1000 }, 128: { n1024: 240, n4096: 900 } };
    const reached = await search(times, { goal: faster(2) });
    expect(reached.result).toMatchObject({ stopReason: 'goal-reached', best: { evaluation: { id: 'e3' } } });
    const missed = await search(times, { goal: faster(2.3) });
    expect(missed.result.stopReason).toBe('no-moves-left');
    const time = { kind: 'time', ns: 500, text: '500ns' } as const;
    expect((await search(times, { goal: time })).result).toMatchObject({
      stopReason: 'goal-reached',
      evaluationsUsed: 6,
    });
  });

  it('below the geometric mean of the bounds are refused once the start is judged', async () => {
    // The fakes' bound is 1 ns on each.
    await expect(search({ 32: { n1024: 10, n4096: 1000 }, 64: {} }, { goal: faster(101) })).rejects.toMatchObject({
      details: { code: 'goal-below-bound' },
      message: expect.stringContaining('geometric mean of the bounds of 2 workloads'),
    });
    const { result } = await search({ 32: { n1024: 10, n4096: 1000 }, 64: {} }, { goal: faster(99) });
    expect(result.stopReason).toBe('no-moves-left');
  });

  it('near attainable is of the geometric means as well', async () => {
    const at = (ns: number, attainableNs: number) => ({ ns, attainableNs });
    const near = await search({ 32: { n1024: at(1000, 1000), n4096: at(1000, 900) }, 64: {} });
    expect(near.result.stopReason).toBe('near-attainable');
    const far = await search({ 32: { n1024: at(1000, 1000), n4096: at(1000, 500) }, 64: {} });
    expect(far.result.stopReason).toBe('no-moves-left');
  });
});

describe('a decision', () => {
  it('of one workload says nothing per workload', async () => {
    const { decisions } = await search({ 64: { n1024: 500 } }, { workloads: [SMALL] });
    expect(decisions[1]).toMatchObject({ decision: 'keep', ratio: 2 });
    expect(Object.hasOwn(decisions[1]!, 'perWorkload')).toBe(false);
  });

  it('of workloads that were not all judged is a revert', async () => {
    const { result } = await search({ 64: { n1024: 500, n4096: 500 } });
    const [judged] = [...result.best!.evaluations.values()];
    const best = { ...result.best!, evaluations: new Map([...result.best!.evaluations]) };
    expect(decideObjective({ workloads: [SMALL, LARGE] }, best, new Map([['n1024', judged!]]))).toMatchObject({
      decision: 'revert',
      ratio: null,
      perWorkload: [{ workload: 'n1024', ratio: 1, vetoes: false }],
    });
  });

  it('vetoes below 1 ÷ 1.02', () => {
    expect(VETO_RATIO).toBe(1 / 1.02);
  });
});
