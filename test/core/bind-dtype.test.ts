import { describe, expect, it } from 'vitest';
import { bindKernel, bindProblem } from '../../src/core/bind-dtype.ts';
import type { DType } from '../../src/core/dtype.ts';
import type { KernelSource } from '../../src/core/kernel.ts';
import { validAssignments } from '../../src/core/plan/parameters.ts';
import type { ProblemSource } from '../../src/core/problem.ts';
import { bindKernelFile, parseKernelFile, parseProblemFile } from '../../src/core/schemas/parse-files.ts';
import { detailsOf } from './support/expect-error.ts';

const problem: ProblemSource = {
  schemaVersion: 1,
  name: 'sum',
  description: 'Sums.',
  dtypes: {
    f16: {},
    f32: {
      description: 'Sums of fp32.',
      comparison: { kind: 'conditioned', constant: 2, unit: 'T', terms: 'N' },
      generatorSets: { large: { x: { kind: 'large', magnitude: 1e6 } } },
    },
  },
  dimensions: { T: { description: 'Rows; a dimension may be called so.' }, N: { description: 'Columns.' } },
  inputs: { x: { dtype: 'T', shape: ['T', 'N'], access: 'in' } },
  outputs: { y: { dtype: 'f32', shape: ['T'], access: 'out' } },
  scalars: { scale: { dtype: 'T', value: '1 / N' } },
  flop: 'T * N',
  minimumFlop: 0,
  minimumReadBytes: 'dtype.bytes * T * N',
  workloads: [{ name: 'main', dimensions: { T: 4, N: 64 } }],
  checkShapes: [{ dimensions: { T: 3, N: 17 } }],
  generatorSets: { normal: {}, large: { x: { kind: 'large', magnitude: 8 } } },
  comparison: { kind: 'calibrated', storage: 'T', accumulate: 'f32', roundings: { P: 'T' } },
  determinism: 'bitwise',
  start: '01',
  rungs: ['01'],
};

const kernel: KernelSource = {
  schemaVersion: 1,
  name: '01',
  description: '',
  problem: '../problem.json',
  dtypes: ['f16'],
  source: { kind: 'cuda', files: ['kernel.cu'], flags: ['-DX=1'] },
  parameters: { WIDTH: { values: [1, '16 / dtype.bytes'], default: '16 / dtype.bytes' } },
  constraints: ['WIDTH * dtype.bytes <= 16'],
  steps: [
    {
      function: 'sum',
      when: 'N % (16 / dtype.bytes) == 0',
      grid: ['T'],
      block: [32],
      arguments: [{ buffer: 'x' }, { scalar: 'scale', dtype: 'T' }, { scalar: 'N', dtype: 'i32' }],
    },
  ],
};

describe('a problem that takes several dtypes', () => {
  it('is one of its first dtype under its own name, and one of another under both names', () => {
    const [f16, f32] = [bindProblem(problem, undefined, ''), bindProblem(problem, 'f32', '')];
    expect([f16.name, f16.dtype, f16.inputs.x!.dtype, f16.scalars!.scale!.dtype]).toEqual(['sum', 'f16', 'f16', 'f16']);
    expect([f32.name, f32.dtype, f32.inputs.x!.dtype]).toEqual(['sum-f32', 'f32', 'f32']);
    expect([f16.outputs.y!.dtype, f32.outputs.y!.dtype]).toEqual(['f32', 'f32']);
  });

  it('knows the size of an element, and takes no dimension for the dtype', () => {
    const bound = bindProblem(problem, 'f32', '');
    expect(bound.minimumReadBytes).toBe('4 * T * N');
    expect(bound.inputs.x!.shape).toEqual(['T', 'N']);
  });

  it('puts what a dtype says in place of what the problem says', () => {
    const [f16, f32] = [bindProblem(problem, 'f16', ''), bindProblem(problem, 'f32', '')];
    expect(f16.comparison).toMatchObject({ kind: 'calibrated', storage: 'f16', roundings: { P: 'f16' } });
    expect(f32.comparison).toMatchObject({ kind: 'conditioned', unit: 'f32' });
    expect([f16.description, f32.description]).toEqual(['Sums.', 'Sums of fp32.']);
    expect(f16.generatorSets).toEqual({ normal: {}, large: { x: { kind: 'large', magnitude: 8 } } });
    expect(f32.generatorSets).toEqual({ normal: {}, large: { x: { kind: 'large', magnitude: 1e6 } } });
  });

  it('says which dtypes there are where another one is asked for', () => {
    expect(detailsOf(() => bindProblem(problem, 'bf16', 'problem.json'))).toMatchObject({
      code: 'unknown-dtype',
      message: 'sum is not there in bf16.',
      received: 'bf16',
      expected: 'one of f16, f32',
    });
    const { dtypes: _, ...fixed } = problem;
    expect(detailsOf(() => bindProblem(fixed, 'bf16', 'problem.json'))).toMatchObject({
      code: 'unknown-dtype',
      expected: 'no --dtype',
    });
  });

  it('is needed before a buffer can be of dtype T', () => {
    const { dtypes: _, ...fixed } = problem;
    expect(detailsOf(() => bindProblem(fixed, undefined, 'problem.json'))).toMatchObject({
      code: 'unknown-dtype',
      path: 'inputs.x.dtype',
      received: 'T',
    });
  });

  it('is checked in all its dtypes, whichever is asked for', () => {
    const parse = (source: object, dtype?: DType) =>
      parseProblemFile(JSON.stringify(source), 'problem.json', () => dtype);
    expect(parse(problem, 'f32').dtype).toBe('f32');
    const wrong = { ...problem, dtypes: { f16: {}, f32: { generatorSets: { large: { z: { kind: 'normal' } } } } } };
    expect(detailsOf(() => parse(wrong, 'f16'))).toMatchObject({ code: 'unknown-input', received: 'z' });
    expect(detailsOf(() => parse({ ...problem, dtypes: { f17: {} } }, 'f16'))).toMatchObject({ file: 'problem.json' });
  });
});

describe('a kernel for one of several dtypes', () => {
  it('gets the element as a macro, and works out its parameters', () => {
    const bound = bindKernel(kernel, 'f16', '');
    expect(bound.source.flags).toEqual(['-DX=1', '-DDTYPE=half']);
    expect(bound.parameters).toEqual({ WIDTH: { values: [1, 8], default: 8 } });
    expect(bound.constraints).toEqual(['WIDTH * 2 <= 16']);
    expect(bound.steps[0]).toMatchObject({
      when: 'N % (16 / 2) == 0',
      arguments: [{}, { dtype: 'f16' }, { dtype: 'i32' }],
    });
    expect(validAssignments(bindKernel(kernel, 'f32', ''))).toEqual([{ WIDTH: 1 }, { WIDTH: 4 }]);
  });

  it('stays what it is once it was written for a dtype', () => {
    const bound = bindKernel(kernel, 'f16', '');
    expect(bindKernel(bound, 'f16', '')).toEqual(bound);
    expect(bindKernelFile(parseKernelFile(JSON.stringify(bound), 'kernel.json'), undefined, 'kernel.json')).toEqual(
      bound,
    );
  });

  it('is needed before an argument can be of dtype T', () => {
    const { parameters: _, constraints: __, ...plain } = kernel;
    expect(detailsOf(() => bindKernel(plain, undefined, 'kernel.json'))).toMatchObject({
      code: 'unknown-dtype',
      path: 'steps[0].arguments[1].dtype',
    });
  });
});
