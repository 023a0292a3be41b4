import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Kernel } from '../../src/core/kernel.ts';
import { bakeKernel } from '../../src/store/best-kernel.ts';

const kernel: Kernel = {
  folder: '/home/user/problems/scale/02_tiled',
  sources: { 'kernel.cu': '#include "tile.cuh"\n', 'tile.cuh': '// tile\n' },
  file: {
    $schema: '../../../schemas/kernel.schema.json',
    schemaVersion: 1,
    name: '02_tiled',
    description: 'tiles',
    problem: '../problem.json',
    source: { kind: 'cuda', files: ['kernel.cu'], includes: ['tile.cuh'] },
    parameters: { TILE: { values: [16, 32, 64], default: 32 }, PAD: { values: [0, 8], default: 0 } },
    constraints: ['TILE >= PAD'],
    steps: [],
  },
};

const provenance = {
  runId: 'run-1',
  evaluationId: 'e7',
  deviceName: 'NVIDIA L4 (virtual)',
  workload: 'n1024',
  result: 'predicted 1 µs',
};
const bestFolder = '/home/user/.warpsmith/runs/run-1/best';

describe('bakeKernel', () => {
  const candidate = makeCandidate(kernel, { TILE: 64 });
  const files = bakeKernel(candidate, bestFolder, provenance);
  const baked = JSON.parse(files['kernel.json']!);

  test('parameters become defines on top of the source, below their provenance', () => {
    expect(files['kernel.cu']).toBe(
      `// 02_tiled, candidate ${candidate.id}: the best kernel of warpsmith run run-1 (e7).\n` +
        '// NVIDIA L4 (virtual), n1024: predicted 1 µs.\n' +
        '// Parameters, baked in:\n#define TILE 64\n#define PAD 0\n\n#include "tile.cuh"\n',
    );
  });

  test('nothing of a reason leaves the comment', () => {
    const result = 'error: bad\\\r\n#error mine\nlast \\';
    const [, ...lines] = bakeKernel(candidate, bestFolder, { ...provenance, result })['kernel.cu']!.split('\n');
    expect(lines.slice(0, 3)).toEqual(['// NVIDIA L4 (virtual), n1024: error: bad', '// #error mine', '// last \\.']);
  });

  test('every listed file comes along', () => {
    expect(Object.keys(files).sort()).toEqual(['kernel.cu', 'kernel.json', 'tile.cuh']);
  });

  test('kernel.json allows only the baked values, and finds its problem from the new place', () => {
    expect(baked.parameters).toEqual({ TILE: { values: [64], default: 64 }, PAD: { values: [0], default: 0 } });
    expect(join(bestFolder, baked.problem)).toBe('/home/user/problems/scale/problem.json');
    expect(join(bestFolder, baked.$schema)).toBe('/home/user/schemas/kernel.schema.json');
  });

  test('a kernel without parameters, and one that is PTX', () => {
    const { parameters: _parameters, ...file } = kernel.file;
    const ptx: Kernel = {
      ...kernel,
      sources: { 'a.ptx': '.version 8.0\n' },
      file: { ...file, constraints: [], source: { kind: 'ptx', files: ['a.ptx'] } },
    };
    const plain = bakeKernel(makeCandidate(ptx, {}), bestFolder, provenance);
    expect(plain['a.ptx']).toBe('.version 8.0\n');
    expect(JSON.parse(plain['kernel.json']!)).not.toHaveProperty('parameters');
  });
});
