import { formatTime } from './format.ts';
import { type Paint, plainPaint } from './paint.ts';
import type { ListedRun, RunsReport } from './runs-view.ts';
import { type Column, textTable } from './table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'run' },
  { title: 'workload' },
  { title: 'device' },
  { title: 'state' },
  { title: 'evaluations', align: 'right' },
  { title: 'best' },
  { title: 'speed-up' },
  { title: 'age', align: 'right' },
];

const MINUTE_MS = 60_000;
/** Longest first. */
const AGES: readonly (readonly [ms: number, unit: string])[] = [
  [24 * 60 * MINUTE_MS, 'd'],
  [60 * MINUTE_MS, 'h'],
  [MINUTE_MS, 'min'],
];

/** `3 h`, rounded down; less than a minute is `now`. */
export function formatAge(ms: number): string {
  const [scale, unit] = AGES.find(([least]) => ms >= least) ?? [];
  return scale === undefined ? 'now' : `${Math.floor(ms / scale)} ${unit}`;
}

/** `predicted 1.40× faster`: a ratio never comes without its kind. */
export function describeSpeedup({ kind, speedup, best, state }: ListedRun): string {
  if (best === null || kind === null) return '–';
  if (speedup === null) return `${kind}, not confirmed`;
  if (speedup === 1) return 'none kept';
  return `${kind} ${speedup.toFixed(2)}× faster${state === 'finished' ? '' : ' so far'}`;
}

const describeState = ({ state, stopReason }: ListedRun): string =>
  state === 'finished' ? `finished: ${stopReason}` : state;

const describeBest = ({ bestKernel, bestNs, kind }: ListedRun): string =>
  bestKernel === null || bestNs === null || kind === null ? '–' : `${bestKernel}, ${kind} ${formatTime(kind, bestNs)}`;

const describeWorkloads = ({ workload, workloads }: ListedRun): string =>
  workloads > 1 ? `${workload} and ${workloads - 1} more` : (workload ?? '–');

const cells = (run: ListedRun, nowMs: number): string[] => [
  run.id,
  describeWorkloads(run),
  run.device ?? '–',
  describeState(run),
  String(run.evaluations),
  describeBest(run),
  describeSpeedup(run),
  run.startedAt === null ? '–' : formatAge(nowMs - Date.parse(run.startedAt)),
];

const unreadableLines = (runs: readonly ListedRun[]): string[] =>
  runs.filter(({ state }) => state === 'unreadable').map(({ id, error }) => `${id}: ${error}`);

/** The runs of a store for a terminal. */
export function runsTerminal({ runs, store }: RunsReport, now: Date, paint: Paint = plainPaint): string {
  if (runs.length === 0) return `No runs in ${store}.\n`;
  const table = textTable(
    COLUMNS,
    runs.map((run) => cells(run, now.getTime())),
    (text) => paint('dim', text),
  );
  const died = runs.find(({ state }) => state === 'died');
  const lines = [
    table,
    ...unreadableLines(runs),
    ...(died ? ['', `Runs that died go on where they were: warpsmith resume ${died.id}`] : []),
  ];
  return `${lines.join('\n')}\n`;
}
