import { describe, expect, test } from 'vitest';
import { buildRunView } from '../../src/reports/run-view.ts';
import { unwrapped } from '../support/printed.ts';
import { progressionSvg, runMarkdown, runTerminal } from './printed-run.ts';
import { recordedRun } from './recorded-run.ts';
import { sampleRun } from './sample-run.ts';

const view = buildRunView('run-1', sampleRun);

const GOLDEN = `# attention on NVIDIA L4 (virtual), b1h1s64d64

predicted 2.00× faster than the start: predicted 100 µs [70 µs … 150 µs] (e1) → predicted 50 µs [35 µs … 75 µs] (e2).

The model’s interval of the best time is [35 µs … 75 µs].

All times are **predicted** by a model of the device, with its interval; nothing here was measured on hardware. Ratios near 1 are ties.

- Problem: attention, workload b1h1s64d64 (B=1, H=1, S=64, D=64; hot cache)
- Device: NVIDIA L4 (virtual) (\`virtual:l4\`)
- Start: **02_tiled (BLOCK_M=32)**, predicted 100 µs [70 µs … 150 µs], candidate \`hash-of-e1\`, e1
- Best: **03_rows (BLOCK_M=32, PAD=0)**, predicted 50 µs [35 µs … 75 µs], candidate \`hash-of-e2\`, e2
- Kept changes: 02_tiled → 03_rows 2.00× (e2), each against the best before it
- Bounds: lower bound 1.2 µs; attainable 4.3 µs (8.6 % reached, predicted)
- Stopped: no-moves-left: every move has been tried
- Search: guided by findings
- Budget: 3 of 4 evaluations; goal: 10x; seed 7

## Progression

![predicted time by evaluation of attention b1h1s64d64 on NVIDIA L4 (virtual)](report.svg)

## What each change of the best is worth

No change of the best was undone: there was none, or no budget was left for it.

## What the best changed

- kernel: 02_tiled → 03_rows
- PAD: (none) → 0

## Roofline

The log does not tell the work and the device’s rates, or the start has no time.

## Workload

| Workload | Weight | Start | Best | Best is | 95 % interval |
| --- | ---: | ---: | ---: | ---: | --- |
| b1h1s64d64 (B=1, H=1, S=64, D=64; hot) | 1 | predicted 100 µs (e1) | predicted 50 µs (e2) | 2.00× | – |

## Findings before and after

What limits the kernel, with the counters that say so. Gains are estimates and don’t multiply.

### Start (e1)

- Serial sections [serial-sections], estimated gain 2.50×: active lanes per instruction 9.31 (below 16) in attention
- Bank conflicts [bank-conflicts], estimated gain 1.20×: wavefronts per request 3 wavefronts (above 1.5)

<details>
<summary>Arithmetic and advice</summary>

- Serial sections: 1 ÷ 0.4 = 2.5; share the row
- Bank conflicts: 12 ÷ 10 = 1.2; pad the rows

</details>

### Best (e2)

- Bank conflicts [bank-conflicts], estimated gain 1.20×: wavefronts per request 3 wavefronts (above 1.5)

<details>
<summary>Arithmetic and advice</summary>

- Bank conflicts: 12 ÷ 10 = 1.2; pad the rows

</details>

## What failed or was reverted, and why

- e3: 03_rows: PAD 0 → 8: tried for bank-conflicts of e2: wrong: O[0, 0, 3, 1] is 2, should be 1

### Given up

- pad/03_rows.PAD (failed): 3 attempts in a row did not help

## Options

No options were ranked: the strategy was guided.

## Advice

### Advice beyond the moves at hand

- bank-conflicts (e2): use mma.sync | wgmma

## All evaluations

Every figure of this report names its evaluation; all of it, counters and samples included, lies in the run’s events.jsonl.

| Iteration | Evaluation | Change | Why | Result | Predicted time | Interval | × previous best | × start | Decision | Candidate | Reason |
| ---: | --- | --- | --- | --- | ---: | --- | ---: | ---: | --- | --- | --- |
| 0 | e1 | start | where every run begins | passed | 100 µs | [70 µs … 150 µs] | – | 1.00× | keep | 02_tiled (BLOCK_M=32) | the start |
| 1 | e2 | 02_tiled → 03_rows | for serial-sections of e1: active lanes per instruction 9.31, below 16 | passed | 50 µs | [35 µs … 75 µs] | 2.00× | 2.00× | keep | 03_rows (BLOCK_M=32, PAD=0) | predicted 2.00× faster than e1 |
| 2 | e3 | 03_rows: PAD 0 → 8 | for bank-conflicts of e2: wavefronts per request 3, above 1.5 | wrong | – | – | – | – | revert | 03_rows (BLOCK_M=32, PAD=8) | wrong: O[0, 0, 3, 1] is 2, should be 1 |

## Ledger

| Budget | Used | Limit | Share |
| --- | ---: | ---: | ---: |
| evaluations | 3 | 4 | 75 % |
| wall time | 0.00 min | none | – |

Wall time of the evaluations: compiling 0 ns, verifying 0 ns, timing 0 ns.

## Environment

- device: NVIDIA L4 (virtual) (virtual:l4)
- seed: 7
- node: 24.0.0
- compiler: clang 21.1.0

## How to do it again

\`\`\`sh
warpsmith optimize /home/user/attention --device virtual:l4 --workload B=1,H=1,S=64,D=64 --set BLOCK_M=32 --cache hot --seed 7 --max-evaluations 4 --goal 10x
\`\`\`

Predictions repeat bit by bit.

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
    const text = unwrapped(runTerminal(view));
    expect(text).toContain('Predicted time');
    expect(text).toContain(
      'e3: 03_rows: PAD 0 → 8: tried for bank-conflicts of e2: wrong: O[0, 0, 3, 1] is 2, should be 1',
    );
    expect(text).not.toMatch(/measured(?! on hardware)/i);
  });

  test.each([
    [false, '- Files: `0123abc`\n'],
    [true, '- Files: `0123abc`, and changes that are not committed\n'],
  ])('names the commit of the kernel’s folder, dirty %s', (isDirty, said) => {
    const repository = { commit: '0123abc', isDirty };
    const events = sampleRun.map((event) => (event.type === 'run-started' ? { ...event, repository } : event));
    const known = buildRunView('r', events);
    expect(known.repository).toEqual(repository);
    expect(runMarkdown(known)).toContain(said);
    expect(view.repository).toBeNull();
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
