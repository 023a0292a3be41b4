import { describe, expect, test } from 'vitest';
import { runDocument } from '../../../src/reports/documents/run.ts';
import { buildRunView, countAfterSearch, type RunView } from '../../../src/reports/run-view.ts';
import { describeEvaluations } from '../../../src/reports/sections/run-words.ts';
import type { RecordedEvent } from '../../../src/store/events.ts';
import { onTerminal, unwrapped } from '../../support/printed.ts';
import { fullRun, readSource } from '../full-run.ts';
import { runHtml, runMarkdown } from '../printed-run.ts';
import { readRecordedSource, recordedRun } from '../recorded-run.ts';

const runTerminal = (view: RunView): string => unwrapped(onTerminal(runDocument(view)));

const view = buildRunView('r', fullRun, { readSource });

const without = (type: RecordedEvent['type']) =>
  buildRunView(
    'r',
    fullRun.filter((event) => event.type !== type),
    { readSource },
  );

describe('evaluations', () => {
  const started = fullRun[0] as RecordedEvent & { type: 'run-started' };
  const total = view.evaluationsUsed;
  /** The run as it stands, its search ended before the last two evaluations, under a budget. */
  const endedBeforeLastTwo = (maximumEvaluations: number | null) => {
    const places = fullRun.flatMap(({ type }, index) => (type === 'evaluation-finished' ? [index] : []));
    const from = places.at(-2)!;
    const ended = { ...fullRun[from]!, type: 'search-ended' } as unknown as RecordedEvent;
    const budgets = { ...started.budgets, maximumEvaluations };
    return buildRunView('r', [{ ...started, budgets }, ...fullRun.slice(1, from), ended, ...fullRun.slice(from)]);
  };

  test('of a run whose limit was the search’s alone stand beside it', () => {
    const spent = endedBeforeLastTwo(total - 2);
    expect(spent.evaluationsAfterSearch).toBe(2);
    expect(describeEvaluations(spent)).toMatchObject({
      figure: `${total - 2} of ${total - 2}`,
      beyond: '2 after the search',
    });
    const markdown = runMarkdown(spent);
    expect(markdown).toContain(`Budget: ${total - 2} of ${total - 2} evaluations, 2 after the search`);
    expect(markdown).toContain(`| evaluations | ${total - 2}, 2 after the search | ${total - 2} |`);
    expect(runHtml(spent)).toContain('evaluations, 2 after the search');
  });

  test('are within the limit, which says how many they are', () => {
    const beyond = '2 of them after the search';
    expect(describeEvaluations(endedBeforeLastTwo(total))).toMatchObject({ figure: `${total} of ${total}`, beyond });
    expect(describeEvaluations(endedBeforeLastTwo(null))).toMatchObject({ figure: `${total}`, beyond });
  });

  test('of a search that goes on are the search’s', () => {
    expect(view.evaluationsAfterSearch).toBe(0);
    const proposed = fullRun.find(({ type }) => type === 'move-proposed')!;
    const ended = { ...proposed, type: 'search-ended' } as unknown as RecordedEvent;
    const finished = fullRun.find(({ type }) => type === 'evaluation-finished')!;
    expect(countAfterSearch([finished, ended, finished])).toBe(1);
    expect(countAfterSearch([finished, ended, finished, proposed, finished])).toBe(1);
  });
});

test('an ablation over several workloads says which one it is of', () => {
  const sentence = 'On the first workload, b1h1s64d64, alone.';
  expect(view.ablation.length).toBeGreaterThan(0);
  for (const text of [runMarkdown(view), runTerminal(view), runHtml(view)]) expect(text).toContain(sentence);
  const one = { ...view, objective: { ...view.objective, workloads: view.objective.workloads.slice(0, 1) } };
  for (const text of [runMarkdown(one), runTerminal(one), runHtml(one)]) expect(text).not.toContain(sentence);
});

describe('strategy and objective', () => {
  test('every workload with its weight, times and ratio', () => {
    expect(view.objective).toMatchObject({ strategy: 'guided', diagnosis: true });
    expect(view.objective.workloads.map(({ name, weight, ratio }) => ({ name, weight, ratio }))).toEqual([
      { name: 'b1h1s64d64', weight: 1, ratio: 2 },
      { name: 'b4h1s64d64', weight: 2, ratio: 4 },
    ]);
    expect(view.objective.workloads[1]!.best).toMatchObject({ evaluationId: 'e2b', kind: 'predicted' });
  });

  test('the speed-up is the mean over workloads, not the first one’s', () => {
    expect(view.speedup).toBeCloseTo(3.17);
  });

  test('vetoes name the workload and the candidate', () => {
    expect(view.objective.vetoes).toEqual([
      { evaluationId: 'e3', change: '03_rows: PAD 0 → 8', workload: 'b4h1s64d64', ratio: 0.9 },
    ]);
  });

  test('a time on another workload is never divided by the start’s', () => {
    const row = view.progression.find(({ evaluationId }) => evaluationId === 'e2b')!;
    expect(row).toMatchObject({ workload: 'b4h1s64d64', ratioToStart: null, ratioToPreviousBest: 4, decision: null });
  });

  test('a guided run without diagnosis says so', () => {
    const [started, ...rest] = fullRun as [RecordedEvent & { type: 'run-started' }, ...RecordedEvent[]];
    const blind = { ...started, request: { ...started.request, diagnosis: false } };
    const { objective, reproduction } = buildRunView('r', [blind, ...rest]);
    expect(objective.diagnosis).toBe(false);
    expect(reproduction).toContain('--no-diagnosis');
  });
});

describe('options', () => {
  test('a table per turn, with changes in words and the arithmetic', () => {
    expect(view.options.map(({ iteration, options }) => [iteration, options.length])).toEqual([
      [0, 2],
      [1, 1],
    ]);
    expect(view.options[0]).toMatchObject({ share: 1.5, omitted: 2 });
    expect(view.options[0]!.options[0]).toMatchObject({
      change: '03_rows: PAD 0 → 8',
      arithmetic: '(1.40 − 1) × 0.50 ÷ (1.0 + 0.2) = 0.167',
      state: 'next',
    });
    expect(without('options-ranked').options).toEqual([]);
  });
});

describe('the ledger', () => {
  test('evaluations, wall time and money against their limits', () => {
    expect(view.ledger.lines).toEqual([
      { name: 'evaluations', used: 7, limit: 20, unit: '' },
      { name: 'wall time', used: 1.5, limit: 10, unit: 'min' },
      { name: 'money', used: 0, limit: 5, unit: '' },
    ]);
  });

  test('GPU time is what evaluations took beside compiling, and costs its price', () => {
    const { lines, phases } = buildRunView('r', recordedRun).ledger;
    const evaluations = recordedRun.flatMap((event) =>
      event.type === 'evaluation-finished' ? [event.evaluation] : [],
    );
    const gpuMs = evaluations.reduce((sum, { elapsedMs }) => sum + elapsedMs.total - elapsedMs.compile, 0);
    expect(gpuMs).toBeGreaterThan(0);
    expect(lines.find(({ name }) => name === 'GPU time')!.used).toBeCloseTo(gpuMs / 60_000, 6);
    expect(lines.find(({ name }) => name === 'money')!.used).toBeCloseTo((3.5 * gpuMs) / 3_600_000, 6);
    expect(phases.compileMs).toBeGreaterThan(0);
  });

  test('budgets that were extended count from there on', () => {
    const extended = [...fullRun];
    const [started] = fullRun as [RecordedEvent & { type: 'run-started' }];
    const budgets = { ...started.budgets, maximumEvaluations: 40 };
    const last = fullRun.at(-1)!;
    extended.splice(-1, 0, { ...last, type: 'budgets-extended', iteration: 2, budgets } as RecordedEvent);
    const { ledger, reproduction } = buildRunView('r', extended);
    expect(ledger.lines[0]).toMatchObject({ limit: 40 });
    expect(reproduction).toContain('--max-evaluations 40');
  });
});

describe('ablation', () => {
  test('the changes of this best, the most valuable first; of another best, none', () => {
    expect(view.ablation.map(({ change, ratio }) => [change, ratio])).toEqual([
      ['03_rows → 02_tiled', 3.17],
      ['BLOCK_M 32 → 64', 1.3],
    ]);
    expect(view.ablation[1]).toMatchObject({ evaluationId: 'e4', intervalRatio: [1.2, 1.4] });
  });

  test('its evaluations are no moves, and an evaluation it only cites stays what it was', () => {
    const stages = Object.fromEntries(view.progression.map(({ evaluationId, stage }) => [evaluationId, stage]));
    expect(stages).toMatchObject({ e1: 'judge', e2: 'judge', e4: 'ablation', e5: 'workload-advice' });
    expect(view.progression.find(({ evaluationId }) => evaluationId === 'e4')).toMatchObject({
      change: 'undo BLOCK_M 32 → 64',
      why: null,
      ratioToPreviousBest: null,
    });
  });
});

test('workload advice stands apart from every speed-up', () => {
  expect(view.workloadAdvice).toHaveLength(1);
  expect(view.workloadAdvice[0]!.rows.map(({ product }) => product)).toEqual([1, 8]);
  expect(without('workload-advice').speedup).toBe(view.speedup);
});

describe('the roofline', () => {
  test('points are the problem’s FLOP over time and bytes, with what each is', () => {
    const points = Object.fromEntries(view.roofline!.points.map((point) => [point.evaluationId, point]));
    expect(Object.keys(points)).toEqual(['e1', 'e2']);
    expect(points.e1).toMatchObject({ role: 'start', kind: 'predicted', bytesSource: 'least the problem reads' });
    expect(points.e1!.flopPerSecond).toBeCloseTo(1e6 / 100e-6);
    expect(points.e1!.intensity).toBeCloseTo(100);
    expect(points.e2).toMatchObject({ role: 'best' });
    expect(view.roofline).toMatchObject({ vetoNs: 1200, attainableNs: 4300 });
  });

  test('measured: no point is above the provable roof, and bytes are those that were counted', () => {
    const { roofline } = buildRunView('r', recordedRun);
    expect(roofline!.points.length).toBeGreaterThan(10);
    for (const { flopPerSecond, kind } of roofline!.points) {
      expect(kind).toBe('measured');
      expect(flopPerSecond).toBeLessThanOrEqual(roofline!.veto.flopPerSecond);
    }
    const best = roofline!.points.find(({ role }) => role === 'best')!;
    expect(best.bytesSource).toBe('sectors requested, some of which L1 may serve');
  });

  test('a problem that need not read anything has bounds and points all the same, and no infinite axis', () => {
    const [started, ...rest] = fullRun as [RecordedEvent & { type: 'run-started' }, ...RecordedEvent[]];
    const reads = (minimumReadBytes: number, bytesPerSecond: number | null) => {
      const { veto, attainable, ...work } = started.roofline!;
      const roofline = {
        ...work,
        minimumReadBytes,
        veto: { ...veto, bytesPerSecond },
        attainable: { ...attainable, bytesPerSecond },
      };
      return buildRunView('r', [{ ...started, roofline }, ...rest]);
    };
    for (const bytesPerSecond of [3e11, null]) {
      const nothing = reads(0, bytesPerSecond);
      expect(nothing.roofline!.points.every(({ intensity }) => Number.isFinite(intensity))).toBe(true);
      for (const page of [runHtml(nothing), runMarkdown(nothing)]) {
        expect(page).not.toMatch(/NaN|Infinity/);
        expect(page).toContain('provable');
      }
    }
  });

  test('a log without work and rates has none', () => {
    const [{ roofline: _, ...started }, ...rest] = fullRun as [
      RecordedEvent & { type: 'run-started' },
      ...RecordedEvent[],
    ];
    expect(buildRunView('r', [started, ...rest]).roofline).toBeNull();
  });
});

describe('source diffs', () => {
  test('start to best, and every kept change, as hunks', () => {
    expect(view.sources.startToBest!.files).toEqual([
      {
        file: 'kernel.cu',
        status: 'changed',
        addedLines: 2,
        removedLines: 1,
        hunks: [
          {
            oldStart: 1,
            oldLines: 3,
            newStart: 1,
            newLines: 4,
            lines: [' int a;', '-int b;', '+int two;', ' int c;', '+int d;'],
          },
        ],
      },
    ]);
    expect(view.sources.kept.map(({ change }) => change)).toEqual(['02_tiled → 03_rows']);
  });

  test('a source that is gone is named, not guessed', () => {
    const { sources } = buildRunView('r', fullRun, {
      readSource: (hash) => (hash === 'hash-a' ? 'int a;' : undefined),
    });
    expect(sources.startToBest).toMatchObject({ files: [], missing: ['kernel.cu'] });
  });

  test('a change of parameters alone has the same sources', () => {
    const { sources } = buildRunView('r', recordedRun, { readSource: readRecordedSource });
    const kept = recordedRun.filter((event) => event.type === 'decision' && event.decision === 'keep');
    expect(sources.kept).toHaveLength(kept.length - 1);
    expect(sources.kept.at(-1)).toMatchObject({ files: [], missing: [] });
    expect(sources.startToBest!.files[0]!.addedLines).toBeGreaterThan(50);
  });
});

test('negative results: reverted, failed and given up, with reasons', () => {
  expect(view.reverted.map(({ evaluationId, reason }) => [evaluationId, reason])).toEqual([['e3', 'vetoed']]);
  expect(view.abandoned).toMatchObject([{ moveKey: 'pad/03_rows.PAD', why: 'failed' }]);
  const failing = fullRun.map((event) =>
    event.type === 'evaluation-finished' && event.evaluation.id === 'e4'
      ? { ...event, evaluation: { ...event.evaluation, status: 'crashed' as const, reason: 'gone' } }
      : event,
  );
  expect(buildRunView('r', failing).failed).toMatchObject([{ evaluationId: 'e4', status: 'crashed' }]);
});

describe('the command that does it again', () => {
  test('names everything that decides what the run does', () => {
    expect(view.reproduction).toBe(
      'warpsmith optimize /home/user/attention --device virtual:l4 --workload B=1,H=1,S=64,D=64:1 --workload B=4,H=1,S=64,D=64:2 ' +
        '--set BLOCK_M=32 --cache hot --seed 7 --max-evaluations 20 --max-minutes 10 --max-money 5 ' +
        '--gpu-price 3.5 --goal 10x',
    );
  });

  test('leaves the caches to the workloads where they differ: --cache is for all of them', () => {
    const [started, ...rest] = fullRun as [RecordedEvent & { type: 'run-started' }, ...RecordedEvent[]];
    const workloads = started.workloads.map((one, i) => ({ ...one, cache: i === 0 ? 'hot' : 'cold' }) as const);
    const { reproduction } = buildRunView('r', [{ ...started, workloads }, ...rest]);
    expect(reproduction).not.toContain('--cache');
    expect(reproduction).toContain('--workload B=1,H=1,S=64,D=64:1 --workload b4h1s64d64:2');
    const twins = ['hot', 'cold'].map((cache) => ({ ...started.workloads[0]!, name: cache, cache }));
    expect(buildRunView('r', [{ ...started, workloads: twins } as RecordedEvent, ...rest]).reproduction).toContain(
      '--workload hot:1 --workload cold:1',
    );
  });

  test('names the workloads of its own that a problem declares, where caches differ', () => {
    const [started, ...rest] = fullRun as [RecordedEvent & { type: 'run-started' }, ...RecordedEvent[]];
    const caches = ['hot', 'hot', 'cold'] as const;
    const names = ['small', 'b2h1s64d64-causal', 'large'];
    const workloads = names.map((name, i) => ({
      name,
      dimensions: { B: i + 1, H: 1, S: 64, D: 64, causal: 1 },
      cache: caches[i]!,
      weight: 1,
    }));
    expect(buildRunView('r', [{ ...started, workloads }, ...rest]).reproduction).toContain(
      '--workload small:1 --workload B=2,H=1,S=64,D=64,causal=1:1 --workload large:1 --set',
    );
  });

  test('rounds a share of a budget up, and names a store that is not the default', () => {
    const [started, ...rest] = fullRun as [RecordedEvent & { type: 'run-started' }, ...RecordedEvent[]];
    const budgets = {
      ...started.budgets,
      maximumMinutes: 1.94980516705,
      maximumGpuMinutes: 0.0012341,
      maximumMoney: 123456,
    };
    const { reproduction } = buildRunView('r', [{ ...started, budgets }, ...rest], { store: '/data/my store' });
    expect(reproduction).toContain('--max-minutes 1.95 --max-gpu-minutes 0.001235 --max-money 123456 ');
    expect(reproduction).toMatch(/ --store '\/data\/my store'$/);
  });

  test('quotes what a shell would take apart', () => {
    const [started, ...rest] = fullRun as [RecordedEvent & { type: 'run-started' }, ...RecordedEvent[]];
    const odd = { ...started, request: { ...started.request, target: "it's $(rm) here" } };
    expect(buildRunView('r', [odd, ...rest]).reproduction).toContain(String.raw`'it'\''s $(rm) here'`);
  });
});
