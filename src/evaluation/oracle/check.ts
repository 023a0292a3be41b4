import type { Dimensions } from '../../core/problem.ts';
import { assignments } from '../../core/values.ts';
import { readableSet } from './mutated-inputs.ts';

/** Name of the generator set in which every input uses its own declared generator. */
export const DECLARED = 'declared';

/** One binding of the dimensions with one way to fill the inputs. */
export interface Check {
  readonly dimensions: Dimensions;
  readonly generatorSet: string;
  /** The workload that is also counted and timed. */
  readonly isMain: boolean;
  /** Run once, and compared in some rows if the whole reference takes long. Otherwise run twice and compared whole. */
  readonly isOnce: boolean;
  /** Of a shape that the seed chose. */
  readonly isDrawn: boolean;
  /** With one dimension much larger than in all others, or all as small as can be; looks at sizes, not at inputs. */
  readonly isExtreme?: boolean;
  /** As large as users' own: a kernel may take longer for it than a simulator has. */
  readonly isLarge?: boolean;
  /** Virtual devices: planned for a GPU with so many multiprocessors, because grids depend on their number. */
  readonly multiprocessors?: number | undefined;
  /** Launches are repeated over earlier results, those of a kernel with a memory with inputs that resemble one another. */
  readonly isForMemory?: boolean;
}

/** Run twice, of a shape that the problem names. */
export const USUAL = { isMain: false, isOnce: false, isDrawn: false } as const;

/** Of a drawn shape, run once. */
export const onceAt = (dimensions: Dimensions, generatorSet: string): Check => ({
  ...{ dimensions, generatorSet, ...USUAL, isOnce: true, isDrawn: true },
});

export const extremeCheck = (dimensions: Dimensions): Check => ({ ...onceAt(dimensions, DECLARED), isExtreme: true });

/** e.g. `B=1, S=113, D=64, causal=1 · large`. */
export const describeCheck = ({
  dimensions,
  generatorSet,
  multiprocessors,
}: Pick<Check, 'dimensions' | 'generatorSet' | 'multiprocessors'>): string =>
  [
    assignments(dimensions).join(', '),
    `${readableSet(generatorSet)} inputs`,
    ...(multiprocessors === undefined ? [] : [`${multiprocessors} multiprocessors`]),
  ].join(' · ');
