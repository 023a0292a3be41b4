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

test('a dispatch table has a row for each workload, with its loss', () => {
  const id = 'a'.repeat(12);
  const chosen = { candidate: id, medianNs: 1010, fastest: id, fastestNs: 1010, loss: 0 };
  const timed = { candidate: id, outcome: 'timed', kind: 'measured', medianNs: 1010 } as const;
  const row = { dimensions: {}, cache: 'hot', seed: 1, judgedAt: '', contenders: [timed] } as const;
  const slow = { ...chosen, candidate: 'b', medianNs: 1020, fastestNs: 1010, loss: 1020 / 1010 - 1 };
  const { 'h200-attention-dispatch': block } = measuredBlocks({
    'h200-attention-dispatch': {
      device: { id: 'cuda:0', kind: 'cuda', name: 'NVIDIA H200', driver: '580' },
      versions: { compiler: 'nvrtc 13.0' },
      recordedAt: '2026-11-23T00:00:00.000Z',
      tier: 'accept',
      blocks: 6,
      kernels: [
        { id, kernel: 'one', parameters: { N: 2 } },
        { id: 'b', kernel: 'two', parameters: {} },
      ],
      rows: [
        { ...row, workload: 'small', chosen },
        { ...row, workload: 'large', chosen: slow },
        { ...row, workload: 'odd', chosen: null, contenders: [] },
      ],
      complete: false,
      largestLoss: { workload: 'large', loss: slow.loss },
    },
  });
  expect(block).toContain('| small | `one` (N=2) | 1.01 µs | the same | 0.0 % | 1 |');
  expect(block).toContain('| large | `two` | 1.02 µs | `one` (N=2), 1.01 µs | 1.0 % | 1 |');
  expect(block).toContain('| odd | none | – | – | – | 0 |');
  expect(block).toContain('With 2 kernels, no row takes more than 1.0 % longer than its fastest contender (large).');
  expect(block).toContain('6 blocks');
  expect(block).toContain('Time ran out before the other rows of the table were judged.');
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
