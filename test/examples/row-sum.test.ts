import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reference } from '../../examples/row-sum/reference.ts';
import { audit } from '../../src/app/audit.ts';
import { evaluateKernel } from '../../src/app/evaluate.ts';
import { optimizeProblem } from '../../src/app/optimize.ts';
import { NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';
import { longTests, sampled } from '../support/sampling/matrix.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const FOLDER = 'examples/row-sum';
const RUNGS = ['01_thread_per_row', '02_warp_per_row'];
const ON_L4 = { device: 'virtual:l4', workloads: [], parameters: {}, seed: 1 } as const;

describe('the row-sum example', () => {
  it('sums rows', () => {
    const inputs = { x: Float64Array.of(1, 2, 3, 4, 5, 6) };
    expect([...reference(inputs, { rows: 2, columns: 3 }, (value) => value).y!]).toEqual([6, 15]);
  });

  sampled('rungs of row-sum', RUNGS, { oneIn: 2, placeOf: (rung) => join(FOLDER, rung) })('%s passes', async (rung) => {
    const { status, reason } = await evaluateKernel({ ...ON_L4, target: join(FOLDER, rung), checks: 'usual' });
    expect({ status, reason }).toEqual({ status: 'passed', reason: undefined });
  });

  long('has 32 sectors per request where a thread owns a row, and 4 where a warp does', async () => {
    // 32 lanes one row apart: a sector each. 32 lanes side by side: 128 bytes, four sectors.
    const sectorsPerRequest = async (rung: string): Promise<number> => {
      const { counters } = await evaluateKernel({ ...ON_L4, target: join(FOLDER, rung), checks: 'usual' });
      return counters!.totals.globalLoadSectors / counters!.totals.globalLoadRequests;
    };
    expect(await sectorsPerRequest('01_thread_per_row')).toBe(32);
    expect(await sectorsPerRequest('02_warp_per_row')).toBe(4);
  });

  it('has checks that refuse every wrong kernel whose output differs from the right one', async () => {
    const report = await audit({ target: FOLDER, seed: 1 });
    const differing = report.mutants.filter(({ results }) => results.some(({ outcome }) => outcome === 'slipped'));
    expect(differing.filter(({ verdict }) => verdict !== 'caught')).toEqual([]);
    expect(report.falseAlarms).toEqual([]);
  });
});

describe('optimising the row-sum example', () => {
  let store: string;
  beforeAll(async () => {
    store = await mkdtemp(join(tmpdir(), 'warpsmith-row-sum-'));
  });
  afterAll(async () => rm(store, { recursive: true, force: true }));

  long('goes to the second rung because of a finding that the rung answers', async () => {
    const { result, view } = await optimizeProblem({
      ...ON_L4,
      target: FOLDER,
      store,
      budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 4 },
    });
    expect(result.best?.candidate.kernel.file.name).toBe('02_warp_per_row');
    expect(view.progression[1]?.why?.finding).toBe('uncoalesced-access');
    expect(result.speedup).toBeGreaterThan(3);
  });
});
