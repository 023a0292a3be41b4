import { describe, expect, it } from 'vitest';
import type { Timing } from '../../src/core/timing.ts';
import { FINDING_IDS, type FindingId } from '../../src/core/vocabulary.ts';
import type { Pattern, PatternMove } from '../../src/diagnosis/pattern.ts';
import { PATTERNS } from '../../src/diagnosis/patterns/index.ts';
import { type ParameterRole, roleOf } from '../../src/diagnosis/patterns/moves.ts';
import { attentionShape } from '../support/attention-problem.ts';
import { context, kernel, PARAMETERS, type Situation } from './support/pattern-context.ts';

const pattern = (id: string): Pattern => PATTERNS.find((candidate) => candidate.id === id)!;
const propose = (id: string, trigger: FindingId, situation?: Situation): PatternMove[] =>
  pattern(id).propose(context(trigger, situation));
const parameterMoves = (moves: PatternMove[]) => moves.filter((move) => move.kind === 'parameter');
const rungs = (moves: PatternMove[]) => moves.filter((move) => move.kind === 'rung').map((move) => move.rung);
const advice = (moves: PatternMove[]) => moves.filter((move) => move.kind === 'advice');

describe('the library', () => {
  it('has unique ids, a title and a source for each pattern', () => {
    expect(new Set(PATTERNS.map(({ id }) => id)).size).toBe(PATTERNS.length);
    for (const { id, title, source, triggers } of PATTERNS) {
      expect(id).toMatch(/^[a-z-]+$/);
      expect(title.length).toBeGreaterThan(10);
      expect(source.length).toBeGreaterThan(10);
      expect(triggers.length).toBeGreaterThan(0);
    }
  });

  it('answers every finding', () => {
    const answered = new Set(PATTERNS.flatMap(({ triggers }) => triggers));
    expect(FINDING_IDS.filter((id) => !answered.has(id))).toEqual([]);
  });

  it('gives every finding a move or advice, even for a kernel with neither parameters nor later rungs', () => {
    const bare = kernel('bare', [], {});
    for (const id of FINDING_IDS) {
      const moves = PATTERNS.filter(({ triggers }) => triggers.includes(id)).flatMap((entry) =>
        entry.propose(context(id, { own: bare })),
      );
      expect(advice(moves).length, id).toBeGreaterThan(0);
      expect(advice(moves).length, id).toBe(moves.length);
    }
  });

  it('proposes only allowed values other than the current one, gains of at least 1 and confidences within 0…1', () => {
    for (const entry of PATTERNS) {
      for (const trigger of entry.triggers) {
        const situation = context(trigger, { laterRungs: [kernel('04_warp', [...FINDING_IDS])] });
        for (const move of entry.propose(situation)) {
          if (move.kind === 'advice') continue;
          expect(move.expectedGain).toBeGreaterThanOrEqual(1);
          expect(move.confidence).toBeGreaterThan(0);
          expect(move.confidence).toBeLessThanOrEqual(1);
          expect(move.reason.length).toBeGreaterThan(5);
          if (move.kind !== 'parameter') continue;
          expect(PARAMETERS[move.parameter]!.values).toContain(move.value);
          expect(move.from).toBe(situation.candidate.parameters[move.parameter]);
          expect(move.value).not.toBe(move.from);
        }
      }
    }
  });
});

describe('next rungs', () => {
  const ladder = [
    kernel('03_rows', ['serial-sections']),
    kernel('04_warp', ['serial-sections', 'barrier-heavy']),
    kernel('05_mma', ['tensor-cores-unused']),
  ];

  it('are those whose kernel.json names the finding, the nearest first', () => {
    expect(rungs(propose('warp-parallel-reductions', 'serial-sections', { laterRungs: ladder }))).toEqual([
      '03_rows',
      '04_warp',
    ]);
    expect(rungs(propose('warp-parallel-reductions', 'barrier-heavy', { laterRungs: ladder }))).toEqual(['04_warp']);
    expect(rungs(propose('tensor-cores', 'tensor-cores-unused', { laterRungs: ladder }))).toEqual(['05_mma']);
    expect(rungs(propose('pad-shared-rows', 'bank-conflicts', { laterRungs: ladder }))).toEqual([]);
  });

  it('expect what the finding estimates', () => {
    const [move] = propose('tensor-cores', 'tensor-cores-unused', { laterRungs: ladder, speedup: 6 });
    expect(move).toMatchObject({ kind: 'rung', rung: '05_mma', expectedGain: 6 });
  });

  it('without any, tensor cores remain advice', () => {
    expect(propose('tensor-cores', 'tensor-cores-unused')).toEqual([
      { kind: 'advice', text: expect.stringContaining('mma.sync') },
    ]);
  });
});

describe('parallelism-first', () => {
  it('shrinks the row tile where that makes more CTAs: B1 H1 S128, 64 rows = 2 CTAs', () => {
    const dimensions = attentionShape({ B: 1, H: 1, S: 128, D: 64, causal: 0 });
    const moves = parameterMoves(propose('parallelism-first', 'parallelism', { dimensions, speedup: 20 }));
    expect(moves.map(({ parameter, value, expectedGain }) => ({ parameter, value, expectedGain }))).toEqual([
      { parameter: 'BLOCK_M', value: 4, expectedGain: 16 },
      { parameter: 'BLOCK_M', value: 8, expectedGain: 8 },
      { parameter: 'BLOCK_M', value: 16, expectedGain: 4 },
      { parameter: 'BLOCK_M', value: 32, expectedGain: 2 },
    ]);
    expect(moves[0]!.reason).toMatch(/^BLOCK_M = 4 gives 32 CTAs on 58 SMs, .*; now 2 CTAs, /);
  });

  it('advises to split the reduced axis where no parameter helps', () => {
    const own = kernel('02_tiled', [], { WARPS: { values: [2, 4], default: 4 } });
    own.file.steps = [{ function: 'attention', grid: [2], block: [128], arguments: [] }];
    expect(propose('parallelism-first', 'parallelism', { own })).toEqual([
      { kind: 'advice', text: expect.stringMatching(/^Split the reduced axis over CTAs and combine/) },
    ]);
  });
});

describe('fuse-launches', () => {
  const own = () => kernel('middle', [], { KV_SPLITS: { values: [1, 2, 4], default: 2 } });

  it('only advises where the finding is of a launch that is alone', () => {
    const laterRungs = [kernel('03_next', ['launch-bound'])];
    expect(propose('fuse-launches', 'launch-bound', { own: own(), laterRungs, speedup: 1 })).toEqual([
      { kind: 'advice', text: expect.stringContaining('batch') },
    ]);
    expect(propose('fuse-launches', 'launch-bound', { own: own(), laterRungs, speedup: 1.5 })).toHaveLength(2);
  });
});

it('no advice speaks of one problem', () => {
  const texts = PATTERNS.flatMap(({ id, triggers }) =>
    triggers.flatMap((trigger) => propose(id, trigger, { own: kernel('bare', [], {}), laterRungs: [] })),
  ).flatMap((move) => (move.kind === 'advice' ? [move.text] : []));
  expect(texts.length).toBeGreaterThan(5);
  for (const text of texts) expect(text).not.toMatch(/attention|softmax|split-KV|\bKV\b|2 × 2/i);
});

describe('whole-waves', () => {
  it('prefers the tile whose CTAs divide most evenly, and proposes none that is worse', () => {
    // 64 rows: 64 CTAs, 1.81× the mean; 32: 128, 1.36×; 16: 256, 1.13×; 8: 512, 1.02×; 4: 1024, 1.02×.
    const moves = parameterMoves(propose('whole-waves', 'tail-effect', { speedup: 1.8 }));
    expect(moves.map(({ value }) => value)).toEqual([8, 4, 16, 32]);
    // (2 ÷ 1.103) ÷ (9 ÷ 8.828) = 1.778; the finding's 1.8 does not cap it, its 1.5 does.
    expect(moves[0]!.expectedGain).toBeCloseTo(1.7778, 3);
    const capped = parameterMoves(propose('whole-waves', 'tail-effect', { speedup: 1.5 }));
    expect(capped[0]!.expectedGain).toBe(1.5);
    const even = parameterMoves(propose('whole-waves', 'tail-effect', { parameters: { BLOCK_M: 8 } }));
    expect(even.map(({ value }) => value)).toEqual([]);
  });
});

describe('parameter moves', () => {
  it('go in the direction the finding asks for, one value after the other', () => {
    const padding = parameterMoves(propose('pad-shared-rows', 'bank-conflicts'));
    expect(padding.map(({ parameter, value }) => [parameter, value])).toEqual([
      ['PAD', 8],
      ['PAD', 0],
    ]);
    const wide = parameterMoves(propose('vectorised-loads', 'narrow-loads'));
    expect(wide.map(({ value }) => value)).toEqual([4, 8]);
    expect(wide[0]!.confidence).toBeGreaterThan(wide[1]!.confidence);
    const stages = parameterMoves(propose('more-work-in-flight', 'latency-bound'));
    expect(stages.filter(({ parameter }) => parameter === 'STAGES').map(({ value }) => value)).toEqual([2, 3]);
  });

  it.each<[string, FindingId, string, 'more' | 'fewer']>([
    ['warp-parallel-reductions', 'serial-sections', 'WARPS', 'more'],
    ['tiles-in-shared-memory', 'redundant-global-loads', 'BLOCK_M', 'more'],
    ['vectorised-loads', 'narrow-loads', 'VECTOR_WIDTH', 'more'],
    ['more-work-in-flight', 'latency-bound', 'STAGES', 'more'],
    ['more-work-in-flight', 'latency-bound', 'WARPS', 'more'],
    ['more-work-in-flight', 'latency-bound', 'UNROLL', 'more'],
    ['larger-tiles', 'memory-bound', 'BLOCK_N', 'more'],
    ['larger-tiles', 'memory-bound', 'BLOCK_M', 'more'],
    ['larger-tiles', 'barrier-heavy', 'ROWS_PER_WARP', 'more'],
    ['keep-arrays-in-registers', 'register-spills', 'ROWS_PER_WARP', 'fewer'],
    ['fewer-instructions', 'compute-bound', 'ROWS_PER_WARP', 'more'],
    ['fewer-instructions', 'compute-bound', 'BLOCK_M', 'more'],
    ['fewer-instructions', 'compute-bound', 'WARPS', 'fewer'],
    ['fewer-instructions', 'compute-bound', 'UNROLL', 'more'],
    ['order-ctas-for-reuse', 'cache-reuse', 'GROUP_M', 'more'],
    ['order-ctas-for-reuse', 'cache-reuse', 'BLOCK_M', 'more'],
    ['fewer-special-functions', 'special-function-bound', 'BLOCK_N', 'more'],
    ['fuse-launches', 'launch-bound', 'KV_SPLITS', 'fewer'],
  ])('%s answers %s with %s: %s', (id, trigger, parameter, direction) => {
    const middle = { values: [1, 2, 4], default: 2 };
    const own = kernel('middle', [], { [parameter]: middle });
    const values = parameterMoves(propose(id, trigger, { own })).map((move) => move.value);
    expect(values).toEqual(direction === 'more' ? [4] : [1]);
  });

  it('expect a part of the finding’s gain', () => {
    const [move] = parameterMoves(propose('vectorised-loads', 'narrow-loads', { speedup: 5 }));
    expect(move!.expectedGain).toBeCloseTo(3, 9);
    const [neighbour] = parameterMoves(propose('tune-neighbours', 'compute-bound', { speedup: 5 }));
    expect(neighbour!.expectedGain).toBeCloseTo(1.8, 9);
  });

  it('shrink what limits occupancy', () => {
    const timing = {
      launches: [{ medianNs: 1, occupancy: { ratio: 0.08, limiter: 'shared-memory' } }],
    } as unknown as Timing;
    const moves = parameterMoves(propose('raise-occupancy', 'occupancy', { timing }));
    expect(moves.find(({ parameter }) => parameter === 'BLOCK_N')).toMatchObject({ value: 16 });
    expect(moves.find(({ parameter }) => parameter === 'BLOCK_M')).toMatchObject({ value: 32 });
    expect(moves[0]!.reason).toContain('shared memory');
  });

  it('leave occupancy alone where latency binds at full occupancy', () => {
    const timing = { launches: [{ medianNs: 1, occupancy: { ratio: 1, limiter: 'warps' } }] } as unknown as Timing;
    expect(propose('raise-occupancy', 'latency-bound', { timing })).toEqual([]);
  });

  it('fall back to the neighbours of every parameter', () => {
    const moves = parameterMoves(propose('tune-neighbours', 'compute-bound'));
    expect(moves.map(({ parameter, value }) => `${parameter}=${value}`)).toEqual([
      'BLOCK_M=32',
      'BLOCK_N=64',
      'BLOCK_N=16',
      'WARPS=8',
      'WARPS=2',
      'VECTOR_WIDTH=4',
      'VECTOR_WIDTH=1',
      'PAD=8',
      'PAD=0',
      'STAGES=2',
    ]);
  });
});

describe('parameter roles', () => {
  it.each<[string, ParameterRole | undefined]>([
    ['BLOCK_M', 'row-tile'],
    ['TILE_M', 'row-tile'],
    ['BLOCK_N', 'column-tile'],
    ['BLOCK_K', 'column-tile'],
    ['WARPS', 'warps'],
    ['NUM_WARPS', 'warps'],
    ['ROWS_PER_WARP', 'rows-per-warp'],
    ['VECTOR_WIDTH', 'vector-width'],
    ['STAGES', 'stages'],
    ['NUM_STAGES', 'stages'],
    ['PAD', 'padding'],
    ['UNROLL', 'unroll'],
    ['SPLIT', 'split'],
    ['KV_SPLITS', 'split'],
    ['GROUP_M', 'cta-group'],
    ['SWIZZLE', 'cta-group'],
    ['MY_BLOCK_M', undefined],
    ['SCALE', undefined],
  ])('%s is %s', (name, role) => {
    expect(roleOf(name)).toBe(role);
  });
});

describe('elements per thread and CTAs per SM', () => {
  const middle = { values: [1, 2, 4], default: 2 };
  const own = kernel('03_shuffles', [], { ITEMS: middle, CTAS_PER_SM: middle });
  const proposed = (id: string, trigger: FindingId) =>
    parameterMoves(propose(id, trigger, { own })).map(({ parameter, value }) => [parameter, value]);

  it('make fewer CTAs, each with more to add up, where atomics contend', () => {
    expect(proposed('aggregate-atomics', 'atomics-contention')).toEqual([
      ['ITEMS', 4],
      ['CTAS_PER_SM', 1],
    ]);
  });

  it('keep more in flight where latency binds', () => {
    expect(proposed('more-work-in-flight', 'latency-bound')).toEqual([
      ['CTAS_PER_SM', 4],
      ['ITEMS', 4],
    ]);
  });
});
