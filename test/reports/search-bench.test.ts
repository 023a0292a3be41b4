import { describe, expect, it } from 'vitest';
import { type SearchBenchView, searchBenchDocument, searchBenchSvg } from '../../src/reports/documents/search-bench.ts';
import { onTerminal, unwrapped } from '../support/printed.ts';

const curve = [
  { p10: 1.5, median: 2, p90: null },
  { p10: 1, median: 1.2, p90: 3 },
];
const view: SearchBenchView = {
  schemaVersion: 1,
  kind: 'search-bench',
  file: 'a<b>.json',
  evaluations: 2,
  space: {
    configurations: 1200,
    valid: 1000,
    bestNs: 2500,
    within: 5,
    good: 1,
    random: { meanEvaluations: 600.5, medianEvaluations: 600, p90Evaluations: 1080 },
    repeated: 2,
    dimensions: [{ name: 'block', values: 6 }],
    randomCurve: curve,
  },
  strategies: [
    {
      strategy: 'bayesian',
      seeds: 50,
      evaluations: { median: 1.5, p90: null },
      reached: 0.62,
      checkpoints: [{ evaluations: 25, p10: 1, median: 1.0371, p90: 2 }],
      curve,
    },
  ],
};

describe('the bench in the terminal', () => {
  const text = onTerminal(searchBenchDocument(view));
  it('says what the space is', () => {
    expect(text).toContain('1,200 configurations, 1,000 of them valid, 2 repeated entries replaced');
    expect(text).toContain('best: 2.5 µs; within 5 %: 1 configuration\n');
    expect(unwrapped(text)).toContain(
      'computed exactly: 601 evaluations to within 5 % on average, median 600, p90 1,080',
    );
  });
  it('says what was not reached', () => expect(text).toMatch(/^bayesian +50 +1\.5 +> 2 +62 % +1\.037$/m));
});

describe('the plot', () => {
  const svg = searchBenchSvg(view);
  it('has a title, a note a panel, and escapes names', () => {
    expect(svg).toContain('a&lt;b&gt;.json: finding the best of 1,200 configurations');
    expect(svg).toContain('to 5 %: 1.5');
    expect(svg).not.toContain('a<b>');
  });
  it('draws steps within its frame, cutting off what is not known', () => {
    const [, points = ''] = /class="median" points="([^"]*)"/.exec(svg) ?? [];
    const coordinates = points.split(' ').map((point) => point.split(',').map(Number));
    // Two heights: along, then down, then along.
    expect(coordinates.map(([x]) => x)).toEqual([56, 288, 288]);
    expect(coordinates[0]![1]).toBe(coordinates[1]![1]);
    expect(coordinates[2]![1]).toBeGreaterThan(coordinates[1]![1]!);
    expect(svg).not.toMatch(/NaN|Infinity/);
  });
});
