/**
 * P(|T| ≤ t) for Student's T with a whole number of degrees of freedom, by the finite series of Abramowitz and Stegun
 * 26.7.3 (odd) and 26.7.4 (even).
 */
export function studentCentralArea(t: number, degreesOfFreedom: number): number {
  const angle = Math.atan(t / Math.sqrt(degreesOfFreedom));
  const sine = Math.sin(angle);
  const cosine = Math.cos(angle);
  const odd = degreesOfFreedom % 2 === 1;
  let term = odd ? cosine : 1;
  let sum = degreesOfFreedom === 1 ? 0 : term;
  for (let k = odd ? 3 : 2; k < degreesOfFreedom; k += 2) {
    term *= ((k - 1) / k) * cosine * cosine;
    sum += term;
  }
  return odd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
}

/** The t with P(|T| ≤ t) = area, by bisection to the last bit. */
export function studentCentralQuantile(area: number, degreesOfFreedom: number): number {
  let low = 0;
  let high = 1;
  while (studentCentralArea(high, degreesOfFreedom) < area) high *= 2;
  for (;;) {
    const middle = (low + high) / 2;
    if (middle === low || middle === high) return middle;
    if (studentCentralArea(middle, degreesOfFreedom) < area) low = middle;
    else high = middle;
  }
}
