import { describe, expect, it } from 'vitest';
import type { KernelFile } from '../../../src/core/kernel.ts';
import type { Dimensions } from '../../../src/core/problem.ts';
import { planLaunches } from '../../../src/evaluation/launches/plan-launches.ts';
import { judgeSamples } from '../../../src/evaluation/verify/judge-samples.ts';
import { createFakeDevice, type FakeDevice, type FakeKernel, type FakeLaunch } from '../../support/fake-device.ts';
import { product, toyCandidate, toyProblem } from '../../support/toy-problem.ts';

/** CTA r writes row r; only as many of the first rows as CTAs run, and each somewhere else beyond row 2,000. */
function storeRows(launch: FakeLaunch, rowOf = (row: number): number => row): void {
  const y = product(launch);
  const [rows] = launch.launch.grid;
  const columns = y.length / rows;
  const last = Math.floor((rows * 3) / 4);
  for (let row = last; row < last + (launch.options.sampleCtas ?? 0); row++)
    launch.store('Y', 'f16', y.subarray(row * columns, (row + 1) * columns), rowOf(row) * columns);
}

const honest: FakeKernel = (launch) => storeRows(launch);
/** Its row is a number of 11 bits. */
const short: FakeKernel = (launch) => storeRows(launch, (row) => row % 2048);

const [SMALL, LARGE]: Dimensions[] = [
  { R: 1000, C: 2 },
  { R: 4000, C: 2 },
];

async function judge(
  kernel: FakeKernel,
  {
    shapes = [LARGE!],
    lists = [],
    ptx = '',
    ...changes
  }: Partial<KernelFile> & { shapes?: Dimensions[]; lists?: Dimensions[][]; ptx?: string } = {},
): Promise<{ result: Awaited<ReturnType<typeof judgeSamples>>; device: FakeDevice }> {
  const device = createFakeDevice({ kernel, later: () => undefined });
  const [problem, candidate] = [toyProblem(), toyCandidate(changes)];
  const compiled = { kind: 'ptx', text: ptx, functionSymbols: {} } as never;
  const loaded = await device.load(compiled);
  if (!loaded.ok) throw new Error(loaded.message);
  const { module } = loaded;
  const planFor = (dimensions: Dimensions) =>
    planLaunches({ problem, candidate, dimensions, spec: device.spec, module });
  const result = await judgeSamples({ device, module, problem, seed: 7, timeoutMs: 1000, planFor }, [shapes, ...lists]);
  expect(device.liveBuffers.size).toBe(0);
  return { result, device };
}

describe('a few CTAs of a launch that is too large to be run whole', () => {
  it('are compared where they wrote, and the shape is named', async () => {
    const { result, device } = await judge(honest);
    expect(result).toEqual({ ok: true, sampled: [LARGE] });
    expect(device.runs).toMatchObject([{ sampleCtas: 64, count: false }]);
  });

  it('are of the first shape of each list', async () => {
    const { result } = await judge(honest, { shapes: [SMALL!, LARGE!], lists: [[LARGE!]] });
    expect(result).toEqual({ ok: true, sampled: [SMALL, LARGE] });
  });

  it('show indices that end before the rows do, and only there', async () => {
    expect((await judge(short)).result).toMatchObject({
      status: 'wrong',
      reason: expect.stringContaining('wanted'),
      failedCheck: 'R=4000, C=2 · declared inputs · a sample of 64 CTAs',
    });
    expect((await judge(short, { shapes: [SMALL!] })).result).toEqual({ ok: true, sampled: [SMALL] });
  });

  it('run at the first shape of which they say something', async () => {
    const failing: FakeKernel = (launch) =>
      launch.launch.grid[0] === 1000 ? { ok: false, status: 'timed-out', message: 'too long' } : honest(launch);
    const { result } = await judge(failing, { shapes: [SMALL!, LARGE!] });
    expect(result).toEqual({ ok: true, sampled: [LARGE] });
  });

  it.each([
    ['atomics on device memory', { ptx: 'atom.global.add.u32 %r1, [%rd1], 1;' }],
    ['waits for a flag', { ptx: 'ld.volatile.global.u32 %r1, [%rd1];' }],
    ['a workspace', { workspaces: { parts: { bytes: '64', init: 'undefined' } } }],
    [
      'two launches',
      {
        steps: ['kernel', 'later'].map((name) => ({
          ...{ function: name, grid: ['R'], block: [32] },
          arguments: ['X', 'W', 'Y'].map((buffer) => ({ buffer })),
        })),
      },
    ],
  ] as [string, Partial<KernelFile> & { ptx?: string }][])('say nothing of a kernel with %s', async (_, changes) => {
    const { result, device } = await judge(honest, changes);
    expect(result).toEqual({ ok: true, sampled: [] });
    expect(device.runs).toEqual([]);
  });

  it('say nothing where one CTA has nearly everything to do', async () => {
    const { device } = await judge(honest, { shapes: [{ R: 1, C: 2 ** 22 }] });
    expect(device.runs).toEqual([]);
  });
});
