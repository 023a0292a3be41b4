import { sizeOfDType } from '../dtype.ts';
import { WarpsmithError } from '../errors.ts';
import { evaluateExpression } from '../expressions/evaluate.ts';
import type { Expression } from '../expressions/syntax-tree.ts';
import type { PlannedBuffer, SignificantPart } from '../launch-plan.ts';
import { BUFFER_ALIGNMENT_BYTES } from '../launch-plan.ts';
import { onceFor, rememberedAt } from '../once-for.ts';
import type { BufferDeclaration, Dimensions, ProblemFile } from '../problem.ts';
import { evaluateInteger } from './plan-error.ts';

/** Whoever chooses among shapes asks several times about each: for its cost, its checks, its launches. */
const expandedOf = onceFor((_problem: ProblemFile) => new Map<string, readonly PlannedBuffer[]>());
const MOST_EXPANDED = 4096;

/**
 * The problem's buffers for one binding of the dimensions, inputs before outputs, without workspaces.
 *
 * @throws WarpsmithError for an extent below 1, a fractional one, or an output whose elements overlap.
 */
export const expandBuffers = (problem: ProblemFile, dimensions: Dimensions, file?: string): readonly PlannedBuffer[] =>
  rememberedAt(
    expandedOf(problem),
    JSON.stringify(dimensions),
    () => expandAnew(problem, dimensions, file),
    MOST_EXPANDED,
  );

function expandAnew(problem: ProblemFile, dimensions: Dimensions, file?: string): PlannedBuffer[] {
  const absent = absentOutputs(problem, dimensions);
  const expand = (section: 'inputs' | 'outputs'): PlannedBuffer[] =>
    Object.entries(problem[section])
      .filter(([name]) => !absent.includes(name))
      .map(([name, declaration]) =>
        expandBuffer(name, declaration, { problem, dimensions }, { path: `${section}.${name}`, file }),
      );
  return [...expand('inputs'), ...expand('outputs')];
}

/** Outputs that nobody wants at these dimensions. */
export const absentOutputs = (problem: ProblemFile, dimensions: Dimensions): string[] =>
  Object.entries(problem.outputs)
    .filter(([name, { when = 1 }]) => evaluateExpression(when, dimensions, { path: `outputs.${name}.when` }) === 0)
    .map(([name]) => name);

interface Place {
  path: string;
  file?: string;
}

function expandBuffer(
  name: string,
  declaration: BufferDeclaration,
  { problem, dimensions }: { problem: ProblemFile; dimensions: Dimensions },
  place: Place,
): PlannedBuffer {
  const integers = (expressions: readonly Expression[], key: string, what: string, minimum: number): number[] =>
    expressions.map((expression, axis) =>
      evaluateInteger(
        { ...place, expression, scope: dimensions, path: `${place.path}.${key}[${axis}]` },
        { what: `${what} ${axis} of buffer \`${name}\``, minimum },
      ),
    );
  const shape = integers(declaration.shape, 'shape', 'The extent of axis', 1);
  const strides = declaration.strides
    ? integers(declaration.strides, 'strides', 'The stride of axis', 0)
    : rowMajorStrides(shape);
  if (declaration.access !== 'in') refuseOverlap(name, shape, strides, place);
  return {
    name,
    role: declaration.access,
    dtype: declaration.dtype,
    shape,
    strides,
    bytes: spanElements(shape, strides) * sizeOfDType(declaration.dtype),
    alignmentBytes: declaration.alignmentBytes ?? BUFFER_ALIGNMENT_BYTES,
    generator: declaration.access === 'out' ? undefined : (declaration.generator ?? { kind: 'normal' }),
    significant:
      declaration.significant &&
      expandSignificant(name, declaration.significant, shape, { ...place, problem, dimensions }),
  };
}

/** @throws WarpsmithError where there are more than the axis has, or another number of lengths than lists. */
function expandSignificant(
  name: string,
  { first, axis = 0 }: NonNullable<BufferDeclaration['significant']>,
  shape: readonly number[],
  { problem, dimensions, path, file }: Place & { problem: ProblemFile; dimensions: Dimensions },
): SignificantPart {
  const own = `${path}.significant.first`;
  const lengths = typeof first === 'string' ? (problem.inputs[first] ?? problem.outputs[first]) : undefined;
  if (lengths === undefined) {
    const limits = { what: `The number of elements of \`${name}\` that matter`, minimum: 0, maximum: shape[axis]! };
    return { axis, first: evaluateInteger({ expression: first, scope: dimensions, path: own, file }, limits) };
  }
  const count = (extents: readonly number[]): number => extents.reduce((all, extent) => all * extent, 1);
  const held = count(lengths.shape.map((extent) => evaluateExpression(extent, dimensions, { path: own, file })));
  const lists = count(shape.slice(0, axis));
  if (held === lists) return { axis, first: String(first) };
  throw new WarpsmithError({
    code: 'lengths-do-not-fit',
    message: `\`${first}\` holds ${held} numbers, and \`${name}\` has ${lists} lists along axis ${axis}.`,
    path: own,
    file,
    received: `${held} numbers`,
    expected: `${lists}`,
    hint: 'One number for each list: of the extents before the axis, or a single one for axis 0.',
  });
}

/** Strides in elements of a dense row-major layout. */
function rowMajorStrides(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length).fill(1);
  for (let axis = shape.length - 2; axis >= 0; axis--) strides[axis] = strides[axis + 1]! * shape[axis + 1]!;
  return strides;
}

/** Elements from the first to just after the last. */
const spanElements = (shape: readonly number[], strides: readonly number[]): number =>
  shape.reduce((span, extent, axis) => span + (extent - 1) * strides[axis]!, 1);

/**
 * Refuses outputs with two elements at one address, which would have no right value. Sufficient condition: every axis steps
 * over the inner ones.
 */
function refuseOverlap(name: string, shape: readonly number[], strides: readonly number[], place: Place): void {
  const axes = shape.map((extent, axis) => ({ extent, stride: strides[axis]! })).filter(({ extent }) => extent > 1);
  axes.sort((left, right) => left.stride - right.stride);
  let span = 1;
  for (const { extent, stride } of axes) {
    if (stride < span) {
      throw new WarpsmithError({
        code: 'overlapping-output',
        message: `Elements of output \`${name}\` lie on top of each other.`,
        ...place,
        path: `${place.path}.strides`,
        received: `shape [${shape.join(', ')}] with strides [${strides.join(', ')}]`,
        expected: 'strides that place no two elements at the same address',
        hint: 'Leave out strides for the dense row-major layout.',
      });
    }
    span += (extent - 1) * stride;
  }
}
