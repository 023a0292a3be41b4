import type { PlannedBuffer } from '../../../../core/launch-plan.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import type { RandomStream } from '../../../../stats/random.ts';
import type { Freedom } from '../freedom.ts';

export interface VariantRequest {
  readonly problem: ProblemFile;
  readonly buffer: Pick<PlannedBuffer, 'name' | 'dtype' | 'shape'>;
  readonly stream: RandomStream;
  /** The same for all inputs of the check. */
  readonly shared: RandomStream;
  readonly freedom: Freedom;
}

export interface Treated extends VariantRequest {
  /** Which of the kind's variants. */
  readonly index: number;
  /** 1 is the strongest; milder ones halve it. */
  readonly strength: number;
}

/** A kind of secret set that comes in several variants, each of which treats the inputs in another way. */
export interface Treatment {
  /** How many of its variants change some input of a problem. */
  readonly count: (problem: ProblemFile, freedom: Freedom) => number;
  /** Changes an input's drawn values, in place. */
  readonly treat: (values: Float64Array, input: Treated) => Float64Array;
  /** Of a variant whose mistakes show in long sums only: whether every long sum gets it. */
  readonly isForLongSums?: (index: number, problem: ProblemFile) => 'always' | 'by lot' | undefined;
  /** Whether a variant is about how often a value occurs, so that its mistakes show in the longest vectors only. */
  readonly isForLongestVectors?: (index: number) => boolean;
  /** Whether a variant's mistakes show in very long rows only. */
  readonly isForLongRows?: (index: number, problem: ProblemFile) => boolean;
  /** Whether the last value of each row weighs in its sum, however long the row is. */
  readonly showsEnds?: true;
  /** In which shapes a variant's structure shows: alone of square matrices, or of divisible sizes; or where most is computed, too. */
  readonly needs?: (index: number, problem: ProblemFile) => 'square' | 'even' | 'work' | undefined;
  /** Values that are no zeros do not repeat, and rows are about as large, so that errors average out as those of drawn values do. */
  readonly isAsDrawn?: (index: number) => boolean;
  /** Whether it is one for problems only whose results stay as large, as those of products do. */
  readonly leavesSizes?: true;
}

/** Rows of an input go along its last axis. */
export const columnsOf = ({ shape }: Pick<PlannedBuffer, 'shape'>): number => shape.at(-1) ?? 1;

/** Names of the inputs of which something holds. */
export const inputsThat = ({ inputs }: ProblemFile, is: (name: string) => boolean): string[] =>
  Object.keys(inputs).filter(is);
