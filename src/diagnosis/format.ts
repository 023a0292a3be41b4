import { figure } from '../core/values.ts';

/** `0.034` → `3.4 %`. */
export const percent = (ratio: number): string => `${figure(ratio * 100, 2)} %`;

/** `1 CTA`, `64 CTAs`. */
export const ctas = (count: number): string => `${count} ${count === 1 ? 'CTA' : 'CTAs'}`;

/** A time in the unit that reads best. */
export function nanoseconds(ns: number): string {
  if (ns >= 1e6) return `${figure(ns / 1e6)} ms`;
  if (ns >= 1e3) return `${figure(ns / 1e3)} µs`;
  return `${figure(ns)} ns`;
}
