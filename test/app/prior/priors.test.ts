import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { optimizeProblem } from '../../../src/app/optimize.ts';
import { askedPrior } from '../../../src/app/prior/asked-prior.ts';
import { type AskedPrior, priorOfStore, type Searched } from '../../../src/app/prior/prior-of-store.ts';
import { makeCandidate } from '../../../src/core/candidate.ts';
import type { Kernel } from '../../../src/core/kernel.ts';
import type { OptimizeOptions } from '../../../src/optimizer/optimize.ts';
import { describePrior } from '../../../src/reports/describe-prior.ts';
import { type Priors, UNLIMITED } from '../../../src/store/events.ts';
import { openRecording } from '../../../src/store/recording.ts';
import { createRunFolder } from '../../../src/store/run-folder.ts';
import {
  finding,
  kernel,
  nameOf,
  ofType,
  pattern,
  problem,
  runLoop,
  scriptedEvaluator,
  spec,
  tile,
  type Verdict,
} from '../../optimizer/fakes.ts';
import { expectToGoOnAnywhere } from '../../optimizer/going-on.ts';

let store: string;
beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'warpsmith-prior-'));
});
afterEach(() => rmSync(store, { recursive: true, force: true }));

const parameters = { TILE: { values: [8, 16, 32, 64, 128], default: 8 }, DEPTH: { values: [1, 2], default: 1 } };
const first = kernel('01_first', { parameters });
const changed: Kernel = { ...first, sources: { ...first.sources, 'kernel.cu': '// not the same' } };
const SETTINGS = 10;
const L4 = { id: 'virtual:l4', kind: 'virtual', name: 'NVIDIA L4 (virtual)' } as const;
const H200 = { id: 'cuda:0', kind: 'cuda', name: 'NVIDIA H200' } as const;
const on = (name: string) => ({ name, dimensions: { N: 1024 }, cache: 'hot', weight: 1 }) as const;

const figure = (name: string, key: string): number => Number(new RegExp(`${key}=(\\d+)`).exec(name)![1]);
/** 64 × 2 is best; the largest tile fails. */
const script = (name: string): Verdict =>
  figure(name, 'TILE') === 128
    ? { status: 'compile-failed' }
    : { ns: 1000 + 10 * Math.abs(figure(name, 'TILE') - 64) - 30 * figure(name, 'DEPTH') };

/** A run that tries every setting, in the store. */
async function recordRun(id: string, options: Partial<OptimizeOptions> = {}): Promise<void> {
  const run = createRunFolder(store, id);
  const evaluator = scriptedEvaluator(script);
  const emit: OptimizeOptions['emit'] = (event) => void run.log.append(event);
  await runLoop({ evaluator, rungs: [first], strategy: 'exhaustive', emit, ...options });
  run.log.close();
}

const searched = (of: Partial<Searched> = {}): Searched => ({
  problem,
  start: makeCandidate(first, {}),
  rungs: [first],
  workloads: [on('n1024')],
  device: H200,
  ...of,
});
const asked = (prior: string): AskedPrior => ({
  ...searched(),
  request: { device: H200.id, prior, store },
});
const ask = (prior: string) => askedPrior(asked(prior), { device: { identity: H200 } });
const rowsOf = (known: Priors['times']) => known!.kernels[0]!.rows;

describe('the prior of a store', () => {
  it('is a run of the same kernels on another device, with its failures', async () => {
    await recordRun('one');
    const known = priorOfStore(store, searched())!;
    expect(known).toMatchObject({ source: 'one', kind: 'run', device: L4.name, workload: 'n1024' });
    expect(known.kernels).toHaveLength(1);
    expect(known.kernels[0]).toMatchObject({ kernel: '01_first', parameters: ['DEPTH', 'TILE'] });
    expect(rowsOf(known)).toHaveLength(SETTINGS);
    expect(rowsOf(known)).toContainEqual([2, 64, 1]);
    expect(rowsOf(known)).toContainEqual([1, 128, null]);
    expect(describePrior(known)).toBe('Prior of the search: 10 settings, run one (NVIDIA L4 (virtual), n1024)');
  });

  it.each([
    ['the same device and workload', { device: L4 }],
    ['other sources', { rungs: [changed], start: makeCandidate(changed, {}) }],
  ])('is none of %s', async (_name, of) => {
    await recordRun('one');
    expect(priorOfStore(store, searched(of))).toBeUndefined();
  });

  it('is none of a run that tried little', async () => {
    await recordRun('one', {
      budgets: { ...UNLIMITED, maximumEvaluations: 4 },
    });
    expect(priorOfStore(store, searched())).toBeUndefined();
  });

  it('is rather of the same workload than of the same device', async () => {
    await recordRun('another-workload', { workloads: [on('n2048')], device: { ...L4, name: 'NVIDIA T4 (virtual)' } });
    await recordRun('another-device', { device: L4 });
    await recordRun('yet-another-workload', { workloads: [on('n4096')] });
    expect(priorOfStore(store, searched())!.source).toBe('another-device');
    expect(priorOfStore(store, searched({ workloads: [on('n9')] }))!.source).toBe('yet-another-workload');
  });
});

describe('--prior', () => {
  it('none begins without', async () => expect(await ask('none')).toBeUndefined());

  it('takes a run by its name', async () => {
    await recordRun('2026-one');
    expect((await ask('2026'))!.source).toBe('2026-one');
    await expect(ask('nothing')).rejects.toMatchObject({ details: { code: 'unknown-run' } });
  });

  it('takes a recording', async () => {
    const path = join(store, 'known.jsonl.gz');
    const writer = openRecording(path, {
      device: L4,
      spec,
      compiler: { name: 'clang', version: '1' },
      environment: {},
    });
    const evaluator = scriptedEvaluator(script);
    for (const TILE of parameters.TILE.values) {
      const candidate = makeCandidate(first, { TILE });
      const evaluation = await evaluator.evaluate({ problem, candidate, workload: on('n1024'), seed: 1 });
      const { id } = candidate;
      writer.append({
        kind: 'evaluation',
        request: {
          problem: { name: problem.file.name, hash: '' },
          candidate: { id, kernel: first.file.name, parameters: candidate.parameters },
          ...{ workload: on('n1024'), seed: 1, tier: 'screen', blocks: null, against: [], libraryBaselines: [] },
          ...{ profile: 'none', sanitize: false },
        },
        evaluation,
      });
    }
    writer.close();
    const known = await ask(path);
    expect(known).toMatchObject({ kind: 'recording', device: L4.name, workload: 'n1024' });
    expect(rowsOf(known)).toHaveLength(5);
  });

  it.each([
    ['closed', '}}'],
    ['still open', ','],
  ])('takes a cache file of Kernel Tuner that is %s', async (_name, end) => {
    const path = join(store, 'cache.json.gz');
    const entries = parameters.TILE.values.map(
      (TILE) => `"${TILE},1": {"TILE": ${TILE}, "DEPTH": 1, "time": ${TILE / 8}}`,
    );
    writeFileSync(path, gzipSync(`{"tune_params_keys": ["TILE", "DEPTH"], "cache": {${entries.join()}${end}`));
    const known = await ask(path);
    expect(known).toMatchObject({ kind: 'tuning-results', device: null, workload: null });
    expect(rowsOf(known)).toEqual([8, 16, 32, 64, 128].map((TILE) => [1, TILE, TILE / 8]));
  });

  it('refuses a file of other parameters, and the device of the run', async () => {
    const path = join(store, 'cache.json');
    writeFileSync(path, JSON.stringify({ tune_params_keys: ['a'], cache: { 1: { time: 1 } } }));
    await expect(ask(path)).rejects.toMatchObject({ details: { code: 'nothing-known', received: path } });
    const request = { ...asked('virtual:l4').request, device: 'virtual:l4' };
    await expect(askedPrior({ ...asked('virtual:l4'), request }, { device: { identity: L4 } })).rejects.toMatchObject({
      details: { code: 'prior-is-the-device' },
    });
  });
});

describe('a run with a prior', () => {
  const run = async (options: Partial<OptimizeOptions> = {}) => {
    const evaluator = scriptedEvaluator(script);
    const priors: Priors = { patterns: [], costs: [], times: priorOfStore(store, searched())! };
    const { events } = await runLoop({
      evaluator,
      rungs: [first],
      strategy: 'bayesian',
      priors,
      device: H200,
      ...options,
    });
    return { events, judged: evaluator.judged };
  };

  it('tries what was fastest there, and logs what the prior said', async () => {
    await recordRun('one');
    const { events, judged } = await run();
    expect(judged[1]).toBe(nameOf(makeCandidate(first, { TILE: 64, DEPTH: 2 })));
    expect(events[0]).toMatchObject({ type: 'run-started', priors: { times: { source: 'one' } } });
  });

  it('opens a guided run with it, before its findings', async () => {
    await recordRun('one');
    const patterns = [pattern('tiles', 'tail-effect', [tile(16)])];
    const evaluator = scriptedEvaluator((name) => ({ ...script(name), findings: [finding('tail-effect')] }));
    const { events } = await run({ strategy: 'guided', exploring: true, patterns, evaluator });
    const asked = ofType(events, 'move-proposed').map(({ pattern: { id } }) => id);
    expect(asked.slice(0, 5)).toEqual(['bayesian', 'bayesian', 'bayesian', 'tiles', 'bayesian']);
  });

  it.each(['bayesian', 'guided'])('goes on from its log: %s', async (strategy) => {
    await recordRun('one');
    const again = (options: Partial<OptimizeOptions> = {}) => run({ strategy, exploring: true, ...options });
    await expectToGoOnAnywhere(again, await again());
  });

  it.each([
    [{ strategy: 'random' }, '--strategy random'],
    [{ exploring: false }, '--no-exploring'],
  ] as const)('is refused to who learns nothing from it: %j', async (options, flag) => {
    await expect(
      optimizeProblem({ target: store, device: L4.id, store, prior: 'latest', ...options }),
    ).rejects.toMatchObject({ details: { code: 'conflicting-options', received: `--prior latest and ${flag}` } });
  });
});
