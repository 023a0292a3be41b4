import type { ReferenceFunction } from 'warpsmith';

const DEGREE = 24;

/** T24(x) by T(k + 1) = 2 x T(k) − T(k − 1). */
function chebyshev(x: number, round: (value: number) => number): number {
  let [before, now] = [1, x];
  for (let k = 1; k < DEGREE; k++) [before, now] = [now, round(round(2 * x * now) - before)];
  return now;
}

/** P24(x) by (k + 1) P(k + 1) = (2 k + 1) x P(k) − k P(k − 1). */
function legendre(x: number, round: (value: number) => number): number {
  let [before, now] = [1, x];
  for (let k = 1; k < DEGREE; k++) {
    const next = round(round((2 * k + 1) * round(x * now)) - round(k * before));
    [before, now] = [now, round(next / (k + 1))];
  }
  return now;
}

/** Even positions are left samples, odd ones right samples. */
export const reference: ReferenceFunction = (inputs, _dimensions, round) => ({
  y: inputs.x!.map((value, i) => (i % 2 === 0 ? chebyshev : legendre)(value, round)),
});
