import type { Configuration, ConfigurationValue } from './list-space.ts';
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
import { parseT4 } from './t4.ts';

/** Reads results of an auto-tuner: T4, or a cache file of Kernel Tuner. @throws WarpsmithError as the parser of either. */
export const parseTuningResults = (content: unknown, file: string): RecordedSpace =>
  isKernelTunerCache(content) ? parseKernelTunerCache(content, file) : parseT4(content, file);

/** Times are in milliseconds. */
const MILLISECOND_NS = 1e6;
/** What old versions wrote for a configuration that failed; later ones write why, in words. */
const FAILED_MS = 1e20;

const isKernelTunerCache = (content: unknown): content is Json =>
  isObject(content) && ('cache' in content || 'tune_params_keys' in content);

/**
 * Reads a cache file of Kernel Tuner: `cache{}` has an entry for each configuration, whose `time` is the mean of its runs in
 * milliseconds, or in words why there is none.
 *
 * @param file for messages.
 * @throws WarpsmithError `not-a-kernel-tuner-cache`, naming the place, `no-valid-configuration` or `space-too-large`.
 */
function parseKernelTunerCache({ tune_params_keys: keys, cache }: Json, file: string): RecordedSpace {
  const refuse: Refuse = (path, received, expected) => {
    throw notTuningResults('cache', { file, path, received, expected });
  };
  const isNames = Array.isArray(keys) && keys.every((name) => typeof name === 'string');
  if (!isNames) return refuse('tune_params_keys', keys, 'the names of the parameters');
  if (!isObject(cache)) return refuse('cache', cache, 'an object with an entry for each configuration');
  const entries = Object.entries(cache).map(([key, entry]): RecordedEntry => {
    const path = `cache["${key}"]`;
    if (!isObject(entry)) return refuse(path, entry, 'an object with a time');
    return { configuration: settingOf(keys, key, entry, path, refuse), outcome: outcomeOf(entry.time, path, refuse) };
  });
  return recordedSpace(entries, file, 'cache');
}

/** By the entry's own fields; processed files have them only in the key, in the order of the parameters. */
function settingOf(names: readonly string[], key: string, entry: Json, path: string, refuse: Refuse): Configuration {
  if (names.every((name) => Object.hasOwn(entry, name))) {
    return configurationOf(Object.fromEntries(names.map((name) => [name, entry[name]])), path, refuse);
  }
  const words = key.split(',');
  if (words.length !== names.length) return refuse(path, Object.keys(entry), `a value of ${names.join(', ')}`);
  return Object.fromEntries(names.map((name, place) => [name, wordOf(words[place]!)]));
}

/** As Python writes them. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['True', true],
  ['False', false],
]);

const wordOf = (word: string): ConfigurationValue =>
  BOOLEANS.get(word) ?? (word.trim() !== '' && Number.isFinite(Number(word)) ? Number(word) : word);

function outcomeOf(time: unknown, path: string, refuse: Refuse): Outcome {
  if (typeof time === 'string' || time === FAILED_MS) return { kind: 'failed' };
  if (isPositive(time)) return { kind: 'timed', timeNs: time * MILLISECOND_NS };
  return refuse(`${path}.time`, time, 'a positive number, or in words why there is none');
}
