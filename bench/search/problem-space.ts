import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadProblemTarget } from '../../src/app/target.ts';
import { chooseObjective } from '../../src/app/workload.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { EvaluationRequest } from '../../src/core/evaluation.ts';
import type { Candidate, Kernel } from '../../src/core/kernel.ts';
import type { Problem } from '../../src/core/problem.ts';
import { kernelSpace } from '../../src/search/kernel-space.ts';
import type { WeightedWorkload } from '../../src/store/events.ts';

/** Everything is predicted for this device where no other is named. */
export const DEVICE = 'virtual:l4';
/** Inputs of every recorded evaluation are drawn from this seed; searches differ in their own. */
export const RECORDED_SEED = 1;

const PROBLEMS = fileURLToPath(new URL('../../problems/', import.meta.url));
const SPACES = fileURLToPath(new URL('spaces/', import.meta.url));

export const problemNames = (): string[] => readdirSync(PROBLEMS).sort();

/** Where the evaluations of a problem's whole space are recorded, by default those of {@link DEVICE}. */
export const recordingPath = (problem: string, device = DEVICE): string =>
  join(SPACES, ...(device === DEVICE ? [] : [device.replace(':', '-')]), `${problem}.jsonl.gz`);

/** A problem's whole space: every setting of every rung, on the workload that runs are about when none is named. */
export interface ProblemSpace {
  readonly problem: Problem;
  readonly start: Candidate;
  readonly rungs: readonly Kernel[];
  readonly workload: WeightedWorkload;
  readonly candidates: readonly Candidate[];
}

export async function loadProblemSpace(name: string): Promise<ProblemSpace> {
  const { problem, start, rungs: ladder } = await loadProblemTarget(join(PROBLEMS, name));
  const rungs = ladder.filter(({ file }) => file.source.architectures === undefined); // what every virtual GPU runs
  const [workload] = chooseObjective(problem.file, []);
  const { space, candidateAt } = kernelSpace(rungs, workload!.dimensions);
  return {
    problem,
    start: makeCandidate(start, {}),
    rungs,
    workload: workload!,
    candidates: Array.from({ length: space.size }, (_, index) => candidateAt(index)),
  };
}

/** What a search's evaluation of this candidate asks for, whatever its seed. */
export const requestFor = ({ problem, workload }: ProblemSpace, candidate: Candidate): EvaluationRequest => ({
  problem,
  candidate,
  workload: { name: workload.name, dimensions: workload.dimensions, cache: workload.cache },
  seed: RECORDED_SEED,
});
