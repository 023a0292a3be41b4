import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { WarpsmithError } from '../core/errors.ts';
import { EVENT_SCHEMA_VERSION, type RecordedEvent, type RunEvent } from './events.ts';
import { withStorageErrors } from './storage-error.ts';

/**
 * When written events are forced to disk: after each one, only after those that a run cannot be understood without,
 * or never (the operating system decides).
 */
export type FsyncPolicy = 'every-event' | 'milestones' | 'never';

/** Events after which the log must survive a power cut: losing one loses an evaluation or the run's end. */
const MILESTONES: ReadonlySet<RunEvent['type']> = new Set(['run-started', 'decision', 'run-finished']);

export interface EventLog {
  readonly path: string;
  /** Writes one event as one line, in one write. */
  append(event: RunEvent): RecordedEvent;
  close(): void;
}

export interface EventLogOptions {
  fsync?: FsyncPolicy;
  /** Replaces the clock, so that tests can compare whole logs. */
  now?: () => Date;
}

/** Writes the whole line; a short write (disk nearly full) is continued until it is complete or fails. */
function writeLine(descriptor: number, line: string): void {
  const bytes = Buffer.from(line, 'utf8');
  let written = 0;
  while (written < bytes.length) written += writeSync(descriptor, bytes, written);
}

/**
 * Creates an append-only log of JSON lines. The file must not exist: a run never continues another run's log.
 *
 * @throws WarpsmithError when the place is read-only, full or not a folder.
 */
export function createEventLog(path: string, options: EventLogOptions = {}): EventLog {
  const policy = options.fsync ?? 'milestones';
  const now = options.now ?? (() => new Date());
  const descriptor = withStorageErrors(path, () => openSync(path, 'ax'));
  let sequence = 0;
  let open = true;
  return {
    path,
    append(event) {
      if (!open) throw new Error(`event log ${path} is closed`);
      const recorded: RecordedEvent = {
        schemaVersion: EVENT_SCHEMA_VERSION,
        sequence: sequence + 1,
        time: now().toISOString(),
        ...event,
      };
      withStorageErrors(path, () => {
        writeLine(descriptor, `${JSON.stringify(recorded)}\n`);
        if (policy === 'every-event' || (policy === 'milestones' && MILESTONES.has(event.type))) fsyncSync(descriptor);
      });
      sequence += 1;
      return recorded;
    },
    close() {
      if (open) closeSync(descriptor);
      open = false;
    },
  };
}

export interface EventLogContents {
  events: RecordedEvent[];
  /** The last line was cut off while being written (the process or the machine died); it is left out. */
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
    return JSON.parse(text) as RecordedEvent;
  } catch {
    return undefined;
  }
}

/**
 * Reads a log back. A torn last line is tolerated and reported; damage anywhere else is refused.
 *
 * @throws WarpsmithError `no-event-log`, `damaged-event-log` or `newer-event-log`.
 */
export function readEventLog(path: string): EventLogContents {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
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
  const lines = text.split('\n');
  const afterLastNewline = lines.pop() ?? '';
  const events = lines.map((line, index) => {
    const event = parseLine(line);
    if (!event) throw damaged(path, index + 1, `Line ${index + 1} of the event log is not JSON.`, line);
    checkEvent(path, event, index + 1);
    return event;
  });
  return { events, tornLastLine: afterLastNewline !== '' };
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
}
