import { expect, test } from 'vitest';
import { refereeBlocks } from '../../scripts/results/referee-blocks.ts';
import type { FaultEntry, RedTeamEntry, TwoProcessEntry } from '../../scripts/results/referee-recordings.ts';

const WITH = {
  schemaVersion: 1,
  device: 'NVIDIA H200',
  driver: '580.159.04',
  versions: { warpsmith: '0.1.0' },
  recordedAt: '2025-11-20T00:00:00.000Z',
} as const;
const RECORDED_WITH = 'NVIDIA H200, driver 580.159.04, warpsmith 0.1.0, 2025-11-20.';
const elapsedMs = { compile: 200, verify: 300, time: 100, total: 600 };

test('without recordings every block says how to make one', () => {
  for (const block of Object.values(refereeBlocks({}))) expect(block).toContain('Not recorded yet');
});

const cheat = (name: string, more: Partial<RedTeamEntry>): RedTeamEntry => ({
  name,
  lie: `Does ${name}.`,
  status: 'wrong',
  reason: 'half is missing',
  caughtBy: 'verification',
  expected: { statuses: ['wrong'], reason: 'missing', caughtBy: ['verification'] },
  asExpected: true,
  disagreements: [],
  elapsedMs,
  ...more,
});

test('the red team: verdicts and stages are counted, and what is not as expected is told', () => {
  const { reason: _reason, ...unreasoned } = cheat('race', {
    status: 'passed',
    caughtBy: 'sanitizer',
    sanitizerErrors: ['racecheck: hazard at row'],
  });
  const kernels = [
    cheat('zeros', {}),
    cheat('half', { caughtBy: 'measurement' }),
    unreasoned,
    cheat('bold', { status: 'unsafe', asExpected: false, disagreements: ['it is unsafe, not wrong'] }),
  ];
  const blocks = refereeBlocks({ 'h200-red-team': { ...WITH, kernels } });
  expect(blocks['h200-red-team-summary']).toBe(
    '**4 wrong or dishonest kernels, 4 refused**: 2 `wrong`, 1 sanitizer, 1 `unsafe`; ' +
      `caught by 2 verification, 1 measurement, 1 sanitizer. Not as expected: \`bold\`. ${RECORDED_WITH}`,
  );
  const rows = blocks['h200-red-team']!.split('\n').slice(2);
  expect(rows).toEqual([
    '| [bold](../../test/red-team/bold/kernel.cu) | Does bold. | `unsafe` | verification | half is missing **Not as expected**: it is unsafe, not wrong. |',
    '| [half](../../test/red-team/half/kernel.cu) | Does half. | `wrong` | measurement | half is missing |',
    '| [race](../../test/red-team/race/kernel.cu) | Does race. | sanitizer | sanitizer | racecheck: hazard at row |',
    '| [zeros](../../test/red-team/zeros/kernel.cu) | Does zeros. | `wrong` | verification | half is missing |',
  ]);
});

test('a kernel that nothing caught is said to have passed', () => {
  const { reason: _reason, caughtBy: _caughtBy, ...missed } = cheat('missed', { status: 'passed', asExpected: false });
  const blocks = refereeBlocks({ 'h200-red-team': { ...WITH, kernels: [missed] } });
  expect(blocks['h200-red-team']).toContain('| `passed` | nothing |');
  expect(blocks['h200-red-team-summary']).toContain('0 refused**. Not noticed on this GPU: `missed`.');
});

test('honest kernels: alarms are counted and named', () => {
  const evaluations = [1, 2, 3].map((seed) => ({
    title: `rung ${seed % 2}`,
    seed,
    status: 'passed' as const,
    elapsedMs,
  }));
  const recording = { ...WITH, workload: 'main', evaluations };
  expect(refereeBlocks({ 'h200-honest': recording })['h200-honest']).toBe(
    `**No alarm in 3 evaluations** of 2 honest candidates at main, with 3 seeds. ${RECORDED_WITH}`,
  );
  const alarm = { title: 'rung 0', seed: 4, status: 'wrong' as const, reason: 'odd', elapsedMs };
  const alarmed = { ...recording, evaluations: [...evaluations, alarm] };
  expect(refereeBlocks({ 'h200-honest': alarmed })['h200-honest']).toContain(
    '**1 alarm in 4 evaluations** of 2 honest candidates at main, with 4 seeds. rung 0, seed 4: wrong: odd.',
  );
});

test('faults: what each was reported as, how soon, and the honest kernel around it', () => {
  const fault: FaultEntry = {
    name: 'endless-loop',
    mistake: 'Never ends.',
    status: 'timed-out',
    reason: 'did not finish',
    expected: { statuses: ['timed-out'], reason: 'finish' },
    reportedAfterMs: 3260,
    runTimeoutMs: 3000,
    before: { status: 'passed', medianNs: 10_100, elapsedMs: 600 },
    after: { status: 'passed', medianNs: 10_120, elapsedMs: 900 },
    asExpected: true,
    disagreements: [],
  };
  const lost: FaultEntry = { ...fault, name: 'trap', after: { status: 'device-failed', elapsedMs: 5 } };
  const block = refereeBlocks({ 'h200-faults': { ...WITH, workload: 'large', faults: [fault, lost] } })['h200-faults']!;
  const [, , first, second, , last] = block.split('\n');
  expect(first).toBe(
    '| [endless-loop](../test/faults/endless-loop/kernel.cu) | Never ends. | `timed-out` | did not finish | 3.3 s | 10.1 µs → 10.12 µs |',
  );
  expect(second).toContain('10.1 µs → `device-failed` |');
  expect(last).toBe(`${RECORDED_WITH} Limit of a run: 3.0 s.`);
});

test('throughput: the rate over all kernels, mean phases, and what a light profile takes', () => {
  const screened = { kernel: '04_warp', parameters: {}, status: 'passed' as const, elapsedMs };
  const run = { kernel: '04_warp', wallMs: 1000, evaluationsPerMinute: 120, evaluations: [screened, screened] };
  const other = { ...run, wallMs: 3000, evaluationsPerMinute: 20, evaluations: [screened] };
  const lightProfile = {
    screen: { ...screened, elapsedMs: { ...elapsedMs, total: 4200 }, countersSource: { kind: 'ncu', detail: '' } },
  } as const;
  const recording = { ...WITH, workload: 'main', preparedAhead: 6, screens: [run, other], lightProfile };
  expect(refereeBlocks({ 'h200-throughput': recording })['h200-throughput']).toBe(
    '**45 screens a minute** at main: 3 distinct candidates in 4.0 s, 6 compiled ahead; on average compile 200 ms, verify 300 ms, ' +
      `time 100 ms. One evaluation with a light profile: \`screen\` 4.2 s (counters: ncu). ${RECORDED_WITH}`,
  );
});

test('two processes: both times, their ratio, and whether it is near enough', () => {
  const summary = (medianNs: number) => ({ summary: { medianNs } }) as TwoProcessEntry['measurements'][string];
  const entry = {
    kernel: '04_warp',
    workload: 'main',
    parameters: { WARPS: 4 },
    comparison: { ratio: 1.0021, intervalRatio: [1.0011, 1.0031] },
    withinOnePercent: true,
    measurements: { warpsmith: summary(10_000), python: summary(10_021) },
    discardedBlockCount: 0,
  } as unknown as TwoProcessEntry;
  const failed: TwoProcessEntry = {
    kernel: '03_rows',
    workload: 'main',
    parameters: {},
    withinOnePercent: false,
    measurements: {},
    discardedBlockCount: 0,
    failure: 'python: crashed: gone',
  };
  const recording = { ...WITH, kernels: [entry, failed] };
  const [, , first, second] = refereeBlocks({ 'h200-two-processes': recording })['h200-two-processes']!.split('\n');
  expect(first).toBe('| `04_warp` WARPS=4 | main | 10 µs | 10.02 µs | 1.0021 [1.001, 1.003] | yes |');
  expect(second).toBe('| `03_rows` | main | – | – | python: crashed: gone | **no** |');
});
