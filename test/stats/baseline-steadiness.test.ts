import { describe, expect, it } from 'vitest';
import type { MeasuredBlock } from '../../src/core/measurement.ts';
import { besideAndAlone, unsteadyBaselines } from '../../src/stats/baseline-steadiness.ts';
import { compareContenders } from '../../src/stats/compare-contenders.ts';

const block = (candidate: number, baseline: number): MeasuredBlock => ({
  samples: [
    { contender: 'candidate', samplesNs: [candidate, 1.001 * candidate] },
    { contender: 'start', samplesNs: [baseline, 1.001 * baseline] },
  ],
  before: {},
  after: {},
});
const NAMES = { candidate: 'candidate', baseline: 'start' };

describe('a baseline that is not what it was', () => {
  const earlier = [block(90, 100), block(90, 101), block(90, 100)];

  it('is named from 2 % on, either way', () => {
    expect(unsteadyBaselines(earlier, block(90, 101.5), ['start'])).toEqual([]);
    expect(unsteadyBaselines(earlier, block(90, 103), ['start'])).toEqual(['start']);
    expect(unsteadyBaselines(earlier, block(90, 97), ['start'])).toEqual(['start']);
    expect(unsteadyBaselines(earlier, block(90, Number.NaN), ['start'])).toEqual(['start']);
  });

  it('needs three blocks that count before it', () => {
    expect(unsteadyBaselines(earlier.slice(0, 2), block(90, 150), ['start'])).toEqual([]);
    const discarded = earlier.map((one) => ({ ...one, discarded: 'thermal-slowdown' }));
    expect(unsteadyBaselines(discarded, block(90, 150), ['start'])).toEqual([]);
  });
});

describe('a baseline timed without the candidate', () => {
  const blocks = Array.from({ length: 12 }, (_, i) => block(100 + 0.01 * i, 105 + 0.01 * i));
  const compared = compareContenders(blocks, NAMES, 1);

  it('that is as fast beside it leaves the verdict as it is', () => {
    expect(compared.verdict).toBe('faster');
    const same = besideAndAlone(compared, blocks, [104, 105, 106]);
    expect(same).toMatchObject({ verdict: 'faster', baselineSlowdown: expect.closeTo(1, 2) });
  });

  it('that is slowed down by as much as the candidate gains leaves no verdict', () => {
    const slowed = besideAndAlone(compared, blocks, [100, 100, 100]);
    expect(slowed).toMatchObject({ verdict: 'ambiguous', baselineSlowdown: expect.closeTo(1.05, 2) });
  });

  it('that is slowed down by less than the candidate gains does', () => {
    const much = Array.from({ length: 12 }, (_, i) => block(50 + 0.01 * i, 105 + 0.01 * i));
    expect(besideAndAlone(compareContenders(much, NAMES, 1), much, [100, 100, 100])).toMatchObject({
      verdict: 'faster',
    });
  });
});
