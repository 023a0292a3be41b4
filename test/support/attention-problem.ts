import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mistakes, reference, referenceRows } from '../../problems/attention/reference.ts';
import { inProcess } from '../../src/core/call-reference.ts';
import { evaluateExpression } from '../../src/core/expressions/evaluate.ts';
import { completeDimensions } from '../../src/core/plan/dimensions.ts';
import type { Dimensions, Problem, ProblemFile } from '../../src/core/problem.ts';
import { parseProblemFile } from '../../src/core/schemas/parse-files.ts';

const folder = new URL('../../problems/attention', import.meta.url).pathname;

/** The real attention problem, without going through the loader; with changes where a test needs them. */
export const attentionProblem = (changes: Partial<ProblemFile> = {}): Problem => {
  const path = `${folder}/problem.json`;
  const file = parseProblemFile(readFileSync(path, 'utf8'), path);
  return { folder, file: { ...file, ...changes }, reference: inProcess(reference, { referenceRows, mistakes }) };
};

/** Below these a verification draws no large shapes, and takes a quarter of the time. */
const NARROW = ['S <= 128', 'Skv <= 128', 'B * H <= 2', 'D <= 64'];

/** Attention for a test that is not about its shapes: the same, of small shapes only. */
export function narrowed(file: ProblemFile): ProblemFile {
  const isNarrow = ({ dimensions }: { dimensions: Dimensions }): boolean => {
    const shape = completeDimensions(file.dimensions, dimensions);
    return NARROW.every((limit) => evaluateExpression(limit, shape) !== 0);
  };
  return {
    ...file,
    limits: [...(file.limits ?? []), ...NARROW],
    workloads: file.workloads.filter(isNarrow),
    checkShapes: file.checkShapes.filter(isNarrow),
  };
}

/** A copy of the problem's folder, {@link narrowed}, within `place`. */
export function narrowAttention(place: string): string {
  const copy = join(place, 'attention');
  cpSync(folder, copy, { recursive: true });
  rmSync(join(copy, 'suites.json'));
  const path = join(copy, 'problem.json');
  writeFileSync(path, JSON.stringify(narrowed(JSON.parse(readFileSync(path, 'utf8')) as ProblemFile)));
  return copy;
}

/** A shape of attention, what is left out as problem.json says. */
export const attentionShape = (given: Dimensions): Dimensions =>
  completeDimensions(attentionProblem().file.dimensions, given);
