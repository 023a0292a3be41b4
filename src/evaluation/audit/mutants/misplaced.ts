import type { PlannedBuffer } from '../../../core/launch-plan.ts';
import { fromRight, type Mutant } from './mutant.ts';

/** The last two axes swapped: element [r, c] of each matrix holds the value of place r + c · rows. */
function transposed(values: Float64Array, { shape }: PlannedBuffer): Float64Array {
  const columns = shape.at(-1) ?? 1;
  const rows = shape.at(-2) ?? 1;
  return values.map((_, i) => {
    const within = i % (rows * columns);
    return values[i - within + (within % rows) * columns + Math.floor(within / rows)]!;
  });
}

const isVector = ({ shape }: PlannedBuffer): boolean => (shape.at(-1) ?? 1) === 1 || (shape.at(-2) ?? 1) === 1;

const elementCount = ({ shape }: PlannedBuffer): number => shape.reduce((count, extent) => count * extent, 1);

const lastAxis = ({ shape }: PlannedBuffer): number => (shape.length > 1 ? shape.at(-1)! : 1);

/** Kernels that compute the right values and put them in wrong places. */
export const misplacedMutants: readonly Mutant[] = [
  {
    id: 'transposed',
    title: 'stores the last two axes transposed',
    // A vector is its own transpose in memory.
    outputs: (context) => (context.outputs.every(isVector) ? undefined : fromRight(context, transposed)),
  },
  {
    id: 'row-off-by-one',
    title: 'stores every row one row too far on',
    outputs: (context) => {
      if (context.outputs.every((buffer) => elementCount(buffer) <= lastAxis(buffer))) return undefined;
      return fromRight(context, (values, buffer) => {
        const shift = values.length - lastAxis(buffer);
        return values.map((_, i) => values[(i + shift) % values.length]!);
      });
    },
  },
  {
    id: 'last-row-zero',
    title: 'writes zeros to the last row',
    outputs: (context) =>
      fromRight(context, (values, buffer) => values.slice().fill(0, values.length - lastAxis(buffer))),
  },
];
