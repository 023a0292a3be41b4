import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fillConstants } from '../../../src/app/loading/fill-constants.ts';
import { loadKernel } from '../../../src/app/loading/load-kernel.ts';
import { openSession, type Session } from '../../../src/app/session.ts';
import { makeCandidate } from '../../../src/core/candidate.ts';
import type { Evaluation } from '../../../src/core/evaluation.ts';
import type { KernelFile, StepDeclaration } from '../../../src/core/kernel.ts';
import { resolveWorkload } from '../../../src/core/plan/resolve-workload.ts';
import { checkKernel, checkKernelAgainstProblem } from '../../../src/core/schemas/kernel-checks.ts';
import { narrowed } from '../../support/narrowed.ts';
import { longTests } from '../../support/sampling/matrix.ts';

const long = longTests(import.meta.filename, { oneIn: 4 });

let session: Session;
beforeAll(async () => {
  session = await openSession({ device: 'virtual:l4', threads: 1 });
});
afterAll(() => session[Symbol.asyncDispose]());

/** Judges a kernel for row sums. */
async function judge(source: string, changes: Partial<KernelFile>): Promise<Evaluation> {
  const { kernel, problem } = await loadKernel('examples/row-sum/01_thread_per_row');
  const written = { file: { ...kernel.file, ...changes }, sources: { 'kernel.cu': source } };
  checkKernel(written.file, 'kernel.json');
  const filled = fillConstants(written, problem.file, 'kernel.json');
  checkKernelAgainstProblem(filled.file, problem.file, 'kernel.json');
  return session.evaluator.evaluate({
    problem: { ...problem, file: narrowed(problem.file, ['rows * columns <= 20000']) },
    candidate: makeCandidate({ folder: kernel.folder, ...filled }, {}),
    workload: resolveWorkload(problem.file, 'rows=200,columns=6'),
    seed: 1,
  });
}

const i32 = (scalar: string | number) => ({ scalar, dtype: 'i32' as const });

/** `used` is right only where it starts every sequence as `start` is: 7 everywhere; `bias` holds 5, 7, 9, … */
const COUNTING = `__global__ void row_sum(const float* x, float* y, int rows, int columns, int* used, const int* bias) {
  const int row = blockIdx.x * 128 + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < columns; c++) sum += x[static_cast<size_t>(row) * columns + c];
  y[row] = sum + (used[row] - 7) + (bias[row] - (5 + 2 * row));
  used[row] = 100;
}
`;
const COPY: StepDeclaration = { copy: { from: { buffer: 'start' }, to: { buffer: 'used' } } };
const COUNT: StepDeclaration = {
  function: 'row_sum',
  grid: ['ceilDiv(rows, 128)'],
  block: [128],
  arguments: [{ buffer: 'x' }, { buffer: 'y' }, i32('rows'), i32('columns'), { buffer: 'used' }, { buffer: 'bias' }],
};
const counting = (steps: StepDeclaration[], value = 7): Partial<KernelFile> => ({
  workspaces: {
    start: { bytes: '4 * rows', init: 'once', contents: { dtype: 'i32', value } },
    used: { bytes: '4 * rows', init: 'undefined' },
    bias: { bytes: '4 * rows', init: 'once', contents: { dtype: 'i32', from: 5, step: 2 } },
  },
  steps,
});

describe('workspaces with contents, and copies', () => {
  long('let every launch sequence begin from the same values', async () => {
    const evaluation = await judge(COUNTING, counting([COPY, COUNT]));
    expect(evaluation).toMatchObject({ status: 'passed' });
  });

  it('a kernel whose copy is left out is found out', async () => {
    expect((await judge(COUNTING, counting([COUNT]))).status).toBe('unsafe');
  });

  it('other contents are other values', async () => {
    expect((await judge(COUNTING, counting([COPY, COUNT], 8))).status).toBe('wrong');
  });

  long('a part of a buffer is copied where the plan says', async () => {
    const half = (offsetBytes: string, bytes: string): StepDeclaration => ({
      copy: { from: { buffer: 'start', offsetBytes }, to: { buffer: 'used', offsetBytes }, bytes },
    });
    const halves = [half('0', '4 * floor(rows / 2)'), half('4 * floor(rows / 2)', '4 * (rows - floor(rows / 2))')];
    expect((await judge(COUNTING, counting([...halves, COUNT]))).status).toBe('passed');
    expect((await judge(COUNTING, counting([halves[0]!, COUNT]))).status).toBe('unsafe');
  });

  it('a wrong element that a copy wrote is traced to the copy', async () => {
    const over: StepDeclaration = { copy: { from: { buffer: 'start' }, to: { buffer: 'y' } } };
    const evaluation = await judge(COUNTING, counting([COPY, COUNT, over]));
    expect(evaluation).toMatchObject({ status: 'wrong', writer: { last: { step: 2, isCopy: true } } });
  });
});

/** Column c is added in launch c of a list of launches. */
const ADDING = `__global__ void clear(float* y, int rows) {
  const int row = blockIdx.x * 128 + threadIdx.x;
  if (row < rows) y[row] = 0.0f;
}
__global__ void add(const float* x, float* y, int rows, int columns, int column) {
  const int row = blockIdx.x * 128 + threadIdx.x;
  if (row < rows && column < columns) y[row] += x[static_cast<size_t>(row) * columns + column];
}
`;
const add = (column: string, repeat: string): StepDeclaration => ({
  function: 'add',
  grid: ['ceilDiv(rows, 128)'],
  block: [128],
  arguments: [{ buffer: 'x' }, { buffer: 'y' }, i32('rows'), i32('columns'), i32(column)],
  repeat,
});
const adding = (column: string): Partial<KernelFile> => ({
  limits: ['columns <= 64'],
  steps: [
    {
      function: 'clear',
      grid: ['ceilDiv(rows, 128)'],
      block: [128],
      arguments: [{ buffer: 'y' }, i32('rows')],
    },
    { repeat: 'ceilDiv(columns, 4)', index: 'quad', steps: [add(column, 'min(4, columns - 4 * quad)')] },
  ],
});

describe('repeated steps', () => {
  long('know the numbers of all repetitions around them, in counts, too', async () => {
    expect((await judge(ADDING, adding('4 * quad + repeat.index'))).status).toBe('passed');
  });

  it('where the outer number is left out, the sums are wrong', async () => {
    expect((await judge(ADDING, adding('repeat.index'))).status).toBe('wrong');
  });
});

const WEIGHTED = `__constant__ float weights[3];
__constant__ int columns;
__global__ void row_sum(const float* x, float* y, int rows) {
  const int row = blockIdx.x * 128 + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < columns; c++) sum += weights[c % 3] * x[static_cast<size_t>(row) * columns + c];
  y[row] = sum;
}
`;
const weighted = (values: (string | number)[]): Partial<KernelFile> => ({
  constants: { weights: { dtype: 'f32', values }, columns: { dtype: 'i32', value: 'columns' } },
  steps: [
    {
      function: 'row_sum',
      grid: ['ceilDiv(rows, 128)'],
      block: [128],
      arguments: [{ buffer: 'x' }, { buffer: 'y' }, i32('rows')],
    },
  ],
});

describe('constants with values', () => {
  long('are arrays of numbers, and single numbers of the dimensions', async () => {
    expect((await judge(WEIGHTED, weighted([1, 'rows / rows', 1]))).status).toBe('passed');
    expect((await judge(WEIGHTED, weighted([1, 2, 1]))).status).toBe('wrong');
  });

  it('too short a list is a read outside of it', async () => {
    const evaluation = await judge(WEIGHTED, weighted([1, 1]));
    expect(evaluation).toMatchObject({ status: 'unsafe' });
    expect(evaluation.reason).toContain('constant_weights');
  });
});
