import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { fromRight, type Mutant } from './mutant.ts';

/** The last two axes swapped: element [r, c] of each matrix holds what belongs to place r + c · rows. */
const transposed = (values: Float64Array, { shape }: PlannedBuffer): Float64Array => {
  const columns = shape.at(-1) ?? 1;
  const rows = shape.at(-2) ?? 1;
  return values.map((_, i) => {
    const within = i % (rows * columns);
    return values[i - within + (within % rows) * columns + Math.floor(within / rows)]!;
  });
};

const lastAxis = ({ shape }: PlannedBuffer): number => (shape.length > 1 ? shape.at(-1)! : 1);

/** Kernels that compute the right values and put them in wrong places. */
export const misplacedMutants: readonly Mutant[] = [
  {
    id: 'transposed',
    title: 'stores the last two axes transposed',
    outputs: (context) => fromRight(context, transposed),
  },
  {
    id: 'row-off-by-one',
    title: 'stores every row one row too far on',
    outputs: (context) =>
      fromRight(context, (values, buffer) => {
        const shift = values.length - lastAxis(buffer);
        return values.map((_, i) => values[(i + shift) % values.length]!);
      }),
  },
  {
    id: 'last-row-zero',
    title: 'writes zeros to the last row',
    outputs: (context) =>
      fromRight(context, (values, buffer) => values.slice().fill(0, values.length - lastAxis(buffer))),
  },
];
