import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadKernel } from '../../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../../src/core/candidate.ts';
import { WarpsmithError } from '../../../src/core/errors.ts';
import type { Candidate } from '../../../src/core/kernel.ts';
import { completeDimensions, isShapeOf } from '../../../src/core/plan/dimensions.ts';
import { takesWorkload } from '../../../src/core/plan/takes-workload.ts';
import type { Dimensions, ProblemFile } from '../../../src/core/problem.ts';
import { detailsOf } from '../../core/support/expect-error.ts';
import { longTests } from '../../support/sampling/matrix.ts';
import { hardCandidate, hardProblem } from '../support/everything.ts';
import { inFolder } from '../support/host-compiler.ts';
import { randomDimensions } from '../support/random-dimensions.ts';
import { callOf, expectedEvents, packageOf, python, runCalls } from './support.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const problems = new URL('../../../problems/', import.meta.url).pathname;

/** Two steps and workspaces; tensor maps and a kept workspace; zeroed workspaces; memsets; several dtypes. */
const KERNELS = [
  'attention/09_lean',
  'attention/11_sums_first',
  'attention/12_decode',
  'gemm/04_vectorised',
  'softmax/04_vectorised',
  'scan/04_look_back',
  'histogram/03_per_warp',
  'reduction/04_two_pass',
  'transpose/04_vectorised',
  'layernorm/04_vectorised',
];
const DRAWS = 60;

interface Subject {
  readonly name: string;
  readonly problem: ProblemFile;
  readonly candidate: Candidate;
  readonly dimensions: readonly Dimensions[];
}

const isTaken = (problem: ProblemFile, candidate: Candidate, dimensions: Dimensions): boolean =>
  isShapeOf(problem, dimensions) && takesWorkload(candidate, dimensions);

/** `refused` where no device could launch it. */
function expected(...asked: Parameters<typeof expectedEvents>): unknown {
  try {
    return expectedEvents(...asked);
  } catch (error) {
    if (error instanceof WarpsmithError) return 'refused';
    throw error;
  }
}

const shipped = async (): Promise<Subject[]> =>
  Promise.all(
    KERNELS.map(async (path) => {
      const { kernel, problem } = await loadKernel(join(problems, path));
      const candidate = makeCandidate(kernel, {});
      const drawn = randomDimensions(problem.file, 5, DRAWS).map((dimensions) => ({
        ...dimensions,
        // One query, as decoding has it, and shapes without options, which most kernels take.
        ...(path.endsWith('12_decode') && { S: 1, H: 6, Hkv: dimensions.H! % 2 === 0 ? 2 : 6 }),
        ...(path.endsWith('11_sums_first') && {
          Hkv: dimensions.H,
          Skv: dimensions.S,
          bottomRight: 0,
          bshd: 0,
          lse: 0,
        }),
      }));
      const declared = [...problem.file.workloads, ...problem.file.checkShapes].map(({ dimensions }) =>
        completeDimensions(problem.file.dimensions, dimensions),
      );
      return {
        name: path.replace('/', '_'),
        problem: problem.file,
        candidate,
        dimensions: [...declared, ...drawn].filter((one) => isTaken(problem.file, candidate, one)),
      };
    }),
  );

/** What reaches the driver, beside what the launch planner says. */
const compare = (subjects: readonly Subject[]): number => {
  const packages = subjects.map(({ name, problem, candidate, dimensions }) => ({
    name,
    candidates: [candidate],
    problem,
    made: packageOf(problem, [candidate], { name }),
    calls: dimensions.map((one) => callOf(problem, one)),
  }));
  const files = Object.fromEntries(
    packages.flatMap(({ name, made }) =>
      Object.entries(made.files).map(([path, contents]) => [`${name}/${path}`, contents] as const),
    ),
  );
  return inFolder(files, (folder) => {
    const answers = runCalls(
      folder,
      packages.map(({ made, ...rest }) => ({ ...rest, functionName: made.functionName })),
    );
    for (const [index, { name, problem, candidate, dimensions }] of subjects.entries()) {
      for (const [at, one] of dimensions.entries()) {
        const answer = answers[index]![at]!;
        const what = { name, dimensions: one, error: answer.error };
        const events = answer.error === undefined ? answer.events : 'refused';
        expect({ ...what, events }).toEqual({ ...what, events: expected(problem, candidate, one, answer) });
      }
    }
    return answers.flat().filter(({ error }) => error === undefined).length;
  });
};

describe.skipIf(!python)('a package for PyTorch launches what the launch planner plans', () => {
  long('for kernels of every kind', async () => {
    const subjects = await shipped();
    for (const { name, dimensions } of subjects)
      expect({ name, count: dimensions.length > 5 }).toEqual({ name, count: true });
    expect(compare(subjects)).toBeGreaterThan(300);
  });

  long('for a kernel with one of everything, and names that Python has other uses for', () => {
    const { kernel, parameters } = hardCandidate();
    // The fake driver knows a function by the parameters it has, so that no two steps may launch one differently.
    const steps = kernel.file.steps.map((step) =>
      'function' in step && step.arguments.length === 0 ? { ...step, function: 'last' } : step,
    );
    const candidate = makeCandidate({ ...kernel, file: { ...kernel.file, steps } }, parameters);
    // A tensor without elements is no call.
    const drawn = randomDimensions(hardProblem, 3, 300).filter(
      (one) => one.N! > 0 && isTaken(hardProblem, candidate, one),
    );
    const subject = { name: 'hard', problem: hardProblem, candidate, dimensions: drawn };
    expect(compare([subject])).toBeGreaterThan(10);
  });

  it('is refused for a workspace that starts with contents', () => {
    const { kernel } = hardCandidate();
    const kept = { ...kernel.file.workspaces!.kept!, contents: { bytes: '01' } };
    const workspaces = { ...kernel.file.workspaces, kept };
    const candidate = makeCandidate({ ...kernel, file: { ...kernel.file, workspaces } }, {});
    expect(detailsOf(() => packageOf(hardProblem, [candidate], { name: 'hard' }))).toMatchObject({
      code: 'export-without-contents',
      path: 'workspaces.kept.contents',
    });
  });
});
