import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { measureProblem } from '../../src/app/measure.ts';
import { type OptimizeOutcome, optimizeProblem } from '../../src/app/optimize.ts';
import type { RecordedEvent } from '../../src/store/events.ts';
import { UNLIMITED } from '../../src/store/events.ts';

/** What was recorded on an H200, with the problem as it was then. */
const RECORDINGS = path.resolve(import.meta.dirname, '../fixtures/recordings');
const ATTENTION = path.join(RECORDINGS, 'attention');
const recording = (name: string): string => path.join(RECORDINGS, `${name}.jsonl.gz`);

describe('a run that was recorded on an H200, replayed with no GPU', () => {
  let store: string;
  let outcome: OptimizeOutcome;
  const events: RecordedEvent[] = [];

  beforeAll(async () => {
    store = await mkdtemp(path.join(tmpdir(), 'warpsmith-replay-'));
    outcome = await optimizeProblem({
      target: path.join(RECORDINGS, 'attention-optimize'),
      workloads: ['b1h8s512d64'],
      parameters: {},
      seed: 1,
      // When it was recorded, the limit of 45 was the search's alone.
      budgets: { ...UNLIMITED, maximumEvaluations: 56, allowance: { confirmation: 1, ablation: 10, advice: 0 } },
      store,
      device: 'cuda:0',
      replay: recording('h200-attention-optimize'),
      onEvent: (event) => void events.push(event),
    });
  });
  afterAll(() => rm(store, { recursive: true }));

  it('goes through the same loop to the same winner, confirmed by the same measurement', () => {
    const { result } = outcome;
    expect(result.stopReason).toBe('evaluations-spent');
    expect(result.evaluationsUsed).toBe(55);
    expect(result.best!.candidate.kernel.file.name).toBe('04_warp');
    expect(result.best!.candidate.parameters).toMatchObject({ BLOCK_N: 128, WARPS: 8, PAD: 8 });
    expect(result.confirmation).toMatchObject({ outcome: 'accepted', verdict: 'faster', sanitizer: 'clean' });
    expect(result.speedup).toBeCloseTo(18.527, 2);
  });

  it('keeps what was called faster, and nothing else', () => {
    const decisions = events.filter((event) => event.type === 'decision').filter(({ comparedWith }) => comparedWith);
    expect(decisions.length).toBeGreaterThan(30);
    for (const { decision, verdict } of decisions) expect(decision === 'keep').toBe(verdict === 'faster');
    expect(decisions.filter(({ decision }) => decision === 'keep')).toHaveLength(5);
  });

  it('reports measured times with their intervals', () => {
    const timed = events
      .filter((event) => event.type === 'evaluation-finished')
      .map(({ evaluation }) => evaluation.timing!);
    expect(new Set(timed.map(({ kind }) => kind))).toEqual(new Set(['measured']));
    for (const { medianNs, intervalNs } of timed) {
      expect(intervalNs[0]).toBeLessThanOrEqual(medianNs);
      expect(intervalNs[1]).toBeGreaterThanOrEqual(medianNs);
    }
  });
});

it('a recorded ladder: rungs and every SDPA backend in the same blocks', async () => {
  const view = await measureProblem({
    target: ATTENTION,
    kernels: ['01_minimal', '02_tiled', '03_rows', '04_warp'].map((rung) => path.join(ATTENTION, rung)),
    parameters: {},
    baselines: ['all'],
    workloads: ['b1h8s512d64'],
    tier: 'accept',
    seed: 1,
    device: 'cuda:0',
    replay: recording('h200-attention-ladder-small'),
  });
  const [row] = view.rows;
  expect(row!.cells.map(({ outcome }) => outcome)).toEqual(Array(10).fill('measured'));
  expect(row!.peer).toBe('sdpa');
  const faster = row!.cells.filter((cell) => cell.outcome === 'measured' && cell.comparison?.verdict === 'faster');
  expect(faster).toEqual([]);
});
