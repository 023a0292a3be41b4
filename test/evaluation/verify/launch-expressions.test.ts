import { describe, expect, it } from 'vitest';
import type { KernelFile } from '../../../src/core/kernel.ts';
import type { Dimensions, ProblemFile } from '../../../src/core/problem.ts';
import { planLaunches } from '../../../src/evaluation/launches/plan-launches.ts';
import {
  oneWayChoices,
  type Planned,
  shapesForChoices,
  withFewerMultiprocessors,
} from '../../../src/evaluation/verify/launch-expressions.ts';
import { shapesAroundProducts } from '../../../src/evaluation/verify/shapes-around-products.ts';
import { H200 } from '../../../src/hardware/specs/h200.ts';
import { copying, toyCandidate, toyProblem } from '../../support/toy-problem.ts';

const file: ProblemFile = {
  ...copying('R', 'C'),
  dimensions: {
    R: { description: '' },
    C: { description: '' },
    flag: { description: '', values: [0, 1], default: 0 },
  },
};
const problem = toyProblem(file);

function requestOf(steps: KernelFile['steps']) {
  const parameters = { WIDTH: { values: [1, 2, 4], default: 4 } };
  const candidate = toyCandidate({ steps, workspaces: {}, parameters }, { WIDTH: 4 });
  const planFor = (dimensions: Dimensions, multiprocessors?: number) =>
    planLaunches({ problem, candidate, dimensions, spec: H200, multiprocessors });
  return { problem, candidate, planFor };
}

/** What came out one way, of a kernel with such steps, in these shapes. */
const found = (
  steps: KernelFile['steps'],
  planned: readonly Planned[],
  takes: (shape: Dimensions) => boolean = () => true,
): string[] =>
  oneWayChoices(requestOf(steps), planned, takes).map(({ path, text, never }) => `${path} ${text}: never ${never}`);

const launching = (grid: string, more: object = {}): KernelFile['steps'] => [
  { function: 'copy', grid: [grid], block: [32], arguments: [], ...more },
];
const at = (R: number, C = 8, flag = 0): Planned => ({ dimensions: { R, C, flag } });

describe('expressions of kernel.json that came out one way', () => {
  it('are conditions, and the arguments of minima and maxima', () => {
    expect(found(launching('min(R, 4096) + (C % 1280 == 0 ? 1 : 0)'), [at(5), at(4096)])).toEqual([
      'steps[0].grid[0] C % 1280 == 0: never true',
    ]);
    expect(found(launching('min(R, 4096)'), [at(5), at(300)])).toEqual(['steps[0].grid[0] min(R, 4096): never 4096']);
    expect(found(launching('min(R, 4096)'), [at(5), at(5000)])).toEqual([]);
  });

  it('are parts of conditions, each, and numbers that are taken for conditions', () => {
    const steps = launching('R', { when: 'R > 2 && (C % 8 == 0 || flag)' });
    expect(found(steps, [at(5, 8), at(1, 8), at(5, 9)])).toEqual(['steps[0].when flag: never true']);
    expect(found(steps, [at(5, 8), at(1, 8), at(5, 9), at(5, 9, 1)])).toEqual([]);
  });

  it('are none that only parameters or the GPU decide, no guard against nothing, and no flag that the kernel does not take', () => {
    expect(found(launching('max(1, R) * (device.smCount > 100 ? 1 : 2)'), [at(5)])).toEqual([]);
    expect(found(launching('flag ? R : R + 1'), [at(5)], ({ flag }) => flag === 0)).toEqual([]);
    expect(found(launching('WIDTH == 2 && R % 2 == 0 ? 1 : R'), [at(5)])).toEqual([]);
    expect(found(launching('!(WIDTH == 4) || R % 4 == 0 ? 1 : R'), [at(4), at(5)])).toEqual([]);
    expect(found(launching('flag ? R : R + 1'), [at(5)])).toEqual(['steps[0].grid[0] flag: never true']);
  });

  it('are none that parameters and listed dimensions decide, unless the kernel takes a value with which they come out otherwise', () => {
    expect(found(launching('R + max(WIDTH, flag)'), [at(5)])).toEqual([]);
    expect(found(launching('R + max(WIDTH, 8 * flag)'), [at(5)])).toEqual([
      'steps[0].grid[0] max(WIDTH, 8 * flag): never 8 * flag',
    ]);
  });

  it('come out otherwise on a GPU with another number of multiprocessors', () => {
    const steps = launching('min(device.smCount, R)');
    expect(found(steps, [at(5)])).toEqual(['steps[0].grid[0] min(device.smCount, R): never device.smCount']);
    expect(found(steps, [at(5), { ...at(5), multiprocessors: 3 }])).toEqual([]);
  });

  it('are looked for on GPUs with fewer multiprocessors, at the smallest shape', () => {
    const few = (grid: string) =>
      withFewerMultiprocessors(requestOf(launching(grid)), [at(9), at(5), at(300)], ({ R }) => R! < 100);
    expect(few('min(400 * device.smCount, 100 * R)')).toEqual([{ ...at(5), multiprocessors: 1 }]);
    // One multiprocessor would leave no CTA.
    expect(few('min(800 * floor(device.smCount / 2), 100 * R)')).toEqual([{ ...at(9), multiprocessors: 2 }]);
    expect(few('min(200 * device.smCount, 100 * R)')).toEqual([]);
    expect(few('min(70000, 100 * R)')).toEqual([]);
  });
});

describe('shapes in which they come out otherwise', () => {
  const steps = launching('R', { when: 'R >= 1024 && C % 8 == 0 && R * C <= 1048576' });
  const takes = (): boolean => true;
  const pool = () =>
    shapesAroundProducts({ problem: file, numbers: [1024, 8, 1048576], listed: { flag: 0 }, most: 2 }).toSorted(
      (a, b) => a.R! * a.C! - b.R! * b.C!,
    );

  it('are found about the numbers of the expressions and the roots of products', () => {
    const ran = [at(5), at(1030, 8), at(1030, 9)];
    const [shape, ...others] = shapesForChoices(requestOf(steps), ran, { takes, pool });
    expect(shape).toEqual({ R: 1024, C: 1048, flag: 0 });
    expect(others).toEqual([]);
    expect(found(steps, [...ran, { dimensions: shape! }])).toEqual([]);
  });

  it('are not sought where nothing came out one way', () => {
    const ran = [at(5), at(1030, 8), at(1030, 9), at(2048, 1024)];
    const none = (): Dimensions[] => {
      throw new Error('nobody asks for shapes');
    };
    expect(shapesForChoices(requestOf(steps), ran, { takes, pool: none })).toEqual([]);
  });
});
