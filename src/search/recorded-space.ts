import { WarpsmithError } from '../core/errors.ts';
import { type Configuration, type ConfigurationValue, listSpace } from './list-space.ts';
import type { Outcome, SearchSpace } from './strategy.ts';

/** A fully evaluated space: a strategy's request is a look-up. */
export interface RecordedSpace {
  readonly space: SearchSpace;
  /** By configuration. */
  readonly outcomes: readonly Outcome[];
  /** Configurations that were listed before; the last entry of each stands. */
  readonly repeated: number;
}

/** One evaluation of a file. */
export interface RecordedEntry {
  readonly configuration: Configuration;
  readonly outcome: Outcome;
}

/** @param path where in the file the entries are. @throws WarpsmithError `no-valid-configuration` or `space-too-large`. */
export function recordedSpace(entries: readonly RecordedEntry[], file: string, path: string): RecordedSpace {
  const byKey = new Map<string, RecordedEntry>();
  for (const entry of entries) {
    // Sorted by name: files may write the same configuration in any order.
    const key = JSON.stringify(Object.entries(entry.configuration).sort(([a], [b]) => (a < b ? -1 : 1)));
    byKey.delete(key);
    byKey.set(key, entry);
  }
  const last = [...byKey.values()];
  if (!last.some(({ outcome }) => outcome.kind === 'timed')) throw noValid(file, path, entries.length);
  return {
    space: spaceOf(
      last.map(({ configuration }) => configuration),
      file,
      path,
    ),
    outcomes: last.map(({ outcome }) => outcome),
    repeated: entries.length - last.length,
  };
}

function spaceOf(configurations: readonly Configuration[], file: string, path: string): SearchSpace {
  try {
    return listSpace(configurations);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new WarpsmithError({
      code: 'space-too-large',
      message: `${file} is too large a space: ${error.message}.`,
      file,
      path,
      received: error.message,
      expected: 'at most 65,536 values of a parameter',
      hint: 'Remove columns that are not tuning parameters, such as the number of each configuration.',
    });
  }
}

export type Json = Readonly<Record<string, unknown>>;

/** Throws for what a format does not allow. */
export type Refuse = (path: string, received: unknown, expected: string) => never;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether it can be a time, in any unit. */
export const isPositive = (value: unknown): value is number =>
  typeof value === 'number' && value > 0 && Number.isFinite(value);

const isValue = (value: unknown): value is ConfigurationValue =>
  value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);

/** A configuration as files write it: an object of simple values. */
export function configurationOf(configuration: unknown, path: string, refuse: Refuse): Configuration {
  if (!isObject(configuration)) return refuse(path, configuration, 'an object of parameter values');
  for (const [name, value] of Object.entries(configuration)) {
    if (!isValue(value)) refuse(`${path}.${name}`, value, 'a number, a string, a boolean or null');
  }
  return configuration as Configuration;
}

const MAXIMUM_SHOWN = 60;

/** What a format is called, and what its files look like. */
const FORMATS = {
  T4: {
    code: 'not-t4',
    is: 'a T4 file',
    hint: 'T4 files have results[], each with a configuration, its invalidity and measurements.',
  },
  cache: {
    code: 'not-a-kernel-tuner-cache',
    is: 'a cache file of Kernel Tuner',
    hint: 'Cache files have tune_params_keys[] and cache{}, with an entry for each configuration and its time in milliseconds.',
  },
} as const;

export function notTuningResults(
  format: keyof typeof FORMATS,
  { file, path, received, expected }: { file: string; path: string; received: unknown; expected: string },
): WarpsmithError {
  const { code, is, hint } = FORMATS[format];
  const text = received === undefined ? 'nothing' : (JSON.stringify(received) ?? String(received));
  return new WarpsmithError({
    code,
    message: `${file} is not ${is} of auto-tuning results.`,
    file,
    path: path === '' ? undefined : path,
    received: text.length > MAXIMUM_SHOWN ? `${text.slice(0, MAXIMUM_SHOWN)}…` : text,
    expected,
    hint,
  });
}

const noValid = (file: string, path: string, count: number): WarpsmithError =>
  new WarpsmithError({
    code: 'no-valid-configuration',
    message: `${file} has no configuration with a time.`,
    file,
    path,
    received: count === 0 ? 'no results' : `${count} results, but no correct one`,
    expected: 'at least one correct configuration',
    hint: 'There is nothing to search for in this space.',
  });
