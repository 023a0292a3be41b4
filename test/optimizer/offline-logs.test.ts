import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { NOTHING_KEPT, type RunEvent, UNLIMITED } from '../../src/store/events.ts';
import { CUDA, fakeGpu } from './fake-gpu.ts';
import { finding, kernel, pattern, rung, runLoop, scriptedEvaluator, tile } from './fakes.ts';

/*
 * Whole logs of runs without an author, as they were before authors, their bandit and all that came with it. Whatever authors
 * bring must leave them as they are, byte by byte.
 */

const rungs = [
  kernel('01_first'),
  kernel('02_second', {
    parameters: { TILE: { values: [16, 32, 64, 128], default: 32 }, DEPTH: { values: [1, 2], default: 1 } },
    remedies: ['bank-conflicts'],
  }),
  kernel('03_third', { remedies: ['parallelism'] }),
];
const figure = (name: string, key: string): number => Number(new RegExp(`${key}=(\\d+)`).exec(name)?.[1] ?? 1);
const nsOf = (name: string): number =>
  ({ '01': 1000, '02': 600, '03': 700 })[name.slice(0, 2)]! +
  Math.abs(figure(name, 'TILE') - 64) +
  20 * figure(name, 'DEPTH');
const findings = [finding('bank-conflicts'), finding('parallelism', 1.4)];
const patterns = [
  pattern('wider', 'bank-conflicts', [tile(64), tile(128, 1.2), rung('02_second')]),
  pattern('further', 'parallelism', [rung('03_third'), { kind: 'advice', text: 'more blocks' }]),
];
const predicted = () => ({
  evaluator: scriptedEvaluator((name) =>
    name === '02_second TILE=16 DEPTH=2' ? { status: 'wrong', reason: '1 of 8 wrong' } : { ns: nsOf(name), findings },
  ),
  rungs,
  patterns,
  budgets: { ...UNLIMITED, maximumEvaluations: 10 },
  ablation: true,
});
const RUNS: Readonly<Record<string, () => Parameters<typeof runLoop>[0]>> = {
  guided: () => ({ ...predicted(), exploring: true }),
  'guided-only': () => ({ ...predicted(), exploring: false }),
  undirected: () => ({ ...predicted(), request: { target: 'problems/scale', diagnosis: false } }),
  bayesian: () => ({ ...predicted(), strategy: 'bayesian' }),
  'several-workloads': () => ({
    ...predicted(),
    workloads: [
      { name: 'n1024', dimensions: { N: 1024 }, cache: 'hot', weight: 1 },
      { name: 'n4096', dimensions: { N: 4096 }, cache: 'cold', weight: 2 },
    ],
  }),
  measured: () => ({
    rungs,
    patterns,
    evaluator: fakeGpu({ ns: nsOf, findings, elapsedMs: { compile: 30, verify: 20, time: 10, total: 60 } }),
    device: CUDA,
    exploring: true,
    start: makeCandidate(rungs[0]!, { TILE: 16 }),
    budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 9, gpuPricePerHour: 2 },
  }),
};

async function logOf(options: Partial<OptimizeOptions> & Pick<OptimizeOptions, 'evaluator'>): Promise<string> {
  const { events } = await runLoop(options);
  return `${events.map((event: RunEvent) => JSON.stringify(event)).join('\n')}\n`;
}

describe('without an author', () => {
  it.each(Object.keys(RUNS))(
    'the log of a run (%s) is, byte by byte, what it was before there were any',
    async (name) => {
      await expect(await logOf(RUNS[name]!())).toMatchFileSnapshot(`offline-logs/${name}.jsonl`);
    },
  );
});
