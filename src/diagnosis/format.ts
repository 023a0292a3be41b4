/** Four significant digits. */
export const figure = (value: number): string => Number(value.toPrecision(4)).toString();

/** `0.034` → `3.4 %`. */
export const percent = (ratio: number): string => `${Number((ratio * 100).toPrecision(2))} %`;

/** A time in the unit that reads best. */
export function nanoseconds(ns: number): string {
  if (ns >= 1e6) return `${figure(ns / 1e6)} ms`;
  if (ns >= 1e3) return `${figure(ns / 1e3)} µs`;
  return `${figure(ns)} ns`;
}
