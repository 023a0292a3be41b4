import { basename, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { WarpsmithError } from '../core/errors.ts';
import { completeRequest, type RequestOf } from '../core/requests/request.ts';
import { type SearchBenchView, searchBenchSvg } from '../reports/documents/search-bench.ts';
import { type BenchedStrategy, benchSpace, benchStrategy, randomCurve } from '../search/bench.ts';
import { replayStrategy } from '../search/replay.ts';
import { createStrategy } from '../search/strategies.ts';
import { parseT4, type RecordedSpace } from '../search/t4.ts';
import { readRegularFile } from '../store/read-regular-file.ts';
import { withStorageErrors } from '../store/storage-error.ts';
import { writeWhole } from '../store/write-whole.ts';
import type { Surroundings } from './session.ts';

type SearchBenchOptions = RequestOf<'search-bench'> & Surroundings;

/** Strategies whose answers don't depend on the seed. */
const UNSEEDED: ReadonlySet<string> = new Set(['exhaustive']);

/**
 * Replays a fully evaluated space: every strategy searches it once per seed, and an evaluation is a look-up.
 *
 * @throws WarpsmithError for a file that can't be read or is no T4 file, or an unknown strategy; the abort reason of
 * `signal`.
 */
export async function searchBench(request: SearchBenchOptions): Promise<SearchBenchView> {
  const options = completeRequest('search-bench', request);
  const { file, seeds, within } = options;
  const recorded = parseT4(await readJson(file), file);
  const space = benchSpace(recorded.outcomes, within);
  const evaluations = Math.min(options.evaluations, recorded.space.size);
  const names = options.strategies;
  const strategies: BenchedStrategy[] = [];
  for (const [index, name] of names.entries()) {
    options.onStep?.(`strategy ${index + 1} of ${names.length}: ${name}`);
    const runs: number[][] = [];
    for (let seed = 1; seed <= (UNSEEDED.has(name) ? 1 : seeds); seed += 1) {
      // Lets an interruption through.
      await setImmediate();
      options.signal?.throwIfAborted();
      runs.push(replay(recorded, name, seed, { evaluations, enoughNs: space.bestNs }));
    }
    strategies.push(benchStrategy(name, runs, space, evaluations));
  }
  return {
    schemaVersion: 1,
    kind: 'search-bench',
    file: basename(file),
    evaluations,
    space: {
      ...space,
      repeated: recorded.repeated,
      dimensions: recorded.space.dimensions.map(({ name, values }) => ({ name, values: values.length })),
      randomCurve: randomCurve(recorded.outcomes, evaluations),
    },
    strategies,
  };
}

const replay = (
  { space, outcomes }: RecordedSpace,
  name: string,
  seed: number,
  limits: { evaluations: number; enoughNs: number },
): number[] => replayStrategy(createStrategy(name, { space, seed }), (index) => outcomes[index]!, limits);

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

async function readJson(file: string): Promise<unknown> {
  const expected = 'a T4 JSON file, plain or gzipped';
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
    return JSON.parse(text) as unknown;
  } catch (error) {
    const received = error instanceof Error ? error.message : String(error);
    return refuse(
      'not-json',
      `${file} is not JSON.`,
      received,
      'search-bench reads T4 JSON, as auto-tuners export it.',
    );
  }
}

/** Writes the report's plot as an SVG file. */
export function writeSearchBenchPlot(report: SearchBenchView, path: string): void {
  withStorageErrors(path, () => writeWhole(resolve(path), searchBenchSvg(report)));
}
