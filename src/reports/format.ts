import type { ParameterValues } from '../core/kernel.ts';
import type { Timing } from '../core/timing.ts';
import type { MoveRecord } from '../store/events.ts';

const SCALES: readonly (readonly [number, string])[] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
];

/** A time in the unit that suits it, three significant digits: `870 µs`, `2.87 ms`. */
export function formatNs(ns: number): string {
  if (!Number.isFinite(ns)) return '–';
  const [scale, unit] = SCALES.find(([candidate]) => Math.abs(ns) >= candidate * 0.9995) ?? SCALES.at(-1)!;
  return `${Number((ns / scale).toPrecision(3))} ${unit}`;
}

/** `870 µs [610 µs … 1.2 ms]`. */
export function formatInterval([low, high]: readonly [number, number]): string {
  return `[${formatNs(low)} … ${formatNs(high)}]`;
}

/** `predicted 870 µs [610 µs … 1.2 ms]`: a time never comes without its kind. */
export function formatTiming(timing: Timing): string {
  return `${timing.kind} ${formatNs(timing.medianNs)} ${formatInterval(timing.intervalNs)}`;
}

/** `1.40×`, old time ÷ new time. */
export const formatRatio = (ratio: number | null): string => (ratio === null ? '–' : `${ratio.toFixed(2)}×`);

/** Three or so significant digits with thousands separators: `12,345`, `3.4`, `0.0031`. */
export function formatFigure(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

/** `BLOCK_M=64, BLOCK_N=32`. */
export const formatParameters = (parameters: ParameterValues): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');

/** `02_tiled → 03_rows`, or `04_warp: BLOCK_M 32 → 64`. */
export const formatMove = (move: MoveRecord): string =>
  move.kind === 'rung' ? `${move.from} → ${move.to}` : `${move.kernel}: ${move.parameter} ${move.from} → ${move.to}`;
