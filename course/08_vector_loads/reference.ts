import type { ReferenceFunction } from 'warpsmith';

/** near[i] = min over j of |p_i − s_j|² − w_j, in float64. */
export const reference: ReferenceFunction = (inputs, dimensions, round) => {
  const { points, sites } = dimensions as Record<'points' | 'sites', number>;
  const { p, s } = inputs as Record<'p' | 's', Float64Array>;
  const near = new Float64Array(points);
  for (let i = 0; i < points; i++) {
    let least = Number.POSITIVE_INFINITY;
    for (let j = 0; j < sites; j++) {
      let distance = 0;
      for (let axis = 0; axis < 3; axis++) {
        const along = round(p[4 * i + axis]! - s[4 * j + axis]!);
        distance = round(distance + round(along * along));
      }
      least = Math.min(least, round(distance - s[4 * j + 3]!));
    }
    near[i] = least;
  }
  return { near };
};
