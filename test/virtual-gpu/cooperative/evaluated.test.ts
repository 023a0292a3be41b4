import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadKernel } from '../../../src/app/loading/load-kernel.ts';
import { openSession, type Session } from '../../../src/app/session.ts';
import { makeCandidate } from '../../../src/core/candidate.ts';
import type { Evaluation } from '../../../src/core/evaluation.ts';
import type { KernelFile } from '../../../src/core/kernel.ts';
import { resolveWorkload } from '../../../src/core/plan/resolve-workload.ts';
import { narrowed } from '../../support/narrowed.ts';
import { longTestOf } from '../../support/sampling/long-tests.ts';

let session: Session;
beforeAll(async () => {
  session = await openSession({ device: 'virtual:l4', threads: 1 });
});
afterAll(() => session[Symbol.asyncDispose]());

/** Halves of rows are added up by all CTAs, which meet before the halves are added. */
const HALVES = `#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void row_sum(const float* x, float* y, float* halves, int rows, int columns) {
  const int threads = gridDim.x * blockDim.x;
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int middle = columns / 2;
  for (int half = thread; half < 2 * rows; half += threads) {
    const float* row = x + static_cast<size_t>(half / 2) * columns;
    float sum = 0.0f;
    for (int c = half % 2 == 0 ? 0 : middle; c < (half % 2 == 0 ? middle : columns); c++) sum += row[c];
    halves[half] = sum;
  }
  cg::this_grid().sync();
  for (int row = thread; row < rows; row += threads) y[row] = halves[2 * row] + halves[2 * row + 1];
}
`;

async function judge(source: string, changes: { cooperative?: boolean; grid?: string } = {}): Promise<Evaluation> {
  const { kernel, problem } = await loadKernel('examples/row-sum/01_thread_per_row');
  const { cooperative = true, grid = 'device.smCount' } = changes;
  const file: KernelFile = {
    ...kernel.file,
    workspaces: { halves: { bytes: '8 * rows', init: 'undefined' } },
    steps: [
      {
        function: 'row_sum',
        grid: [grid],
        block: [128],
        cooperative,
        arguments: [
          { buffer: 'x' },
          { buffer: 'y' },
          { buffer: 'halves' },
          { scalar: 'rows', dtype: 'i32' },
          { scalar: 'columns', dtype: 'i32' },
        ],
      },
    ],
  };
  return session.evaluator.evaluate({
    problem: { ...problem, file: narrowed(problem.file, ['rows * columns <= 60000']) },
    candidate: makeCandidate({ folder: kernel.folder, file, sources: { 'kernel.cu': source } }, {}),
    workload: resolveWorkload(problem.file, 'rows=3000,columns=16'),
    seed: 1,
  });
}

describe('a kernel with grid.sync()', () => {
  longTestOf(import.meta.filename)('passes, with a prediction that says what it leaves out', async () => {
    const evaluation = await judge(HALVES);
    expect(evaluation).toMatchObject({ status: 'passed' });
    expect(evaluation.diagnostics!.map(({ message }) => message).join()).toContain('the prediction leaves out');
  });

  it('is unsafe without it: the halves race', async () => {
    const evaluation = await judge(HALVES.replace('cg::this_grid().sync();', ''));
    expect(evaluation.status).toBe('unsafe');
    expect(evaluation.reason).toContain('race');
  });

  it('is refused where not all CTAs are resident at once, and in an ordinary launch', async () => {
    expect(await judge(HALVES, { grid: '100 * device.smCount' })).toMatchObject({ status: 'launch-failed' });
    const ordinary = await judge(HALVES, { cooperative: false });
    expect(ordinary.status).toBe('crashed');
    expect(ordinary.reason).toContain('"cooperative": true');
  });
});
