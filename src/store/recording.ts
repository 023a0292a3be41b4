import { closeSync, existsSync, fsyncSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { constants, gunzipSync, gzipSync } from 'node:zlib';
import type { DeviceIdentity } from '../core/device.ts';
import type { DeviceSpec } from '../core/device-spec.ts';
import { messageOf, WarpsmithError } from '../core/errors.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { ParameterValues } from '../core/kernel.ts';
import type { Tier } from '../core/measurement.ts';
import type { Dimensions } from '../core/problem.ts';
import type { ProfileLevel } from '../core/profile.ts';
import { createFolder } from './create-folder.ts';
import { MAXIMUM_FILE_BYTES, readRegularFile } from './read-regular-file.ts';
import { withStorageErrors } from './storage-error.ts';
import { writeAll, writeWhole } from './write-whole.ts';

const RECORDING_SCHEMA_VERSION = 1;

/** The device and software of a recording session. The first line of a recording, and of every later addition. */
export interface RecordedSession {
  readonly kind: 'session';
  readonly schemaVersion: typeof RECORDING_SCHEMA_VERSION;
  /** When it began, as ISO 8601. */
  readonly time: string;
  readonly device: DeviceIdentity;
  readonly spec: DeviceSpec;
  readonly compiler: { readonly name: string; readonly version: string };
  /** Names and versions of other software that results may depend on. */
  readonly environment: Readonly<Record<string, string>>;
}

/** A request, described by content: two requests with equal descriptions ask for the same. */
export interface RequestDescription {
  readonly problem: { readonly name: string; readonly hash: string };
  /** `id` hashes kernel.json, the sources and the parameters. */
  readonly candidate: { readonly id: string; readonly kernel: string; readonly parameters: ParameterValues };
  readonly workload: { readonly dimensions: Dimensions; readonly cache: 'hot' | 'cold' };
  readonly seed: number;
  readonly tier: Tier;
  readonly blocks: number | null;
  readonly against: readonly { readonly name: string; readonly id: string }[];
  readonly libraryBaselines: readonly string[];
  readonly profile: ProfileLevel | 'none';
  readonly sanitize: boolean;
  readonly suites?: readonly string[] | undefined;
  readonly energy?: true | undefined;
  readonly minimised?: 'energy' | undefined;
}

export interface RecordedEvaluation {
  readonly kind: 'evaluation';
  readonly request: RequestDescription;
  /** With its samples and counters. Placeholders replace folders of the machine. */
  readonly evaluation: Evaluation;
}

export interface Recording {
  readonly path: string;
  /** Oldest first; all of one device. */
  readonly sessions: readonly [RecordedSession, ...RecordedSession[]];
  /** In the order they were judged. */
  readonly evaluations: readonly RecordedEvaluation[];
  /** Whether the last entry was incomplete, because the process or the machine died while writing it. It is left out. */
  readonly tornLastEntry: boolean;
}

export interface RecordingWriter {
  readonly path: string;
  /** On disk when it returns, whatever happens next. */
  append(entry: RecordedEvaluation): void;
  /** Packs the file; harmless when called twice. */
  close(): void;
}

type Entry = RecordedSession | RecordedEvaluation;

/** Each entry is a gzip member of its own. Concatenated members are a gzip file, so completed entries stay readable. */
const pack = (text: string): Buffer => gzipSync(text, { level: constants.Z_BEST_COMPRESSION });

const line = (entry: Entry): string => `${JSON.stringify(entry)}\n`;

/**
 * Starts a recording, or adds to one of the same device. Only one process at a time may record to a file.
 *
 * @param path e.g. `run.jsonl.gz`: JSON lines, compressed.
 * @throws WarpsmithError if the file can't be written, is no recording, or was recorded on another device.
 */
export function openRecording(
  path: string,
  session: Omit<RecordedSession, 'kind' | 'schemaVersion' | 'time'>,
  options: { now?: () => Date } = {},
): RecordingWriter {
  const earlier = existsSync(path) ? readRecording(path) : undefined;
  if (earlier) requireSameDevice(earlier, session.device);
  const descriptor = withStorageErrors(path, () => {
    // A torn entry would hide everything behind it.
    if (earlier) writeWhole(path, pack([...earlier.sessions, ...earlier.evaluations].map(line).join('')));
    else createFolder(dirname(path));
    return openSync(path, earlier ? 'a' : 'ax');
  });
  let open = true;
  const append = (entry: Entry): void => {
    if (!open) throw new Error(`recording ${path} is closed`);
    withStorageErrors(path, () => {
      writeAll(descriptor, pack(line(entry)));
      fsyncSync(descriptor);
    });
  };
  append({
    kind: 'session',
    schemaVersion: RECORDING_SCHEMA_VERSION,
    time: (options.now?.() ?? new Date()).toISOString(),
    ...session,
  });
  return {
    path,
    append,
    close() {
      if (!open) return;
      open = false;
      closeSync(descriptor);
      // Entries resemble each other, so together they compress to a fraction of the size.
      withStorageErrors(path, () => writeWhole(path, pack(gunzipSync(readFileSync(path)).toString('utf8'))));
    },
  };
}

function requireSameDevice({ path, sessions: [first] }: Recording, device: DeviceIdentity): void {
  if (first.device.id === device.id && first.device.uuid === device.uuid) return;
  throw new WarpsmithError({
    code: 'recording-of-another-device',
    message: `${path} was recorded on another device.`,
    file: path,
    received: describeDevice(device),
    expected: describeDevice(first.device),
    hint: 'Record to another file.',
  });
}

const describeDevice = ({ id, name, uuid }: DeviceIdentity): string =>
  `${id}, ${name}${uuid === undefined ? '' : ` (${uuid})`}`;

/**
 * Reads a recording. Tolerates and reports a torn last entry; refuses damage anywhere else.
 *
 * @throws WarpsmithError `no-recording`, `damaged-recording` or `newer-recording`.
 */
export function readRecording(path: string): Recording {
  const lines = unpack(path).split('\n');
  const tornLastEntry = lines.pop() !== '';
  const entries = lines.map((text, index) => parseEntry(path, text, index + 1));
  const sessions = entries.filter((entry) => entry.kind === 'session');
  const [first, ...rest] = sessions;
  if (!first || entries[0] !== first) {
    throw damaged(path, 1, 'It does not begin with a session.', lines[0] ?? 'nothing');
  }
  const evaluations = entries.filter((entry) => entry.kind === 'evaluation');
  return { path, sessions: [first, ...rest], evaluations, tornLastEntry };
}

function unpack(path: string): string {
  let bytes: Buffer;
  try {
    bytes = readRegularFile(path);
  } catch (error) {
    throw new WarpsmithError({
      code: 'no-recording',
      message: `There is no readable recording at ${path}.`,
      file: path,
      received: (error as NodeJS.ErrnoException).code ?? String(error),
      expected: 'a file that --record wrote',
      hint: 'Make one with `warpsmith optimize <problem> --record <file>`.',
    });
  }
  try {
    // An end cut off by a crash is no error: all entries before it are kept.
    return gunzipSync(bytes, {
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: MAXIMUM_FILE_BYTES,
    }).toString('utf8');
  } catch (error) {
    throw damaged(path, 1, 'It is not gzip.', messageOf(error));
  }
}

function parseEntry(path: string, text: string, number: number): Entry {
  let entry: Partial<Entry>;
  try {
    entry = JSON.parse(text) as Partial<Entry>;
  } catch {
    throw damaged(path, number, `Line ${number} is not JSON.`, text);
  }
  if (entry?.kind === 'evaluation' && entry.request && entry.evaluation) return entry as RecordedEvaluation;
  if (entry?.kind !== 'session' || !entry.device || !entry.spec) {
    throw damaged(path, number, `Line ${number} is neither a session nor an evaluation.`, text);
  }
  if ((entry.schemaVersion as number) > RECORDING_SCHEMA_VERSION) {
    throw new WarpsmithError({
      code: 'newer-recording',
      message: `${path} was recorded by a newer warpsmith.`,
      file: path,
      path: `line ${number}`,
      received: `schemaVersion ${entry.schemaVersion}`,
      expected: `schemaVersion ${RECORDING_SCHEMA_VERSION}`,
      hint: 'Update warpsmith.',
    });
  }
  return entry as RecordedSession;
}

const MAXIMUM_SHOWN = 80;

const damaged = (path: string, number: number, message: string, received: string): WarpsmithError =>
  new WarpsmithError({
    code: 'damaged-recording',
    message: `${path} is no recording. ${message}`,
    file: path,
    path: `line ${number}`,
    received: received.length > MAXIMUM_SHOWN ? `${received.slice(0, MAXIMUM_SHOWN)}…` : received,
    expected: 'compressed JSON lines, a session first, as --record writes them',
    hint: 'The file was changed after it was written; record again.',
  });
