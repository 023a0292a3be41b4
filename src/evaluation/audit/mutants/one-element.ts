import { ulpAt } from '../../oracle/ulp.ts';
import { fromRight, type Mutant, type MutantContext } from './mutant.ts';

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
