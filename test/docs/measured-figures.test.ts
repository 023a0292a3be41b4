import { expect, test } from 'vitest';
import { comparisonPlot } from '../../scripts/results/comparison-plot.ts';
import { measuredBlocks, measuredFigures, missingRecordings } from '../../scripts/results/measured-blocks.ts';
import { HOW_TO_RECORD, type KnownRatioComparisons } from '../../scripts/results/measuring-recordings.ts';
import type { Comparison } from '../../src/core/measurement.ts';
import type { Verdict } from '../../src/core/vocabulary.ts';

const comparison = (verdict: Verdict, ratio: number): Comparison => ({
  candidate: 'candidate',
  baseline: 'baseline',
  verdict,
  ratio,
  intervalRatio: [ratio - 0.003, ratio + 0.003],
  blockCount: 10,
  mannWhitney: { u: 1, pValue: 0.5 },
  cliffsDelta: 0,
});
const comparisons = [comparison('same', 1.001), comparison('faster', 1.02), comparison('same', 0.999)];

const recording: KnownRatioComparisons = {
  schemaVersion: 1,
  device: 'NVIDIA H200',
  driver: '580.159.04',
  versions: { warpsmith: '0.1.0' },
  recordedAt: '2025-11-20T00:00:00.000Z',
  kernel: 'loop',
  workload: 'short',
  comparisons,
  discardedBlockCount: 2,
  failures: [],
  calibration: {
    stepRatio: 1.03,
    longRatio: 1.0301,
    longIntervalRatio: [1.0299, 1.0303],
    shortNs: 130_000,
    doubleNs: 259_000,
    fixedNs: 1000,
    trueRatio: 1.0299,
  },
};

test('without recordings there are no figures, and every block says how to make one', () => {
  expect(measuredFigures({})).toEqual({});
  expect(missingRecordings({})).toHaveLength(Object.keys(HOW_TO_RECORD).length);
  for (const block of Object.values(measuredBlocks({}))) {
    expect(block).toContain('Not recorded yet');
    expect(block).not.toContain('.svg');
  }
});

test('blocks count verdicts, blocks and discarded ones, and say where they come from', () => {
  const blocks = measuredBlocks({ 'h200-a-a': recording, 'h200-sensitivity': recording });
  expect(blocks['h200-a-a']).toContain(
    '3 comparisons of `loop` with itself** at short: 2 same, 1 faster (30 blocks counted, 2 discarded)',
  );
  expect(blocks['h200-a-a']).toContain('NVIDIA H200, driver 580.159.04, warpsmith 0.1.0, 2025-11-20');
  expect(blocks['h200-sensitivity']).toContain('1.0299 times as slow');
  expect(blocks['h200-sensitivity']).toContain('1.0301 times the time [1.030, 1.030]; of 130 µs, 1 µs are fixed');
});

test('comparisons that failed are told', () => {
  const block = measuredBlocks({ 'h200-a-a': { ...recording, failures: ['candidate: crashed: trap'] } })['h200-a-a'];
  expect(block).toContain('1 ended without a result: candidate: crashed: trap.');
});

test('the plot has one mark per comparison, larger ratios higher, all within the frame', () => {
  const svg = comparisonPlot({ title: 'A & B, measured', comparisons, trueRatio: 1 });
  const heights = [...svg.matchAll(/<circle class="dot \w+" cx="[\d.]+" cy="([\d.]+)" r="1\.8"/g)].map(([, y]) =>
    Number(y),
  );
  expect(heights).toHaveLength(3);
  expect(heights).toEqual(heights.toSorted((a, b) => b - a));
  for (const y of heights) expect(y > 64 && y < 310).toBe(true);
  expect(svg).not.toContain('NaN');
  expect(svg).toContain('2 same');
  expect(svg).toContain('A &amp; B, measured');
});
