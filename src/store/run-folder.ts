import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { WarpsmithError } from '../core/errors.ts';
import { type ContentStore, openContentStore, writeWhole } from './content-store.ts';
import { createFolder } from './create-folder.ts';
import { createEventLog, type EventLog, type EventLogOptions } from './event-log.ts';
import { withStorageErrors } from './storage-error.ts';

/** Where results go when `--store` is not given, relative to the working folder. */
export const DEFAULT_STORE = '.warpsmith';

/** Files of a run folder. */
export const RUN_FILES = {
  events: 'events.jsonl',
  reportMarkdown: 'report.md',
  reportJson: 'report.json',
  reportPlot: 'report.svg',
  best: 'best',
  objects: 'objects',
} as const;

/** A run's folder, open for writing. */
export interface RunFolder {
  readonly id: string;
  readonly path: string;
  readonly log: EventLog;
  readonly objects: ContentStore;
  /** Writes a file of the run whole, creating folders below the run's own as needed. */
  write(relativePath: string, contents: string | Uint8Array): string;
  /** Empties and rewrites a folder of the run from a map of relative path → contents. */
  replaceFolder(relativePath: string, files: Readonly<Record<string, string>>): string;
}

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');

/** `2025-11-20T18-41-03-attention-b1h8s512d64`: sorts by start time, and says what it is. */
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
 * @throws WarpsmithError when the store is read-only, full or not a folder.
 */
export function createRunFolder(store: string, id: string, options: EventLogOptions = {}): RunFolder {
  const parent = runsFolder(store);
  const name = withStorageErrors(resolve(store), () => createUniqueFolder(parent, id));
  const path = join(parent, name);
  const write = (relativePath: string, contents: string | Uint8Array): string => {
    const target = join(path, relativePath);
    withStorageErrors(target, () => {
      writeWhole(target, contents);
    });
    return target;
  };
  return {
    id: name,
    path,
    log: createEventLog(join(path, RUN_FILES.events), options),
    objects: openContentStore(join(path, RUN_FILES.objects)),
    write,
    replaceFolder(relativePath, files) {
      const folder = join(path, relativePath);
      withStorageErrors(folder, () => rmSync(folder, { recursive: true, force: true }));
      for (const [file, contents] of Object.entries(files)) write(join(relativePath, file), contents);
      return folder;
    },
  };
}

/** The event log of a run folder. */
export const eventsPath = (runFolder: string): string => join(runFolder, RUN_FILES.events);

/** Ids of the runs in a store, oldest first. An absent store has none. */
export function listRuns(store: string): string[] {
  const folder = runsFolder(store);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder)
    .filter((name) => statSync(join(folder, name, RUN_FILES.events), { throwIfNoEntry: false }))
    .sort();
}

/**
 * The folder of a run: by its path, by its id, by the beginning of its id, or the newest when `which` is `latest`.
 *
 * @throws WarpsmithError `no-runs`, `unknown-run` or `ambiguous-run`.
 */
export function findRun(store: string, which: string): string {
  if (statSync(join(which, RUN_FILES.events), { throwIfNoEntry: false })) return resolve(which);
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
  if (which === 'latest') return join(runsFolder(store), latest);
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
  return join(runsFolder(store), matches[0]!);
}
