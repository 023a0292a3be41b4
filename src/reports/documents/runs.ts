import type { RunRow } from '../../store/index/rows.ts';
import { type Document, documentOf, figures, list, names, table, text, words } from '../document.ts';
import { formatCount, formatKindAndTime } from '../format.ts';

/** `died`: its log has no end, and nobody writes it: `warpsmith resume` goes on with it. */
export type RunState = 'finished' | 'running' | 'died' | 'unreadable';

/** A run in the list of a store's runs. */
export interface ListedRun extends RunRow {
  state: RunState;
  folder: string;
}

/** What `warpsmith runs --json` prints. */
export interface RunsReport {
  schemaVersion: 1;
  kind: 'runs';
  store: string;
  /** Newest first. */
  runs: ListedRun[];
}

/** What became of a run. */
export function runState({ error, stopReason }: RunRow, isBeingWritten: boolean): RunState {
  if (isBeingWritten) return 'running';
  if (error !== null) return 'unreadable';
  return stopReason === null ? 'died' : 'finished';
}

const MINUTE_MS = 60_000;
/** Longest first. */
const AGES: readonly (readonly [ms: number, unit: string])[] = [
  [24 * 60 * MINUTE_MS, 'd'],
  [60 * MINUTE_MS, 'h'],
  [MINUTE_MS, 'min'],
];

/** `3 h`, rounded down; less than a minute is `now`. */
function formatAge(ms: number): string {
  const [scale, unit] = AGES.find(([least]) => ms >= least) ?? [];
  return scale === undefined ? 'now' : `${Math.floor(ms / scale)} ${unit}`;
}

/** `predicted 1.40×`: a ratio never comes without its kind. */
export function describeSpeedup({ kind, speedup, best, state }: ListedRun): string {
  if (best === null || kind === null) return '–';
  if (speedup === null) return `${kind}, not confirmed`;
  if (speedup === 1) return 'none kept';
  return `${kind} ${speedup.toFixed(2)}×${state === 'finished' ? '' : ' so far'}`;
}

const describeWorkloads = ({ workload, workloads }: ListedRun): string =>
  workloads > 1 ? `${workload} and ${workloads - 1} more` : (workload ?? '–');

/** The runs of a store. */
export function runsDocument({ runs, store }: RunsReport, now: Date): Document {
  if (runs.length === 0) return documentOf(`No runs in ${store}.`, []);
  const died = runs.find(({ state }) => state === 'died');
  const unreadable = runs.filter(({ state }) => state === 'unreadable');
  return documentOf(`${formatCount(runs.length, 'run')} in ${store}`, [
    table('Runs', runs, [
      names('run', ({ id }) => id),
      words('workload', describeWorkloads, 3),
      words('device', ({ device }) => device, 5),
      words('state', ({ state, stopReason }) => (state === 'finished' ? stopReason : state)),
      figures('evaluations', ({ evaluations }) => evaluations, 6),
      words('best', ({ bestKernel }) => bestKernel, 4),
      figures('time', ({ kind, bestNs }) => formatKindAndTime({ kind, medianNs: bestNs }), 1),
      names('speed-up', describeSpeedup),
      figures('age', ({ startedAt }) => startedAt && formatAge(now.getTime() - Date.parse(startedAt)), 2),
    ]),
    list(unreadable.map(({ id, error }) => `${id}: ${error}`)),
    died && text(`Continue a run that died: warpsmith resume ${died.id}`),
  ]);
}
