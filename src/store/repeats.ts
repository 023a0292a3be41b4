import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Evaluation } from '../core/evaluation.ts';
import { noteUse, openSealedText, pruneCacheFolder, sealText } from '../process/cache-file.ts';
import type { Priors } from './events.ts';
import { readRegularFile } from './read-regular-file.ts';
import { writeWhole } from './write-whole.ts';

/** An evaluation as it was made. */
export interface KeptEvaluation {
  /** When it was finished, as ISO 8601. */
  readonly evaluatedAt: string;
  readonly evaluation: Evaluation;
}

/**
 * Evaluations by the SHA-256 of everything that decides them, and with what guided runs of exactly the same files began. It
 * only saves time: what is damaged counts as absent, and what can't be written is not kept.
 */
export interface RepeatStore {
  evaluation(key: string): KeptEvaluation | undefined;
  keepEvaluation(key: string, evaluation: Evaluation): void;
  seed(key: string): number | undefined;
  keepSeed(key: string, seed: number): void;
  priors(key: string): Priors | undefined;
  keepPriors(key: string, priors: Priors): void;
}

export interface RepeatStoreOptions {
  /** Of all entries together; the least recently used go first. */
  readonly maximumBytes?: number;
  /** Replaces the clock in tests. */
  readonly now?: () => Date;
}

/** An evaluation of attention takes about 25 kB. */
const MAXIMUM_BYTES = 128 * 1024 ** 2;
/** Far above any evaluation. */
const MAXIMUM_ENTRY_BYTES = 32 * 1024 ** 2;
const SCHEMA_VERSION = 1;

type Entry = { readonly schemaVersion: typeof SCHEMA_VERSION; readonly key: string } & Partial<KeptEvaluation> & {
    readonly seed?: number;
    readonly priors?: Priors;
  };

/** Opens the entries of a folder, which need not be there yet. */
export function openRepeatStore(
  folder: string,
  { maximumBytes = MAXIMUM_BYTES, now = () => new Date() }: RepeatStoreOptions = {},
): RepeatStore {
  const pathOf = (key: string): string => join(folder, key.slice(0, 2), key.slice(2));
  let bytes: number | undefined;
  const read = (key: string): Entry | undefined => {
    const entry = readEntry(pathOf(key), key);
    if (entry) noteUse(pathOf(key), now());
    return entry;
  };
  const write = (key: string, contents: Omit<Entry, 'schemaVersion' | 'key'>): void => {
    const packed = pack({ schemaVersion: SCHEMA_VERSION, key, ...contents });
    try {
      writeWhole(pathOf(key), packed);
      bytes = bytes === undefined ? undefined : bytes + packed.length;
      if (bytes === undefined || bytes > maximumBytes) bytes = pruneCacheFolder(folder, maximumBytes);
    } catch {
      // A full or read-only disk must not cost a result.
    }
  };
  return {
    evaluation(key) {
      const { evaluation, evaluatedAt } = read(key) ?? {};
      return evaluation && evaluatedAt !== undefined ? { evaluation, evaluatedAt } : undefined;
    },
    keepEvaluation: (key, evaluation) => write(key, { evaluatedAt: now().toISOString(), evaluation }),
    seed: (key) => read(key)?.seed,
    keepSeed: (key, seed) => write(key, { seed }),
    priors: (key) => read(key)?.priors,
    keepPriors: (key, priors) => write(key, { priors }),
  };
}

/** JSON knows neither NaN nor infinities, which a wrong kernel's outputs hold. */
const NOT_FINITE = '$number';

const encode = (entry: Entry): string =>
  JSON.stringify(entry, (_name, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? { [NOT_FINITE]: String(value) } : value,
  );

const decode = (text: string): unknown =>
  JSON.parse(text, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && NOT_FINITE in value ? Number(value[NOT_FINITE]) : value,
  );

const pack = (entry: Entry): Buffer => gzipSync(sealText(encode(entry)));

function readEntry(path: string, key: string): Entry | undefined {
  try {
    const unpacked = gunzipSync(readRegularFile(path, MAXIMUM_ENTRY_BYTES), { maxOutputLength: MAXIMUM_ENTRY_BYTES });
    const text = openSealedText(unpacked.toString('utf8'));
    if (text === undefined) return undefined;
    const entry = decode(text) as Entry;
    return entry.schemaVersion === SCHEMA_VERSION && entry.key === key ? entry : undefined;
  } catch {
    return undefined;
  }
}
