import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reference, referenceRowsOfSparse } from '../../problems/transpose/reference.ts';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { loadProblem } from '../../src/app/loading/load-problem.ts';
import { optimizeProblem } from '../../src/app/optimize.ts';
import { openSession, type Session } from '../../src/app/session.ts';
import { validAssignments } from '../../src/core/plan/parameters.ts';
import { gatherRows } from '../../src/evaluation/oracle/expected-rows.ts';
import { NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';
import { judgeRung } from '../support/judge-rung.ts';
import { narrowCopy } from '../support/narrowed.ts';
import { climb, effectOfRungs, rungsOf } from './support/matrices.ts';

const FOLDER = 'problems/transpose';
const RUNGS = ['01_naive', '02_tiled', '03_padded', '04_vectorised'];

let session: Session;
beforeAll(async () => {
  session = await openSession({ device: 'virtual:l4', threads: 1 });
});
afterAll(() => session[Symbol.asyncDispose]());

const onL4 = (rung: string, workload: string) => judgeRung(session, { folder: join(FOLDER, rung), workload });

describe('reference', () => {
  it('puts row n of Y together from column n of X', () => {
    const X = Float64Array.of(1, 2, 3, 4, 5, 6); // [2, 3]
    const { Y } = reference({ X }, { M: 2, N: 3 }, (value) => value);
    expect(Y).toEqual(Float64Array.of(1, 4, 2, 5, 3, 6));
  });

  it('undoes itself', () => {
    const [M, N] = [7, 11];
    const X = Float64Array.from({ length: M * N }, (_, i) => i);
    const { Y } = reference({ X }, { M, N }, (value) => value);
    expect(reference({ X: Y! }, { M: N, N: M }, (value) => value).Y).toEqual(X);
  });

  it('rounds what it copies', () => {
    expect(reference({ X: Float64Array.of(2.75) }, { M: 1, N: 1 }, Math.floor).Y).toEqual(Float64Array.of(2));
  });

  it('has the same bits in single rows', () => {
    const [M, N] = [37, 23];
    const X = Float64Array.from({ length: M * N }, (_, i) => Math.sin(i));
    const Y = Uint32Array.of(0, 2, 3, 22);
    for (const round of [(value: number): number => value, Math.fround]) {
      const whole = reference({ X }, { M, N }, round).Y!;
      expect(referenceRowsOfSparse({ X }, { M, N }, round, { Y }).Y).toEqual(gatherRows(whole, Y, M));
    }
  });
});

describe('the ladder', () => {
  it('is listed in problem.json in this order and starts at its first rung', async () => {
    const { file } = await loadProblem(FOLDER);
    expect(file.rungs).toEqual(RUNGS);
    expect(file.start).toBe('01_naive');
  });

  it('has from 60 to 150 valid configurations', async () => {
    let count = 0;
    for (const rung of RUNGS) count += validAssignments((await loadKernel(join(FOLDER, rung))).kernel.file).length;
    expect(count).toBeGreaterThanOrEqual(60);
    expect(count).toBeLessThanOrEqual(150);
  });

  rungsOf('transpose', RUNGS)('%s is right on every check shape and a ragged workload', async (rung) => {
    const { status, reason } = await onL4(rung, 'M=70,N=130');
    expect({ status, reason }).toEqual({ status: 'passed', reason: undefined });
  });

  effectOfRungs('transpose')(
    'removes a cause with every rung: scattered writes, bank conflicts, narrow accesses',
    async () => {
      const totals = async (rung: string) => (await onL4(rung, 'M=128,N=128')).counters!.totals;
      const [naive, tiled, padded, vectorised] = await Promise.all(RUNGS.map(totals));
      const warps = (128 * 128) / 32;
      // A sector for every lane against four for a warp.
      expect(naive!.globalStoreSectors).toBe(32 * warps);
      expect(tiled!.globalStoreSectors).toBe(4 * warps);
      // 32 lanes below each other in rows of 32 words: one bank.
      expect(tiled!.sharedLoadWavefronts).toBe(32 * warps);
      expect(padded!.sharedLoadWavefronts).toBe(warps);
      expect(vectorised!.sharedLoadBankConflicts + vectorised!.sharedStoreBankConflicts).toBe(0);
      expect(vectorised!.globalLoadRequests).toBe(padded!.globalLoadRequests / 4);
    },
  );
});

/** What the search is for, and small shapes, ragged ones among them: the confirmation verifies hundreds where there are as many. */
const FEW_SHAPES = ['M * N <= 16384 || M == 512 && N == 1024', 'M % 32 == 0 || M == 33', 'N % 32 == 0 || N == 140'];
/** Large enough for the ladder's order. */
const CLIMBED = { name: 'climbed', dimensions: { M: 512, N: 1024 } };

climb('transpose on virtual:h200')(
  'is optimised from the naive rung to the last one on an H200, where bank conflicts bind',
  async () => {
    const store = await mkdtemp(join(tmpdir(), 'warpsmith-transpose-'));
    try {
      const { result } = await optimizeProblem({
        target: narrowCopy(FOLDER, store, FEW_SHAPES, CLIMBED),
        device: 'virtual:h200',
        workloads: [],
        parameters: {},
        seed: 1,
        threads: 1,
        store,
        budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 5 },
      });
      expect(result.best?.candidate.kernel.file.name).toBe('04_vectorised');
    } finally {
      await rm(store, { recursive: true, force: true });
    }
  },
);
