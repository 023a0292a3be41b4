import { namesInExpression } from '../../core/expressions/evaluate.ts';
import type { KernelFile } from '../../core/kernel.ts';
import { launchesOf } from '../../core/plan/declared-steps.ts';
import type { Scope } from '../../core/plan/scope.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { createStream } from '../../stats/random.ts';
import { askingForOutputs } from '../oracle/shapes/asked-outputs.ts';
import { openNames } from '../oracle/shapes/drawing.ts';
import { leastWhere, valueAt } from './irregular-sizes.ts';
import { leastShapeWith } from './least-shape.ts';

/** Numbers of parts that a merge often takes as the most there can be: lanes of a warp, two a lane, threads of a CTA. */
const PARTS = [32, 64, 256, 1024] as const;

/** It is exceeded by one, by up to this share of it, and twice: of as many parts again, each may be the one that counts. */
const BEYOND = 1 / 8;

const LARGEST_SIZE = 2 ** 24;

export interface ManyParts {
  readonly problem: ProblemFile;
  readonly kernel: Pick<KernelFile, 'steps' | 'workspaces'>;
  /** Names and values of the timed launch. */
  readonly scope: Scope;
  readonly seed: number;
}

/**
 * Shapes in which a grid has just more CTAs along one axis than a merge of their results may bear: "one warp merges up to 32 parts". One dimension is large and all others are as small
 * as they may be; those first that not every launch has; without and with the outputs that flags ask for. Only of kernels that launch more than once or keep something in a workspace, since others merge nothing.
 */
export function shapesOfManyParts({ problem, kernel, scope, seed }: ManyParts): Dimensions[] {
  const launches = launchesOf(kernel.steps);
  if (launches.length < 2 && Object.keys(kernel.workspaces ?? {}).length === 0) return [];
  const grids = launches.map(({ grid }) => grid.filter((extent) => typeof extent === 'string'));
  const launchesWith = (extent: string): number => grids.filter((grid) => grid.includes(extent)).length;
  // What another launch does not have is what it merges.
  const extents = [...new Set(grids.flat())].toSorted((a, b) => launchesWith(a) - launchesWith(b));
  const open = openNames(problem);
  const stream = createStream(seed, 'numbers of parts');
  let index = 0;
  const further = (parts: number): number => Math.floor(stream.uniform(index++) * BEYOND * parts);
  const sizes = new Map<string, { readonly name: string; readonly size: number }>();
  for (const extent of extents)
    for (const name of namesInExpression(extent).filter((one) => open.includes(one)))
      for (const parts of PARTS)
        for (const wanted of [parts + 1, ...[1, 2].map((times) => times * parts + 2 + further(parts))]) {
          const size = leastWith(wanted, (value) => valueAt(extent, { ...scope, [name]: value }));
          if (size !== undefined) sizes.set(`${name} ${size}`, { name, size });
        }
  return [...sizes.values()]
    .map(({ name, size }) => leastShapeWith(problem, { [name]: size }, scope))
    .filter((shape) => shape !== undefined)
    .flatMap((shape) => [...new Set([shape, askingForOutputs(problem, shape)])]);
}

/** The least size at which an expression that does not fall reaches a value. */
function leastWith(wanted: number, at: (size: number) => number): number | undefined {
  const reaches = (size: number): boolean => at(size) >= wanted;
  return reaches(LARGEST_SIZE) ? leastWhere(reaches, 0, LARGEST_SIZE) : undefined;
}
