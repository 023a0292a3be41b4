import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DType, isFloating } from '../core/dtype.ts';
import type { Dimensions, Generator, ProblemSource } from '../core/problem.ts';

/* What problems have in common that `init` and `import` write. */

export const README = 'README.md';

/** The files of an earlier draft in a folder, if its README has the mark of one. */
export function earlierDraft(folder: string, mark: string, files: readonly string[]): readonly string[] {
  const path = join(folder, README);
  return existsSync(path) && readFileSync(path, 'utf8').includes(mark) ? files : [];
}

export const identifierOf = (name: string): string => name.replaceAll(/\W/g, '_').replace(/^(?=\d)/, '_');

/** Of sums of so many terms, in 32 bits where the results have fewer. */
export function comparisonFor(dtype: DType, terms: string | number): ProblemSource['comparison'] {
  if (!isFloating(dtype)) return { kind: 'exact' };
  if (dtype === 'f16' || dtype === 'bf16') return { kind: 'calibrated', storage: dtype, accumulate: 'f32', terms };
  return { kind: 'conditioned', constant: 2, unit: dtype, terms };
}

/** Zero-mean values find more mistakes than values of one sign; these find what cancels among them. */
export function bothSigns(floating: readonly string[]): Pick<ProblemSource, 'generatorSets'> {
  if (floating.length === 0) return {};
  const all = (generator: Generator) => Object.fromEntries(floating.map((name) => [name, generator]));
  return { generatorSets: { normal: all({ kind: 'normal' }), positive: all({ kind: 'positive' }) } };
}

/** Each shape once. */
export const distinctShapes = (shapes: readonly Dimensions[]): Dimensions[] => [
  ...new Map(shapes.map((one) => [JSON.stringify(one), one])).values(),
];
