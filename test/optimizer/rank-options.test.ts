import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import { createMoveLedger } from '../../src/optimizer/move-ledger.ts';
import type { ProposedMove } from '../../src/optimizer/propose-moves.ts';
import { type RankingContext, rankOptions } from '../../src/optimizer/rank-options.ts';
import type { PatternPrior } from '../../src/store/events.ts';
import { kernel } from './fakes.ts';

const first = kernel('01_first', { parameters: { TILE: { values: [1, 2, 3, 4, 5, 6, 7, 8], default: 1 } } });

interface MoveOptions {
  pattern?: string;
  value?: number;
  gain?: number;
  confidence?: number;
}

/** A move of pattern `pattern`, whose key is the pattern's: another value of the same parameter. */
const move = ({ pattern = 'p', value = 2, gain = 1.4, confidence = 0.5 }: MoveOptions = {}): ProposedMove => ({
  key: `${pattern}/01_first.TILE`,
  pattern: { id: pattern, title: pattern },
  finding: { id: 'bank-conflicts', estimatedSpeedup: 2, evidence: '' },
  change: { kind: 'parameter', kernel: '01_first', parameter: 'TILE', from: 1, to: value },
  candidate: makeCandidate(first, { TILE: value }),
  expectedGain: gain,
  confidence,
  reason: '',
});

const context = (overrides: Partial<RankingContext> = {}): RankingContext => ({
  ledger: createMoveLedger(),
  priors: { patterns: [], costs: [] },
  device: 'NVIDIA L4 (virtual)',
  evaluationsLeft: null,
  isMeasured: false,
  workloadCount: 1,
  evaluationId: 'e1',
  ...overrides,
});

const only = (overrides: Partial<RankingContext> = {}, options: MoveOptions = {}) =>
  rankOptions([move(options)], context(overrides)).options[0]!;

const prior = (overrides: Partial<PatternPrior>): RankingContext['priors'] => ({
  patterns: [{ pattern: 'p', attempts: 0, kept: 0, realisedGain: 1, scope: 'device', ...overrides }],
  costs: [],
});

describe('the value of an option', () => {
  it('is (gain − 1) × confidence ÷ cost, and says so in figures', () => {
    const option = only();
    expect(option.value).toBeCloseTo(0.2, 12);
    expect(option.arithmetic).toBe('(1.40 − 1) × 0.50 ÷ (1.0 + 0.0) = 0.200');
  });

  it.each([
    [{ isMeasured: false, workloadCount: 1 }, 1],
    [{ isMeasured: false, workloadCount: 3 }, 1 + 0.5 * 2],
    [{ isMeasured: true, workloadCount: 1 }, 1 + 0.5 * 1],
    [{ isMeasured: true, workloadCount: 3 }, 1 + 0.5 * 3],
  ])('with %o costs %d evaluations: those after the first only if that goes well', (situation, evaluations) => {
    const option = only(situation);
    expect(option.cost).toEqual({ evaluations, compile: 0 });
    expect(option.value).toBeCloseTo((0.4 * 0.5) / evaluations, 12);
  });

  it('counts compile time in evaluations’ worth, as earlier runs took it for this kernel', () => {
    const costs = [
      { kernel: 'other', compileMs: 9e9, runMs: 1 },
      { kernel: '01_first', compileMs: 3000, runMs: 2000 },
    ];
    const option = only({ priors: { patterns: [], costs } });
    expect(option.cost).toEqual({ evaluations: 1, compile: 1.5 });
    expect(option.value).toBeCloseTo(0.2 / 2.5, 12);
    expect(option.arithmetic).toBe('(1.40 − 1) × 0.50 ÷ (1.0 + 1.5) = 0.080');
  });

  it('takes no compile cost from a kernel that never ran', () => {
    const costs = [{ kernel: '01_first', compileMs: 3000, runMs: 0 }];
    expect(only({ priors: { patterns: [], costs } }).cost.compile).toBe(0);
  });
});

describe('what was seen of a pattern', () => {
  it('counts against four attempts of its own expectation', () => {
    // Gain: 4 × ln 1.4 and 4 × ln 2 over 8 kept; confidence: (4 × 0.5 + 4) ÷ (4 + 8).
    const option = only({ priors: prior({ attempts: 8, kept: 4, realisedGain: 2 }) });
    expect(option.expectedGain).toBeCloseTo(Math.sqrt(1.4 * 2), 12);
    expect(option.confidence).toBeCloseTo(0.5, 12);
    expect(option.evidence).toEqual({ attempts: 8, kept: 4 });
  });

  it('lowers confidence when nothing was kept, and leaves the gain', () => {
    const option = only({ priors: prior({ attempts: 6, kept: 0 }) });
    expect(option.expectedGain).toBeCloseTo(1.4, 12);
    expect(option.confidence).toBeCloseTo(0.2, 12);
  });

  it('never makes a gain a loss', () => {
    expect(only({ priors: prior({ attempts: 50, kept: 50, realisedGain: 0.5 }) }).expectedGain).toBe(1);
  });

  it('counts of its own pattern only', () => {
    const option = only({ priors: prior({ pattern: 'other', attempts: 8, kept: 8, realisedGain: 9 }) });
    expect(option).toMatchObject({ confidence: 0.5, evidence: { attempts: 0, kept: 0 } });
  });

  it('in this run counts as much as in earlier ones, and adds to them', () => {
    const ledger = createMoveLedger();
    ledger.noteKept(move(), 3);
    ledger.noteFailed(move(), 1);
    const here = only({ ledger });
    const before = only({ priors: prior({ attempts: 2, kept: 1, realisedGain: 3 }) });
    expect(here).toMatchObject({ expectedGain: before.expectedGain, confidence: before.confidence });
    expect(here.evidence).toEqual({ attempts: 2, kept: 1 });
    const both = only({ ledger, priors: prior({ attempts: 2, kept: 1, realisedGain: 3 }) });
    expect(both.evidence).toEqual({ attempts: 4, kept: 2 });
    expect(both.expectedGain).toBeCloseTo(Math.exp((4 * Math.log(1.4) + 2 * Math.log(3)) / 6), 12);
  });

  it('can turn the order round', () => {
    const weak = move({ pattern: 'weak', value: 3, gain: 1.2 });
    const strong = move({ pattern: 'strong', gain: 1.5 });
    const order = (overrides: Partial<RankingContext>) =>
      rankOptions([strong, weak], context(overrides)).moves.map(({ pattern }) => pattern.id);
    expect(order({})).toEqual(['strong', 'weak']);
    expect(order({ priors: prior({ pattern: 'strong', attempts: 20, kept: 0 }) })).toEqual(['weak', 'strong']);
  });
});

describe('the order of options', () => {
  it('is by value; equal ones stay in the order they were suggested in', () => {
    const moves = [
      move({ pattern: 'a', value: 2, gain: 1.1 }),
      move({ pattern: 'b', value: 3, gain: 1.5 }),
      move({ pattern: 'c', value: 4, gain: 1.1 }),
    ];
    const { options } = rankOptions(moves, context());
    expect(options.map(({ pattern, state }) => [pattern.id, state])).toEqual([
      ['b', 'next'],
      ['a', 'open'],
      ['c', 'open'],
    ]);
  });

  it('has one line for each move: its first candidate, at the place of its first', () => {
    const moves = [
      move({ pattern: 'a', value: 2 }),
      move({ pattern: 'b', value: 3 }),
      move({ pattern: 'a', value: 4 }),
    ];
    const ranking = rankOptions(moves, context({ evaluationsLeft: 6 }));
    expect(ranking.options.map(({ move: change }) => change)).toMatchObject([{ to: 2 }, { to: 3 }]);
    expect(ranking.moves.map(({ candidate }) => candidate.parameters.TILE)).toEqual([2, 3]);
    expect(ranking.share).toBe(3);
  });
});

describe('a share', () => {
  const a = move({ pattern: 'a', value: 2 });
  const b = move({ pattern: 'b', value: 3 });

  it('is evaluations left ÷ open moves; there is none without a budget', () => {
    expect(rankOptions([a, b], context({ evaluationsLeft: 5 })).share).toBe(2.5);
    expect(rankOptions([], context({ evaluationsLeft: 5 })).share).toBe(5);
    expect(rankOptions([a, b], context()).share).toBeNull();
  });

  it('used twice over abandons a move', () => {
    const ledger = createMoveLedger();
    ledger.noteFailed(a, 2);
    const at = (evaluationsLeft: number) => rankOptions([a, b], context({ ledger, evaluationsLeft }));
    // Two used: twice a share of 1, not of 1.5.
    expect(at(3).overspent).toEqual([]);
    const { overspent, options, moves } = at(2);
    expect(overspent).toMatchObject([{ moveKey: a.key, used: 2, failures: 1 }]);
    expect(moves).toEqual([b]);
    expect(options.map(({ moveKey, state }) => [moveKey, state])).toEqual([
      [b.key, 'next'],
      [a.key, 'abandoned'],
    ]);
  });

  it('lets every move try once, however little is left', () => {
    const fresh = rankOptions([a, b], context({ evaluationsLeft: 0.1 }));
    expect(fresh.overspent).toEqual([]);
  });

  it('abandons none where every move has used it twice', () => {
    const ledger = createMoveLedger();
    for (const one of [a, b]) ledger.noteFailed(one, 4);
    expect(rankOptions([a, b], context({ ledger, evaluationsLeft: 2 })).overspent).toEqual([]);
  });

  it('never abandons without a budget of evaluations', () => {
    const ledger = createMoveLedger();
    ledger.noteFailed(a, 1000);
    expect(rankOptions([a, b], context({ ledger })).overspent).toEqual([]);
  });

  it('starts anew when the move helps', () => {
    const ledger = createMoveLedger();
    ledger.noteFailed(a, 4);
    ledger.noteKept(a, 1.2);
    expect(rankOptions([a, b], context({ ledger, evaluationsLeft: 2 })).overspent).toEqual([]);
    expect(ledger.standing(a.key)).toEqual({ used: 0, failures: 0 });
  });
});

describe('failures', () => {
  it('three in a row abandon a move, and one that helped starts anew', () => {
    const ledger = createMoveLedger();
    const fail = () => ledger.noteFailed(move(), 1);
    expect([fail(), fail()].map(({ abandoned }) => abandoned)).toEqual([false, false]);
    ledger.noteKept(move(), 1.1);
    expect([fail(), fail(), fail()]).toEqual([
      { failureCount: 1, abandoned: false },
      { failureCount: 2, abandoned: false },
      { failureCount: 3, abandoned: true },
    ]);
    expect(ledger.isAbandoned(move().key)).toBe(true);
    expect(ledger.isOpen(move({ value: 7 }))).toBe(false);
    expect(ledger.isOpen(move({ pattern: 'other' }))).toBe(true);
  });
});

describe('what earlier runs learned of a finding', () => {
  const lesson = {
    finding: 'bank-conflicts',
    pattern: 'p',
    device: 'NVIDIA L4 (virtual)',
    attempts: 3,
    kept: 0,
    realisedGain: 1,
  };
  const patterns = [{ pattern: 'p', attempts: 4, kept: 4, realisedGain: 3, scope: 'all' }] as const;
  const gained = (lessons: (typeof lesson)[]) =>
    only({ priors: { patterns: [...patterns], costs: [], lessons } }).evidence;

  it('counts more than all that the pattern did, on the same device and from three attempts on', () => {
    expect(gained([lesson])).toEqual({ attempts: 3, kept: 0 });
    expect(gained([{ ...lesson, attempts: 2 }])).toEqual({ attempts: 4, kept: 4 });
    expect(gained([{ ...lesson, device: 'NVIDIA H100 (virtual)' }])).toEqual({ attempts: 4, kept: 4 });
    expect(gained([{ ...lesson, finding: 'parallelism' }])).toEqual({ attempts: 4, kept: 4 });
    expect(gained([])).toEqual({ attempts: 4, kept: 4 });
  });
});
