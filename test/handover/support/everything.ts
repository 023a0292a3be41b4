import { makeCandidate } from '../../../src/core/candidate.ts';
import type { Candidate } from '../../../src/core/kernel.ts';
import type { ProblemFile } from '../../../src/core/problem.ts';
import { toyProblem } from '../../support/toy-problem.ts';

/** A problem whose names are hard for C++, with strides, scalars of several types and a default. */
export const hardProblem: ProblemFile = {
  ...toyProblem().file,
  name: 'hard',
  dimensions: {
    N: { description: 'Rows /* of a kind */.', minimum: 0, maximum: 100_000 },
    class: { description: 'Columns.', values: [8, 16, 24, 64] },
    floor: { description: 'Called like a function.', minimum: 1, default: 3 },
    step: { description: 'Called like a variable of the header.', minimum: -5, maximum: 4096, default: 1 },
  },
  limits: ['floor != 7 || class < 64'],
  inputs: {
    X: { dtype: 'f16', shape: ['N', 'class'], strides: ['class + 8', 1], access: 'in', alignmentBytes: 128 },
    sizes: { dtype: 'i64', shape: ['floor'], access: 'in' },
  },
  outputs: { int: { dtype: 'f32', shape: ['N', 'class'], access: 'inout' } },
  scalars: {
    scale: { dtype: 'f32', value: '1 / sqrt(class)' },
    half: { dtype: 'f16', value: 'step / 3' },
    brain: { dtype: 'bf16', value: 'step / 7 + 1000' },
    rounded: { dtype: 'i32', value: 'step / 2' },
  },
  workloads: [{ name: 'main', dimensions: { N: 16, class: 64, floor: 2, step: 1 } }],
};

/** A kernel with one of everything that kernel.json can say. */
export const hardCandidate = (): Candidate =>
  makeCandidate(
    {
      folder: 'hard/01',
      sources: { 'kernel.cu': '' },
      file: {
        schemaVersion: 1,
        name: '01_everything',
        description: 'one of "everything"',
        problem: '../problem.json',
        source: { kind: 'cuda', files: ['kernel.cu'] },
        parameters: { TILE: { values: [16, 32], default: 32 }, FRACTION: { values: [0.1], default: 0.1 } },
        constraints: ['TILE * class <= 1024'],
        limits: ['N % 7 != 6', 'step != 13 || N > 5'],
        workspaces: {
          partial: { bytes: '4 * N * class + TILE', init: 'zero' },
          kept: { bytes: 'device.smCount * 128', init: 'once', alignmentBytes: 1024 },
          total: { bytes: 'max(1, N)', init: 'undefined', alignmentBytes: 16 },
        },
        steps: [
          { memset: { buffer: 'int', byteValue: 255 }, when: 'step > 2 && N > 3' },
          {
            function: 'first<float, 32>',
            grid: ['ceilDiv(N, TILE)', 'min(floor, 7)', 2],
            block: [32, 'TILE / 8'],
            sharedBytes: 'class * 1024 + (N > 1000 ? 65536 : 0)',
            programmaticDependent: true,
            carveOut: 50,
            arguments: [
              { buffer: 'X', offsetBytes: '2 * min(N, 8)' },
              { buffer: 'kept' },
              { null: true },
              { scalar: 'scale', dtype: 'f32' },
              { scalar: 'half', dtype: 'f16' },
              { scalar: 'brain', dtype: 'bf16' },
              { scalar: 'FRACTION * step', dtype: 'f64' },
              { scalar: 'rounded', dtype: 'i8' },
              {
                struct: [
                  { dtype: 'u8', value: 'step % 4 < 0 ? 0 : step % 4' },
                  { dtype: 'f64', value: '0.1 * N' },
                  { dtype: 'i16', value: 'class' },
                ],
              },
              { bytes: '00ff10' },
            ],
          },
          {
            function: 'second',
            grid: ['2 * device.smCount', 'kernel.ctasPerSm'],
            block: [128],
            cluster: [2],
            programmaticDependent: true,
            repeat: 'step % 3 + 2',
            arguments: [
              { buffer: 'partial', offsetBytes: '4 * repeat.index' },
              { scalar: 'N << 2 | class', dtype: 'u32' },
              { scalar: '-N * repeat.index', dtype: 'i64' },
            ],
          },
          {
            function: 'third',
            grid: ['device.smCount'],
            block: ['floor <= 32 ? 32 * floor : 2048'],
            cooperative: true,
            programmaticDependent: true,
            arguments: [
              { pointers: [{ buffer: 'X' }, { buffer: 'total', offsetBytes: 'N % 2' }] },
              {
                tensorMap: {
                  buffer: 'X',
                  dtype: 'f16',
                  globalDim: ['class', 'N'],
                  globalStridesBytes: ['2 * class + 16'],
                  boxDim: [8, 'min(N, 64)'],
                  swizzle: '128B',
                  l2Promotion: '128B',
                  fill: 'nan',
                },
              },
            ],
          },
          { memset: { buffer: 'total', byteValue: 3 } },
          {
            repeat: 'floor',
            index: 'round',
            when: 'N > 2',
            steps: [
              { copy: { from: { buffer: 'partial', offsetBytes: '4 * round' }, to: { buffer: 'total' }, bytes: 2 } },
              {
                repeat: 'round + 1',
                when: 'round % 2 == 0',
                steps: [
                  {
                    function: 'second',
                    grid: ['round + 1', 'repeat.index + 1'],
                    block: [32],
                    arguments: [
                      { buffer: 'partial', offsetBytes: '4 * round' },
                      { scalar: 'round * 100 + repeat.index', dtype: 'u32' },
                      { scalar: '-round', dtype: 'i64' },
                    ],
                  },
                ],
              },
              {
                copy: {
                  from: { buffer: 'kept' },
                  to: { buffer: 'kept', offsetBytes: 'device.smCount * 64' },
                  bytes: 'device.smCount * 64',
                },
              },
            ],
          },
          { function: 'second', grid: [1], block: [1], programmaticDependent: true, arguments: [] },
        ],
      },
    },
    {},
  );
