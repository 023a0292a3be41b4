import { fillElements, type Generate, type GeneratorContext } from './generator.ts';

/** Of an element its position along an axis, the last unless given, and that axis's extent. */
const alongAxis = (
  { shape }: GeneratorContext,
  axis = shape.length - 1,
): { at: (i: number) => number; extent: number } => {
  const inner = shape.slice(axis + 1).reduce((product, length) => product * length, 1);
  const extent = shape[axis]!;
  return { at: (i) => Math.floor(i / inner) % extent, extent };
};

/**
 * Uniform magnitudes, [1/16, 1] unless given, with signs that alternate along an axis: sums cancel nearly, so that a term left
 * out, or taken twice, is as large as the result.
 */
export const alternating: Generate<'alternating'> = ({ low = 0.0625, high = 1, axis }, context) => {
  const { at } = alongAxis(context, axis);
  const { elementCount, stream } = context;
  return fillElements(elementCount, (i) => (at(i) % 2 === 0 ? 1 : -1) * (low + (high - low) * stream.uniform(i)));
};

/**
 * Values that rise from `low` to `high` along an axis, each drawn within its step: a running maximum changes at every element,
 * the last is the largest, and a place further on has another value.
 */
export const ramp: Generate<'ramp'> = ({ low, high, axis }, context) => {
  const { at, extent } = alongAxis(context, axis);
  const { elementCount, stream } = context;
  return fillElements(elementCount, (i) => low + ((high - low) * (at(i) + stream.uniform(i))) / extent);
};
