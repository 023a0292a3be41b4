import { byKind } from '../core/by-kind.ts';
import type { Diagnostic } from '../core/compiled-code.ts';
import type { ParameterValues } from '../core/kernel.ts';
import type { Timing } from '../core/timing.ts';
import { assignments, figure } from '../core/values.ts';
import type { MoveRecord } from '../store/events.ts';

const SCALES: readonly (readonly [number, string])[] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
];

function withDigits(ns: number, digits: number): string {
  if (!Number.isFinite(ns)) return '–';
  const [scale, unit] = SCALES.find(([candidate]) => Math.abs(ns) >= candidate * 0.9995) ?? SCALES.at(-1)!;
  return `${figure(ns / scale, digits)} ${unit}`;
}

/** A time in the unit that suits it, three significant digits: `870 µs`, `2.87 ms`. */
export const formatNs = (ns: number): string => withDigits(ns, 3);

/** The same with four digits, for times known to a per mille: `69.13 µs`. */
export const formatMeasuredNs = (ns: number): string => withDigits(ns, 4);

/** A time: four digits if measured, three if predicted. */
export const formatTime = (kind: Timing['kind'], ns: number): string => withDigits(ns, kind === 'measured' ? 4 : 3);

/** `[610 µs … 1.2 ms]`. */
export const formatInterval = (kind: Timing['kind'], [low, high]: readonly [number, number]): string =>
  `[${formatTime(kind, low)} … ${formatTime(kind, high)}]`;

type PerhapsTime = { kind: Timing['kind'] | null; medianNs: number | null } | null | undefined;

/** `predicted 870 µs`. */
export const formatKindAndTime = (time: PerhapsTime): string =>
  time?.kind && time.medianNs !== null ? `${time.kind} ${formatTime(time.kind, time.medianNs)}` : '–';

/** `predicted 870 µs [610 µs … 1.2 ms]`: a time never comes without its kind. */
export const formatTiming = ({
  kind,
  medianNs,
  intervalNs,
}: Pick<Timing, 'kind' | 'medianNs' | 'intervalNs'>): string =>
  `${kind} ${formatTime(kind, medianNs)} ${formatInterval(kind, intervalNs)}`;

/** The time. A predicted one also names the resource that binds; measurements don't know it. */
export const describeTiming = (timing: Timing): string =>
  timing.kind === 'predicted' ? `${formatTiming(timing)}, bound by ${timing.bindingResource}` : formatTiming(timing);

/** `lower bound 12 µs; attainable 15 µs`, without a provable bound of 0. */
export const describeBounds = ({ vetoNs, attainableNs }: Pick<Timing, 'vetoNs' | 'attainableNs'>): string =>
  `${vetoNs > 0 ? `lower bound ${formatNs(vetoNs)}; ` : ''}attainable ${formatNs(attainableNs)}`;

/** `[1.382, 1.421]`: the interval of a ratio of measured times. */
export const formatRatioInterval = (interval: readonly [low: number, high: number] | null | undefined): string =>
  interval ? `[${interval.map((ratio) => ratio.toFixed(3)).join(', ')}]` : '–';

/** `1.40×`, old time ÷ new time. */
export const formatRatio = (ratio: number | null): string => (ratio === null ? '–' : `${ratio.toFixed(2)}×`);

/** Three or so significant digits with thousands separators: `12,345`, `3.4`, `0.0031`. */
export function formatFigure(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  return figure(value, 3);
}

/** Of tokens and GPU time, in the currency of their price. */
export const formatMoney = (money: number | null): string => (money === null ? '–' : money.toFixed(4));

/** A count with its noun: `1 block`, `1,200 samples`. */
export const formatCount = (count: number, noun: string): string =>
  `${formatFigure(count)} ${noun}${count === 1 ? '' : 's'}`;

/** Wall time as people say it: `8 s`, `1 min 23 s`, `2 h 5 min`. */
export function formatElapsed(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `2025-11-20 18:41 UTC` of an ISO 8601 time. */
export const formatInstant = (time: string): string => `${time.slice(0, 16).replace('T', ' ')} UTC`;

/** `3.1 s`, of a wall time in ms. */
export const formatSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** `12.3 %` of a ratio of 0.123. */
export const formatPercent = (ratio: number): string => `${figure(100 * ratio, 3)} %`;

const PREFIXES = [
  [1e15, 'P'],
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
] as const;

/** `1.23 T`. */
export function formatPrefixed(value: number): string {
  const [scale, prefix] = PREFIXES.find(([size]) => value >= size) ?? [1, ''];
  return `${formatFigure(value / scale)} ${prefix}`;
}

/** `1.23 TFLOP/s`. */
export const formatRate = (perSecond: number, unit: string): string => `${formatPrefixed(perSecond)}${unit}/s`;

/** `BLOCK_M=64, BLOCK_N=32`. */
export const formatParameters = (parameters: ParameterValues): string => assignments(parameters).join(', ');

/** `04_warp (BLOCK_M=64, PAD=8)`. */
export const formatCandidate = ({ kernel, parameters }: { kernel: string; parameters: ParameterValues }): string =>
  `${kernel} (${formatParameters(parameters) || 'no parameters'})`;

/** `torch 2.11, cudnn 9.1`. */
export const formatVersions = (versions: Readonly<Record<string, string>>): string =>
  Object.entries(versions)
    .map((entry) => entry.join(' '))
    .join(', ');

type Change = { parameter: string; from: number; to: number };

const formatChanges = (kernel: string, changes: readonly Change[]): string =>
  `${kernel}: ${changes.map(({ parameter, from, to }) => `${parameter} ${from} → ${to}`).join(', ')}`;

/** `02_tiled → 03_rows`, or `04_warp: BLOCK_M 32 → 64, PAD 0 → 8`, or of a whole setting `04_warp: BLOCK_M=64, PAD=8`. */
export const formatMove = byKind<MoveRecord, string>({
  parameter: (move) => formatChanges(move.kernel, [move]),
  parameters: ({ kernel, changes }) => formatChanges(kernel, changes),
  rung: ({ from, to }) => `${from} → ${to}`,
  configuration: ({ kernel, parameters }) => `${kernel}: ${formatParameters(parameters) || 'no parameters'}`,
  written: ({ kernel, parent, author }) => `${parent.kernel} → ${kernel}, written by ${author}`,
});

const ANONYMOUS = '(anonymous namespace)::';

/** `void flash::fwd<Traits<64>, true>(Params)` → `flash::fwd`: no return type, template arguments and parameters. */
function shortKernelName(name: string): string {
  let depth = 0;
  let short = '';
  for (const character of name.replaceAll(ANONYMOUS, '')) {
    if (character === '>') depth--;
    else if (character === '<') depth++;
    else if (depth > 0) continue;
    else if (character === '(') break;
    else short += character;
  }
  return short.trim().split(' ').at(-1)! || name;
}

/** GPU kernels of a library by their short names, each once; the whole ones stay in the record. */
export const shortKernelNames = (names: readonly string[]): string =>
  [...new Set(names.map(shortKernelName))].join(', ');

/** As compilers print it: `kernel.cu:3:7: error: …`. */
export function describeDiagnostic({ severity, message, location }: Diagnostic): string {
  const place = location ? `${location.file}:${location.line}${location.column ? `:${location.column}` : ''}: ` : '';
  return `${place}${severity}: ${message}`;
}
