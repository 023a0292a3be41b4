import type { PlannedBuffer } from '../../../core/launch-plan.ts';
import { meanOf } from '../../../stats/summarise.ts';
import { elementCountOf } from '../../launches/layout.ts';
import { ulpAt } from '../../oracle/ulp.ts';
import { fromRight, type Mutant, type MutantContext, rotated, zeros } from './mutant.ts';

/** One per cent too large: a wrong scale, or a forgotten term of a normalisation. */
const GAIN_ERROR = 1.01;

// Loops, here and below: every check of every candidate plays these, and `map` takes ten times as long.
function scaled(values: Float64Array, factor: number): Float64Array {
  const result = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) result[i] = factor * values[i]!;
  return result;
}

/** Kernels whose output depends little on the inputs, or not at all. */
export const wholeOutputMutants: readonly Mutant[] = [
  {
    id: 'zeros',
    title: 'writes zeros',
    outputs: zeros,
  },
  {
    id: 'constant',
    title: 'writes the mean of the right output everywhere',
    outputs: (context) => {
      // The mean of one element is that element.
      if (context.outputs.every(({ name }) => context.right[name]!.length < 2)) return undefined;
      return fromRight(context, (values) => new Float64Array(values.length).fill(meanOf(values)));
    },
  },
  {
    id: 'stored-answers',
    // Those of the launch before, too: neither is for the inputs that it is judged with.
    title: 'writes answers that it stored for another seed',
    mustShow: true,
    runsReference: true,
    outputs: (context) => context.stale(),
  },
  {
    id: 'gain',
    title: 'writes everything 1 % too large',
    outputs: (context) => fromRight(context, (values) => scaled(values, GAIN_ERROR)),
  },
  {
    id: 'negated',
    title: 'writes everything with the wrong sign',
    outputs: (context) => fromRight(context, (values) => scaled(values, -1)),
  },
];

const TOLERANCES_OFF = 3;

/** A seeded element of the output whose right value is finite, or −1. */
function pickFinite(values: Float64Array, { stream }: MutantContext): number {
  const start = Math.floor(stream.uniform(0) * values.length);
  for (let step = 0; step < values.length; step++) {
    const element = (start + step) % values.length;
    if (Number.isFinite(values[element])) return element;
  }
  return -1;
}

/** Kernels that are right but for one element. */
export const oneElementMutants: readonly Mutant[] = [
  {
    id: 'one-element-off',
    title: `is right but for one element, off by ${TOLERANCES_OFF} tolerances`,
    outputs: (context) =>
      fromRight(context, (values, { name, dtype }) => {
        const { tolerances, groupSize } = context.expectations.get(name)!;
        const element = pickFinite(values, context);
        if (element < 0) return values;
        const tolerance = tolerances[Math.floor(element / groupSize)]!;
        // If no error is allowed, the smallest possible one.
        const error = Math.max(TOLERANCES_OFF * tolerance, ulpAt(values[element]!, dtype));
        return values.with(element, values[element]! + error);
      }),
  },
  {
    id: 'one-nan',
    title: 'is right but for one NaN',
    outputs: (context) =>
      fromRight(context, (values) => {
        const element = pickFinite(values, context);
        return element < 0 ? values : values.with(element, Number.NaN);
      }),
  },
];

/** The last two axes swapped: element [r, c] of each matrix holds the value of place r + c · rows. */
function transposed(values: Float64Array, { shape }: PlannedBuffer): Float64Array {
  const columns = shape.at(-1) ?? 1;
  const rows = shape.at(-2) ?? 1;
  const result = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const within = i % (rows * columns);
    result[i] = values[i - within + (within % rows) * columns + Math.floor(within / rows)]!;
  }
  return result;
}

const isVector = ({ shape }: PlannedBuffer): boolean => (shape.at(-1) ?? 1) === 1 || (shape.at(-2) ?? 1) === 1;

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
      if (context.outputs.every((buffer) => elementCountOf(buffer) <= lastAxis(buffer))) return undefined;
      return fromRight(context, (values, buffer) => rotated(values, values.length - lastAxis(buffer)));
    },
  },
  {
    id: 'last-row-zero',
    title: 'writes zeros to the last row',
    outputs: (context) =>
      fromRight(context, (values, buffer) => values.slice().fill(0, values.length - lastAxis(buffer))),
  },
];
