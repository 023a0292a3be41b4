import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import type { RandomStream } from '../../stats/random.ts';

/** A change of inputs: the number of a draw, or values that were worked out, as {@link solutionOf} writes them. */
export type Change = number | string;

/**
 * Inputs that are bred, as a fuzzer breeds them: those of another generator set, changed in one place after the other. The name of such a set
 * says whose inputs it changes and how, so that its inputs can be drawn again.
 */
export interface Mutated {
  /** The generator set whose inputs are changed. */
  readonly base: string;
  /** In their order. */
  readonly changes: readonly Change[];
}

const NAME = /^secret:mutated ((?:\d+|=[\w-]+)(?:\.(?:\d+|=[\w-]+))*) of (.+)$/;

/** `secret:mutated 3.17 of secret:bands (1)` → what it is; `undefined` of any other generator set. */
export function mutatedSetOf(generatorSet: string): Mutated | undefined {
  const [, changes, base] = NAME.exec(generatorSet) ?? [];
  if (base === undefined) return undefined;
  return { base, changes: changes!.split('.').map((change) => (change.startsWith('=') ? change : Number(change))) };
}

export const mutatedName = ({ base, changes }: Mutated): string => `secret:mutated ${changes.join('.')} of ${base}`;

/** The set with one more change. */
export function mutationOf(generatorSet: string, change: Change): string {
  const { base, changes } = mutatedSetOf(generatorSet) ?? { base: generatorSet, changes: [] };
  return mutatedName({ base, changes: [...changes, change] });
}

/** A value that an element of an input gets. */
export interface AssignedValue {
  /** The input's place among those of the problem. */
  readonly input: number;
  readonly element: number;
  readonly value: number;
}

const ASSIGNED_BYTES = 16;

/** Values as the name of a generator set holds them. */
export function solutionOf(values: readonly AssignedValue[]): string {
  const bytes = Buffer.alloc(values.length * ASSIGNED_BYTES);
  for (const [i, { input, element, value }] of values.entries()) {
    bytes.writeUInt32LE(input, i * ASSIGNED_BYTES);
    bytes.writeUInt32LE(element, i * ASSIGNED_BYTES + 4);
    bytes.writeDoubleLE(value, i * ASSIGNED_BYTES + 8);
  }
  return `=${deflateRawSync(bytes).toString('base64url')}`;
}

export function valuesOfSolution(solution: string): AssignedValue[] {
  const bytes = inflateRawSync(Buffer.from(solution.slice(1), 'base64url'));
  return Array.from({ length: bytes.length / ASSIGNED_BYTES }, (_, i) => ({
    input: bytes.readUInt32LE(i * ASSIGNED_BYTES),
    element: bytes.readUInt32LE(i * ASSIGNED_BYTES + 4),
    value: bytes.readDoubleLE(i * ASSIGNED_BYTES + 8),
  }));
}

/** The name of a generator set as people read it: with the number of values that were worked out in place of the values. */
export function readableSet(generatorSet: string): string {
  const mutated = mutatedSetOf(generatorSet);
  if (!mutated) return generatorSet;
  const changes = mutated.changes.map((change) =>
    typeof change === 'number' ? change : `${valuesOfSolution(change).length} solved`,
  );
  return mutatedName({ ...mutated, changes });
}

/** One input to change. */
export interface MutationRequest {
  readonly buffer: Pick<PlannedBuffer, 'shape'>;
  /** As many other values, about as large as these, so that none stands out. */
  readonly fresh: () => Float64Array;
  /** Of the change and this input. */
  readonly stream: RandomStream;
  /** Longest run in which values may be the same; 0: none. */
  readonly longestRepeated: number;
  /** Whether values may be the negative of what they were. */
  readonly takesNegatives: boolean;
}

/** Some values of an input: every `step`-th one of a stretch, at places that the draw chooses. */
interface Stretch {
  readonly from: number;
  readonly count: number;
  readonly step: number;
}

const at = ({ from, step }: Stretch, index: number): number => from + index * step;

type Alteration = (values: Float64Array, stretch: Stretch, request: MutationRequest) => void;

const redraw: Alteration = (values, stretch, { fresh }) => {
  const others = fresh();
  for (let i = 0; i < stretch.count; i++) values[at(stretch, i)] = others[at(stretch, i)]!;
};

/** Copies what lies somewhere else. */
const copy: Alteration = (values, stretch, { stream }) => {
  const shift = 1 + (stream.bits(COPIED_FROM) % Math.max(1, values.length - 1));
  const before = values.slice();
  for (let i = 0; i < stretch.count; i++) values[at(stretch, i)] = before[(at(stretch, i) + shift) % values.length]!;
};

const exchange: Alteration = (values, stretch, { stream }) => {
  const shift = 1 + (stream.bits(COPIED_FROM) % Math.max(1, values.length - 1));
  for (let i = 0; i < stretch.count; i++) {
    const [one, other] = [at(stretch, i), (at(stretch, i) + shift) % values.length];
    [values[one], values[other]] = [values[other]!, values[one]!];
  }
};

const negate: Alteration = (values, stretch) => {
  for (let i = 0; i < stretch.count; i++) values[at(stretch, i)] = -values[at(stretch, i)]!;
};

const reverse: Alteration = (values, stretch) => {
  for (let i = 0, j = stretch.count - 1; i < j; i++, j--) {
    const [one, other] = [at(stretch, i), at(stretch, j)];
    [values[one], values[other]] = [values[other]!, values[one]!];
  }
};

/** One value everywhere: the first of the stretch. */
const fill: Alteration = (values, stretch) => {
  const value = values[stretch.from]!;
  for (let i = 0; i < stretch.count; i++) values[at(stretch, i)] = value;
};

const COPIED_FROM = 8;

/** In which of the draws each is chosen: what leaves all other values as they are comes most often. */
const CHANGES: readonly Alteration[] = [redraw, redraw, redraw, exchange, exchange, copy, negate, reverse, fill];

const repeats = (change: Alteration): boolean => change === copy || change === fill;

/** Changes some values of an input, in place. */
export function mutate(values: Float64Array, request: MutationRequest): Float64Array {
  const { stream, longestRepeated, takesNegatives } = request;
  if (values.length === 0) return values;
  const drawn = CHANGES[stream.bits(0) % CHANGES.length]!;
  const stretch = stretchOf(values.length, request);
  const isAllowed = drawn === negate ? takesNegatives : !repeats(drawn) || stretch.count <= longestRepeated;
  (isAllowed ? drawn : redraw)(values, stretch, request);
  return values;
}

/**
 * One value, or a power of two of them: neighbours, half of the time beginning at a multiple of their number; or a row, a column or another slice along
 * one axis; or single ones far apart.
 */
function stretchOf(length: number, { buffer, stream }: MutationRequest): Stretch {
  const kind = stream.bits(1) % 4;
  if (kind === 0) return sliceOf(length, buffer.shape, stream);
  const count = Math.min(length, 2 ** (stream.bits(2) % (1 + Math.floor(Math.log2(length)))));
  if (kind === 1) {
    const step = Math.max(1, Math.floor(length / count));
    return { from: stream.bits(3) % step, count: Math.min(count, Math.floor(length / step)), step };
  }
  const from = stream.bits(3) % (length - count + 1);
  return { from: stream.bits(4) % 2 === 0 ? from - (from % count) : from, count, step: 1 };
}

/** All values with one index along the last axis, or along all other axes. */
function sliceOf(length: number, shape: readonly number[], stream: RandomStream): Stretch {
  const columns = shape.at(-1) ?? 1;
  const rows = length / columns;
  if (stream.bits(2) % 2 === 0) return { from: columns * (stream.bits(3) % rows), count: columns, step: 1 };
  return { from: stream.bits(3) % columns, count: rows, step: columns };
}
