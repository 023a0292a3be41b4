import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Kernel, KernelFile } from '../../src/core/kernel.ts';
import { kernelSpace } from '../../src/search/kernel-space.ts';
import { configurationAt, dimensionOf, findConfiguration, listSpace } from '../../src/search/list-space.ts';
import { packedSpace } from '../../src/search/packed-space.ts';

describe('listSpace', () => {
  const configurations: Record<string, number | string | boolean>[] = [
    { size: 64, kind: 'wide', on: true },
    { size: 8, kind: 'narrow', on: false },
    { size: 16, kind: 'wide' },
  ];
  const space = listSpace(configurations);

  it('orders numbers, keeps other values as they come, and puts what is missing first', () =>
    expect(space.dimensions).toEqual([
      { name: 'size', values: [8, 16, 64], ordered: true },
      { name: 'kind', values: ['wide', 'narrow'], ordered: false },
      { name: 'on', values: [null, true, false], ordered: false },
    ]));

  it('lists configurations in their order and finds them again', () => {
    configurations.forEach((configuration, index) => {
      expect(configurationAt(space, index)).toEqual(configuration);
      expect(space.find(space.at(index))).toBe(index);
      expect(findConfiguration(space, configuration)).toBe(index);
    });
  });

  it('finds nothing that is not listed', () => {
    expect(space.find([0, 0, 0])).toBeUndefined();
    expect(findConfiguration(space, { size: 9, kind: 'wide', on: true })).toBeUndefined();
  });

  it('tells true from "true" and 1', () => {
    const mixed = listSpace([{ a: true }, { a: 'true' }, { a: 1 }]);
    expect(mixed.dimensions[0]).toEqual({ name: 'a', values: [true, 'true', 1], ordered: false });
    expect(findConfiguration(mixed, { a: 'true' })).toBe(1);
  });

  it('refuses more values than places can number', () =>
    expect(() => dimensionOf('a', new Set(Array.from({ length: 65_537 }, (_, value) => value)))).toThrow(RangeError));
});

it('packedSpace finds configurations of spaces too large to number', () => {
  const dimensions = Array.from({ length: 20 }, (_, index) =>
    dimensionOf(`d${index}`, new Set([1, 2, 3, 4, 5, 6, 7, 8])),
  );
  const rows = Uint16Array.from({ length: 40 }, (_, place) => (place * 5) % 8);
  const space = packedSpace(dimensions, rows);
  expect([space.find(space.at(0)), space.find(space.at(1)), space.find(rows.map(() => 7))]).toEqual([0, 1, undefined]);
});

const kernel = (name: string, file: Partial<KernelFile>): Kernel => ({
  folder: `/kernels/${name}`,
  file: {
    schemaVersion: 1,
    name,
    description: '',
    problem: '../problem.json',
    source: { kind: 'cuda', files: ['kernel.cu'] },
    steps: [],
    ...file,
  },
  sources: { 'kernel.cu': name },
});
const values = (...allowed: number[]) => ({ values: allowed, default: allowed[0]! });

describe('kernelSpace', () => {
  const plain = kernel('01_plain', {});
  const tiled = kernel('02_tiled', {
    parameters: { TILE: values(8, 16, 32), ROWS: values(1, 2) },
    constraints: ['TILE * ROWS <= N'],
  });
  const padded = kernel('03_padded', { parameters: { TILE: values(16, 64), PAD: values(0, 1) }, limits: ['N >= 32'] });
  const ladder = [plain, tiled, padded];

  it('is the valid settings of every rung, with null for parameters that a rung lacks', () => {
    const { space } = kernelSpace(ladder, { N: 32 });
    expect(space.dimensions).toEqual([
      { name: 'kernel', values: ['01_plain', '02_tiled', '03_padded'], ordered: false },
      { name: 'TILE', values: [null, 8, 16, 32, 64], ordered: true },
      { name: 'ROWS', values: [null, 1, 2], ordered: true },
      { name: 'PAD', values: [null, 0, 1], ordered: true },
    ]);
    expect(space.size).toBe(1 + 5 + 4);
    expect(configurationAt(space, 0)).toEqual({ kernel: '01_plain' });
  });

  it('leaves out what the dimensions rule out', () => {
    const { space, indexOf } = kernelSpace(ladder, { N: 16 });
    // TILE = 8 with either ROWS, 16 with 1; the padded rung does not take the workload.
    expect(space.size).toBe(1 + 3);
    expect(space.dimensions[0]!.values).toEqual(['01_plain', '02_tiled']);
    expect(indexOf(makeCandidate(padded, {}))).toBeUndefined();
    expect(indexOf(makeCandidate(tiled, { TILE: 32 }))).toBeUndefined();
  });

  it('has the values of ranges among those that are listed', () => {
    const ranged = kernel('04_ranged', {
      parameters: { TILE: { values: { from: 8, to: 32, factor: 2 }, default: 8 } },
    });
    const { space, candidateAt, indexOf } = kernelSpace([padded, ranged], { N: 64 });
    expect(space.dimensions[1]).toEqual({ name: 'TILE', values: [8, 16, 32, 64], ordered: true });
    expect(space.size).toBe(4 + 3);
    for (let index = 0; index < space.size; index += 1) expect(indexOf(candidateAt(index))).toBe(index);
  });

  it('goes from places to candidates and back', () => {
    const { space, candidateAt, indexOf } = kernelSpace(ladder, { N: 64 });
    const ids = Array.from({ length: space.size }, (_, index) => candidateAt(index).id);
    expect(new Set(ids).size).toBe(space.size);
    ids.forEach((_, index) => {
      expect(indexOf(candidateAt(index))).toBe(index);
    });
    expect(candidateAt(indexOf(makeCandidate(tiled, { TILE: 16, ROWS: 2 }))!).parameters).toEqual({
      TILE: 16,
      ROWS: 2,
    });
  });

  it('knows a kernel by its content', () => {
    const { indexOf } = kernelSpace(ladder, { N: 64 });
    expect(indexOf(makeCandidate({ ...tiled, folder: '/elsewhere' }, {}))).toBeDefined();
    expect(indexOf(makeCandidate({ ...tiled, sources: { 'kernel.cu': 'changed' } }, {}))).toBeUndefined();
  });

  it('tells kernels of one name apart by folder, and a parameter called kernel from the rung', () => {
    const copy = { ...tiled, folder: '/mine/02_tiled', sources: { 'kernel.cu': 'mine' } };
    const odd = kernel('04_odd', { parameters: { kernel: values(1, 2) } });
    const { space, candidateAt, indexOf } = kernelSpace([tiled, copy, odd], { N: 64 });
    expect(space.dimensions[0]).toMatchObject({
      name: 'rung',
      values: ['/kernels/02_tiled', '/mine/02_tiled', '04_odd'],
    });
    for (let index = 0; index < space.size; index += 1) expect(indexOf(candidateAt(index))).toBe(index);
  });
});
