import type { PlannedBuffer } from '../../../core/launch-plan.ts';
import type { Dimensions, Problem, ReferenceTensors } from '../../../core/problem.ts';
import type { Rounding } from '../../../core/rounding.ts';
import type { RandomStream } from '../../../stats/random.ts';
import type { PreparedCheck } from '../../oracle/expectation-cache.ts';
import type { Expectations } from '../../oracle/expectations.ts';

/** The data from which a wrong kernel can be computed on one check. Tensors are row-major float64. */
export interface MutantContext {
  readonly problem: Problem;
  readonly dimensions: Dimensions;
  readonly prepared: PreparedCheck;
  readonly expectations: Expectations;
  /** Buffers a kernel must fill. */
  readonly outputs: readonly PlannedBuffer[];
  readonly inputs: ReferenceTensors;
  /** The reference's outputs: those of a perfect kernel, before or after rounding. */
  readonly right: ReferenceTensors;
  /** Perfect outputs for the inputs of another seed, by default the next. Runs the reference. @param further how much further on it is. */
  readonly stale: (further?: number) => Promise<ReferenceTensors>;
  readonly stream: RandomStream;
  /** What the additions behind each output may err, in any order, in the precision of the inputs. Runs the reference. */
  readonly additions: () => Promise<Expectations>;
  /** Runs the reference on changed inputs, dimensions or rounding. */
  readonly compute: (change: {
    inputs?: ReferenceTensors;
    dimensions?: Dimensions;
    rounding?: Rounding;
    /** One of the problem's mistakes instead of the reference. */
    mistake?: string;
  }) => Promise<ReferenceTensors>;
}

/** A kernel's outputs, worked out at once or later. */
export type MutantOutputs = ReferenceTensors | undefined | Promise<ReferenceTensors | undefined>;

/** A generic wrong kernel, played on the host. */
export interface Mutant {
  /** Kebab-case, with its input or dimension, e.g. `ignored-input:Q`. */
  readonly id: string;
  /** What such a kernel does, e.g. `writes zeros`. */
  readonly title: string;
  /**
   * A mistake that must show somewhere, such as never reading an input. If no check shows it, the checks are at fault.
   * Other mutants are no mistake if their outputs equal the right ones.
   */
  readonly mustShow?: boolean;
  /** Right at every check shape; `outputs` is what it writes at the timed one. */
  readonly isTimedOnly?: boolean;
  /**
   * No mistake on a check where it errs by no more than the additions of an honest kernel may: the longer a sum, the fewer bits of
   * each term reach it.
   */
  readonly mayErrAsAdditions?: boolean;
  /** Its outputs take another run of the reference. */
  readonly runsReference?: boolean;
  /** Its outputs before rounding; `undefined` if the check is too small or of the wrong kind. */
  readonly outputs: (context: MutantContext) => MutantOutputs;
}

/** Makes every output from its own right values. */
export const fromRight = (
  context: MutantContext,
  change: (values: Float64Array, buffer: PlannedBuffer) => Float64Array,
): ReferenceTensors =>
  Object.fromEntries(context.outputs.map((buffer) => [buffer.name, change(context.right[buffer.name]!, buffer)]));

/** Every output full of zeros. */
export const zeros = (context: MutantContext): ReferenceTensors =>
  fromRight(context, (values) => new Float64Array(values.length));

/** The values from place `by` on, then those before it. */
export function rotated(values: Float64Array, by: number): Float64Array {
  const moved = new Float64Array(values.length);
  moved.set(values.subarray(by));
  moved.set(values.subarray(0, by), values.length - by);
  return moved;
}
