import { inProcess } from '../../src/core/call-reference.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Candidate, Kernel, KernelFile, ParameterValues } from '../../src/core/kernel.ts';
import type { Problem, ProblemFile, Workload } from '../../src/core/problem.ts';

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
  file: { ...toyFile, ...changes },
  reference: inProcess(({ X, W }, { C }, round) => ({
    Y: X!.map((x, i) => round(x * W![Math.floor(i / C!)]!)),
  })),
});

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
