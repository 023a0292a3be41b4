import { WarpsmithError } from '../core/errors.ts';
import { median } from '../stats/quantile.ts';
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

/** Multiples of a nanosecond. T4 times are in milliseconds where a file doesn't say otherwise. */
const UNITS: Readonly<Record<string, number>> = {
  s: 1e9,
  seconds: 1e9,
  ms: 1e6,
  milliseconds: 1e6,
  // As the format's own tools write it.
  miliseconds: 1e6,
  us: 1e3,
  µs: 1e3,
  microseconds: 1e3,
  ns: 1,
  nanoseconds: 1,
};
const USUAL_UNIT = 'milliseconds';

/** Names of measurements that are times, so that less is better. */
const TIME_NAME = /time|duration|latency/i;

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads auto-tuning results in the T4 JSON format: `results[]`, each a `configuration`, its `invalidity`, and what was
 * measured. A configuration's time is the measurement that its `objectives` name first, or the median of
 * `times.runtimes` where there is none; one that is not `correct` failed.
 *
 * @param file for messages.
 * @throws WarpsmithError `not-t4`, naming the place, `no-valid-configuration` or `space-too-large`.
 */
export function parseT4(content: unknown, file: string): RecordedSpace {
  const at = (path: string, received: unknown, expected: string): never => {
    throw notT4(file, path, received, expected);
  };
  if (!isObject(content)) return at('', content, 'an object with `results`');
  const { results } = content;
  if (!Array.isArray(results)) return at('results', results, 'an array of evaluated configurations');
  const unit = isObject(content.metadata) ? content.metadata.timeunit : undefined;
  const byKey = new Map<string, { configuration: Configuration; outcome: Outcome }>();
  for (const [index, result] of results.entries()) {
    const path = `results[${index}]`;
    if (!isObject(result)) return at(path, result, 'an object');
    const configuration = configurationOf(result.configuration, `${path}.configuration`, at);
    const outcome = outcomeOf(result, unit, path, at);
    // Sorted by name: files may write the same configuration in any order.
    const key = JSON.stringify(Object.entries(configuration).sort(([a], [b]) => (a < b ? -1 : 1)));
    byKey.delete(key);
    byKey.set(key, { configuration, outcome });
  }
  const entries = [...byKey.values()];
  if (!entries.some(({ outcome }) => outcome.kind === 'timed')) throw noValid(file, results.length);
  return {
    space: spaceOf(
      entries.map(({ configuration }) => configuration),
      file,
    ),
    outcomes: entries.map(({ outcome }) => outcome),
    repeated: results.length - entries.length,
  };
}

function spaceOf(configurations: readonly Configuration[], file: string): SearchSpace {
  try {
    return listSpace(configurations);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new WarpsmithError({
      code: 'space-too-large',
      message: `${file} is too large a space: ${error.message}.`,
      file,
      path: 'results',
      received: error.message,
      expected: 'at most 65,536 values of a parameter',
      hint: 'Remove columns that are not tuning parameters, such as the number of each configuration.',
    });
  }
}

type Refuse = (path: string, received: unknown, expected: string) => never;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isValue = (value: unknown): value is ConfigurationValue =>
  value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);

function configurationOf(configuration: unknown, path: string, refuse: Refuse): Configuration {
  if (!isObject(configuration)) return refuse(path, configuration, 'an object of parameter values');
  for (const [name, value] of Object.entries(configuration)) {
    if (!isValue(value)) refuse(`${path}.${name}`, value, 'a number, a string, a boolean or null');
  }
  return configuration as Configuration;
}

function outcomeOf(result: Json, unit: unknown, path: string, refuse: Refuse): Outcome {
  const { invalidity } = result;
  if (invalidity !== undefined && typeof invalidity !== 'string') {
    return refuse(`${path}.invalidity`, invalidity, 'correct, compile, runtime, …');
  }
  if (invalidity !== undefined && invalidity !== 'correct') return { kind: 'failed' };
  const measured = measuredTime(result, path, refuse) ?? medianRuntime(result, path, refuse);
  if (!measured) return refuse(path, Object.keys(result).join(', '), 'a measured time or times.runtimes');
  const scale = UNITS[String(measured.unit || unit || USUAL_UNIT).toLowerCase()];
  if (scale === undefined)
    return refuse(`${path}`, measured.unit || unit, `a unit of ${Object.keys(UNITS).join(', ')}`);
  return { kind: 'timed', timeNs: measured.value * scale };
}

interface Measured {
  readonly value: number;
  readonly unit?: unknown;
}

/** The measurement of the first objective, if it is a time; any time if there are no objectives. */
function measuredTime({ measurements, objectives }: Json, path: string, refuse: Refuse): Measured | undefined {
  if (measurements === undefined) return undefined;
  if (!Array.isArray(measurements)) return refuse(`${path}.measurements`, measurements, 'an array');
  const [objective] = Array.isArray(objectives) ? (objectives as unknown[]) : [];
  const index = measurements.findIndex(
    (measurement: unknown) =>
      isObject(measurement) &&
      TIME_NAME.test(String(measurement.name)) &&
      (objective === undefined || measurement.name === objective),
  );
  if (index < 0) return undefined;
  const { value, unit } = measurements[index] as Json;
  if (typeof value === 'number' && value > 0 && Number.isFinite(value)) return { value, unit };
  return refuse(`${path}.measurements[${index}].value`, value, 'a positive number, the result being correct');
}

function medianRuntime({ times }: Json, path: string, refuse: Refuse): Measured | undefined {
  const runtimes: unknown = isObject(times) ? times.runtimes : undefined;
  if (!Array.isArray(runtimes) || runtimes.length === 0) return undefined;
  const wrong = runtimes.findIndex((value) => !(typeof value === 'number' && value > 0 && Number.isFinite(value)));
  if (wrong >= 0) return refuse(`${path}.times.runtimes[${wrong}]`, runtimes[wrong], 'a positive number');
  return { value: median(runtimes as number[]) };
}

const MAXIMUM_SHOWN = 60;

function notT4(file: string, path: string, received: unknown, expected: string): WarpsmithError {
  const text = received === undefined ? 'nothing' : (JSON.stringify(received) ?? String(received));
  return new WarpsmithError({
    code: 'not-t4',
    message: `${file} is not a T4 file of auto-tuning results.`,
    file,
    path: path === '' ? undefined : path,
    received: text.length > MAXIMUM_SHOWN ? `${text.slice(0, MAXIMUM_SHOWN)}…` : text,
    expected,
    hint: 'T4 files have results[], each with a configuration, its invalidity and measurements.',
  });
}

const noValid = (file: string, count: number): WarpsmithError =>
  new WarpsmithError({
    code: 'no-valid-configuration',
    message: `${file} has no configuration with a time.`,
    file,
    path: 'results',
    received: count === 0 ? 'no results' : `${count} results, but no correct one`,
    expected: 'at least one correct configuration',
    hint: 'There is nothing to search for in this space.',
  });
