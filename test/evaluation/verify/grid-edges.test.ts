import { describe, expect, it } from 'vitest';
import type { KernelFile } from '../../../src/core/kernel.ts';
import type { Dimensions } from '../../../src/core/problem.ts';
import { planLaunches } from '../../../src/evaluation/launches/plan-launches.ts';
import { shapesAtGridEdges } from '../../../src/evaluation/verify/grid-edges.ts';
import { H200 } from '../../../src/hardware/specs/h200.ts';
import { copying, toyCandidate, toyProblem } from '../../support/toy-problem.ts';

const file = { ...copying('R', 'C'), dimensions: { R: { description: '' }, C: { description: '' } } };
const problem = toyProblem(file);

function edgesOf(
  grid: string[],
  { isFit = () => true, most = 16 }: Partial<Parameters<typeof shapesAtGridEdges>[0]> = {},
) {
  const step = { function: 'copy', grid, block: [32], arguments: [] };
  const candidate = toyCandidate({ steps: [step] as KernelFile['steps'], workspaces: {} });
  const planFor = (dimensions: Dimensions) => planLaunches({ problem, candidate, dimensions, spec: H200 });
  return shapesAtGridEdges({ problem: file, planFor, bases: [{ R: 100, C: 7 }], isFit, most });
}

describe('shapes at edges of grids', () => {
  it('are the last size of a number of CTAs, and the next', () => {
    expect(edgesOf(['ceilDiv(R, 64)'])).toEqual([
      { R: 128, C: 7 },
      { R: 129, C: 7 },
    ]);
  });

  it('lie where the expression has them, right or not', () => {
    expect(edgesOf(['ceilDiv(max(R - 1, 1), 1536)'])).toEqual([
      { R: 1537, C: 7 },
      { R: 1538, C: 7 },
    ]);
  });

  it('come from every axis of a grid, and every size', () => {
    expect(edgesOf(['ceilDiv(C, 32)', 'ceilDiv(R, 1000)'])).toEqual([
      { R: 1000, C: 7 },
      { R: 1001, C: 7 },
      { R: 100, C: 32 },
      { R: 100, C: 33 },
    ]);
  });

  it('are none where every size has a grid of its own, and where none changes', () => {
    expect(edgesOf(['R'])).toEqual([]);
    expect(edgesOf(['3'])).toEqual([]);
  });

  it('are as many as asked for, of those that fit', () => {
    expect(edgesOf(['ceilDiv(R, 64)'], { isFit: ({ R }) => R! % 2 === 1 })).toEqual([{ R: 129, C: 7 }]);
    expect(edgesOf(['ceilDiv(R, 64)'], { most: 1 })).toEqual([{ R: 128, C: 7 }]);
  });
});
