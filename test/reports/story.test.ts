import { describe, expect, it } from 'vitest';
import { emptyTotals } from '../../src/core/empty-totals.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { lineageChart } from '../../src/reports/charts/lineage-chart.ts';
import { attemptItems } from '../../src/reports/sections/authored.ts';
import { authoredView } from '../../src/reports/view/authored.ts';
import { lineageView, spentView } from '../../src/reports/view/lineage.ts';
import type { RecordedEvent } from '../../src/store/events.ts';
import { UNLIMITED } from '../../src/store/events.ts';
import { finding, runLoop, scriptedAuthor, scriptedEvaluator, written } from '../optimizer/fakes.ts';

const END = { kind: 'ended', reason: 'author-failed', detail: 'no more' } as const;

/** The start takes 1000 ns, a 500, b (made from a) 400, c fails; then many that are slower. */
async function logOf(more: readonly string[] = []): Promise<RecordedEvent[]> {
  const ns: Readonly<Record<string, number>> = { a: 500, b: 400 };
  const evaluator = scriptedEvaluator((name) => {
    const [kernel = ''] = name.split(' ');
    return kernel === 'c' ? { status: 'wrong', reason: 'wrong' } : { ns: ns[kernel] ?? 1000 };
  });
  let nowMs = 0;
  const { events } = await runLoop({
    evaluator,
    author: scriptedAuthor(...['a', 'b', 'c', ...more].map((text) => written(text, 2)), END),
    budgets: { ...UNLIMITED, maximumEvaluations: 90 },
    clockMs: () => (nowMs += 1000),
  });
  return events.map((event, index) => ({ ...event, schemaVersion: 2, sequence: index + 1, time: '' }) as RecordedEvent);
}

describe('the lineage of a run', () => {
  it('is a tree of kernels with what each gained over the start', async () => {
    const { nodes, omitted } = lineageView(await logOf());
    expect(omitted).toBe(0);
    expect(nodes).toMatchObject([
      { kernel: '01_first', parent: null, depth: 0, ratioToStart: 1, outcome: 'start' },
      { kernel: 'a', parent: '01_first', depth: 1, ratioToStart: 2, outcome: 'kept' },
      { kernel: 'b', parent: 'a', depth: 2, ratioToStart: 2.5, outcome: 'best' },
      { kernel: 'c', parent: 'b', depth: 3, ratioToStart: null, status: 'wrong', outcome: 'failed' },
    ]);
  });

  it('leaves out what led nowhere where there is no room, and says how much', async () => {
    const more = Array.from({ length: 18 }, (_, index) => `slow${'x'.repeat(index)}`);
    const { nodes, omitted } = lineageView(await logOf(more));
    expect(nodes.map(({ kernel }) => kernel)).toEqual(expect.arrayContaining(['01_first', 'a', 'b']));
    expect(nodes.length).toBeLessThanOrEqual(14);
    expect(omitted).toBeGreaterThan(0);
    const svg = lineageChart(nodes, omitted, 'predicted')!({ width: 760, height: 360, id: 'x' }).markup;
    expect(svg).toContain('predicted × start');
    expect(svg.match(/data-mark=/g)).toHaveLength(nodes.length);
    expect(svg).toContain(`${omitted} more that led nowhere`);
  });

  it('is not drawn where nothing was written', async () => {
    expect(lineageChart(lineageView((await logOf()).slice(0, 4)).nodes, 0, 'predicted')).toBeUndefined();
  });
});

describe('the best so far by what was spent', () => {
  it('has a point for each new best, with evaluations and minutes by then', async () => {
    const points = spentView(await logOf());
    expect(points.map(({ kernel, medianNs }) => [kernel, medianNs])).toEqual([
      ['01_first', 1000],
      ['a', 500],
      ['b', 400],
    ]);
    const grows = (of: (point: (typeof points)[number]) => number): boolean =>
      points.every((point, index) => index === 0 || of(point) > of(points[index - 1]!));
    expect(grows(({ minutes }) => minutes)).toBe(true);
    expect(grows(({ evaluations }) => evaluations)).toBe(true);
    expect(points.every(({ money }) => money === null)).toBe(true);
  });
});

describe('an attempt', () => {
  /** a halves the sectors and keeps half of the conflicts, b leaves none. */
  const counted = (event: RecordedEvent): RecordedEvent => {
    if (event.type === 'move-proposed') {
      return {
        ...event,
        finding: { ...event.finding, id: 'bank-conflicts', evidence: 'conflicts per request 3, above 1' },
      };
    }
    if (event.type !== 'evaluation-finished') return event;
    const { kernel } = event.evaluation.candidate;
    const [sectors, conflicts] = kernel === 'a' ? [500, 1.5] : kernel === 'b' ? [500, 0] : [1000, 3];
    const totals = { ...emptyTotals(), globalLoadSectors: sectors };
    const found = finding('bank-conflicts');
    const findings = conflicts > 0 ? [{ ...found, evidence: [{ ...found.evidence[0]!, value: conflicts }] }] : [];
    const evaluation: Evaluation = { ...event.evaluation, findings, counters: { ...totals, totals, launches: [] } };
    return { ...event, evaluation };
  };

  it('has what moved against its parent, and what is left of the finding that it worked on', async () => {
    const { written: rows } = authoredView((await logOf()).map(counted))!;
    expect(rows.map(({ kernel, counters, evidenceAfter }) => [kernel, counters, evidenceAfter?.[0]?.value])).toEqual([
      ['a', ['global load sectors 1,000 → 500 (×0.5)'], 1.5],
      ['b', [], undefined],
      ['c', ['global load sectors 500 → 1,000 (×2)'], 3],
    ]);
  });

  it('tells it in words', async () => {
    const { written: rows } = authoredView((await logOf()).map(counted))!;
    const said = attemptItems(rows[0]!).map(({ term, text }) => `${term}: ${String(text)}`);
    expect(said).toContain(
      'worked on: bank-conflicts: conflicts per request 3, above 1; after it: conflicts per request 1.5 (above 1); largest now: bank-conflicts',
    );
    expect(said).toContain('evidence: against 01_first: global load sectors 1,000 → 500 (×0.5)');
    const gone = attemptItems(rows[1]!).map(({ text }) => String(text));
    expect(gone.join('\n')).toContain('after it: gone; largest now: none');
    // Of a wrong kernel, what was counted proves nothing.
    expect(attemptItems(rows[2]!).map(({ term }) => term)).not.toContain('evidence');
  });
});
