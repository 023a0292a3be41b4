import { fillElements, type Generate, type GeneratorContext } from './generator.ts';

/** An element's position along an axis (the last by default), and that axis's extent. */
function alongAxis(
  { shape }: GeneratorContext,
  axis = shape.length - 1,
): { at: (i: number) => number; extent: number } {
  const inner = shape.slice(axis + 1).reduce((product, length) => product * length, 1);
  const extent = shape[axis]!;
  return { at: (i) => Math.floor(i / inner) % extent, extent };
}

/**
 * Uniform magnitudes, by default in [1/16, 1], with alternating signs along an axis. Sums nearly cancel, so a term that is
 * omitted or counted twice is as large as the result.
 */
export const alternating: Generate<'alternating'> = ({ low = 0.0625, high = 1, axis }, context) => {
  const { at } = alongAxis(context, axis);
  const { elementCount, stream } = context;
  return fillElements(elementCount, (i) => (at(i) % 2 === 0 ? 1 : -1) * (low + (high - low) * stream.uniform(i)));
};

/**
 * Values that rise from `low` to `high` along an axis, each drawn within its step. A running maximum changes at every
 * element, and shifted reads show.
 */
export const ramp: Generate<'ramp'> = ({ low, high, axis }, context) => {
  const { at, extent } = alongAxis(context, axis);
  const { elementCount, stream } = context;
  return fillElements(elementCount, (i) => low + ((high - low) * (at(i) + stream.uniform(i))) / extent);
};
