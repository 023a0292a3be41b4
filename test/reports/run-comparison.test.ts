import { describe, expect, test } from 'vitest';
import { compareRuns, type ReadRun, runComparisonDocument } from '../../src/reports/documents/run-comparison.ts';
import { buildRunView } from '../../src/reports/run-view.ts';
import type { RecordedEvent, RunStartedEvent } from '../../src/store/events.ts';
import { onTerminal } from '../support/printed.ts';
import { readSource } from './full-run.ts';
import { measuredRun } from './measured-run.ts';
import { sampleRun } from './sample-run.ts';

const read = (runId: string, events: readonly RecordedEvent[]): ReadRun => ({
  view: buildRunView(runId, events, { readSource }),
  events,
  readSource,
});

const started = (events: readonly RecordedEvent[], change: Partial<RunStartedEvent>): RecordedEvent[] =>
  events.map((event) => (event.type === 'run-started' ? { ...event, ...change } : event));

/** The same run, all of whose times are `factor` times as long, and whose best has other sources and BLOCK_M. */
const slower = (factor: number): RecordedEvent[] =>
  (JSON.parse(JSON.stringify(sampleRun)) as RecordedEvent[]).map((event) => {
    if (event.type !== 'evaluation-finished') return event;
    const { evaluation } = event;
    if (evaluation.timing) evaluation.timing.medianNs *= factor;
    if (evaluation.id === 'e2') evaluation.candidate.parameters = { BLOCK_M: 64, PAD: 0 };
    const sources: Record<string, string> = evaluation.id === 'e2' ? { 'kernel.cu': 'hash-a' } : {};
    return { ...event, sources };
  });

const withSources = (events: readonly RecordedEvent[]): RecordedEvent[] =>
  events.map((event) =>
    event.type === 'evaluation-finished' && event.evaluation.id === 'e2'
      ? { ...event, sources: { 'kernel.cu': 'hash-b' } }
      : event,
  );

const run = read('run-a', withSources(sampleRun));

describe('two runs, best against best', () => {
  const view = compareRuns(run, read('run-b', started(slower(1.5), { seed: 8, environment: { node: '24.0.0' } })));

  test('predicted times of one device are divided by each other', () => {
    expect(view.notCompared).toBeNull();
    expect(view.times).toMatchObject([{ workload: 'b1h1s64d64', cache: 'hot', ratio: 1.5 }]);
    const text = onTerminal(runComparisonDocument(view));
    expect(text).toContain('The best of A is predicted 1.50× faster than that of B.');
  });

  test('evaluations to reach the slower best', () => {
    expect(view.run).toMatchObject({ evaluations: 3, evaluationsToBest: 2 });
    expect(view.reached).toEqual({ workload: 'b1h1s64d64', kind: 'predicted', medianNs: 75_000, run: 2, against: 2 });
  });

  test('what was different: parameters, sources, settings', () => {
    expect(view.changes).toMatchObject({ kernel: null, parameters: [{ name: 'BLOCK_M', from: 64, to: 32 }] });
    expect(view.sources!.files).toMatchObject([{ file: 'kernel.cu', status: 'changed', addedLines: 2 }]);
    expect(view.differences).toEqual([
      { what: 'seed', run: '7', against: '8' },
      { what: 'compiler', run: 'clang 21.1.0', against: 'none' },
    ]);
  });
});

describe('what is not compared', () => {
  const onOther = { device: { id: 'virtual:h200', kind: 'virtual', name: 'NVIDIA H200 (virtual)' } } as const;
  test.each<[string, RecordedEvent[], RegExp]>([
    ['two devices', started(slower(1.5), onOther), /times of two devices are not compared: .*l4\) and .*h200\)/],
    ['two problems', started(slower(1.5), { problem: { name: 'other', folder: '' } }), /two problems/],
    ['a clock and a model', measuredRun('accepted'), /two devices|measured times are not compared with predicted/],
    ['no valid time', sampleRun.slice(0, 1), /run-b has no valid time/],
  ])('%s', (_, events, reason) => {
    const view = compareRuns(run, read('run-b', events));
    expect(view.notCompared).toMatch(reason);
    expect(view.times.every(({ ratio }) => ratio === null)).toBe(true);
    expect(view.reached).toBeNull();
    expect(onTerminal(runComparisonDocument(view))).not.toMatch(/× faster than that of/);
  });

  test('two workloads', () => {
    const dimensions = { B: 1, H: 1, S: 128, D: 64 };
    const workload = { name: 'b1h1s128d64', dimensions, cache: 'hot' } as const;
    const view = compareRuns(
      run,
      read('run-b', started(slower(1.5), { workload, workloads: [{ ...workload, weight: 1 }] })),
    );
    expect(view).toMatchObject({ times: [], reached: null, notCompared: 'the runs have no workload in common' });
  });

  test('measured times of different blocks: shown, with the command that measures both in the same', () => {
    const [a, b] = [read('a', measuredRun('accepted')), read('b', measuredRun('accepted'))];
    const view = compareRuns(a, b);
    expect(view.times.map(({ ratio }) => ratio)).toEqual([null]);
    expect(view.notCompared).toContain('different blocks');
    expect(view.compareCommand).toBe('warpsmith compare b a');
    expect(onTerminal(runComparisonDocument(view))).toContain('warpsmith compare b a');
  });
});
