import type { ParameterValues } from '../../core/kernel.ts';
import type { ProgressionRow, RunView } from '../run-view.ts';
import type { TimeFigure } from './progression.ts';

export interface TriedSetting {
  readonly parameters: ParameterValues;
  readonly time: TimeFigure;
}

/** A kernel's settings that have a time on the run's first workload. */
export interface TriedSettings {
  readonly kernel: string;
  /** Parameters of which several values were tried, with these in ascending order. */
  readonly varied: readonly { readonly name: string; readonly values: readonly number[] }[];
  /** The slowest first, so that the fastest is drawn on top. */
  readonly settings: readonly TriedSetting[];
}

/** Fewer say nothing of a parameter. */
const FEWEST = 4;

const isOfSearch = ({ stage }: ProgressionRow): boolean => stage === 'judge' || stage === 'screen';

function settingsOf(kernel: string, rows: readonly ProgressionRow[]): TriedSettings {
  // The last time of a setting counts: a longer measurement follows a screening.
  const byId = new Map<string, TriedSetting>();
  for (const { candidate, time } of rows) {
    if (time) byId.set(candidate.id, { parameters: candidate.parameters, time });
  }
  const settings = [...byId.values()].sort((a, b) => b.time.medianNs - a.time.medianNs);
  const names = [...new Set(settings.flatMap(({ parameters }) => Object.keys(parameters)))];
  const varied = names
    .map((name) => ({
      name,
      values: [...new Set(settings.flatMap(({ parameters }) => parameters[name] ?? []))].sort((a, b) => a - b),
    }))
    .filter(({ values }) => values.length > 1);
  return { kernel, varied, settings };
}

/** Of each kernel of which several settings have a time, those with most settings first. */
export function triedSettings({ progression, workload }: Pick<RunView, 'progression' | 'workload'>): TriedSettings[] {
  const rows = progression.filter((row) => isOfSearch(row) && row.workload === workload.name);
  const kernels = [...new Set(rows.map(({ candidate }) => candidate.kernel))];
  return kernels
    .map((kernel) =>
      settingsOf(
        kernel,
        rows.filter(({ candidate }) => candidate.kernel === kernel),
      ),
    )
    .filter(({ varied, settings }) => varied.length > 0 && settings.length >= FEWEST)
    .sort((a, b) => b.settings.length - a.settings.length);
}
