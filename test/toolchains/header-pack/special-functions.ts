/** Reference functions that JavaScript lacks, in double precision; good to about 1e-14. */

/** Source: DLMF 7.6.2: a series of positive terms, so nothing cancels. */
export function erf(x: number): number {
  if (Math.abs(x) > 3) return Math.sign(x) * (1 - erfc(Math.abs(x)));
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** Source: DLMF 7.9.4, the continued fraction, evaluated backwards. */
export function erfc(x: number): number {
  if (Number.isNaN(x)) return x;
  if (x < 1) return 1 - erf(x);
  if (x > 30) return 0;
  let fraction = 0;
  for (let n = 400; n > 0; n--) fraction = n / 2 / (x + fraction);
  // exp(-x²) with the square's rounding error put back.
  const high = Math.fround(x);
  return (Math.exp(-high * high) * Math.exp(-(x - high) * (x + high))) / Math.sqrt(Math.PI) / (x + fraction);
}

/** Source: DLMF 5.11.1, after raising the argument to 30 or more. */
export function lgamma(x: number): number {
  if (Number.isNaN(x)) return x;
  if (!Number.isFinite(x)) return Number.POSITIVE_INFINITY;
  if (x <= 0) {
    if (Number.isInteger(x)) return Number.POSITIVE_INFINITY;
    return Math.log(Math.PI / Math.abs(Math.sin(Math.PI * (x - Math.round(x))) * x)) - lgamma(-x);
  }
  // Near 1 and 2, where it vanishes, by its series there.
  if (Math.abs(x - 1) <= 0.5) return lgammaNearOne(x - 1);
  if (Math.abs(x - 2) < 0.5) return lgammaNearOne(x - 2) + Math.log1p(x - 2);
  let product = 1;
  let raised = x;
  while (raised < 30) {
    product *= raised;
    raised += 1;
  }
  const z = 1 / (raised * raised);
  const series = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z / 1188)))) / raised;
  return (raised - 0.5) * Math.log(raised) - raised + 0.5 * Math.log(2 * Math.PI) + series - Math.log(product);
}

/** log Γ(1 + z) for |z| ≤ 1/2. Source: DLMF 5.7.3. */
function lgammaNearOne(z: number): number {
  let sum = Math.log1p(z) * -1 + z * (1 - 0.5772156649015329);
  for (let k = 2; k < 60; k++) sum += ((zeta(k) - 1) * (-z) ** k) / k;
  return sum;
}

/** Riemann's zeta by 20 terms and Euler and Maclaurin's correction. Source: DLMF 25.2.9. */
function zeta(s: number): number {
  let sum = 0;
  for (let n = 19; n >= 1; n--) sum += n ** -s;
  return (
    sum +
    20 ** (1 - s) / (s - 1) +
    0.5 * 20 ** -s +
    (s * 20 ** (-s - 1)) / 12 -
    (s * (s + 1) * (s + 2) * 20 ** (-s - 3)) / 720
  );
}

export function tgamma(x: number): number {
  if (x === 0) return Object.is(x, -0) ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (Number.isInteger(x) && x < 0) return Number.NaN;
  if (x === Number.NEGATIVE_INFINITY) return Number.NaN;
  if (x > 175) return Number.POSITIVE_INFINITY;
  if (Number.isNaN(x)) return x;
  if (x < -190) return 0;
  // Γ on [20, 21) by Stirling, then down by exact steps.
  let product = 1;
  let raised = x;
  while (raised < 20) {
    product *= raised;
    raised += 1;
  }
  while (raised > 21) {
    raised -= 1;
    product /= raised;
  }
  const z = 1 / (raised * raised);
  const series =
    (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * (691 / 360360)))))) / raised;
  return (
    (Math.sqrt(2 * Math.PI) *
      raised ** (raised / 2 - 0.25) *
      Math.exp(-raised + series) *
      raised ** (raised / 2 - 0.25)) /
    product
  );
}
