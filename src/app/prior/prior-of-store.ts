import { makeCandidate } from '../../core/candidate.ts';
import type { DeviceIdentity } from '../../core/device.ts';
import type { Kernel, ParameterValues } from '../../core/kernel.ts';
import type { OptimizeOptions } from '../../optimizer/run.ts';
import type { KnownTimes, WeightedWorkload } from '../../store/events.ts';
import type { EvaluationRow, RunRow } from '../../store/index/rows.ts';
import { type RunIndex, withRunIndex } from '../../store/index/run-index.ts';
import type { SessionOptions } from '../session.ts';
import { type KnownSetting, knownTimes, searchedKernels, timeOf } from './known-times.ts';

/** What is to be searched, and where. */
export interface Searched extends Readonly<Pick<OptimizeOptions, 'problem' | 'start' | 'rungs' | 'workloads'>> {
  readonly device: Pick<DeviceIdentity, 'name' | 'kind'>;
}

/** A run with the source that `--prior` names. */
export interface AskedPrior extends Omit<Searched, 'device'> {
  readonly request: SessionOptions & { readonly prior: string; readonly store: string };
}

/** With fewer times, a run tells too little to begin with. */
const FEWEST_TIMES = 8;

/**
 * The best that earlier runs of a store know of the same kernels on another device or workload: of the same workload rather
 * than of the same device, measured rather than predicted, then the one that knows most, then the newest.
 */
export function priorOfStore(store: string, searched: Searched): KnownTimes | undefined {
  const { problem, workloads, device } = searched;
  const [{ name: workload }] = workloads as readonly [WeightedWorkload];
  const kernels = kernelsByName(searched);
  return withRunIndex(store, (index) => {
    const known = index
      .runs({ problem: problem.file.name })
      .flatMap((run) => tablesOf(index, run))
      .filter((table) => table.device !== device.name || table.workload !== workload)
      .map((table) => ({ ...table, settings: sameKernels(table.rows, kernels) }))
      .filter(({ settings }) => settings.filter(({ time }) => time !== null).length >= FEWEST_TIMES);
    const rank = ({ workload: of, kind, settings }: (typeof known)[number]): number[] => [
      of === workload ? 1 : 0,
      kind === 'measured' ? 1 : 0,
      settings.length,
    ];
    const [best] = known.reverse().sort((a, b) => compare(rank(b), rank(a)));
    return (
      best && knownTimes({ source: best.run, kind: 'run', device: best.device, workload: best.workload }, best.settings)
    );
  });
}

/** What a run of the store knows of kernels of these names, on the workload that is searched if it had that. */
export function priorOfRun(store: string, id: string, searched: Searched): KnownTimes | undefined {
  const kernels = kernelsByName(searched);
  return withRunIndex(store, (index) => {
    const run = index.runs().find((row) => row.id === id);
    const tables = run ? tablesOf(index, run) : [];
    const table = tables.find(({ workload }) => workload === searched.workloads[0]!.name) ?? tables[0];
    if (!table) return undefined;
    const settings = settingsOf(table.rows).filter(({ kernel }) => kernels.has(kernel));
    return knownTimes({ source: id, kind: 'run', device: table.device, workload: table.workload }, settings);
  });
}

/** The evaluations of one run on one workload. */
interface Table {
  readonly run: string;
  readonly device: string;
  readonly workload: string;
  readonly kind: NonNullable<RunRow['kind']>;
  readonly rows: readonly EvaluationRow[];
}

function tablesOf(index: RunIndex, { id, problem, device, kind }: RunRow): Table[] {
  if (problem === null || device === null || kind === null) return [];
  const rows = index.evaluationsIn(id);
  return [...Map.groupBy(rows, ({ workload }) => workload)].map(([workload, of]) => ({
    ...{ run: id, device, workload, kind },
    rows: of,
  }));
}

function settingsOf(rows: readonly EvaluationRow[]): KnownSetting[] {
  return rows.flatMap(({ kernel, parameters, status, medianNs }) => {
    const time = timeOf(status, medianNs);
    return time === undefined ? [] : [{ kernel, parameters: JSON.parse(parameters) as ParameterValues, time }];
  });
}

/** Those of exactly these kernels: a candidate's id covers kernel.json, the sources and the parameters. */
function sameKernels(rows: readonly EvaluationRow[], kernels: ReadonlyMap<string, Kernel>): KnownSetting[] {
  const isSame = ({ kernel, parameters, candidate }: EvaluationRow): boolean => {
    const found = kernels.get(kernel);
    return found !== undefined && makeCandidate(found, JSON.parse(parameters) as ParameterValues).id === candidate;
  };
  return settingsOf(rows.filter(isSame));
}

const kernelsByName = (searched: Searched): ReadonlyMap<string, Kernel> =>
  new Map(searchedKernels(searched).map((kernel) => [kernel.file.name, kernel]));

function compare(a: readonly number[], b: readonly number[]): number {
  const place = a.findIndex((value, index) => value !== b[index]);
  return place < 0 ? 0 : a[place]! - b[place]!;
}
