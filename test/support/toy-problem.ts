import { inProcess } from '../../src/core/call-reference.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Candidate, Kernel, KernelFile, ParameterValues } from '../../src/core/kernel.ts';
import type { Problem, ProblemFile, Workload } from '../../src/core/problem.ts';
import type { FakeKernel, FakeLaunch } from './fake-device.ts';

const toyFile: ProblemFile = {
  schemaVersion: 1,
  name: 'row-scale',
  description: 'Y[r, c] = X[r, c] times W[r]',
  dimensions: {
    R: { description: 'Rows.', minimum: 1 },
    C: { description: 'Columns.', minimum: 1 },
  },
  inputs: {
    X: { dtype: 'f16', shape: ['R', 'C'], access: 'in' },
    W: { dtype: 'f16', shape: ['R'], access: 'in' },
  },
  outputs: { Y: { dtype: 'f16', shape: ['R', 'C'], access: 'out' } },
  flop: 'R * C',
  minimumFlop: 'R * C',
  minimumReadBytes: '2 * R * C',
  workloads: [{ name: 'main', dimensions: { R: 16, C: 64 } }],
  checkShapes: [{ dimensions: { R: 3, C: 17 } }],
  generatorSets: { normal: {}, large: { X: { kind: 'large', magnitude: 50 } } },
  comparison: { kind: 'calibrated', storage: 'f16', accumulate: 'f32' },
  determinism: 'bitwise',
  start: '01',
  rungs: ['01'],
};

/** Y = X · W by rows: small, but with two inputs, two axes, ragged shapes and two generator sets. */
export const toyProblem = (changes: Partial<ProblemFile> = {}): Problem => ({
  folder: 'toy',
  // A problem of other dimensions has other costs.
  file: { ...toyFile, ...(changes.dimensions && { flop: Object.keys(changes.dimensions).join(' * ') }), ...changes },
  reference: inProcess(({ X, W }, { C }, round) => ({ Y: scaledRows(X!, W!, C!, round) })),
});

/** Loops: large shapes are drawn of it, too. */
function scaledRows(x: Float64Array, w: Float64Array, columns: number, round: (value: number) => number): Float64Array {
  const y = new Float64Array(x.length);
  for (let i = 0; i < y.length; i++) y[i] = round(x[i]! * w[Math.floor(i / columns)]!);
  return y;
}

/** What a right kernel computes: in float32, rounded by the store. */
export function product({ load, launch }: FakeLaunch): Float64Array {
  const [x, w] = [load('X', 'f16'), load('W', 'f16')];
  return scaledRows(x, w, x.length / launch.grid[0], Math.fround);
}

/** A right kernel. */
export const honest: FakeKernel = (launch) => launch.store('Y', 'f16', product(launch));

export const toyWorkload: Workload = { name: 'main', dimensions: { R: 16, C: 64 }, cache: 'hot' };

const toyKernelFile: KernelFile = {
  schemaVersion: 1,
  name: 'toy',
  description: '',
  problem: '../problem.json',
  source: { kind: 'cuda', files: ['kernel.cu'] },
  steps: [
    {
      function: 'kernel',
      grid: ['R'],
      block: [32],
      arguments: [{ buffer: 'X' }, { buffer: 'W' }, { buffer: 'Y' }],
    },
  ],
};

/** A candidate that launches the function `kernel` once. */
export const toyCandidate = (changes: Partial<KernelFile> = {}, parameters: ParameterValues = {}): Candidate => {
  const kernel: Kernel = { folder: 'toy/01', file: { ...toyKernelFile, ...changes }, sources: { 'kernel.cu': '' } };
  return makeCandidate(kernel, parameters);
};

/** A problem that copies a matrix, or a vector. */
export const copying = (...names: string[]): ProblemFile => {
  const { file } = toyProblem();
  return {
    ...file,
    flop: names.join(' * '),
    comparison: { kind: 'exact' },
    dimensions: Object.fromEntries(names.map((name) => [name, { description: '', minimum: 1 }])),
    inputs: { X: { ...file.inputs.X!, shape: names } },
    outputs: { Y: { ...file.outputs.Y!, shape: names } },
    workloads: [],
    checkShapes: [],
  };
};
