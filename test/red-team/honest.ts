import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { KernelFile, ParameterValues } from '../../src/core/kernel.ts';
import { failedLimit } from '../../src/core/plan/limits.ts';
import { listValues } from '../../src/core/plan/parameter-values.ts';
import { validAssignments } from '../../src/core/plan/parameters.ts';
import { createStream } from '../../src/stats/random.ts';
import { attentionShape } from '../support/attention-problem.ts';
import { ATTENTION, RED_TEAM } from './expected.ts';

/** A candidate that no stage may suspect. */
export interface HonestCandidate {
  readonly title: string;
  readonly folder: string;
  readonly parameters: ParameterValues;
}

const ASSIGNMENTS_EACH = 5;
/** What they are judged at: constraints and limits depend on it. */
const SHAPE = attentionShape({ B: 1, H: 8, S: 512, D: 64 });

const kernelFile = (folder: string): KernelFile =>
  JSON.parse(readFileSync(path.join(folder, 'kernel.json'), 'utf8')) as KernelFile;

const candidate = (folder: string, parameters: ParameterValues): HonestCandidate => ({
  title: `${path.basename(folder)} ${JSON.stringify(parameters)}`,
  folder,
  parameters,
});

/** Some of a kernel's valid parameter assignments, spread over all of them. */
const someAssignments = (folder: string): HonestCandidate[] => {
  const all = validAssignments(kernelFile(folder), SHAPE);
  const stream = createStream(path.basename(folder), 'honest assignments');
  return Array.from({ length: ASSIGNMENTS_EACH }, (_, i) => candidate(folder, all[stream.bits(i) % all.length]!));
};

const { rungs } = JSON.parse(readFileSync(path.join(ATTENTION, 'problem.json'), 'utf8')) as { rungs: string[] };
const STAGED = path.resolve(RED_TEAM, '../honest/staged-tiles');

/** Variants that differ in nothing but the number of tiles in flight: their outputs are the same to the bit. */
export const STAGED_VARIANTS: readonly HonestCandidate[] = listValues(
  kernelFile(STAGED).parameters!.STAGES!.values,
).map((STAGES) => candidate(STAGED, { STAGES }));

/** Rungs that run everywhere and take the shape. */
const PORTABLE = rungs.filter((rung) => {
  const file = kernelFile(path.join(ATTENTION, rung));
  return file.source.architectures === undefined && failedLimit(file, SHAPE) === undefined;
});

/** Every portable rung with several parameter assignments, and the variants of a pipelined kernel. */
export const HONEST_CANDIDATES: readonly HonestCandidate[] = [
  ...PORTABLE.flatMap((rung) => someAssignments(path.join(ATTENTION, rung))),
  ...STAGED_VARIANTS,
];
