import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Half } from '../scripts/results/registers.ts';
import { loadProblem } from '../src/app/loading/load-problem.ts';
import { loadRungs } from '../src/app/target.ts';
import { chooseWorkloads } from '../src/app/workload.ts';
import { makeCandidate } from '../src/core/candidate.ts';
import type { Candidate, Kernel } from '../src/core/kernel.ts';
import { failedLimit } from '../src/core/plan/limits.ts';
import { validAssignments } from '../src/core/plan/parameters.ts';
import type { Problem, Workload } from '../src/core/problem.ts';
import { createStream } from '../src/stats/random.ts';
import { ENTRIES } from '../test/corpus/entries.ts';
import type { Entry } from '../test/corpus/entry.ts';
import { problemNames } from './search/problem-space.ts';

const CORPUS = fileURLToPath(new URL('../test/corpus/kernels/', import.meta.url));
const PROBLEMS = fileURLToPath(new URL('../problems/', import.meta.url));

/** Decided by the kernel's name alone. */
export function halfOf(kernel: string): Half {
  return createHash('sha256').update(kernel).digest()[0]! % 2 === 0 ? 'fit' : 'held-out';
}

/** A setting of a rung, on the first of its problem's workloads that the rung takes. */
export interface RungSetting {
  /** `problem/rung`. */
  readonly kernel: string;
  readonly problem: Problem;
  readonly candidate: Candidate;
  readonly workload: Workload;
}

/** The defaults of a rung, and others drawn without looking at what they are: the same on every machine. */
export function settingsOf(name: string, kernel: Kernel, workload: Workload, count: number): Candidate[] {
  const start = makeCandidate(kernel, {});
  const stream = createStream('settings', name);
  const others = validAssignments(kernel.file, workload.dimensions)
    .map((parameters, index) => ({ candidate: makeCandidate(kernel, parameters), order: stream.uniform(index) }))
    .filter(({ candidate }) => candidate.id !== start.id)
    .sort((a, b) => a.order - b.order);
  return [start, ...others.map(({ candidate }) => candidate)].slice(0, count);
}

/** A rung with the first of its problem's workloads that it takes. */
async function placeRung(problems: readonly Problem[], index: number) {
  for (const problem of problems) {
    const rung = (await loadRungs(problem))[index]!;
    const workloads = chooseWorkloads(problem.file, ['all']);
    const workload = workloads.find(({ dimensions }) => failedLimit(rung.file, dimensions) === undefined);
    if (workload) return { problem, rung, workload };
  }
  throw new Error(`rung ${index} of ${problems[0]!.folder} takes none of its problem's workloads`);
}

/** Settings of every rung of every problem. @param perRung at most so many of each. */
export async function rungSettings(perRung: number): Promise<RungSetting[]> {
  const settings: RungSetting[] = [];
  for (const name of problemNames()) {
    const folder = `${PROBLEMS}${name}`;
    // Some rungs take half precision only.
    const problems = [await loadProblem(folder), await loadProblem(folder, { among: ['f16'] })];
    for (const index of problems[0]!.file.rungs.keys()) {
      const { problem, rung, workload } = await placeRung(problems, index);
      const kernel = `${name}/${rung.file.name}`;
      for (const candidate of settingsOf(kernel, rung, workload, perRung))
        settings.push({ kernel, problem, candidate, workload });
    }
  }
  return settings;
}

/** One launch of a kernel that nobody wrote for warpsmith's problems. */
export interface CorpusKernel {
  /** `corpus/kernel`. */
  readonly kernel: string;
  readonly entry: Entry;
  readonly source: string;
}

export const corpusKernels = (): CorpusKernel[] =>
  ENTRIES.map((entry) => ({
    kernel: `corpus/${entry.kernel}`,
    entry,
    source: readFileSync(`${CORPUS}${entry.file}`, 'utf8'),
  }));
