import { describe, expect, test } from 'vitest';
import { progressionSvg } from '../../src/reports/progression-svg.ts';
import { runMarkdown } from '../../src/reports/run-markdown.ts';
import { runTerminal } from '../../src/reports/run-terminal.ts';
import { buildRunView } from '../../src/reports/run-view.ts';
import { recordedRun } from './recorded-run.ts';
import { sampleRun } from './sample-run.ts';

const view = buildRunView('run-1', sampleRun);

const GOLDEN = `# attention on NVIDIA L4 (virtual)

predicted 2.00× faster than the start: predicted 100 µs [70 µs … 150 µs] (e1) → predicted 50 µs [35 µs … 75 µs] (e2).

All times are **predicted** by a model of the device, with its interval; nothing here was measured on hardware.

- Problem: attention, workload b1h1s64d64 (B=1, H=1, S=64, D=64; hot cache)
- Device: NVIDIA L4 (virtual) (\`virtual:l4\`)
- Stopped: no-moves-left: every move has been tried
- Search: guided by findings
- Budget: 3 of 4 evaluations; goal: 10x; seed 7
- Best: 03_rows (BLOCK_M=32, PAD=0), candidate \`hash-of-e2\`, e2
- Bounds: no kernel can be faster than 1.2 µs; attainable 4.3 µs (e1)

![predicted time by evaluation](report.svg)

## Progression

| Iteration | Evaluation | Change | Why | Result | Predicted time | Interval | × previous best | × start | Decision |
| ---: | --- | --- | --- | --- | ---: | --- | ---: | ---: | --- |
| 0 | e1 | start | where every run begins | passed | 100 µs | [70 µs … 150 µs] | – | 1.00× | keep |
| 1 | e2 | 02_tiled → 03_rows | serial-sections of e1: active lanes per instruction 9.31, below 16 | passed | 50 µs | [35 µs … 75 µs] | 2.00× | 2.00× | keep |
| 2 | e3 | 03_rows: PAD 0 → 8 | bank-conflicts of e2: wavefronts per request 3, above 1.5 | wrong | – | – | – | – | revert |

## What the best changed

- kernel: 02_tiled → 03_rows
- PAD: (none) → 0

| Evaluation | Kept change | × previous best |
| --- | --- | ---: |
| e2 | 02_tiled → 03_rows | 2.00× |

## What failed or was reverted, and why

- e3: 03_rows: PAD 0 → 8: tried for bank-conflicts (e2): wrong: O[0, 0, 3, 1] is 2, should be 1

Given up:

- pad/03_rows.PAD: 3 attempts in a row did not help

## Findings before and after

**Start** (e1)

- Serial sections [serial-sections], estimated gain 2.50×: active lanes per instruction 9.31 (below 16) in attention
- Bank conflicts [bank-conflicts], estimated gain 1.20×: wavefronts per request 3 wavefronts (above 1.5)

**Best** (e2)

- Bank conflicts [bank-conflicts], estimated gain 1.20×: wavefronts per request 3 wavefronts (above 1.5)

## Advice beyond the moves at hand

- bank-conflicts (e2): use mma.sync | wgmma

## Ledger

| Budget | Used | Limit |
| --- | ---: | ---: |
| evaluations | 3 | 4 |
| wall time | 0.00 min | none |

Wall time of the evaluations: compiling 0 ns, verifying 0 ns, timing 0 ns.

## Environment

- node: 24.0.0
- compiler: clang 21.1.0

## How to do it again

\`\`\`sh
warpsmith optimize /home/user/attention --device virtual:l4 --workload B=1,H=1,S=64,D=64 --set BLOCK_M=32 --cache hot --seed 7 --max-evaluations 4 --goal 10x
\`\`\`

Run run-1, 2025-11-20T18:41:00.000Z to 2025-11-20T18:41:11.000Z.
`;

describe('the report of a run', () => {
  test('Markdown', () => {
    expect(runMarkdown(view, 'report.svg')).toBe(GOLDEN);
  });

  test('JSON is the view itself, and survives a round trip', () => {
    expect(JSON.parse(JSON.stringify(view))).toEqual(view);
    expect(view).toMatchObject({ schemaVersion: 2, kind: 'run-report', speedup: 2, complete: true });
  });

  test('the terminal says what was reverted and why, and labels every time as predicted', () => {
    const text = runTerminal(view);
    expect(text).toContain('predicted time');
    expect(text).toContain(
      'e3: 03_rows: PAD 0 → 8: tried for bank-conflicts (e2): wrong: O[0, 0, 3, 1] is 2, should be 1',
    );
    expect(text).not.toMatch(/measured/i);
  });

  test('predicted is never printed as measured', () => {
    expect(runMarkdown(view)).not.toMatch(/measured(?! on hardware)/i);
  });

  test('cells cannot break the Markdown table', () => {
    const bars = sampleRun.map((event) =>
      event.type === 'move-proposed' ? { ...event, finding: { ...event.finding, evidence: 'a | b\nc' } } : event,
    );
    expect(runMarkdown(buildRunView('r', bars))).toContain('of e1: a \\| b c |');
  });
});

describe('runs that did not end well', () => {
  test('a log without an end is reported as incomplete, with the best so far', () => {
    const cut = buildRunView('run-1', sampleRun.slice(0, 7), { tornLastLine: true });
    expect(cut).toMatchObject({ complete: false, tornLastLine: true, stop: null, best: { evaluationId: 'e2' } });
    expect(runMarkdown(cut)).toContain('the log has no end');
    expect(runMarkdown(cut)).toContain('The last line of the event log was cut off');
  });

  test('a start that failed has no times, no plot and no best', () => {
    const failed = sampleRun
      .slice(0, 2)
      .map((event) =>
        event.type === 'evaluation-finished'
          ? { ...event, evaluation: { ...event.evaluation, status: 'wrong' as const, reason: 'all zeros' } }
          : event,
      );
    const failedView = buildRunView('run-1', failed);
    expect(failedView).toMatchObject({ start: null, best: null, speedup: null });
    expect(progressionSvg(failedView)).toBeUndefined();
    expect(runMarkdown(failedView)).toContain('The start has no valid time');
  });

  test('a log that does not begin with run-started is a bug', () => {
    expect(() => buildRunView('run-1', sampleRun.slice(1))).toThrow('run-started');
  });
});

describe('the plot', () => {
  const svg = progressionSvg(view)!;
  const heightOf = (pattern: RegExp): number => Number(pattern.exec(svg)?.[1]);
  const startY = heightOf(/<rect class="mark start" [^>]*y="([\d.]+)"/);
  const bestY = heightOf(/<circle class="mark kept" [^>]*cy="([\d.]+)"/);

  test('one mark per evaluation, faster ones lower, one that has no time below them all', () => {
    expect([...svg.matchAll(/data-mark="(\w+)"/g)].map(([, mark]) => mark)).toEqual(['start', 'best', 'failed']);
    expect(bestY).toBeGreaterThan(startY);
    expect(svg).toContain('no time');
  });

  test('stays inside its frame, names its kind, and carries no NaN', () => {
    expect(svg).toContain('predicted time, log scale');
    expect(svg).not.toContain('NaN');
    for (const y of [startY, bestY]) expect(y > 0 && y < 380).toBe(true);
  });

  test('is a file of its own, with the colours of both themes', () => {
    expect(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg"')).toBe(true);
    expect(svg).toContain('prefers-color-scheme:dark');
  });

  // Another recording: vitest run -u test/reports/run-report.test.ts
  test('the guide shows the recorded run', async () => {
    const recorded = progressionSvg(buildRunView('recorded', recordedRun))!;
    await expect(recorded).toMatchFileSnapshot('../../docs/figures/h200-progression.svg');
  });
});
