import { isShapeOf } from '../../../core/plan/dimensions.ts';
import { expandBuffers } from '../../../core/plan/expand-buffers.ts';
import type { BufferDeclaration, Dimensions, ProblemFile, ReferenceTensors } from '../../../core/problem.ts';
import { multiIndexOf } from '../../launches/layout.ts';
import { outputsOf } from '../../oracle/reference-runs.ts';
import type { Mutant, MutantContext } from './mutant.ts';

/** A usual tile along a reduced axis; half of the axis if that is shorter. */
const TILE = 32;

interface ReducedAxis {
  readonly input: string;
  readonly axis: number;
  readonly shape: readonly number[];
  readonly extent: number;
  readonly tile: number;
}

/** The axis on this check; `undefined` if it has a single element, which can't be cut. */
function reducedAxisOf({ problem, prepared }: MutantContext): ReducedAxis | undefined {
  const { input, axis } = problem.file.reducedAxis!;
  const shape = prepared.buffers.find(({ name }) => name === input)!.shape;
  const extent = shape[axis]!;
  if (extent < 2) return undefined;
  return { input, axis, shape, extent, tile: Math.min(TILE, Math.floor(extent / 2)) };
}

/** A tensor in which each element along the axis comes from position `from(i)`, or is 0 if that is negative. */
function gather(
  values: Float64Array,
  shape: readonly number[],
  axis: number,
  from: (position: number) => number,
): Float64Array {
  const inner = shape.slice(axis + 1).reduce((product, extent) => product * extent, 1);
  const extent = shape[axis]!;
  return values.map((_, i) => {
    const position = Math.floor(i / inner) % extent;
    const source = from(position);
    return source < 0 ? 0 : values[i + (source - position) * inner]!;
  });
}

const withGathered = (context: MutantContext, reduced: ReducedAxis, from: (position: number) => number) =>
  context.compute({
    inputs: {
      ...context.inputs,
      [reduced.input]: gather(context.inputs[reduced.input]!, reduced.shape, reduced.axis, from),
    },
  });

/**
 * The reference over the first `keep` positions of the reduced axis. If the axis is a dimension of its own, all inputs are
 * cut and the reference runs on the smaller problem. Outputs that also have the dimension are then complete only up to
 * `keep`. Beyond `keep`, and if the dimension can't be cut, the named input is zero from `keep` on instead.
 */
async function keepingFirst(context: MutantContext, reduced: ReducedAxis, keep: number): Promise<ReferenceTensors> {
  const zeroed = await withGathered(context, reduced, (position) => (position < keep ? position : -1));
  const cut = cutDimensions(context, reduced, keep);
  if (!cut) return zeroed;
  const { file } = context.problem;
  const computed = await context.compute({ inputs: cutInputs(context, cut, keep), dimensions: cut.dimensions });
  const cutShapes = new Map(outputsOf(expandBuffers(file, cut.dimensions)).map(({ name, shape }) => [name, shape]));
  return Object.fromEntries(
    context.outputs.map(({ name, shape }) => {
      const values = embed(zeroed[name]!, shape, computed[name]!, cutShapes.get(name)!);
      return [name, values];
    }),
  );
}

interface Cut {
  readonly dimension: string;
  readonly dimensions: Dimensions;
}

function cutDimensions({ problem, dimensions }: MutantContext, reduced: ReducedAxis, keep: number): Cut | undefined {
  const dimension = declarationOf(problem.file, reduced.input).shape[reduced.axis];
  if (typeof dimension !== 'string' || !Object.hasOwn(problem.file.dimensions, dimension)) return undefined;
  const cut = { ...dimensions, [dimension]: keep };
  return isShapeOf(problem.file, cut) ? { dimension, dimensions: cut } : undefined;
}

const declarationOf = ({ inputs, outputs }: ProblemFile, name: string): BufferDeclaration =>
  inputs[name] ?? outputs[name]!;

/** Every input with all axes that are the cut dimension shortened to their first `keep` positions. */
const cutInputs = ({ problem, prepared, inputs }: MutantContext, { dimension }: Cut, keep: number): ReferenceTensors =>
  Object.fromEntries(
    Object.entries(inputs).map(([name, values]) => {
      const { shape } = prepared.buffers.find((buffer) => buffer.name === name)!;
      const axes = declarationOf(problem.file, name).shape;
      const kept = values.filter((_, i) =>
        multiIndexOf(shape, i).every((position, axis) => axes[axis] !== dimension || position < keep),
      );
      return [name, kept];
    }),
  );

/** `small`'s elements at their multi-indices in `large`, whose other elements stay. */
function embed(
  large: Float64Array,
  shape: readonly number[],
  small: Float64Array,
  smallShape: readonly number[],
): Float64Array {
  const result = large.slice();
  small.forEach((value, i) => {
    const index = multiIndexOf(smallShape, i);
    result[index.reduce((offset, position, axis) => offset * shape[axis]! + position, 0)] = value;
  });
  return result;
}

/**
 * The mean along the axis, repeated along the same axis of the output, or with the axis removed. Other shapes do not fit.
 */
function meanAlong(context: MutantContext, { input, axis, shape, extent }: ReducedAxis) {
  const values = context.inputs[input]!;
  const inner = shape.slice(axis + 1).reduce((product, length) => product * length, 1);
  const means = new Float64Array(values.length / extent);
  values.forEach((value, i) => {
    const outer = Math.floor(i / (inner * extent));
    means[outer * inner + (i % inner)]! += value / extent;
  });
  const repeated = values.map((_, i) => means[Math.floor(i / (inner * extent)) * inner + (i % inner)]!);
  const bySize = [means, repeated];
  const outputs = context.outputs.map(({ name }) => {
    const size = context.right[name]!.length;
    return [name, bySize.find((candidate) => candidate.length === size)] as const;
  });
  return outputs.every(([, tensor]) => tensor) ? (Object.fromEntries(outputs) as ReferenceTensors) : undefined;
}

const onAxis = (
  id: string,
  title: string,
  outputs: (context: MutantContext, reduced: ReducedAxis) => ReturnType<Mutant['outputs']>,
): Mutant => ({
  id,
  title,
  outputs: (context) => {
    const reduced = reducedAxisOf(context);
    return reduced && outputs(context, reduced);
  },
});

/** Kernels that read three quarters of the reduced axis. None if problem.json names no such axis. */
export function sampledMutants({ reducedAxis }: ProblemFile): Mutant[] {
  if (!reducedAxis) return [];
  return [
    onAxis('sampled', 'leaves out every fourth element of the reduced axis', (context, reduced) =>
      withGathered(context, reduced, (position) => (position % 4 === 3 ? -1 : position)),
    ),
    onAxis(
      'extrapolated',
      'takes the element before for every fourth element of the reduced axis',
      (context, reduced) =>
        withGathered(context, reduced, (position) => (position % 4 === 3 ? position - 1 : position)),
    ),
  ];
}

/** Kernels with mistakes along the reduced axis. None if problem.json names no such axis. */
export function reducedAxisMutants(problem: ProblemFile): Mutant[] {
  if (!problem.reducedAxis) return [];
  const { input, symmetric = false } = problem.reducedAxis;
  return [
    onAxis('first-tile-only', 'reduces over the first tile only', (context, reduced) =>
      keepingFirst(context, reduced, reduced.tile),
    ),
    onAxis('last-tile-dropped', 'leaves out the last tile of the reduced axis', (context, reduced) =>
      keepingFirst(context, reduced, reduced.extent - reduced.tile),
    ),
    onAxis('last-element-dropped', 'leaves out the last element of the reduced axis', (context, reduced) =>
      keepingFirst(context, reduced, reduced.extent - 1),
    ),
    ...sampledMutants(problem),
    onAxis('last-tile-stale', `uses the tile before in place of the last tile of ${input}`, (context, reduced) =>
      withGathered(context, reduced, (position) =>
        position < reduced.extent - reduced.tile ? position : position - reduced.tile,
      ),
    ),
    onAxis('shifted-by-one', `reads ${input} one position too far along the reduced axis`, (context, reduced) =>
      // If the order does not matter, this is no mistake: position 0 is read last.
      symmetric ? undefined : withGathered(context, reduced, (position) => (position + 1) % reduced.extent),
    ),
    onAxis('mean', `writes the mean of ${input} over the reduced axis`, meanAlong),
  ];
}
