import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordedEvent } from './events.ts';

/** How often a log is looked at. */
const POLL_MS = 250;
const NEWLINE = 0x0a;

/** Events that were appended to a log. */
export interface Appended {
  readonly events: readonly RecordedEvent[];
  /** The log is shorter than it was, since a resumed run cuts it: these are its events from the first on. */
  readonly isAnew: boolean;
}

/**
 * Yields what is in a log, then what is appended, until the signal fires; nothing at all, where nothing was. Reads whole lines
 * only, each once; a log that can't be read, or is gone, has nothing new.
 */
export async function* followLog(path: string, signal: AbortSignal): AsyncGenerator<Appended> {
  let [offset, isFirst] = [0, true];
  while (!signal.aborted) {
    const { lines, end, isAnew } = readFrom(path, offset);
    offset = end;
    yield { events: lines.flatMap(parsed), isAnew: isAnew || isFirst };
    isFirst = false;
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
  }
}

/** Whole lines from a place on; from the beginning if the file ends before it. */
function readFrom(path: string, offset: number): { lines: string[]; end: number; isAnew: boolean } {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch {
    return { lines: [], end: offset, isAnew: false };
  }
  try {
    const { size } = fstatSync(descriptor);
    const isAnew = size < offset;
    const from = isAnew ? 0 : offset;
    const bytes = Buffer.alloc(size - from);
    const whole = bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, from)).lastIndexOf(NEWLINE) + 1;
    return { lines: bytes.toString('utf8', 0, whole).split('\n').slice(0, -1), end: from + whole, isAnew };
  } finally {
    closeSync(descriptor);
  }
}

/** What is damaged is told by who reads the log as a whole. */
function parsed(line: string): RecordedEvent[] {
  try {
    return [JSON.parse(line) as RecordedEvent];
  } catch {
    return [];
  }
}
