import type { PlannedBuffer } from '../../../core/launch-plan.ts';
import type { ProblemFile } from '../../../core/problem.ts';
import type { RandomStream } from '../../../stats/random.ts';
import type { SecretSet } from './secret-set.ts';

/** One input of a check. */
export interface DisguiseRequest {
  readonly problem: ProblemFile;
  readonly buffer: PlannedBuffer;
  /** This input's own. */
  readonly stream: RandomStream;
  /** The same for all inputs of the check. */
  readonly shared: RandomStream;
}

/** Changes an input's drawn values, in place, as sets of one kind do. */
export type Disguise = (values: Float64Array, set: SecretSet, request: DisguiseRequest) => Float64Array;
