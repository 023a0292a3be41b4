import { expandBuffers } from '../../../core/plan/expand-buffers.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import { serveTasks } from '../../../process/serve-tasks.ts';
import { disagreement } from '../disagreement.ts';
import { type CheckKey, type DrawnInputs, drawInputs } from '../draw-inputs.ts';
import { type Expectations, expectationsFrom } from '../expectations.ts';
import { perturbedBytes } from '../perturbed-bytes.ts';
import type { ReferenceRuns } from '../reference-runs.ts';

/* A thread that draws inputs of checks and works out tolerances from what the reference gave. It runs nothing of the user's. */

/** What it works out. All of it are plain objects and arrays of numbers. */
export interface OracleTasks {
  /** As `drawInputs`. */
  draw: { take: Omit<CheckKey, 'problem'> & { folder: string; file: ProblemFile }; give: DrawnInputs };
  /** As `expectationsFrom`. */
  expect: { take: ExpectTake; give: Expectations };
  /** As `disagreement` with what is expected from these runs. */
  disagree: { take: ExpectTake & { outputs: ReadonlyMap<string, Uint8Array> }; give: string | undefined };
  /** As `perturbedBytes`. */
  perturb: {
    take: {
      file: ProblemFile;
      dimensions: Dimensions;
      inputs: ReadonlyMap<string, Uint8Array>;
      run: number;
    };
    give: ReadonlyMap<string, Uint8Array>;
  };
}

interface ExpectTake {
  readonly file: ProblemFile;
  readonly dimensions: Dimensions;
  readonly runs: ReferenceRuns;
}

const TASKS: { readonly [T in keyof OracleTasks]: (take: OracleTasks[T]['take']) => OracleTasks[T]['give'] } = {
  draw: ({ folder, file, ...key }) =>
    drawInputs({ problem: { folder, file }, buffers: expandBuffers(file, key.dimensions), ...key }),
  expect: ({ file, dimensions, runs }) => expectationsFrom({ file }, expandBuffers(file, dimensions), dimensions, runs),
  disagree: ({ file, dimensions, runs, outputs }) => {
    const buffers = expandBuffers(file, dimensions);
    return disagreement(buffers, expectationsFrom({ file }, buffers, dimensions, runs), outputs);
  },
  perturb: ({ file, dimensions, inputs, run }) => perturbedBytes(expandBuffers(file, dimensions), { inputs }, run),
};

serveTasks(TASKS);
