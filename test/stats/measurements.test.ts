import { describe, expect, test } from 'vitest';
import { assessBlock } from '../../src/stats/assess-block.ts';
import { compareContenders } from '../../src/stats/compare-contenders.ts';
import { summarise } from '../../src/stats/summarise.ts';
import { EQUIVALENCE_MARGIN, LEAST_BLOCKS_FOR_VERDICT, verdictOf } from '../../src/stats/verdict.ts';
import { blockOf } from './measured-blocks.ts';

const names = { candidate: 'new', baseline: 'old' };
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

describe('a verdict', () => {
  test.each([
    [[1.0101, 1.2], 'faster'],
    [[1.01, 1.2], 'ambiguous'],
    [[0.9, 0.99], 'slower'],
    // 1 ÷ 1.01 = 0.990099…: the margin is as wide downwards as upwards.
    [[0.9, 0.9902], 'ambiguous'],
    [[0.9902, 1.0099], 'same'],
    [[0.9902, 1.0101], 'ambiguous'],
    [[0.9, 1.1], 'ambiguous'],
    [[Number.NaN, 1.2], 'ambiguous'],
    [[1.02, Number.NaN], 'ambiguous'],
  ] as const)('of [%d, %d]', ([low, high], verdict) => expect(verdictOf([low, high], 10)).toBe(verdict));

  test('takes ten blocks', () => {
    expect(LEAST_BLOCKS_FOR_VERDICT).toBe(10);
    expect(EQUIVALENCE_MARGIN).toBe(0.01);
    expect(verdictOf([1.5, 1.6], 9)).toBe('ambiguous');
    expect(verdictOf([1.5, 1.6], Number.NaN)).toBe('ambiguous');
  });
});

describe('a comparison', () => {
  const halved = times(10, (i) => blockOf({ new: [50 + i, 50 + i, 90], old: [100 + 2 * i, 100 + 2 * i, 500] }));

  test('half the time in every block: ratio 2, exactly, although blocks differ', () => {
    const { verdict, ratio, intervalRatio, blockCount, cliffsDelta } = compareContenders(halved, names, 1);
    expect({ verdict, blockCount }).toEqual({ verdict: 'faster', blockCount: 10 });
    expect(ratio).toBeCloseTo(2, 12);
    expect(intervalRatio[0]).toBeCloseTo(2, 12);
    expect(intervalRatio[1]).toBeCloseTo(2, 12);
    expect(cliffsDelta).toBeGreaterThan(0);
  });

  test('the other way round is slower, the ratio is turned over and δ negative', () => {
    const { verdict, ratio, cliffsDelta } = compareContenders(halved, { candidate: 'old', baseline: 'new' }, 1);
    expect(verdict).toBe('slower');
    expect(ratio).toBeCloseTo(0.5, 12);
    expect(cliffsDelta).toBeLessThan(0);
  });

  test('is of the geometric mean: 2 and ½ cancel', () => {
    const blocks = times(10, (i) => blockOf(i % 2 ? { new: [10], old: [20] } : { new: [20], old: [10] }));
    const { ratio, verdict, intervalRatio } = compareContenders(blocks, names, 1);
    expect(ratio).toBeCloseTo(1, 12);
    expect(verdict).toBe('ambiguous');
    expect(intervalRatio[0] * intervalRatio[1]).toBeCloseTo(1, 1);
  });

  test('the interval, by hand: ln 1.1 ± 2.262 · s ÷ √10 with s = 0.02 · √(10 ÷ 9)', () => {
    const blocks = times(10, (i) => blockOf({ new: [1000], old: [1100 * Math.exp(i % 2 ? 0.02 : -0.02)] }));
    const { intervalRatio } = compareContenders(blocks, names, 1);
    const half = (2.262157 * 0.02) / 3;
    expect(Math.abs(intervalRatio[0] - 1.1 * Math.exp(-half))).toBeLessThan(0.003);
    expect(Math.abs(intervalRatio[1] - 1.1 * Math.exp(half))).toBeLessThan(0.003);
  });

  test('counts no discarded block and none without one of the two', () => {
    const blocks = [
      ...halved.slice(0, 9),
      blockOf({ new: [1], old: [1] }, { discarded: 'thermal-slowdown' }),
      blockOf({ new: [1] }),
      blockOf({ new: [1], old: [] }),
    ];
    const { blockCount, verdict, ratio } = compareContenders(blocks, names, 1);
    expect({ blockCount, verdict }).toEqual({ blockCount: 9, verdict: 'ambiguous' });
    expect(ratio).toBeCloseTo(2, 12);
  });

  test('times that are none give no verdict', () => {
    for (const bad of [Number.NaN, 0, -5, Number.POSITIVE_INFINITY]) {
      const blocks = [...halved, blockOf({ new: [bad], old: [100] })];
      expect(compareContenders(blocks, names, 1).verdict).toBe('ambiguous');
    }
    expect(compareContenders([], names, 1)).toMatchObject({ verdict: 'ambiguous', blockCount: 0 });
  });
});

describe('a summary', () => {
  test('by hand; the median is that of block medians', () => {
    const blocks = [
      blockOf({ k: [101, 102, 99] }),
      blockOf({ k: [150, 97] }),
      blockOf({ k: [1] }, { discarded: 'power-brake' }),
      blockOf({ other: [5] }),
    ];
    const { coefficientOfVariation, ...summary } = summarise(blocks, 'k', 1);
    expect(summary).toEqual({
      minNs: 97,
      p5Ns: 97.4,
      medianNs: 112.25,
      p95Ns: expect.closeTo(140.4, 9),
      maxNs: 150,
      meanNs: 109.8,
      sampleCount: 5,
      blockCount: 2,
      intervalNs: [101, 123.5],
    });
    // NumPy: std(ddof=1) ÷ mean.
    expect(coefficientOfVariation).toBeCloseTo(0.20541328535791814, 12);
  });

  test('of one sample varies not at all; of none is NaN', () => {
    expect(summarise([blockOf({ k: [7] })], 'k', 1)).toMatchObject({ medianNs: 7, coefficientOfVariation: 0 });
    expect(summarise([], 'k', 1)).toMatchObject({ medianNs: Number.NaN, sampleCount: 0, blockCount: 0 });
  });

  test('the interval holds the median, and is narrower for more blocks', () => {
    const widthOf = (count: number): number => {
      const { medianNs, intervalNs } = summarise(
        times(count, (i) => blockOf({ k: [100 + ((7 * i) % 10)] })),
        'k',
        3,
      );
      expect(intervalNs[0] <= medianNs && medianNs <= intervalNs[1]).toBe(true);
      return intervalNs[1] - intervalNs[0];
    };
    expect(widthOf(200)).toBeLessThan(widthOf(10));
  });
});

describe('a block', () => {
  test.each([
    ['sw-thermal-slowdown', 'thermal-slowdown'],
    ['hw-thermal-slowdown', 'thermal-slowdown'],
    ['hw-slowdown', 'hardware-slowdown'],
    ['hw-power-brake', 'power-brake'],
  ] as const)('with %s does not count, whether before or after', (reason, discarded) => {
    const state = { throttleReasons: [reason] };
    expect(assessBlock(state, {})).toEqual({ discarded, powerCapped: false, disturbances: [] });
    expect(assessBlock({}, state)).toEqual({ discarded, powerCapped: false, disturbances: [] });
  });

  test('at the power cap counts and says so; other reasons are nothing to mention', () => {
    expect(assessBlock({ throttleReasons: ['sw-power-cap', 'sync-boost', 'applications-clocks'] }, {})).toEqual({
      powerCapped: true,
      disturbances: [],
    });
  });

  test('with several reasons names each once', () => {
    const { discarded } = assessBlock(
      { throttleReasons: ['hw-slowdown', 'hw-thermal-slowdown'] },
      { throttleReasons: ['hw-slowdown', 'sw-thermal-slowdown'] },
    );
    expect(discarded).toBe('hardware-slowdown, thermal-slowdown');
  });

  test('beside others is disturbed', () => {
    expect(assessBlock({ otherProcessCount: 0 }, { otherProcessCount: 1 }).disturbances).toEqual([
      'another process held a context on this GPU',
    ]);
    expect(assessBlock({ otherProcessCount: 3 }, {}).disturbances).toEqual([
      '3 other processes held contexts on this GPU',
    ]);
  });

  test('of which nothing is known is not disturbed', () => {
    expect(assessBlock({}, {})).toEqual({ powerCapped: false, disturbances: [] });
  });
});
