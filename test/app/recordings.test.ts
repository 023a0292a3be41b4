import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { measureProblem } from '../../src/app/measure.ts';
import { type OptimizeOutcome, optimizeProblem } from '../../src/app/optimize.ts';
import type { RecordedEvent } from '../../src/store/events.ts';
import { NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';

/** What was recorded on an H200, with the problem as it was then. */
const RECORDINGS = path.resolve(import.meta.dirname, '../fixtures/recordings');
const ATTENTION = path.join(RECORDINGS, 'attention');
const recording = (name: string): string => path.join(RECORDINGS, `${name}.jsonl.gz`);

/**
 * Evaluations after which today's proposals go another way than those of the day when it was recorded: the whole run has to be
 * recorded again on an H200.
 */
const REPLAYED = 8;

describe('a run that was recorded on an H200, replayed with no GPU', () => {
  let store: string;
  let outcome: OptimizeOutcome;
  const events: RecordedEvent[] = [];
  const interruption = new AbortController();

  beforeAll(async () => {
    store = await mkdtemp(path.join(tmpdir(), 'warpsmith-replay-'));
    outcome = await optimizeProblem({
      target: path.join(RECORDINGS, 'attention-optimize'),
      workloads: ['b1h8s512d64'],
      parameters: {},
      seed: 1,
      budgets: { ...UNLIMITED, maximumEvaluations: 45, allowance: NOTHING_KEPT },
      signal: interruption.signal,
      store,
      device: 'cuda:0',
      replay: recording('h200-attention-optimize'),
      onEvent(event) {
        events.push(event);
        const evaluated = events.filter(({ type }) => type === 'evaluation-finished').length;
        if (evaluated === REPLAYED) interruption.abort();
      },
    });
  });
  afterAll(() => rm(store, { recursive: true }));

  it('goes through the same loop to the same best', () => {
    const { result } = outcome;
    expect(result.stopReason).toBe('interrupted');
    expect(result.evaluationsUsed).toBe(REPLAYED);
    expect(result.best!.candidate.kernel.file.name).toBe('04_warp');
    expect(result.best!.candidate.parameters).toMatchObject({ BLOCK_N: 64, WARPS: 4, PAD: 0 });
    expect(result.best!.ratioToStart).toBeCloseTo(12.053, 3);
  });

  it('keeps what was called faster, and nothing else', () => {
    const decisions = events.filter((event) => event.type === 'decision').filter(({ comparedWith }) => comparedWith);
    expect(decisions.length).toBe(5);
    for (const { decision, verdict } of decisions) expect(decision === 'keep').toBe(verdict === 'faster');
    expect(decisions.filter(({ decision }) => decision === 'keep')).toHaveLength(2);
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
