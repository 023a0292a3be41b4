import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { combineRatios } from '../../src/stats/combine-ratios.ts';
import { UNLIMITED, type WeightedWorkload } from '../../src/store/events.ts';
import { CUDA, fakeGpu, type Script } from './fake-gpu.ts';
import { kernel, nameOf, ofType, pattern, runLoop, tile } from './fakes.ts';

const workloads: readonly WeightedWorkload[] = [
  { name: 'n1024', dimensions: { N: 1024 }, cache: 'hot', weight: 1 },
  { name: 'n4096', dimensions: { N: 4096 }, cache: 'cold', weight: 3 },
];

const first = kernel('01_first', { parameters: { TILE: { values: [32, 64, 128], default: 32 } } });
const START = '01_first TILE=32';
const LARGER = '01_first TILE=64';
const LARGEST = '01_first TILE=128';

/** Times on n1024 and n4096. */
type Times = Readonly<Record<string, readonly [number, number]>>;

const search = async (
  times: Times,
  script: Partial<Script> = {},
  options: Partial<OptimizeOptions> = {},
  confirmed: Times = {},
) => {
  let confirming = false;
  const evaluator = fakeGpu({
    ns: (name, workload) =>
      ((confirming ? confirmed[name] : undefined) ?? times[name] ?? [1000, 1000])[workload === 'n1024' ? 0 : 1],
    sanitizer: 'clean',
    ...script,
  });
  const judge = evaluator.evaluate.bind(evaluator);
  const { result, events } = await runLoop({
    evaluator: {
      ...evaluator,
      evaluate(request) {
        confirming = request.blocks !== undefined;
        return judge(request);
      },
    },
    device: CUDA,
    workloads,
    rungs: [first],
    start: makeCandidate(first, { TILE: 32 }),
    patterns: [pattern('p', 'bank-conflicts', [tile(64), tile(128, 1.4)])],
    budgets: UNLIMITED,
    ...options,
  });
  const asked = evaluator.requests.map(
    ({ candidate, workload, tier, blocks, profile, sanitize }) =>
      `${nameOf(candidate)} on ${workload.name}: ${blocks ? 'confirm' : tier}${profile && profile !== 'none' ? ', profile' : ''}${sanitize ? ', sanitize' : ''}`,
  );
  return {
    result,
    asked,
    requests: evaluator.requests,
    decisions: ofType(events, 'decision'),
    confirmations: ofType(events, 'confirmation'),
  };
};

describe('several workloads, measured', () => {
  it('screen on the first only, then measure on each for a verdict, beside the best there', async () => {
    const { asked, requests } = await search({ [LARGER]: [500, 800] });
    expect(asked.slice(0, 6)).toEqual([
      `${START} on n1024: accept, profile`,
      `${START} on n4096: accept`,
      `${LARGER} on n1024: screen`,
      `${LARGER} on n1024: accept, profile`,
      `${LARGER} on n4096: accept`,
      `${LARGEST} on n1024: screen`,
    ]);
    expect(requests[4]).toMatchObject({
      workload: { cache: 'cold' },
      against: [{ candidate: { parameters: { TILE: 32 } } }],
    });
  });

  it('measure nothing on the others where the screen shows it slower', async () => {
    const { asked, decisions } = await search({ [LARGER]: [1500, 1], [LARGEST]: [1500, 1] });
    expect(asked).toHaveLength(4);
    expect(decisions[1]).toMatchObject({
      decision: 'revert',
      ratio: null,
      perWorkload: [{ workload: 'n1024', vetoes: true }],
    });
  });

  it('combine ratios and intervals by weight, and judge by that interval', async () => {
    const { decisions } = await search({ [LARGER]: [500, 800] }, { spreadShare: 0.1 });
    const { ratio, intervalRatio, verdict, decision, perWorkload, reason } = decisions[1]!;
    expect(perWorkload!.map(({ weight, intervalRatio: interval }) => [weight, interval![1] > interval![0]])).toEqual([
      [1, true],
      [3, true],
    ]);
    const combined = combineRatios(perWorkload!.map((part) => ({ ...part, ratio: part.ratio! })));
    expect([ratio, ...intervalRatio!]).toEqual([combined.ratio, ...combined.intervalRatio!]);
    expect([verdict, decision]).toEqual(['faster', 'keep']);
    expect(reason).toMatch(/^faster: measured 1\.\d+× \[.*\] the speed of the best over 2 workloads$/);
  });

  it('revert where the combined interval does not show a gain, whatever the mean', async () => {
    const { decisions } = await search({ [LARGER]: [985, 985], [LARGEST]: [1500, 1] }, { spreadShare: 0.2 });
    expect(decisions[1]!.ratio).toBeGreaterThan(1.01);
    expect(decisions[1]).toMatchObject({ verdict: 'ambiguous', decision: 'revert' });
  });

  it('revert what one of them vetoes', async () => {
    const { decisions, result } = await search({ [LARGER]: [100, 1030], [LARGEST]: [1500, 1] });
    expect(decisions[1]).toMatchObject({
      decision: 'revert',
      ratio: null,
      reason: expect.stringMatching(/^n4096 vetoes it: slower/),
      perWorkload: [{ vetoes: false }, { vetoes: true }],
    });
    expect(result.speedup).toBe(1);
  });

  it('report the speed-up as confirmed on all of them', async () => {
    const { result, confirmations, asked } = await search({ [LARGER]: [500, 800] }, {}, {}, { [LARGER]: [625, 800] });
    expect(asked.slice(-2)).toEqual([`${LARGER} on n1024: confirm, sanitize`, `${LARGER} on n4096: confirm`]);
    const ratio = 1.6 ** 0.25 * 1.25 ** 0.75;
    expect(confirmations).toMatchObject([
      {
        outcome: 'accepted',
        verdict: 'faster',
        ratio: expect.closeTo(ratio, 9),
        medianNs: expect.closeTo(625 ** 0.25 * 800 ** 0.75, 9),
        perWorkload: [
          { workload: 'n1024', ratio: expect.closeTo(1.6, 9), vetoes: false },
          { workload: 'n4096', ratio: expect.closeTo(1.25, 9), vetoes: false },
        ],
      },
    ]);
    expect(result.speedup).toBeCloseTo(ratio, 9);
  });

  it('refuse a winner that one of them vetoes when confirmed, and it gives way', async () => {
    const { result, confirmations } = await search(
      { [LARGER]: [900, 900], [LARGEST]: [500, 800] },
      {},
      {},
      { [LARGEST]: [100, 1030] },
    );
    expect(confirmations).toMatchObject([
      {
        candidate: { parameters: { TILE: 128 } },
        outcome: 'refused',
        reason: 'n4096 vetoes it: 0.971×',
        perWorkload: [{ vetoes: false }, { vetoes: true }],
      },
      { candidate: { parameters: { TILE: 64 } }, outcome: 'accepted' },
    ]);
    expect(result.best!.candidate.parameters).toEqual({ TILE: 64 });
    expect(result.speedup).toBeCloseTo(1 / 0.9, 9);
  });

  it('refuse a winner beside which the start could not be measured on one of them', async () => {
    const { confirmations, result } = await search(
      { [LARGER]: [500, 800] },
      { losesBaseline: ({ blocks, workload }) => blocks !== undefined && workload.name === 'n4096' },
    );
    expect(confirmations[0]).toMatchObject({
      outcome: 'refused',
      ratio: null,
      verdict: null,
      perWorkload: [{}, { ratio: null }],
    });
    expect(result.speedup).toBe(1);
  });

  it('reach a goal in time by the geometric mean, confirmed by it', async () => {
    // The first takes longer than the goal; the mean does not.
    const times: Times = { [START]: [4000, 100], [LARGER]: [3000, 50] };
    const goal = { kind: 'time', ns: 150, text: '150ns' } as const;
    const { result, confirmations } = await search(times, {}, { goal });
    expect(confirmations).toHaveLength(1);
    expect(result).toMatchObject({ stopReason: 'goal-reached', best: { candidate: { parameters: { TILE: 64 } } } });
  });

  it('search on where the confirmed mean misses the goal', async () => {
    const goal = { kind: 'speed-up', ratio: 1.5, text: '1.5x' } as const;
    const { result, confirmations } = await search({ [LARGER]: [600, 600] }, {}, { goal }, { [LARGER]: [600, 700] });
    expect(confirmations[0]).toMatchObject({ outcome: 'accepted' });
    expect(result.stopReason).toBe('no-moves-left');
  });
});
