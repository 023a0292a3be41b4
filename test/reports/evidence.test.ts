import { describe, expect, test } from 'vitest';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { parameterChart } from '../../src/reports/charts/parameter-chart.ts';
import { runDocument } from '../../src/reports/documents/run.ts';
import { printMarkdown } from '../../src/reports/print/markdown.ts';
import { buildRunView } from '../../src/reports/run-view.ts';
import { resourcesOf } from '../../src/reports/view/resources.ts';
import { triedSettings } from '../../src/reports/view/tried-settings.ts';
import type { RecordedEvent } from '../../src/store/events.ts';
import { readRecordedSource, recordedRun } from './recorded-run.ts';
import { evaluation, sampleRun } from './sample-run.ts';

const recorded = buildRunView('recorded', recordedRun, { readSource: readRecordedSource });

const evaluationOf = (id: string | undefined): Evaluation => {
  const event = recordedRun.find((one) => one.type === 'evaluation-finished' && one.evaluation.id === id);
  if (event?.type !== 'evaluation-finished') throw new Error(`no evaluation ${id}`);
  return event.evaluation;
};

describe('resources against their limits', () => {
  test('a prediction’s bounds are shares of its time', () => {
    const predicted = evaluation('e1', 'k', {}, 1000);
    const bounds = [
      { resource: 'dram', ns: 800, arithmetic: '1 B ÷ 1 B/s' },
      { resource: 'issue', ns: 250, arithmetic: 'a' },
    ];
    const view = resourcesOf({ ...predicted, timing: { ...predicted.timing!, bounds } });
    expect(view).toMatchObject({ kind: 'predicted', medianNs: 1000, countedBy: null });
    expect(view!.uses.map(({ resource, share }) => [resource, share])).toEqual([
      ['dram', 0.8],
      ['issue', 0.25],
    ]);
  });

  test('of a measured time they follow from what was counted and the board’s rates, without what only a model knows', () => {
    const { after } = recorded.resources;
    expect(after).toMatchObject({ evaluationId: recorded.best!.evaluationId, kind: 'measured' });
    expect(after!.countedBy).toContain('ncu');
    const { counters, timing } = evaluationOf(after!.evaluationId);
    const issue = after!.uses.find(({ resource }) => resource === 'issue')!;
    expect(issue.share).toBeCloseTo(issue.ns / timing!.medianNs, 12);
    // Spread evenly, the counted instructions need less: four a clock on each of 132 SMs, at 1.98 GHz at most.
    expect(issue.ns).toBeGreaterThan((counters!.instructions / (4 * 132 * 1.98)) * 0.9);
    expect(after!.uses.map(({ resource }) => resource)).not.toContain('latency');
  });

  test('nothing is said of an unknown board, without counters, or of a kernel that failed', () => {
    const best = evaluationOf(recorded.best!.evaluationId);
    expect(resourcesOf(best)).not.toBeNull();
    expect(resourcesOf({ ...best, device: { ...best.device, name: 'NVIDIA Unheard-of 9' } })).toBeNull();
    expect(resourcesOf({ ...best, counters: undefined })).toBeNull();
    expect(resourcesOf({ ...best, status: 'wrong' })).toBeNull();
    expect(resourcesOf(undefined)).toBeNull();
  });

  test('a report says which part is measured and which predicted', () => {
    const page = printMarkdown(runDocument(recorded));
    expect(page).toContain('## Resources against their limits');
    expect(page).toMatch(
      /The measured time is .* Its work was counted by ncu [\d.]+; what it needs for it is predicted/,
    );
  });
});

describe('settings that were tried', () => {
  test('a kernel’s varied parameters with their values, the fastest setting last', () => {
    const [tried] = triedSettings(recorded);
    expect(tried!.kernel).toBe('04_warp');
    expect(tried!.varied).toContainEqual({ name: 'PAD', values: [0, 8] });
    expect(tried!.settings.at(-1)!.time.evaluationId).toBe(recorded.best!.evaluationId);
    const times = tried!.settings.map(({ time }) => time.medianNs);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
  });

  test('few settings are no picture', () => {
    expect(triedSettings(buildRunView('r', sampleRun))).toEqual([]);
  });
});

describe('hot lines', () => {
  const source = 'int a;\nint b = in[i]; // <b>\nout[i] = b;\n';
  const line = (number: number, instructions: number) => ({
    ...{ location: { file: 'kernel.cu', line: number }, instructions, threadInstructions: 32 * instructions },
    ...{ globalLoadRequests: instructions, globalLoadSectors: 32 * instructions },
    ...{ globalStoreRequests: 0, globalStoreSectors: 0, sharedLoadRequests: 0, sharedLoadWavefronts: 0 },
    ...{ sharedStoreRequests: 0, sharedStoreWavefronts: 0, bankConflicts: 0, barriers: 0, atomics: 0 },
    divergentBranches: 0,
  });
  const counters = {
    ...{ instructions: 100, globalLoadSectors: 3200, globalStoreSectors: 0, sharedLoadWavefronts: 0 },
    ...{ sharedStoreWavefronts: 0, launches: [{ lines: [line(3, 20), line(2, 80)] }] },
  } as unknown as Evaluation['counters'];
  const withLines = sampleRun.map((event): RecordedEvent => {
    if (event.type !== 'evaluation-finished' || event.evaluation.id !== 'e2') return event;
    return { ...event, evaluation: { ...event.evaluation, counters }, sources: { 'kernel.cu': 'hash' } };
  });

  test('the costliest first, with what they issue and move', () => {
    const view = buildRunView('r', withLines, { readSource: () => source });
    expect(view.hotLines).toMatchObject({ evaluationId: 'e2', countedBy: 'counted on virtual:l4', attributedShare: 1 });
    expect(view.hotLines!.lines.map(({ line: number, instructionShare }) => [number, instructionShare])).toEqual([
      [2, 0.8],
      [3, 0.2],
    ]);
    const page = printMarkdown(runDocument(view));
    expect(page).toContain('| kernel.cu:2 | `int b = in[i]; // <b>` | 80 % | 80 % |');
  });

  test('a source that is gone, and a log without lines, have none', () => {
    expect(buildRunView('r', withLines, { readSource: () => undefined }).hotLines).toBeNull();
    expect(buildRunView('r', sampleRun, { readSource: () => source }).hotLines).toBeNull();
    expect(buildRunView('r', withLines).hotLines).toBeNull();
  });
});

describe('the picture of the settings', () => {
  const settings = [32, 64, 128].flatMap((BLOCK) =>
    [1, 2, 4].map((WARPS) => ({
      parameters: { BLOCK, WARPS, FIXED: 7 },
      time: {
        evaluationId: `e${BLOCK + WARPS}`,
        kind: 'predicted' as const,
        medianNs: BLOCK * 100 + 200 * WARPS,
        intervalNs: [1, 2] as [number, number],
      },
    })),
  );
  const draw = (varied: readonly string[], of = settings) => {
    const values = (name: string) => [...new Set(of.map(({ parameters }) => parameters[name as 'BLOCK']))];
    const tried = {
      kernel: 'k',
      varied: varied.map((name) => ({ name, values: values(name) })),
      settings: of.toReversed(),
    };
    return parameterChart(tried)?.({ width: 860, height: 400, id: 'p' }).markup;
  };

  test('two parameters are a map, with a cell for each setting that was tried; the fastest is the strongest', () => {
    const map = draw(['WARPS', 'BLOCK'], settings.slice(0, 8))!;
    const cells = [...map.matchAll(/<title>(e\d+) [^<]*<\/title><rect class="heat" opacity="([\d.]+)"/g)];
    expect(cells).toHaveLength(8);
    const strongest = cells.toSorted((a, b) => Number(b[2]) - Number(a[2]))[0]!;
    expect(strongest.slice(1)).toEqual(['e33', '1']);
  });

  test('more of them are parallel axes, with a line for each setting; one alone is a table', () => {
    const lines = draw(['WARPS', 'BLOCK', 'FIXED'])!;
    expect(lines.match(/<polyline class="setting/g)).toHaveLength(settings.length);
    expect(lines).toMatch(/e33 [^<]*<\/title><polyline class="setting fastest"/);
    expect(lines).toContain('>3.4 µs</text>');
    expect(draw(['WARPS'])).toBeUndefined();
  });
});
