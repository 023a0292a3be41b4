import { gunzipSync } from 'node:zlib';
import { messageOf, WarpsmithError } from '../../core/errors.ts';
import type { RecordedSpace } from '../../search/recorded-space.ts';
import { parseTuningResults } from '../../search/tuning-results.ts';
import { readRegularFile } from '../../store/read-regular-file.ts';

/**
 * Reads a file of auto-tuning results, plain or gzipped.
 *
 * @throws WarpsmithError `missing-file`, `unreadable-file` or `not-json`; as `parseTuningResults`.
 */
export const readTuningResults = (file: string): RecordedSpace => parseTuningResults(readJson(file), file);

/** Brute-forced spaces are large, but not larger than this when unpacked. */
const MAXIMUM_BYTES = 512 * 1024 * 1024;
const GZIP_MAGIC = [0x1f, 0x8b] as const;

function readBytes(file: string, refuse: (error: NodeJS.ErrnoException) => never): Buffer {
  try {
    return readRegularFile(file);
  } catch (error) {
    return refuse(error as NodeJS.ErrnoException);
  }
}

function readJson(file: string): unknown {
  const expected = 'a T4 JSON file or a cache file of Kernel Tuner, plain or gzipped';
  const refuse = (code: string, message: string, received: string, hint: string): never => {
    throw new WarpsmithError({ code, message, file, received, expected, hint });
  };
  const bytes = readBytes(file, ({ code, message }) =>
    code === 'ENOENT'
      ? refuse('missing-file', `There is no file ${file}.`, 'nothing there', 'Check the path.')
      : refuse('unreadable-file', `${file} can't be read.`, code ?? message, 'Is it a readable file?'),
  );
  const isPacked = GZIP_MAGIC.every((byte, place) => bytes[place] === byte);
  try {
    const text = (isPacked ? gunzipSync(bytes, { maxOutputLength: MAXIMUM_BYTES }) : bytes).toString('utf8');
    return parse(text);
  } catch (error) {
    return refuse(
      'not-json',
      `${file} is not JSON.`,
      messageOf(error),
      'T4 is what auto-tuners export; Kernel Tuner writes its cache files itself.',
    );
  }
}

/** Kernel Tuner leaves its cache file open while it tunes, and behind an interruption. */
const OPEN_CACHE = /^\s*\{[\s\S]*"cache"\s*:\s*\{[\s\S]*\}\s*,?\s*$/;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!OPEN_CACHE.test(text)) throw error;
    return JSON.parse(`${text.trimEnd().replace(/,$/, '')}}}`);
  }
}
