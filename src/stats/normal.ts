const SERIES_LIMIT = 2.5;
const CONTINUED_FRACTION_TERMS = 120;

/** Φ(z) − ½ for 0 ≤ z, by the series of Abramowitz and Stegun 26.2.11. */
function areaFromZero(z: number): number {
  let term = z;
  let sum = z;
  for (let k = 3; term > sum * 1e-17; k += 2) {
    term *= (z * z) / k;
    sum += term;
  }
  return (sum * Math.exp(-0.5 * z * z)) / Math.sqrt(2 * Math.PI);
}

/** 1 − Φ(z) for large z, by the continued fraction of Abramowitz and Stegun 26.2.14, to full relative precision. */
function tail(z: number): number {
  let fraction = z;
  for (let k = CONTINUED_FRACTION_TERMS; k >= 1; k--) fraction = z + k / fraction;
  return Math.exp(-0.5 * z * z) / (Math.sqrt(2 * Math.PI) * fraction);
}

/** P(Z > z) for a standard normal Z. */
export function normalUpperTail(z: number): number {
  if (Number.isNaN(z)) return Number.NaN;
  if (z < 0) return 1 - normalUpperTail(-z);
  return z < SERIES_LIMIT ? 0.5 - areaFromZero(z) : tail(z);
}
