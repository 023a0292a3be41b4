import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { WarpsmithError } from '../core/errors.ts';
import { misshapen } from './event-shape.ts';
import {
  brokenField,
  EVENT_SCHEMA_VERSION,
  NOTHING_KEPT,
  ofType,
  type RecordedEvent,
  type RunEvent,
  type RunStartedEvent,
  UNLIMITED,
} from './events.ts';
import { readRegularFile } from './read-regular-file.ts';
import { withStorageErrors } from './storage-error.ts';
import { syncFolder, writeAll, writeWhole } from './write-whole.ts';

/**
 * When written events are forced to disk: after each one, only after essential ones, or never (the operating system
 * decides). With every policy, a written event survives the end of its process.
 */
export type FsyncPolicy = 'every-event' | 'milestones' | 'never';

/** Events after which the log is forced to disk, because losing one would lose an evaluation or the run's end. */
const MILESTONES: ReadonlySet<RunEvent['type']> = new Set([
  'run-started',
  'evaluation-finished',
  'decision',
  'budgets-extended',
  'run-finished',
]);

export interface EventLog {
  readonly path: string;
  /** The events that the log held when it was opened; empty for a new log. */
  readonly history: readonly RecordedEvent[];
  /**
   * Writes one event as one line, in one write.
   *
   * @throws WarpsmithError if the disk is full or the log was deleted. Earlier events stay intact.
   */
  append(event: RunEvent): RecordedEvent;
  close(): void;
}

export interface EventLogOptions {
  fsync?: FsyncPolicy;
  /** Replaces the clock, so that tests can compare whole logs. */
  now?: () => Date;
}

/**
 * Creates an append-only log of JSON lines. The file must not exist, because a new run never continues the log of another.
 *
 * @throws WarpsmithError if the place is read-only, full or not a folder.
 */
export function createEventLog(path: string, options: EventLogOptions = {}): EventLog {
  const descriptor = withStorageErrors(path, () => openSync(path, 'ax'));
  syncFolder(dirname(path));
  return logAt(path, descriptor, { history: [], bytes: 0 }, options);
}

/**
 * Opens a log to continue it: removes a torn last line and continues the numbering. Only the holder of the run folder's
 * lock may do this.
 *
 * @param keep number of events to keep, given all of them. The removed ones move to a file beside the log.
 * @throws WarpsmithError as {@link readEventLog}, and if the log can't be written.
 */
export function openEventLog(
  path: string,
  options: EventLogOptions = {},
  keep: (events: readonly RecordedEvent[]) => number = (events) => events.length,
): EventLog {
  const { events, lineEnds } = readLog(path);
  const kept = keep(events);
  const bytes = kept === 0 ? 0 : lineEnds[kept - 1]!;
  const descriptor = withStorageErrors(path, () => {
    if (kept < events.length) saveTail(path, bytes, kept);
    const opened = openSync(path, 'a');
    ftruncateSync(opened, bytes);
    fsyncSync(opened);
    return opened;
  });
  return logAt(path, descriptor, { history: events.slice(0, kept), bytes }, options);
}

/** Evaluations are expensive, so removed events stay readable. */
function saveTail(path: string, fromBytes: number, kept: number): void {
  writeWhole(path.replace(/(\.jsonl)?$/, `.after-${kept}$1`), readFileSync(path).subarray(fromBytes));
}

function logAt(
  path: string,
  descriptor: number,
  { history, bytes }: { history: readonly RecordedEvent[]; bytes: number },
  { fsync: policy = 'milestones', now = () => new Date() }: EventLogOptions,
): EventLog {
  let sequence = history.length;
  let size = bytes;
  let open = true;
  const write = (line: Uint8Array, durable: boolean) => {
    // The descriptor of a deleted file would accept writes that nobody could read.
    if (fstatSync(descriptor).nlink === 0) throw deleted(path);
    try {
      writeAll(descriptor, line);
      if (durable) fsyncSync(descriptor);
    } catch (error) {
      // Otherwise half a line would join the next one.
      ftruncateSync(descriptor, size);
      throw error;
    }
    size += line.length;
  };
  return {
    path,
    history,
    append(event) {
      if (!open) throw new Error(`event log ${path} is closed`);
      const recorded: RecordedEvent = {
        schemaVersion: EVENT_SCHEMA_VERSION,
        sequence: sequence + 1,
        time: now().toISOString(),
        ...event,
      };
      const durable = policy === 'every-event' || (policy === 'milestones' && MILESTONES.has(event.type));
      withStorageErrors(path, () => write(Buffer.from(`${JSON.stringify(recorded)}\n`, 'utf8'), durable));
      sequence += 1;
      return recorded;
    },
    close() {
      if (open) closeSync(descriptor);
      open = false;
    },
  };
}

const deleted = (path: string): WarpsmithError =>
  new WarpsmithError({
    code: 'run-folder-deleted',
    message: 'The run’s event log was deleted during the run.',
    file: path,
    expected: 'run folders that nothing changes during a run',
    hint: 'The results of the run are lost; start it again.',
  });

export interface EventLogContents {
  events: RecordedEvent[];
  /** Whether the last line was incomplete, because the process or the machine died while writing it. It is left out. */
  tornLastLine: boolean;
}

function damaged(path: string, line: number, message: string, received: string): WarpsmithError {
  return new WarpsmithError({
    code: 'damaged-event-log',
    message,
    file: path,
    path: `line ${line}`,
    received: received.length > 80 ? `${received.slice(0, 80)}…` : received,
    expected: 'one JSON event per line, numbered 1, 2, 3, …',
    hint: 'The log was changed after it was written; run the optimisation again.',
  });
}

function parseLine(text: string): RecordedEvent | undefined {
  try {
    const event: unknown = JSON.parse(text);
    return typeof event === 'object' && event !== null ? (event as RecordedEvent) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads a log. Upgrades events of older versions. Tolerates and reports a torn last line; refuses damage anywhere else.
 *
 * @throws WarpsmithError `no-event-log`, `damaged-event-log` or `newer-event-log`.
 */
export function readEventLog(path: string): EventLogContents {
  const { events, tornLastLine } = readLog(path);
  return { events, tornLastLine };
}

const NEWLINE = 0x0a;

/** @returns also where each event's line ends, in bytes. */
function readLog(path: string): EventLogContents & { lineEnds: number[] } {
  readPaths.add(path);
  const bytes = readBytes(path);
  const whole = wholePart(bytes);
  const events: RecordedEvent[] = [];
  const lineEnds: number[] = [];
  for (let start = 0; start < whole.length; start = lineEnds.at(-1)!) {
    const end = whole.indexOf(NEWLINE, start);
    const text = whole.toString('utf8', start, end);
    const event = parseLine(text);
    if (!event) throw damaged(path, events.length + 1, `Line ${events.length + 1} of the event log is not JSON.`, text);
    checkEvent(path, event, events.length + 1);
    events.push(upgradeEvent(event));
    lineEnds.push(end + 1);
  }
  return { events, lineEnds, tornLastLine: whole.length < bytes.length };
}

/** Removes a last line that has no end, or that a power cut left as zeros. Complete lines contain no zeros. */
function wholePart(bytes: Buffer): Buffer {
  const zeros = bytes.indexOf(0);
  const written = zeros < 0 ? bytes : bytes.subarray(0, zeros);
  return written.subarray(0, written.lastIndexOf(NEWLINE) + 1);
}

function readBytes(path: string): Buffer {
  try {
    return readRegularFile(path);
  } catch (error) {
    throw new WarpsmithError({
      code: 'no-event-log',
      message: `There is no readable event log at ${path}.`,
      file: path,
      received: (error as NodeJS.ErrnoException).code ?? String(error),
      expected: "a run folder's events.jsonl",
      hint: 'List the runs of the store, or give --store.',
    });
  }
}

function checkEvent(path: string, event: RecordedEvent, line: number): void {
  if ((event.schemaVersion as number) > EVENT_SCHEMA_VERSION) {
    throw new WarpsmithError({
      code: 'newer-event-log',
      message: `The event log was written by a newer warpsmith (schemaVersion ${event.schemaVersion}).`,
      file: path,
      path: `line ${line}`,
      received: String(event.schemaVersion),
      expected: `schemaVersion ${EVENT_SCHEMA_VERSION}`,
      hint: 'Update warpsmith.',
    });
  }
  if (event.sequence !== line) {
    throw damaged(path, line, `Event ${line} of the log carries number ${event.sequence}.`, String(event.sequence));
  }
  const trouble = misshapen(event);
  if (trouble) {
    const { field, expected, received } = trouble;
    throw damaged(path, line, `Event ${line} of the log has no ${field} that is ${expected}.`, received);
  }
}

/** How a run began. @throws WarpsmithError `no-run-started` if the log at `path` ends before that. */
export function startOfRun(path: string, events: readonly RecordedEvent[]): RecordedEvent<'run-started'> {
  const [started] = ofType(events, 'run-started');
  if (started) return started;
  throw new WarpsmithError({
    code: 'no-run-started',
    message: `${path} ends before the run has begun.`,
    file: path,
    received: `${events.length} events`,
    expected: 'a log that begins with run-started',
    hint: 'Start another run.',
  });
}

/**
 * Reads something out of a log.
 *
 * @throws WarpsmithError as {@link asDamage}; whatever else `read` throws.
 */
export function readingLog<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw asDamage(error);
  }
}

/** Logs that this process has read. */
const readPaths = new Set<string>();

/**
 * Explains an error that occurred while reading logs: as the first invalid field of a log, if there is one. If all logs are
 * valid, it is a bug of ours and returned unchanged.
 */
export function asDamage(error: unknown): unknown {
  if (!(error instanceof TypeError || error instanceof RangeError)) return error;
  for (const path of readPaths) {
    const damage = damageIn(path);
    if (damage) return damage;
  }
  return error;
}

function damageIn(path: string): WarpsmithError | undefined {
  try {
    for (const event of readLog(path).events) {
      const broken = brokenField(event);
      if (!broken) continue;
      const { field, what } = broken;
      return damaged(path, event.sequence, `${field} of event ${event.sequence} (${event.type}): ${what}.`, field);
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof WarpsmithError)) throw error;
    return error.details.code === 'no-event-log' ? undefined : error; // One that has gone since says nothing.
  }
}

/** Values of a run's start that version 1 did not log. Fields that a log does have stay unchanged. */
const impliedByVersion1 = ({ workload, problem }: RunStartedEvent) => ({
  workloads: [{ ...workload, weight: 1 }],
  strategy: 'guided',
  priors: { patterns: [], costs: [] },
  request: { target: problem.folder },
});

/** The fp16 product was a problem of its own, in a folder of its own. */
function renamedProblem({ problem }: RunStartedEvent): RunStartedEvent['problem'] {
  if (problem.name !== 'gemm-f16' || problem.dtype !== undefined) return problem;
  return { ...problem, folder: problem.folder.replace(/gemm-f16$/, 'gemm'), dtype: 'f16' };
}

/** Adds to an event the fields that its version did not log. The version stays, because such a log can't be resumed. */
function upgradeEvent(recorded: RecordedEvent): RecordedEvent {
  if (recorded.type !== 'run-started') return recorded;
  const event = { ...recorded, problem: renamedProblem(recorded) };
  // The limit applied to the search alone; the steps after it went beyond.
  const budgets = { ...UNLIMITED, ...event.budgets, allowance: event.budgets.allowance ?? NOTHING_KEPT };
  if ((event.schemaVersion as number) > 1) return { ...event, budgets };
  return { ...impliedByVersion1(event), ...event, budgets };
}
