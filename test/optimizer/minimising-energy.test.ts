import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import type { WeightedWorkload } from '../../src/store/events.ts';
import { CUDA, fakeGpu, type Script } from './fake-gpu.ts';
import { kernel, nameOf, ofType, pattern, runLoop, tile } from './fakes.ts';
import { expectToGoOnAnywhere, type Scripted } from './going-on.ts';

const START = '01_first TILE=32';
const OTHER = '01_first TILE=64';

const run = async (script: Script, options: Partial<OptimizeOptions> = {}) => {
  const evaluator = fakeGpu({ sanitizer: 'clean', ...script });
  const first = kernel('01_first');
  const { result, events } = await runLoop({
    evaluator,
    device: CUDA,
    rungs: [first],
    start: makeCandidate(first, { TILE: 32 }),
    patterns: [pattern('p', 'bank-conflicts', [tile(64)])],
    minimised: 'energy',
    ...options,
  });
  return {
    result,
    events,
    asked: evaluator.requests,
    decided: ofType(events, 'decision')[1],
    confirmations: ofType(events, 'confirmation'),
    ended: ofType(events, 'run-finished')[0],
  };
};

describe('a run that minimises energy', () => {
  it('keeps what is slower and needs less energy, by the verdict on joules; both are told', async () => {
    const { result, asked, decided, confirmations, ended } = await run({
      ns: { [START]: 1000, [OTHER]: 1100 },
      joules: { [START]: 3e-4, [OTHER]: 2e-4 },
    });
    expect(decided).toMatchObject({
      decision: 'keep',
      ratio: expect.closeTo(1 / 1.1),
      verdict: 'slower',
      energy: {
        ratio: expect.closeTo(1.5),
        verdict: 'less',
        intervalRatio: [expect.closeTo(1.5), expect.closeTo(1.5)],
      },
      reason:
        'less energy: the joules of e1 ÷ its own, measured 1.500× [1.500, 1.500]; slower: measured 0.909× [0.909, 0.909] the speed of e1',
    });
    expect(nameOf(result.best!.candidate)).toBe(OTHER);
    expect(confirmations).toMatchObject([
      { outcome: 'accepted', verdict: 'slower', energy: { verdict: 'less', ratio: expect.closeTo(1.5) } },
    ]);
    expect(result.speedup).toBeCloseTo(1 / 1.1);
    expect(ended!.detail).toMatch(/; best e3, measured 1\.50× less energy, measured 1\.10× slower than the start$/);
    // A screen measures no energy. What decides does, and so does the confirmation.
    expect(asked.map(({ tier, blocks, energy }) => [tier, blocks, energy])).toEqual([
      ['accept', undefined, true],
      ['screen', undefined, undefined],
      ['accept', undefined, true],
      ['accept', 20, true],
    ]);
    expect(asked.filter(({ energy }) => energy).every(({ minimised }) => minimised === 'energy')).toBe(true);
  });

  it('does not keep what is faster and needs more energy', async () => {
    const { result, decided } = await run({
      ns: { [START]: 1000, [OTHER]: 500 },
      joules: { [START]: 3e-4, [OTHER]: 4e-4 },
    });
    expect(decided).toMatchObject({ decision: 'revert', verdict: 'faster', energy: { verdict: 'more' } });
    expect(nameOf(result.best!.candidate)).toBe(START);
  });

  it('does not keep what needs as much', async () => {
    const { decided } = await run({ ns: { [START]: 1000, [OTHER]: 500 }, joules: {} });
    expect(decided).toMatchObject({ decision: 'revert', energy: { verdict: 'equal', ratio: expect.closeTo(1) } });
  });

  it.each([
    // The start draws 0.3 mJ ÷ 1 µs = 300 W, six times half the idle power: beyond six times its time, nothing can need less.
    ['rules out by time alone what would need more even at half the idle power', 6200, false],
    ['measures the energy of what is slower than that by less', 5900, true],
  ])('%s', async (_name, ns, isMeasured) => {
    const { asked, decided } = await run({ ns: { [START]: 1000, [OTHER]: ns }, joules: { [OTHER]: 1e-4 }, idleW: 100 });
    const tiers = asked.filter(({ candidate }) => nameOf(candidate) === OTHER).map(({ tier }) => tier);
    expect(tiers.slice(0, 2)).toEqual(isMeasured ? ['screen', 'accept'] : ['screen']);
    expect(decided!.decision).toBe(isMeasured ? 'keep' : 'revert');
    if (isMeasured) return;
    expect(decided!.energy).toBeUndefined();
    expect(decided!.reason).toBe(
      'measured 0.161× the speed of e1 in the screen: even at 50 W, half of idle power, it would need 1.03× the energy (e1 draws 300 W)',
    );
  });

  it.each([
    ['is not known', undefined],
    ['is not below what the start draws', 310],
  ])('rules nothing out by time where idle power %s', async (_name, idleW) => {
    const { decided } = await run({ ns: { [START]: 1000, [OTHER]: 50_000 }, joules: { [OTHER]: 1e-4 }, idleW });
    expect(decided).toMatchObject({ decision: 'keep', energy: { verdict: 'less' } });
  });

  it('ends at once where the energy of the start can’t be measured', async () => {
    const { result, asked } = await run({ joules: 'NVML has no energy counter for this GPU' });
    expect(asked).toHaveLength(1);
    expect(result).toMatchObject({
      stopReason: 'device-failed',
      detail: "the run minimises energy, and the start's was not measured: NVML has no energy counter for this GPU",
    });
  });

  it('a goal is a ratio of joules, and no bound of times stops it or refuses that', async () => {
    const goal = { kind: 'speed-up', ratio: 1.4, text: '1.4x' } as const;
    const script = { ns: { [START]: 1000, [OTHER]: 1100 }, joules: { [OTHER]: 2e-4 } };
    expect((await run(script, { goal })).result.stopReason).toBe('goal-reached');
    const far = { kind: 'speed-up', ratio: 1e9, text: '1000000000x' } as const;
    expect((await run(script, { goal: far })).result.stopReason).toBe('no-moves-left');
    // The fake's attainable time is 2 ns.
    const near = { ns: { [START]: 2, [OTHER]: 2 }, joules: { [OTHER]: 2e-4 } };
    expect((await run(near)).decided).toMatchObject({ decision: 'keep' });
  });

  it('refuses a winner whose energy is not less on fresh blocks', async () => {
    let count = 0;
    const { confirmations, result } = await run({
      ns: { [START]: 1000, [OTHER]: 900 },
      // Asked for the start, and for both when it is decided, before it is confirmed.
      joules: (name) => (name === OTHER ? (count++ === 0 ? 2e-4 : 3e-4) : 3e-4),
    });
    expect(confirmations).toMatchObject([
      {
        outcome: 'refused',
        verdict: 'faster',
        energy: { verdict: 'equal' },
        reason: expect.stringContaining('as much energy'),
      },
    ]);
    expect(nameOf(result.best!.candidate)).toBe(START);
  });

  const WHY = 'candidate: it overwrites its inputs';
  it('keeps nothing whose energy can’t be measured, and says why', async () => {
    const { decided } = await run({
      ns: { [OTHER]: 500 },
      withoutEnergy: ({ candidate }) => (nameOf(candidate) === OTHER ? WHY : undefined),
    });
    expect(decided).toMatchObject({
      ...{ decision: 'revert', ratio: 2, verdict: 'faster' },
      reason: `its energy was not measured: ${WHY}`,
    });
    expect(decided!.energy).toBeUndefined();
  });

  it('refuses a winner whose energy can’t be measured again', async () => {
    const { confirmations } = await run({
      joules: { [OTHER]: 2e-4 },
      withoutEnergy: ({ blocks }) => (blocks === undefined ? undefined : WHY),
    });
    expect(confirmations).toMatchObject([{ outcome: 'refused', reason: `its energy was not measured: ${WHY}` }]);
  });

  it('undoes a change without which the best needs less', async () => {
    const joules = { [START]: 3e-4, [OTHER]: 2e-4, '01_first TILE=128': 1e-4 };
    const patterns = [pattern('p', 'bank-conflicts', [tile(64), tile(128, 1.4)])];
    const { events } = await run({ ns: () => 1000, joules }, { patterns, ablation: true });
    const [undone] = ofType(events, 'ablation');
    expect(undone).toMatchObject({ ratio: expect.closeTo(1), energy: { ratio: expect.closeTo(3) } });
  });

  const workload = (name: string, N: number): WeightedWorkload => ({
    name,
    dimensions: { N },
    cache: 'hot',
    weight: 1,
  });
  const workloads = [workload('n1024', 1024), workload('n4096', 4096)];

  it('over several workloads keeps by the mean of joules, and each may veto', async () => {
    const by = (small: number, large: number) =>
      run(
        {
          ns: () => 1000,
          joules: (name, on) => (name === OTHER ? (on === 'n1024' ? small : large) : 3e-4),
        },
        { workloads },
      );
    const less = await by(2e-4, 2.8e-4);
    expect(less.decided).toMatchObject({
      decision: 'keep',
      ratio: expect.closeTo(1),
      energy: { verdict: 'less', ratio: expect.closeTo(Math.sqrt(1.5 * (3 / 2.8))) },
      perWorkload: [{ energy: { ratio: expect.closeTo(1.5) }, vetoes: false }, { vetoes: false }],
    });
    expect(less.confirmations).toMatchObject([{ outcome: 'accepted', energy: { verdict: 'less' } }]);
    const vetoed = await by(1e-4, 3.1e-4);
    expect(vetoed.decided).toMatchObject({ decision: 'revert', perWorkload: [{ vetoes: false }, { vetoes: true }] });
    expect(vetoed.decided!.reason).toContain('n4096 vetoes it: more energy');
  });

  it('goes on from any place of its log as if it had never stopped', async () => {
    const script = { ns: { [START]: 1000, [OTHER]: 1100 }, joules: { [OTHER]: 2e-4 } };
    const scripted = async (options: Pick<OptimizeOptions, 'history'>): Promise<Scripted> => {
      const { events, asked } = await run(script, options);
      return { events, judged: asked.map(({ candidate }) => nameOf(candidate)) };
    };
    await expectToGoOnAnywhere(scripted, await scripted({}));
  });
});
