import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { evaluateExpression } from '../../src/core/expressions/evaluate.ts';
import { completeDimensions } from '../../src/core/plan/dimensions.ts';
import type { Dimensions, ProblemFile, Workload } from '../../src/core/problem.ts';

/** A problem for a test that is not about its shapes: with further limits, so that a verification draws small shapes only. */
export function narrowed(file: ProblemFile, limits: readonly string[]): ProblemFile {
  const isNarrow = ({ dimensions }: { dimensions: Dimensions }): boolean => {
    const shape = completeDimensions(file.dimensions, dimensions);
    return limits.every((limit) => evaluateExpression(limit, shape) !== 0);
  };
  return {
    ...file,
    limits: [...(file.limits ?? []), ...limits],
    workloads: file.workloads.filter(isNarrow),
    checkShapes: file.checkShapes.filter(isNarrow),
  };
}

/**
 * Narrows the problem of a folder that belongs to a test.
 *
 * @param workload the only one, where the problem's own are all too large. It is checked, too, where the limits leave no other check shape.
 */
export function narrowFolder(folder: string, limits: readonly string[], workload?: Omit<Workload, 'cache'>): void {
  const path = join(folder, 'problem.json');
  const file = JSON.parse(readFileSync(path, 'utf8')) as ProblemFile;
  const narrow = narrowed(workload ? { ...file, workloads: [{ ...workload, cache: 'hot' }] } : file, limits);
  const checkShapes =
    workload && narrow.checkShapes.length === 0 ? [{ dimensions: workload.dimensions }] : narrow.checkShapes;
  writeFileSync(path, JSON.stringify({ ...narrow, checkShapes }));
}

/**
 * A private copy of a problem's folder within `place`, narrowed: a confirmation is thorough, and takes a third of the time for small shapes.
 *
 * @param workload the only one, where the problem's own are all too large.
 */
export function narrowCopy(
  folder: string,
  place: string,
  limits: readonly string[],
  workload?: Omit<Workload, 'cache'>,
): string {
  const copy = join(place, basename(folder));
  cpSync(folder, copy, { recursive: true });
  const suites = join(copy, 'suites.json');
  if (existsSync(suites)) rmSync(suites);
  narrowFolder(copy, limits, workload);
  return copy;
}
