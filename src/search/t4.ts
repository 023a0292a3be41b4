import { median } from '../stats/quantile.ts';
import {
  configurationOf,
  isObject,
  isPositive,
  type Json,
  notTuningResults,
  type RecordedEntry,
  type RecordedSpace,
  type Refuse,
  recordedSpace,
} from './recorded-space.ts';
import type { Outcome } from './strategy.ts';

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
    throw notTuningResults('T4', { file, path, received, expected });
  };
  if (!isObject(content)) return at('', content, 'an object with `results`');
  const { results } = content;
  if (!Array.isArray(results)) return at('results', results, 'an array of evaluated configurations');
  const unit = isObject(content.metadata) ? content.metadata.timeunit : undefined;
  const entries = results.map((result: unknown, index): RecordedEntry => {
    const path = `results[${index}]`;
    if (!isObject(result)) return at(path, result, 'an object');
    const configuration = configurationOf(result.configuration, `${path}.configuration`, at);
    return { configuration, outcome: outcomeOf(result, unit, path, at) };
  });
  return recordedSpace(entries, file, 'results');
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
  if (isPositive(value)) return { value, unit };
  return refuse(`${path}.measurements[${index}].value`, value, 'a positive number, the result being correct');
}

function medianRuntime({ times }: Json, path: string, refuse: Refuse): Measured | undefined {
  const runtimes: unknown = isObject(times) ? times.runtimes : undefined;
  if (!Array.isArray(runtimes) || runtimes.length === 0) return undefined;
  const wrong = runtimes.findIndex((value) => !isPositive(value));
  if (wrong >= 0) return refuse(`${path}.times.runtimes[${wrong}]`, runtimes[wrong], 'a positive number');
  return { value: median(runtimes as number[]) };
}
