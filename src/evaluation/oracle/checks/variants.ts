import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import type { Dimensions } from '../../../core/problem.ts';
import { distinctValues } from '../../../core/values.ts';
import { shapesNeeded } from '../secret/variants/index.ts';
import { costsLittle, elementsIn, largestOf } from '../shapes/cost.ts';
import { hasSeveralTiles } from '../shapes/drawing.ts';
import { listedChecks } from './listed.ts';
import { type ChecksRequest, takesShape } from './request.ts';

/** The largest shape that costs little, of those that are verified with special values anyway. */
export function shapeForValues(request: ChecksRequest, drawn: readonly Dimensions[]): Dimensions {
  const { problem, dimensions } = request;
  const usual = drawn.filter((shape) => hasSeveralTiles(problem, shape));
  return largestOf(problem, cheapShapes(request, usual)) ?? dimensions;
}

/** Of these shapes and those that a problem lists, the ones that cost little. */
const cheapShapes = (request: ChecksRequest, drawn: readonly Dimensions[]): Dimensions[] =>
  [...listedChecks(request).known, ...drawn].filter((shape) => costsLittle(request.problem, shape));

/**
 * The largest cheap shape and a smaller one, where sums have fewer terms and tolerances are tighter, with the other value of each flag that the kernel takes; for structured
 * matrices one in which they are square; and where rows are weighted and summed, the one in which most is computed.
 */
export function shapesForVariant(
  request: ChecksRequest,
  drawn: readonly Dimensions[],
  generatorSet: string,
): Dimensions[] {
  const { problem } = request;
  const largest = shapeForValues(request, drawn);
  const needed = shapesNeeded(problem, generatorSet);
  if (needed === 'square') return [squareShape(request, largest) ?? largest];
  const most = elementsIn(problem, largest) / SMALLER;
  const smaller = largestOf(
    problem,
    drawn.filter((shape) => costsLittle(problem, shape) && elementsIn(problem, shape) <= most),
  );
  const shapes = smaller ? [largest, withOtherFlags(request, smaller, largest)] : [largest];
  if (needed === 'work') return distinctValues([...shapes, shapeOfMostWork(request, drawn)]);
  return needed === 'even' ? shapes.map((shape) => evenShape(request, shape) ?? shape) : shapes;
}

/** The shape that costs little in which most is computed. */
function shapeOfMostWork(request: ChecksRequest, drawn: readonly Dimensions[]): Dimensions {
  const { problem, dimensions } = request;
  const cheap = cheapShapes(request, drawn);
  const work = (shape: Dimensions): number => evaluateExpression(problem.flop, shape);
  return cheap.reduce((most, shape) => (work(shape) > work(most) ? shape : most), cheap[0] ?? dimensions);
}

/** The shape with another value than `than` has in each dimension with two values, such as a mask, as far as the kernel takes it. */
function withOtherFlags(request: ChecksRequest, shape: Dimensions, than: Dimensions): Dimensions {
  const takes = takesShape(request);
  let changed = shape;
  for (const [name, { values }] of Object.entries(request.problem.dimensions)) {
    const other = values?.length === 2 ? values.find((value) => value !== than[name]) : undefined;
    const flipped = other === undefined ? changed : { ...changed, [name]: other };
    if (takes(flipped)) changed = flipped;
  }
  return changed;
}

/** So many times fewer elements. */
const SMALLER = 4;

/** Sizes from here on become multiples of this. */
const EVEN = 64;

/** Like this shape, but with large sizes that parts divide; `undefined` if the kernel does not take it. */
function evenShape(request: ChecksRequest, like: Dimensions): Dimensions | undefined {
  const { dimensions } = request.problem;
  const shape = Object.fromEntries(
    Object.entries(like).map(([name, size]) => [
      name,
      size < EVEN || dimensions[name]?.values ? size : size - (size % EVEN),
    ]),
  );
  return takesShape(request)(shape) ? shape : undefined;
}

/** Sides of square matrices: a kernel takes one of them, or none. */
const SIDES = [96, 64, 128, 48, 32, 16] as const;

/** Like this shape, but the last two axes of all inputs, or of one at least, are of one size. */
function squareShape(request: ChecksRequest, like: Dimensions): Dimensions | undefined {
  const { problem } = request;
  const takes = takesShape(request);
  const free = (name: string | number | undefined): name is string =>
    typeof name === 'string' && problem.dimensions[name] !== undefined && !problem.dimensions[name].values;
  const matrices = Object.values(problem.inputs)
    .map(({ shape }) => shape)
    .filter((shape) => shape.length > 1);
  const ofOne = matrices.flatMap((shape) => {
    const [rows, columns] = shape.slice(-2);
    const sides = free(columns) ? SIDES : typeof columns === 'string' && columns in like ? [like[columns]!] : [];
    if (!free(rows)) return [];
    return sides.map((side) => ({ ...like, [rows]: side, ...(free(columns) && { [columns]: side }) }));
  });
  const axes = matrices.flatMap((shape) => shape.slice(-2));
  const ofAll = axes.every(free)
    ? SIDES.map((side) => ({ ...like, ...Object.fromEntries(axes.map((axis) => [axis, side])) }))
    : [];
  const candidates = [...ofAll, ...ofOne];
  return candidates.find((shape) => costsLittle(problem, shape) && takes(shape));
}
