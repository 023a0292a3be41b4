import { readFileSync } from 'node:fs';
import type { MeasuredWith } from '../../../scripts/results/measured-with.ts';
import type { TensorMapArgument } from '../../../src/virtual-gpu/tensor-map.ts';

/** A box that a GPU copied. */
export interface ProbedBox {
  readonly at: readonly number[];
  /**
   * Of a load, what shared memory held, in chunks of 16 bytes, with the swizzle undone: `7+16` are the 16 chunks from chunk 7 of the tensor on,
   * `z*4` four chunks of zeros, `=7ff77ff7*4` four of that word. Of a store, what device memory held: `64<16+8` are eight chunks
   * from chunk 64 of the tensor on that came from chunk 16 of shared memory on, with the swizzle undone. Of an add, the same, where
   * what lay there before is taken off.
   */
  readonly got?: string;
  /** The GPU stopped with an illegal instruction. */
  readonly stops?: true;
  /** A phase ended that expected so many bytes, and one that expected 16 more did not. */
  readonly counted?: number;
}

export interface ProbedMap {
  /** Bytes of a slice: 16 or 32; 0 of a map that is not interleaved. */
  readonly slice: number;
  readonly dtype: string;
  readonly globalDim: readonly number[];
  readonly globalStridesBytes: readonly number[];
  readonly boxDim: readonly number[];
  readonly elementStrides: readonly number[];
  /** The driver's number. */
  readonly swizzle: number;
  readonly fill: 'zeros' | 'nan';
  /** Where the tensor begins, from a multiple of 256 bytes on. */
  readonly startBytes: number;
}

/** One map, and what came of boxes: of none if the driver refused the map. */
export interface ProbedCopies extends ProbedMap {
  readonly operation: 'load' | 'store' | 'add';
  readonly isRefused?: true;
  readonly boxes: readonly ProbedBox[];
}

/**
 * Which values of one field the driver takes, the others being those of the map: of all from `from` to `to`, times `unit`, those of
 * `taken`, where `16..256/16` is 16, 32, … 256.
 */
export type Sweep = readonly [
  field: Exclude<keyof ProbedMap, 'slice' | 'dtype'> | 'axes',
  axis: number,
  unit: number,
  from: number,
  to: number,
  taken: string,
];

export interface InterleavedMaps extends MeasuredWith {
  readonly schemaVersion: 1;
  readonly copies: readonly ProbedCopies[];
  readonly sweeps: readonly (ProbedMap & { readonly taken: readonly Sweep[] })[];
}

const RECORDING = new URL('../../../docs/results/h200-interleaved-maps.json', import.meta.url);

export const readInterleavedMaps = (): InterleavedMaps => JSON.parse(readFileSync(RECORDING, 'utf8'));

const SWIZZLES = ['none', '32B', '64B', '128B'];

/** Undefined where a launch plan has no name for the swizzle. */
export function argumentOf(map: ProbedMap): TensorMapArgument | undefined {
  const { slice, swizzle, startBytes, ...rest } = map;
  const name = SWIZZLES[swizzle];
  if (name === undefined) return undefined;
  return {
    ...({
      kind: 'tensor-map',
      buffer: 'tensor',
      interleave: slice === 0 ? 'none' : `${slice}B`,
      swizzle: name,
      l2Promotion: 'none',
    } as const),
    ...{ dtype: rest.dtype as TensorMapArgument['dtype'], fill: rest.fill },
    ...{ globalDim: [...rest.globalDim], globalStridesBytes: [...rest.globalStridesBytes] },
    ...{ boxDim: [...rest.boxDim], elementStrides: [...rest.elementStrides] },
  };
}

/** `0 3..9/3` is 0, 3, 6, 9. */
export function valuesOf(ranges: string): Set<number> {
  const values = new Set<number>();
  for (const range of ranges.split(' ').filter(Boolean)) {
    const [from, to = from, step = 1] = range.split(/\.\.|\//).map(Number);
    for (let value = from!; value <= to!; value += step) values.add(value);
  }
  return values;
}

/** The runs of a box: `name`, count, and for chunks where they lie on the other side. */
const RUN = /^(?:(?<chunk>-?\d+)(?:<(?<from>\d+))?(?:\+(?<count>\d+))?|(?<word>z|=[0-9a-f]+)(?:\*(?<times>\d+))?)$/;

/** What each chunk of shared memory holds: a chunk of the tensor, or a word in hex that fills it. */
export function chunksOfLoad(got: string): (number | string)[] {
  return got.split(' ').flatMap((text): (number | string)[] => {
    const run = RUN.exec(text)!.groups!;
    if (run.word !== undefined)
      return new Array<string>(Number(run.times ?? 1)).fill(run.word === 'z' ? '0' : run.word.slice(1));
    return Array.from({ length: Number(run.count ?? 1) }, (_, i) => Number(run.chunk) + i);
  });
}

/** Which chunk of shared memory each changed chunk of the tensor holds. */
export function chunksOfStore(got: string): Map<number, number> {
  const chunks = got.split(' ').filter(Boolean);
  return new Map(
    chunks.flatMap((text) => {
      const run = RUN.exec(text)!.groups!;
      return Array.from(
        { length: Number(run.count) },
        (_, i) => [Number(run.chunk) + i, Number(run.from) + i] as [number, number],
      );
    }),
  );
}
