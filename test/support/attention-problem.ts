import { readFileSync } from 'node:fs';
import { mistakes, reference, referenceRows } from '../../problems/attention/reference.ts';
import { inProcess } from '../../src/core/call-reference.ts';
import { completeDimensions } from '../../src/core/plan/dimensions.ts';
import type { Dimensions, Problem, ProblemFile } from '../../src/core/problem.ts';
import { parseProblemFile } from '../../src/core/schemas/parse-files.ts';
import { narrowCopy } from './narrowed.ts';

const folder = new URL('../../problems/attention', import.meta.url).pathname;

/** Parsed once: some tests ask for thousands of shapes. */
let parsed: ProblemFile | undefined;

function problemFile(): ProblemFile {
  const path = `${folder}/problem.json`;
  parsed ??= parseProblemFile(readFileSync(path, 'utf8'), path);
  return parsed;
}

/** The real attention problem, without going through the loader; with changes where a test needs them. */
export const attentionProblem = (changes: Partial<ProblemFile> = {}): Problem => {
  const file = structuredClone(problemFile());
  return { folder, file: { ...file, ...changes }, reference: inProcess(reference, { referenceRows, mistakes }) };
};

/** For searches, whose winner is verified thoroughly: a third less again. */
export const NARROWEST = ['S <= 48', 'Skv <= 48', 'B * H <= 2', 'D <= 64'];

/** With these limits a verification takes a quarter of the time. */
export const NARROW = ['S <= 128', 'Skv <= 128', 'B * H <= 2', 'D <= 64'];

/** Attention for a test that is not about its shapes: a copy of the problem's folder with small shapes only, within `place`. */
export const narrowAttention = (place: string, limits: readonly string[] = NARROW): string =>
  narrowCopy(folder, place, limits);

/** A shape of attention, what is left out as problem.json says. */
export const attentionShape = (given: Dimensions): Dimensions => completeDimensions(problemFile().dimensions, given);
