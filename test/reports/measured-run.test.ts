import { describe, expect, test } from 'vitest';
import { keptChanges } from '../../src/handover/kept-changes.ts';
import { runEndDocument } from '../../src/reports/documents/run-end.ts';
import { buildRunView } from '../../src/reports/run-view.ts';
import type { RecordedEvent } from '../../src/store/events.ts';
import { rowsOf } from '../../src/store/index/rows.ts';
import { onTerminal, unwrapped } from '../support/printed.ts';
import { measuredEvaluation } from './measured-evaluation.ts';
import { measuredRun } from './measured-run.ts';
import { progressionSvg, runMarkdown, runTerminal } from './printed-run.ts';

const view = buildRunView('run-1', measuredRun('accepted'));
const texts = [runMarkdown(view), unwrapped(runTerminal(view)), progressionSvg(view)!];

describe('a measured run', () => {
  test('is as fast as the confirmation says, not as the medians of different blocks do', () => {
    expect(view.speedup).toBe(1.4);
    expect(view.start!.medianNs / view.best!.medianNs).not.toBeCloseTo(1.4, 4);
    const sentence = 'measured 1.40× faster than the start [1.380, 1.420], accepted: measured 100.1 µs';
    expect(texts[0]).toContain(sentence);
    expect(texts[1]).toContain(sentence);
  });

  test('never says predicted', () => {
    for (const text of texts) expect(text).not.toMatch(/predicted/i);
  });

  test('shows verdicts beside ratios, and that a screen gives none', () => {
    const table = texts[0]!.slice(texts[0]!.indexOf('## All evaluations'));
    const rows = table.split('\n').filter((line) => /^\| [01] \|/.test(line));
    expect(rows.map((line) => line.split(' | ').slice(-7, -2).join(' | '))).toEqual([
      '– | – | – | 1.00× | keep',
      '1.40× | [1.401, 1.401] | screened | 1.41× | –',
      '1.41× | [1.390, 1.430] | faster | 1.40× | keep',
      '– | – | faster | 1.40× | –',
    ]);
  });

  test('says what the confirmation was of: no move, but the winner on fresh blocks', () => {
    expect(view.progression.map(({ stage }) => stage)).toEqual(['judge', 'screen', 'judge', 'confirm']);
    expect(view.progression[3]).toMatchObject({ change: 'confirm 03_rows', why: null });
    expect(texts[0]).toContain(
      '## Confirmation\n\n- 03_rows (e4): accepted: faster, measured 1.400× the speed of the start [1.380, 1.420]',
    );
    expect(texts[1]).toContain('Confirmation 03_rows (e4): accepted');
  });

  test('plots a screen as what it is', () => {
    expect(texts[2]).toContain('screened, measured longer after this');
    expect(texts[2]).toContain('faster, confirmation');
  });
});

test('energy of the confirmation is told in the report and at the end, apart from times', () => {
  const contender = (name: string, joules: number) => ({
    ...{ contender: name, joules, intervalJoules: [joules, joules] as [number, number], watts: 400, windows: [] },
  });
  const energy = {
    contenders: [contender('candidate', 0.012), contender('start', 0.018)],
    comparisons: [
      {
        ...{ candidate: 'candidate', baseline: 'start', verdict: 'less' as const, ratio: 1.5, blockCount: 10 },
        intervalRatio: [1.49, 1.51] as [number, number],
      },
    ],
    ...{ idleW: 80, blockCount: 10, discardedBlockCount: 0, disturbances: [] },
  };
  const viewOf = (outcome: Parameters<typeof measuredRun>[0]) =>
    buildRunView(
      'run-1',
      measuredRun(outcome).map((event) =>
        event.type === 'evaluation-finished' && event.evaluation.id === 'e4'
          ? { ...event, evaluation: { ...event.evaluation, energy } }
          : event,
      ),
    );
  const withEnergy = viewOf('accepted');
  expect(withEnergy.energy).toEqual([{ workload: expect.any(String), energy }]);
  expect(runMarkdown(withEnergy)).toContain('candidate needs less energy beside start: 1.500× [1.490, 1.510]');
  expect(onTerminal(runEndDocument(withEnergy))).toContain(
    'measured 12 mJ a launch sequence; start 18 mJ, less: 1.500× [1.490, 1.510]',
  );
  expect(view.energy).toBeUndefined();
  // It is not that of the best.
  expect(viewOf('refused').energy).toBeUndefined();
});

describe('a winner', () => {
  test('that is not known to be clean says so in the headline', () => {
    const text = runTerminal(buildRunView('r', measuredRun('accepted, unsanitized')));
    expect(text).toContain('[1.380, 1.420], accepted, unsanitized:');
  });

  test('that is refused gives way to the best before it', () => {
    const refused = buildRunView('r', measuredRun('refused'));
    expect(refused.best!.evaluationId).toBe('e1');
    expect(refused.speedup).toBe(1);
    expect(runTerminal(refused)).toContain('No change was kept; the start remains the best');
    expect(runTerminal(refused)).toContain('03_rows (e4): refused: same: measured 1.004×');
  });

  /** A move kept in the place of the one whose confirmation had this outcome. */
  function goingOn(outcome: 'accepted' | 'refused'): RecordedEvent[] {
    const events = measuredRun(outcome).slice(0, -1);
    const later = [
      { ...events[3]!, iteration: 2 },
      { ...events[5]!, iteration: 2, evaluation: measuredEvaluation('e5', 50_000) },
      { ...events[6]!, iteration: 2, evaluationId: 'e5', comparedWith: outcome === 'refused' ? 'e1' : 'e3' },
    ];
    return [...events, ...later] as RecordedEvent[];
  }

  test('that came after the last confirmation does not claim what that one confirmed', () => {
    const view = buildRunView('r', goingOn('accepted'));
    expect(view.best!.evaluationId).toBe('e5');
    expect(view.speedup).toBeNull();
  });

  test('that was refused is no step on the way to a later one, nowhere', () => {
    const events = goingOn('refused');
    const view = buildRunView('r', events, { readSource: () => '' });
    expect(view.changes!.steps.map(({ evaluationId }) => evaluationId)).toEqual(['e5']);
    expect(view.sources.kept.map(({ from, to }) => [from.evaluationId, to.evaluationId])).toEqual([['e1', 'e5']]);
    expect(keptChanges(events, 'hash-of-e5').map(({ event }) => event.evaluation.id)).toEqual(['e5']);
    expect(rowsOf('r', events).run.best).toBe('e5');
    // What a confirmation took back is no gain that later runs may count on.
    expect(rowsOf('r', events).moves.map(({ evaluation, decision }) => [evaluation, decision])).toEqual([
      ['e3', 'revert'],
      ['e5', 'keep'],
    ]);
  });

  test('that was never confirmed claims no speed-up', () => {
    const unconfirmed = buildRunView(
      'r',
      measuredRun('accepted').filter(({ type }) => type !== 'confirmation'),
    );
    expect(unconfirmed.speedup).toBeNull();
    expect(runTerminal(unconfirmed)).toContain('measured, but not confirmed on fresh blocks');
  });
});

test('a winner that was profiled with its confirmation alone is told as profiled; one that never was is not said to have no findings', () => {
  const bare = { findings: [], counters: undefined, countersSource: undefined, profile: undefined };
  const profiledIn = (found: object): RecordedEvent[] =>
    measuredRun('accepted').map((event) => {
      if (event.type !== 'evaluation-finished' || !['e3', 'e4'].includes(event.evaluation.id)) return event;
      const { evaluation } = event;
      const candidate = { ...evaluation.candidate, id: 'hash-of-e3' };
      return { ...event, evaluation: { ...evaluation, ...bare, candidate, ...(evaluation.id === 'e4' ? found : {}) } };
    });
  const finding = {
    id: 'bank-conflicts',
    title: 'Bank conflicts',
    estimatedSpeedup: 2,
    arithmetic: '1 + 1',
    evidence: [],
    advice: '',
  };
  const found = { findings: [finding], countersSource: { kind: 'ncu', detail: 'counted' } };
  const { findings } = buildRunView('run-1', profiledIn(found));
  expect(findings.after).toEqual({ evaluationId: 'e3', findings: [finding] });
  const unseen = buildRunView('run-1', profiledIn({}));
  expect(unseen.findings.after).toBeNull();
  expect(runMarkdown(unseen)).toContain('it was not profiled');
});
