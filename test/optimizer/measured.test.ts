import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { type Allowance, NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';
import { CUDA, fakeGpu, type Script } from './fake-gpu.ts';
import { kernel, nameOf, ofType, pattern, runLoop, tile } from './fakes.ts';

const START = '01_first TILE=32';
const LARGER = '01_first TILE=64';
const LARGEST = '01_first TILE=128';

const run = async (script: Script, options: Partial<OptimizeOptions> = {}) => {
  const evaluator = fakeGpu(script);
  const first = kernel('01_first');
  const { result, events } = await runLoop({
    evaluator,
    device: CUDA,
    rungs: [first],
    start: makeCandidate(first, { TILE: 32 }),
    patterns: [pattern('p', 'bank-conflicts', [tile(64), tile(128, 1.4)])],
    ...options,
  });
  return {
    result,
    evaluator,
    confirmations: ofType(events, 'confirmation'),
    decisions: ofType(events, 'decision'),
    ended: ofType(events, 'run-finished')[0],
  };
};

const DOUBT = { reason: 'partial-barriers' } as const;
const CLEARED = { ...DOUBT, clearedBy: 'virtual:h200' };

describe('a measured run', () => {
  it('screens beside the best, accepts beside the best, and keeps what is called faster', async () => {
    const { evaluator, result, confirmations } = await run({
      ns: { [START]: 1000, [LARGER]: 500 },
      sanitizer: 'clean',
    });
    const asked = evaluator.requests.map(({ candidate, tier, against, blocks }) => [
      nameOf(candidate),
      tier,
      against?.map((other) => `${other.name}: ${nameOf(other.candidate)}`).join() ?? '',
      blocks,
    ]);
    expect(asked.slice(0, 3)).toEqual([
      [START, 'accept', '', undefined],
      [LARGER, 'screen', `best: ${START}`, undefined],
      [LARGER, 'accept', `best: ${START}`, undefined],
    ]);
    expect(asked.at(-1)).toEqual([LARGER, 'accept', `start: ${START}`, 20]);
    expect(result.speedup).toBeCloseTo(2);
    expect(confirmations).toMatchObject([{ outcome: 'accepted', verdict: 'faster', sanitizer: 'clean' }]);
    // What confirms the winner must not be drawn from what chose it.
    expect(new Set(evaluator.requests.map(({ seed }) => seed)).size).toBe(2);
  });

  it('asks for energy beside the start when it confirms, and never while it searches', async () => {
    const { evaluator } = await run({ ns: { [START]: 1000, [LARGER]: 500 }, sanitizer: 'clean' }, { energy: true });
    const asked = evaluator.requests.filter(({ energy }) => energy);
    expect(asked.map(({ against, blocks }) => [against?.[0]?.name, blocks])).toEqual([['start', 20]]);
  });

  it('profiles what it keeps, for the next move; where a strategy asks no findings, only the winner', async () => {
    const profiled = async (strategy?: string) => {
      const { evaluator } = await run({ ns: { [START]: 1000, [LARGER]: 500 }, sanitizer: 'clean' }, { strategy });
      const asked = evaluator.requests.slice(1).filter(({ tier }) => tier === 'accept');
      return asked.map(({ profile, blocks }) => [profile ?? 'none', blocks]);
    };
    const guided = await profiled();
    expect(guided[0]).toEqual(['light', undefined]);
    expect(guided.at(-1)).toEqual(['none', 20]);
    const blind = await profiled('exhaustive');
    expect(blind.filter(([, blocks]) => blocks === undefined).every(([profile]) => profile === 'none')).toBe(true);
    expect(blind.filter(([, blocks]) => blocks === 20)).toEqual([['light', 20]]);
  });

  it('reverts what a screen shows to be slower, without measuring it longer', async () => {
    const { evaluator, decisions } = await run({ ns: { [START]: 1000, [LARGER]: 1500, [LARGEST]: 1500 } });
    expect(evaluator.requests.slice(0, 3).map(({ tier }) => tier)).toEqual(['accept', 'screen', 'screen']);
    expect(decisions.slice(1, 3)).toMatchObject([
      { decision: 'revert', reason: expect.stringContaining('in the screen') },
      { decision: 'revert' },
    ]);
  });

  it('searches on where no finding suggests more, and evaluates nothing twice', async () => {
    const rungs = [kernel('01_first'), kernel('02_second')];
    const all = rungs.flatMap(({ file }) => [16, 32, 64, 128].map((value) => `${file.name} TILE=${value}`));
    const slow = Object.fromEntries(all.map((name) => [name, 1500]));
    const ns = { ...slow, [START]: 1000, '02_second TILE=16': 300 };
    const { evaluator, result } = await run({ ns, sanitizer: 'clean' }, { rungs, exploring: true });
    const screened = evaluator.requests
      .filter(({ tier }) => tier === 'screen')
      .map(({ candidate }) => nameOf(candidate));
    expect(screened.slice(0, 2)).toEqual([LARGER, LARGEST]);
    expect([START, ...screened].sort()).toEqual(all.sort());
    expect(result.stopReason).toBe('space-exhausted');
    expect(nameOf(result.best!.candidate)).toBe('02_second TILE=16');
  });

  it('stops where no finding suggests more when it is not to explore', async () => {
    const { evaluator, result } = await run({ ns: { [START]: 1000, [LARGER]: 1500, [LARGEST]: 1500 } });
    expect(evaluator.requests.map(({ candidate }) => nameOf(candidate))).toEqual([START, LARGER, LARGEST]);
    expect(result.stopReason).toBe('no-moves-left');
  });

  it('does not keep what only the screen called faster', async () => {
    const { decisions, result } = await run({ ns: { [START]: 1000, [LARGER]: 1000 }, screened: { [LARGER]: 1.5 } });
    expect(decisions[1]).toMatchObject({ decision: 'revert', verdict: 'same' });
    expect(result.best!.evaluation.id).toBe(result.start!.id);
  });

  it.each([
    ['a sanitizer that showed nothing', { sanitizer: 'unsanitized' } as const, {}, 'accepted, unsanitized'],
    ['no sanitizer', {}, {}, 'accepted, unsanitized'],
    ['no sanitizer where it is required', {}, { requireSanitizer: true }, 'refused'],
    ['errors of the sanitizer', { sanitizer: 'errors' } as const, {}, 'refused'],
    ['errors that are doubted, and that nobody cleared', { sanitizer: 'errors', doubt: DOUBT } as const, {}, 'refused'],
    [
      'errors that a race checker contradicts',
      { sanitizer: 'errors', doubt: CLEARED } as const,
      {},
      'accepted, unsanitized',
    ],
    [
      'errors that a race checker contradicts, where the sanitizer is required',
      { sanitizer: 'errors', doubt: CLEARED } as const,
      { requireSanitizer: true },
      'refused',
    ],
    ['wrong results when confirmed', { failsWhenConfirmed: true }, {}, 'refused'],
  ])('%s', async (_name, script, options, outcome) => {
    const { confirmations, result } = await run({ ns: { [START]: 1000, [LARGER]: 500 }, ...script }, options);
    expect(confirmations[0]).toMatchObject({ outcome });
    if (outcome === 'refused') expect(result.best!.evaluation.id).toBe(result.start!.id);
  });

  it('gives way to the best before when the winner is refused', async () => {
    const ns = { [START]: 1000, [LARGER]: 500, [LARGEST]: 300 };
    const { confirmations } = await run({ ns, sanitizer: 'errors' });
    expect(confirmations).toMatchObject([
      { candidate: { parameters: { TILE: 128 } }, outcome: 'refused' },
      { candidate: { parameters: { TILE: 64 } }, outcome: 'refused' },
    ]);
  });

  it('measures the winner again where the device failed at its confirmation', async () => {
    const { confirmations, result } = await run({ ns: { [START]: 1000, [LARGER]: 500 }, deviceFailsAt: [6] });
    expect(confirmations).toMatchObject([
      { candidate: { parameters: { TILE: 64 } }, outcome: 'accepted, unsanitized' },
    ]);
    expect(result.speedup).toBeCloseTo(2);
  });

  it('leaves the winner unconfirmed where the device fails twice, and ends for that', async () => {
    const { confirmations, result, ended } = await run({ ns: { [START]: 1000, [LARGER]: 500 }, deviceFailsAt: [5, 6] });
    expect(confirmations).toEqual([]);
    expect(result).toMatchObject({ stopReason: 'device-failed', best: { candidate: { parameters: { TILE: 64 } } } });
    expect(result.speedup).toBeUndefined();
    expect(ended).toMatchObject({ stopReason: 'device-failed', best: 'e3', speedup: null });
    expect(ended!.detail).toMatch(/during the confirmation of the winner: .*; best e3, not confirmed$/);
  });

  it('screens a candidate again where the device failed while it was accepted', async () => {
    const { result, evaluator } = await run({ ns: { [START]: 1000, [LARGER]: 500 }, deviceFailsAt: [3] });
    const tiers = evaluator.requests.filter(({ candidate }) => nameOf(candidate) === LARGER).map(({ tier }) => tier);
    expect(tiers.slice(0, 4)).toEqual(['screen', 'accept', 'screen', 'accept']);
    expect(result.speedup).toBeCloseTo(2);
  });

  it('reverts a change beside which the best could not be measured', async () => {
    const { decisions, result } = await run({
      ns: { [START]: 1000, [LARGER]: 500 },
      losesBaseline: ({ tier }) => tier === 'screen',
    });
    expect(decisions[1]).toMatchObject({
      decision: 'revert',
      reason: 'e1 could not be measured in the same blocks (best: wrong when timed)',
    });
    expect(result.best!.evaluation.id).toBe(result.start!.id);
  });

  it('refuses a winner beside which the start could not be measured', async () => {
    const { confirmations } = await run({
      ns: { [START]: 1000, [LARGER]: 500 },
      losesBaseline: ({ blocks }) => blocks !== undefined,
    });
    expect(confirmations).toMatchObject([
      { outcome: 'refused', reason: 'the start could not be measured in the same blocks: wrong when timed' },
    ]);
  });

  const goal = { kind: 'speed-up', ratio: 2, text: '2x' } as const;

  it('searches on when the winner that reached the goal is refused, and claims nothing of it', async () => {
    const ns = { [START]: 1000, [LARGER]: 400 };
    const { result, confirmations } = await run({ ns, sanitizer: 'errors' }, { goal });
    expect(confirmations).toMatchObject([{ outcome: 'refused' }]);
    expect(result).toMatchObject({ stopReason: 'no-moves-left', speedup: 1 });
  });

  it('stops at a goal that is confirmed, once', async () => {
    const ns = { [START]: 1000, [LARGER]: 400 };
    const { result, confirmations } = await run({ ns, sanitizer: 'clean' }, { goal });
    expect(confirmations).toHaveLength(1);
    expect(result).toMatchObject({ stopReason: 'goal-reached' });
    expect(result.speedup).toBeCloseTo(2.5);
  });

  it('searches on when the time that reached a goal is not confirmed', async () => {
    const time = { kind: 'time', ns: 500, text: '500ns' } as const;
    const ns = { [START]: 1000, [LARGER]: 490 };
    const kept = await run({ ns, sanitizer: 'clean' }, { goal: time });
    expect(kept.result).toMatchObject({ stopReason: 'goal-reached', confirmation: { medianNs: 490 } });
    const missed = await run({ ns, sanitizer: 'clean', confirmedShare: 1.1 }, { goal: time });
    expect(missed.confirmations[0]).toMatchObject({ outcome: 'accepted', medianNs: expect.closeTo(539) });
    expect(missed.result.stopReason).toBe('no-moves-left');
  });

  const limited = (maximumEvaluations: number, allowance: Allowance | null = null) =>
    run(
      { ns: { [START]: 1000, [LARGER]: 500 }, sanitizer: 'clean' },
      { budgets: { ...UNLIMITED, allowance, maximumEvaluations } },
    );

  it('begins no change that the limit has no room for, and keeps an evaluation for the confirmation', async () => {
    const { result } = await limited(4);
    // The start, a screen, a measurement for a verdict, the confirmation.
    expect(result).toMatchObject({ stopReason: 'evaluations-spent', evaluationsUsed: 4 });
    expect(result.confirmation).toMatchObject({ outcome: 'accepted' });
    const { result: less } = await limited(2);
    expect(less).toMatchObject({ stopReason: 'evaluations-spent', evaluationsUsed: 1, speedup: 1 });
    expect(less.detail).toBe('1 of 2 evaluations used; a change may take 2');
  });

  it('claims nothing that the limit leaves no evaluation to confirm', async () => {
    const { result, ended } = await limited(3, NOTHING_KEPT);
    expect(result.evaluationsUsed).toBe(3);
    expect(result.speedup).toBeUndefined();
    expect(ended!.detail).toMatch(/; best e3, not confirmed: the limit leaves no evaluation for it$/);
  });
});
