import { readFileSync } from 'node:fs';
import { mistakes, reference, referenceRows } from '../../problems/attention/reference.ts';
import { inProcess } from '../../src/core/call-reference.ts';
import type { Problem, ProblemFile } from '../../src/core/problem.ts';

const folder = new URL('../../problems/attention', import.meta.url).pathname;

/** The real attention problem, without going through the loader; with changes where a test needs them. */
export const attentionProblem = (changes: Partial<ProblemFile> = {}): Problem => {
  const file = JSON.parse(readFileSync(`${folder}/problem.json`, 'utf8')) as ProblemFile;
  return { folder, file: { ...file, ...changes }, reference: inProcess(reference, { referenceRows, mistakes }) };
};
