import { lstatSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { WarpsmithError } from '../core/errors.ts';
import { type ContentStore, openContentStore } from './content-store.ts';
import { createFolder } from './create-folder.ts';
import { createEventLog, type EventLog, type EventLogOptions, openEventLog } from './event-log.ts';
import type { RecordedEvent } from './events.ts';
import { withStorageErrors } from './storage-error.ts';
import { PARTIAL_SUFFIX, partialPath, syncFolder, writeWhole } from './write-whole.ts';
import { lockWriter, type WriterLock } from './writer-lock.ts';

/** Files of a run folder. */
export const RUN_FILES = {
  events: 'events.jsonl',
  reportMarkdown: 'report.md',
  reportJson: 'report.json',
  reportHtml: 'report.html',
  reportPlot: 'report.svg',
  best: 'best',
  objects: 'objects',
  transcript: 'transcript.jsonl',
} as const;

/** A run's folder, open for writing. Only this process may write to it until it closes it or ends. */
export interface RunFolder {
  readonly id: string;
  readonly path: string;
  /** Closing it closes the folder. */
  readonly log: EventLog;
  readonly objects: ContentStore;
  /** Writes a file of the run atomically. Creates folders below the run's own as needed. */
  write(relativePath: string, contents: string | Uint8Array): string;
  /** Replaces a folder of the run by these files: relative path → contents. */
  replaceFolder(relativePath: string, files: Readonly<Record<string, string>>): string;
}

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');

/** `2025-11-20T18-41-03-attention-b1h8s512d64`: sorts by start time and names problem and workload. */
export function runId(start: Date, problem: string, workload: string): string {
  const stamp = start.toISOString().slice(0, 19).replaceAll(':', '-');
  return `${stamp}-${slug(problem)}-${slug(workload)}`;
}

const runsFolder = (store: string): string => join(resolve(store), 'runs');

/** Two runs may start within the same second: the second one gets `-2`, and so on. */
function createUniqueFolder(parent: string, id: string): string {
  createFolder(parent);
  for (let attempt = 1; ; attempt += 1) {
    const name = attempt === 1 ? id : `${id}-${attempt}`;
    try {
      mkdirSync(join(parent, name));
      return name;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt >= 1000) throw error;
    }
  }
}

/**
 * Creates the folder of a new run in the store, with its event log.
 *
 * @throws WarpsmithError if the store is read-only, full or not a folder.
 */
export function createRunFolder(store: string, id: string, options: EventLogOptions = {}): RunFolder {
  const parent = runsFolder(store);
  const path = join(
    parent,
    withStorageErrors(resolve(store), () => createUniqueFolder(parent, id)),
  );
  syncFolder(parent);
  return folderAt(path, (events) => createEventLog(events, options));
}

/**
 * Opens the folder of a run to continue it. Removes files that a killed process left half-written.
 *
 * @param keep number of the log's events to keep, given all of them.
 * @throws WarpsmithError `run-in-use` if another process writes to it; if the log can't be read or written.
 */
export function openRunFolder(
  path: string,
  options: EventLogOptions = {},
  keep?: (events: readonly RecordedEvent[]) => number,
): RunFolder {
  return folderAt(resolve(path), (events) => {
    removePartialFiles(dirname(events));
    return openEventLog(events, options, keep);
  });
}

function folderAt(path: string, openLog: (events: string) => EventLog): RunFolder {
  const lock = lockWriter(path);
  let log: EventLog;
  try {
    log = closingWith(openLog(join(path, RUN_FILES.events)), lock);
  } catch (error) {
    lock.release();
    throw error;
  }
  const objects = openContentStore(join(path, RUN_FILES.objects));
  const at = (relativePath: string, work: (target: string) => void): string => {
    const target = join(path, relativePath);
    requireThere(path);
    withStorageErrors(target, () => work(target));
    return target;
  };
  return {
    id: basename(path),
    path,
    log,
    objects: {
      ...objects,
      put(contents) {
        requireThere(path);
        return objects.put(contents);
      },
    },
    write: (relativePath, contents) => at(relativePath, (target) => writeWhole(target, contents)),
    replaceFolder: (relativePath, files) => at(relativePath, (folder) => replaceWhole(folder, files)),
  };
}

/** Holds the lock as long as something may be appended. */
const closingWith = (log: EventLog, lock: WriterLock): EventLog => ({
  ...log,
  close() {
    log.close();
    lock.release();
  },
});

/** Writing into a deleted folder would bring back a part of it. */
function requireThere(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })) return;
  throw new WarpsmithError({
    code: 'run-folder-deleted',
    message: 'The run’s folder was deleted or moved during the run.',
    file: path,
    expected: 'run folders that nothing changes during a run',
    hint: 'If it was moved, give its new path to `warpsmith resume`; else start the run again.',
  });
}

/** Completes the new folder before it removes the old one. */
function replaceWhole(folder: string, files: Readonly<Record<string, string>>): void {
  const next = partialPath(folder);
  const previous = partialPath(folder);
  try {
    createFolder(next);
    for (const [file, contents] of Object.entries(files)) writeWhole(join(next, file), contents);
    const isThere = statSync(folder, { throwIfNoEntry: false }) !== undefined;
    if (isThere) renameSync(folder, previous);
    try {
      renameSync(next, folder);
    } catch (error) {
      if (isThere) renameSync(previous, folder);
      throw error;
    }
  } finally {
    for (const leftover of [next, previous]) rmSync(leftover, { recursive: true, force: true });
  }
}

/** What a process that died left half-written. */
function removePartialFiles(path: string): void {
  withStorageErrors(path, () => {
    for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' })) {
      if (name.endsWith(PARTIAL_SUFFIX)) rmSync(join(path, name), { recursive: true, force: true });
    }
  });
}

/** Where a run of a store lies. */
export const runFolderPath = (store: string, id: string): string => join(runsFolder(store), id);

/** The event log of a run folder. */
export const eventsPath = (runFolder: string): string => join(runFolder, RUN_FILES.events);

/** Ids of the runs in a store, oldest first. An absent store has none. */
export function listRuns(store: string): string[] {
  const folder = runsFolder(store);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder)
    .filter((name) => hasLog(join(folder, name)))
    .sort();
}

/** A folder that this user may not look into counts as a run: what lists runs names it. */
function hasLog(runFolder: string): boolean {
  try {
    return lstatSync(eventsPath(runFolder), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return true;
    throw error;
  }
}

/**
 * The folder of a run: by its path, its id, the first characters of its id, or `latest`.
 *
 * @throws WarpsmithError `no-runs`, `unknown-run` or `ambiguous-run`.
 */
export function findRun(store: string, which: string): string {
  if (lstatSync(join(which, RUN_FILES.events), { throwIfNoEntry: false })) return resolve(which);
  const runs = listRuns(store);
  const latest = runs.at(-1);
  if (latest === undefined) {
    throw new WarpsmithError({
      code: 'no-runs',
      message: `There are no runs in ${resolve(store)}.`,
      file: resolve(store),
      received: which,
      expected: 'a store with at least one run',
      hint: 'Start one with `warpsmith optimize <problem>`, or give --store.',
    });
  }
  if (which === 'latest') return runFolderPath(store, latest);
  const exact = runs.filter((id) => id === which);
  const matches = exact.length > 0 ? exact : runs.filter((id) => id.startsWith(which));
  if (matches.length !== 1) {
    throw new WarpsmithError({
      code: matches.length === 0 ? 'unknown-run' : 'ambiguous-run',
      message:
        matches.length === 0
          ? `No run is called ${which}.`
          : `${matches.length} runs begin with ${which}: ${matches.join(', ')}.`,
      file: resolve(store),
      received: which,
      expected: `latest, a run folder, or one of: ${runs.slice(-5).join(', ')}`,
      hint: `The newest run is ${latest}.`,
    });
  }
  return runFolderPath(store, matches[0]!);
}
