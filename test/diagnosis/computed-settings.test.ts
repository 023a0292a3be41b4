import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Evaluation } from '../../src/core/evaluation.ts';
import type { Kernel, ParameterDeclaration } from '../../src/core/kernel.ts';
import type { FindingId } from '../../src/core/vocabulary.ts';
import type { Pattern, PatternContext, PatternMove } from '../../src/diagnosis/pattern.ts';
import { fitCtas } from '../../src/diagnosis/patterns/fit-ctas.ts';
import { PATTERNS } from '../../src/diagnosis/patterns/index.ts';
import { type DiagnosedKernel, type KernelBench, openKernelBench } from './support/diagnose-kernel.ts';
import { context, kernel } from './support/pattern-context.ts';

const [parallelismFirst, wholeWaves] = ['parallelism-first', 'whole-waves'].map(
  (name) => PATTERNS.find(({ id }) => id === name)!,
) as [Pattern, Pattern];

let bench: KernelBench;
beforeAll(async () => {
  bench = await openKernelBench();
});
afterAll(() => bench.close());

/** A kernel of one launch along x. */
const launching = (
  parameters: Record<string, ParameterDeclaration>,
  launch: { grid: string; block: string; sharedBytes?: string },
  constraints: string[] = [],
): Kernel => {
  const own = kernel('tiles', [], parameters);
  own.file.constraints = constraints;
  own.file.steps = [
    { function: 'f', grid: [launch.grid], block: [launch.block], sharedBytes: launch.sharedBytes, arguments: [] },
  ];
  return own;
};

/** What a pattern sees of a kernel that was run. */
function seen(
  id: FindingId,
  own: Kernel,
  parameters: Record<string, number>,
  { counters, timing, findings }: DiagnosedKernel,
  dimensions: Record<string, number>,
): PatternContext {
  const finding = findings.find((candidate) => candidate.id === id);
  const evaluation = { findings, timing, counters: { ...counters, totals: counters, launches: [counters] } };
  return {
    ...context(id, { own, parameters, dimensions }),
    ...(finding && { finding }),
    evaluation: evaluation as unknown as Evaluation,
  };
}

const tuned = (moves: readonly PatternMove[]) => moves.filter((move) => move.kind === 'parameter');

describe('tiles that fill the device', () => {
  const ROWS = 1024;
  const THREADS = 1024;
  const own = launching(
    { BLOCK_M: { values: { from: 4, to: 64, step: 2 }, default: 16 } },
    { grid: 'ceilDiv(S, BLOCK_M)', block: String(THREADS) },
  );
  const run = (tile: number, rows = ROWS) =>
    bench.diagnose({
      file: 'row_tiles.cu',
      functionName: 'row_tiles',
      grid: Math.ceil(rows / tile),
      block: THREADS,
      arguments: [{ bytes: 4 * THREADS * rows }, { i32: rows }, { i32: tile }, { i32: 60 }],
      cache: 'hot',
    });

  it('are computed from grid and SMs: 64 CTAs on 58 SMs become 57', async () => {
    const sick = await run(16);
    const moves = tuned(wholeWaves.propose(seen('tail-effect', own, { BLOCK_M: 16 }, sick, { S: ROWS })));
    expect(moves[0]).toMatchObject({ parameter: 'BLOCK_M', from: 16, value: 18, confidence: 0.5 });
    expect(moves[0]!.reason).toBe(
      'BLOCK_M = 18 gives 57 CTAs on 58 SMs, at most 1 each: 98 % of their time is used; now 64 CTAs, at most 2: 55 %',
    );
    // The forecast is held to what the model says of the kernel as it really runs then.
    const better = await run(18);
    const gain = sick.timing.medianNs / better.timing.medianNs;
    expect(gain).toBeGreaterThan(1.3);
    expect(moves[0]!.expectedGain / gain).toBeGreaterThan(0.9);
    expect(moves[0]!.expectedGain / gain).toBeLessThan(1.1);
    for (const { expectedGain } of moves) expect(expectedGain).toBeLessThanOrEqual(moves[0]!.expectedGain);
  });

  it('are the same where the launch stands in repeated steps', async () => {
    const sick = await run(16);
    const [step] = own.file.steps;
    const repeated = launching(own.file.parameters!, { grid: '1', block: '1' });
    repeated.file.steps = [
      { copy: { from: { buffer: 'a' }, to: { buffer: 'b' } } },
      { repeat: 1, index: 'outer', when: 'S > 0', steps: [{ repeat: 'outer + 1', steps: [step!] }] },
    ];
    const movesOf = (one: Kernel) =>
      tuned(wholeWaves.propose(seen('tail-effect', one, { BLOCK_M: 16 }, sick, { S: ROWS })));
    expect(movesOf(repeated)).toEqual(movesOf(own));
    expect(movesOf(own)).not.toEqual([]);
  });

  it('are not proposed where the CTAs fill the device already', async () => {
    const well = await run(16, 58 * 16);
    expect(well.findings.map(({ id }) => id)).not.toContain('tail-effect');
    const about = seen('tail-effect', own, { BLOCK_M: 16 }, well, { S: 58 * 16 });
    expect(wholeWaves.propose(about)).toEqual([{ kind: 'advice', text: expect.any(String) }]);
  });

  it('may leave an SM without a CTA where the others are fuller for it', async () => {
    const few = await run(64);
    const moves = tuned(parallelismFirst.propose(seen('parallelism', own, { BLOCK_M: 64 }, few, { S: ROWS })));
    // 16 CTAs. 64 of 16 rows would reach every SM, but fill half of their time.
    expect(moves[0]).toMatchObject({ value: 18 });
    expect(moves.every(({ value }) => value < 64)).toBe(true);
  });

  it('are not forecast for a launch that is not the one kernel.json describes', async () => {
    const sick = await run(16);
    expect(tuned(wholeWaves.propose(seen('tail-effect', own, { BLOCK_M: 16 }, sick, { S: 2 * ROWS })))).toEqual([]);
  });
});

describe('BLOCK_M = 80 on 58 SMs', () => {
  const dimensions = { B: 1, H: 8, S: 512 };
  const grid = 'ceilDiv(S, BLOCK_M) * H';
  const tile = { values: { from: 16, to: 256, step: 16 }, default: 64 };

  it('is found among the values of a range', () => {
    const own = launching({ BLOCK_M: tile }, { grid, block: '128' });
    const moves = tuned(wholeWaves.propose(context('tail-effect', { own, dimensions, speedup: 1.8 })));
    expect(moves[0]).toMatchObject({ parameter: 'BLOCK_M', from: 64, value: 80 });
    // 7 tiles of 80 rows hold 512: 6.4 of them are filled. 51.2 ÷ 58 of the SMs' time instead of 64 ÷ 116.
    expect(moves[0]!.expectedGain).toBeCloseTo(51.2 / 58 / (64 / 116), 9);
    expect(moves[0]!.reason).toBe(
      'BLOCK_M = 80 gives 56 CTAs on 58 SMs, at most 1 each: 88 % of their time is used without 9.4 % of padding; now 64 CTAs, at most 2: 55 %',
    );
  });

  it('comes with the warps that a constraint asks for', () => {
    const warps = { values: { from: 1, to: 16, step: 1 }, default: 4 };
    const own = launching({ BLOCK_M: tile, WARPS: warps }, { grid, block: '32 * WARPS' }, ['BLOCK_M == 16 * WARPS']);
    const [move] = wholeWaves.propose(context('tail-effect', { own, dimensions, speedup: 1.8 }));
    expect(move).toMatchObject({
      kind: 'parameters',
      changes: [
        { parameter: 'BLOCK_M', from: 64, value: 80 },
        { parameter: 'WARPS', from: 4, value: 5 },
      ],
      reason: expect.stringMatching(/^BLOCK_M = 80, WARPS = 5 gives 56 CTAs on 58 SMs/),
    });
  });
});

describe('tiles and stages that fit', () => {
  const CTAS = 58 * 12;
  const own = launching(
    { STAGES: { values: { from: 1, to: 12, step: 1 }, default: 7 } },
    { grid: 'N', block: '128', sharedBytes: '8192 * STAGES' },
  );
  const run = (stages: number) =>
    bench.diagnose({
      file: 'occupancy.cu',
      functionName: 'chain',
      grid: CTAS,
      block: 128,
      dynamicSharedBytes: 8192 * stages,
      arguments: [{ bytes: 4 * 128 * CTAS }, { i32: 200 }],
    });

  it('are the most with which one more CTA is resident', async () => {
    const sick = await run(7);
    const about = seen('occupancy', own, { STAGES: 7 }, sick, { N: CTAS });
    const moves = tuned(fitCtas.propose(about));
    // (100 KiB ÷ n − 1 KiB) ÷ 8 KiB: 6 stages for 2 CTAs, 4 for 3, 3 for 4, 2 for 5, 1 for 11; only the most for each n.
    expect(moves.map(({ value }) => value).sort()).toEqual([1, 2, 3, 4, 6]);
    const two = moves.find(({ value }) => value === 6)!;
    expect(two.reason).toBe(
      'STAGES = 6: 2 CTAs of 50,176 B fit in the 102,400 B of an SM (then limited by shared-memory); now 1 CTA of 58,368 B',
    );
    const better = await run(6);
    const gain = sick.timing.medianNs / better.timing.medianNs;
    expect(gain).toBeGreaterThan(1.3);
    expect(two.expectedGain / gain).toBeGreaterThan(0.85);
    expect(two.expectedGain / gain).toBeLessThan(1.15);
  });

  it('are not proposed where shared memory is not what limits', async () => {
    const well = await run(1);
    expect(tuned(fitCtas.propose(seen('occupancy', own, { STAGES: 1 }, well, { N: CTAS })))).toEqual([]);
  });
});
