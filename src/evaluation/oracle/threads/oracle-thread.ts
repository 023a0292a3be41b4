import { expandBuffers } from '../../../core/plan/expand-buffers.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import { serveTasks } from '../../../process/serve-tasks.ts';
import { type CheckKey, type DrawnInputs, drawInputs } from '../draw-inputs.ts';
import { type Expectations, expectationsFrom } from '../expectations.ts';
import type { ReferenceRuns } from '../reference-runs.ts';

/* A thread that draws inputs of checks and works out tolerances from what the reference gave. It runs nothing of the user's. */

/** What it works out. All of it are plain objects and arrays of numbers. */
export interface OracleTasks {
  /** As `drawInputs`. */
  draw: { take: Omit<CheckKey, 'problem'> & { folder: string; file: ProblemFile }; give: DrawnInputs };
  /** As `expectationsFrom`. */
  expect: { take: { file: ProblemFile; dimensions: Dimensions; runs: ReferenceRuns }; give: Expectations };
}

const TASKS: { readonly [T in keyof OracleTasks]: (take: OracleTasks[T]['take']) => OracleTasks[T]['give'] } = {
  draw: ({ folder, file, ...key }) =>
    drawInputs({ problem: { folder, file }, buffers: expandBuffers(file, key.dimensions), ...key }),
  expect: ({ file, dimensions, runs }) => expectationsFrom({ file }, expandBuffers(file, dimensions), dimensions, runs),
};

serveTasks(TASKS);
