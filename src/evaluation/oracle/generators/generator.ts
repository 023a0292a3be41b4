import type { DType } from '../../../core/dtype.ts';
import type { Dimensions, Generator } from '../../../core/problem.ts';
import type { RandomStream } from '../../../stats/random.ts';

/** The data that a generator may use. It returns unrounded values; the caller rounds them to the buffer's dtype. */
export interface GeneratorContext {
  /** Name of the input, for error messages. */
  readonly input: string;
  readonly dtype: DType;
  /** Outermost first. */
  readonly shape: readonly number[];
  /** Product of `shape`. */
  readonly elementCount: number;
  readonly dimensions: Dimensions;
  /** The problem's folder, which `npy` files are relative to. */
  readonly folder: string;
  /** This input's own stream. */
  readonly stream: RandomStream;
  /** A stream shared by all inputs of the check that ask for the same label. */
  readonly sharedStream: (label: string) => RandomStream;
}

/** What fills an input that declares no generator. */
export const NORMAL: Generator = { kind: 'normal' };

/** Draws all elements of one input, row-major. */
export type Generate<K extends Generator['kind']> = (
  generator: Extract<Generator, { kind: K }>,
  context: GeneratorContext,
) => Float64Array;

/** Fills row-major elements one by one from their index. */
export function fillElements(count: number, valueAt: (index: number) => number): Float64Array {
  const values = new Float64Array(count);
  for (let i = 0; i < count; i++) values[i] = valueAt(i);
  return values;
}
