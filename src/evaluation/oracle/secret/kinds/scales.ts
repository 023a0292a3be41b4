import type { DisguiseRequest } from '../disguise-request.ts';
import { milder, scalingOf } from '../scaling.ts';
import type { SecretSet } from '../secret-set.ts';
import { storableExponent } from '../storable.ts';

/** How often the mean moves away from zero, how often by as much as it may, and how often neighbouring rows move apart. */
const OFFSET = { ratio: 2 / 3, outermost: 1 / 2, alternating: 3 / 4 } as const;

/**
 * x → 2^k · (x + offset) with one secret k, from the outer half of those allowed; in half of the checks the outermost, for all inputs
 * alike, because products of several large inputs show what one alone does not. Usually, every second row moves the other way, so
 * that a statistic of one row says nothing about its neighbour.
 */
export function scaleAll(
  values: Float64Array,
  { kind, level }: SecretSet,
  { problem, buffer, stream, shared }: DisguiseRequest,
): Float64Array {
  const { name, dtype, shape } = buffer;
  const scaling = milder(scalingOf(problem, name), level);
  if (!scaling) return values;
  const isOutermost = shared.uniform(1) < 0.5;
  const [outermost, share] = [Math.log2(kind === 'secret:large' ? scaling.most : scaling.least), stream.uniform(0)];
  const exponent = Math.round(isOutermost ? outermost : outermost * (1 - share / 2));
  const sign = stream.uniform(1) < 0.5 ? -1 : 1;
  const size = stream.uniform(4) < OFFSET.outermost ? 1 : 1 - stream.uniform(3) / 2;
  const drawn = stream.uniform(2) < OFFSET.ratio ? sign * scaling.offset * size : 0;
  const alternates = (scaling.contrast ?? scaling.most) > 1 && stream.uniform(5) < OFFSET.alternating;
  const move = (offset: number): void => moveRows(values, { offset, rowLength: shape.at(-1) ?? 1, alternates });
  move(drawn);
  // The largest values of a dtype have no room for a shift.
  if (storableExponent(values, { exponent, dtype }) < exponent) move(-drawn);
  const factor = 2 ** storableExponent(values, { exponent, dtype });
  for (let i = 0; i < values.length; i++) values[i]! *= factor;
  return values;
}

/** Every row, or every second one by as much the other way. */
function moveRows(
  values: Float64Array,
  { offset, rowLength, alternates }: { offset: number; rowLength: number; alternates: boolean },
): void {
  if (offset === 0) return;
  for (let start = 0, own = offset; start < values.length; start += rowLength) {
    for (let i = start; i < start + rowLength; i++) values[i]! += own;
    if (alternates) own = -own;
  }
}
