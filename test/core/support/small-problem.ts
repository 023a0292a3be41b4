import type { KernelFile } from '../../../src/core/kernel.ts';
import type { ProblemFile } from '../../../src/core/problem.ts';

/** y = a·x over N elements: the least problem that uses most fields. */
export const smallProblem: ProblemFile = {
  $schema: '../../schemas/problem.schema.json',
  schemaVersion: 1,
  name: 'scale',
  description: 'y = a * x',
  dimensions: {
    N: { description: 'elements', minimum: 1, maximum: 1_000_000 },
    D: { description: 'width', values: [32, 64], default: 64 },
    causal: { description: 'masked', values: [0, 1], default: 0 },
  },
  inputs: { x: { dtype: 'f16', shape: ['N', 'D'], access: 'in', generator: { kind: 'normal', mean: 1 } } },
  outputs: { y: { dtype: 'f16', shape: ['N', 'D'], access: 'out' } },
  scalars: { scale: { dtype: 'f32', value: '1 / sqrt(D)' } },
  flop: 'N * D',
  minimumFlop: 'N * D',
  minimumReadBytes: '2 * N * D',
  reducedAxis: { input: 'x', axis: 0 },
  workloads: [{ name: 'small', dimensions: { N: 256 } }],
  checkShapes: [{ dimensions: { N: 17, D: 32 }, generators: ['large'] }],
  generatorSets: { large: { x: { kind: 'large', magnitude: 1000 } } },
  comparison: { kind: 'calibrated', storage: 'f16', accumulate: 'f32' },
  determinism: 'bitwise',
  start: '01_minimal',
  rungs: ['01_minimal', '02_wide'],
};

/** A kernel for it, with a workspace, a memset and parameters. */
export const smallKernel: KernelFile = {
  $schema: '../../../schemas/kernel.schema.json',
  schemaVersion: 1,
  name: '01_minimal',
  description: 'a thread per element',
  problem: '../problem.json',
  source: { kind: 'cuda', files: ['kernel.cu'] },
  parameters: { BLOCK: { values: [64, 128, 256], default: 128 }, ITEMS: { values: [1, 2, 4], default: 1 } },
  constraints: ['BLOCK * ITEMS <= 512', 'ITEMS <= D'],
  remedies: ['occupancy'],
  limits: ['N <= 100000'],
  workspaces: { partial: { bytes: '4 * ceilDiv(N * D, BLOCK)', init: 'zero' } },
  steps: [
    { memset: { buffer: 'partial', byteValue: 0 } },
    {
      function: 'scale',
      grid: ['ceilDiv(N * D, BLOCK * ITEMS)'],
      block: ['BLOCK'],
      sharedBytes: 'BLOCK * 4',
      arguments: [
        { buffer: 'x' },
        { buffer: 'y' },
        { buffer: 'partial', offsetBytes: 4 },
        { scalar: 'N * D', dtype: 'i32' },
        { scalar: 'scale', dtype: 'f32' },
      ],
    },
  ],
};

type Json = { [key: string]: unknown };

/**
 * JSON text of a document with one place changed; `undefined` removes it.
 *
 * @param path - keys and indices, e.g. `['steps', 1, 'grid', 0]`.
 */
export const edited = (document: object, path: readonly (string | number)[], value: unknown): string => {
  const copy = structuredClone(document) as Json;
  const parent = path.slice(0, -1).reduce<Json>((node, step) => node[step] as Json, copy);
  const last = path.at(-1)!;
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return JSON.stringify(copy);
};
