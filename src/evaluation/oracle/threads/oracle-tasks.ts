import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import type { DrawnInputs } from '../draw-inputs.ts';
import type { Expectations } from '../expectations.ts';
import type { ReferenceRuns } from '../reference-runs.ts';

/** What a thread of the oracle works out. All of it are plain objects and arrays of numbers. */
export interface OracleTasks {
  /** As `drawInputs`. */
  draw: {
    take: { folder: string; file: ProblemFile; dimensions: Dimensions; seed: number; generatorSet: string };
    give: DrawnInputs;
  };
  /** As `expectationsFrom`. */
  expect: { take: { file: ProblemFile; dimensions: Dimensions; runs: ReferenceRuns }; give: Expectations };
}
