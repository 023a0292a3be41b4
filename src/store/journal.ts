import { closeSync, existsSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { comparedSizesSchema } from '../core/compared-sizes.ts';
import { EVALUATION_STATUSES } from '../core/status.ts';
import { type ContentStore, openContentStore } from './content-store.ts';
import { createFolder } from './create-folder.ts';
import { readRegularFile } from './read-regular-file.ts';
import { withStorageErrors } from './storage-error.ts';
import { writeAll } from './write-whole.ts';
import { lockWriter } from './writer-lock.ts';

/*
 * What was tried by hand, beside the runs: one JSON line for each attempt, only ever appended, and the sources of every
 * candidate by the SHA-256 of their contents. Nothing but `warpsmith log` depends on it.
 */

const SCHEMA_VERSION = 1;
const FOLDER = 'journal';
const FILE = 'journal.jsonl';
const OBJECTS = 'objects';
/** Another attempt is written in milliseconds. */
const PATIENCE_MS = 5000;

const text = z.string();
const interval = z.tuple([z.number(), z.number()]);
const kind = z.enum(['measured', 'predicted']);

const resultSchema = z.object({
  workload: text,
  dimensions: z.record(text, z.number()),
  cache: z.enum(['hot', 'cold']),
  status: z.enum(EVALUATION_STATUSES),
  reason: text.optional(),
  compared: comparedSizesSchema.optional(),
  timing: z.object({ kind, medianNs: z.number(), intervalNs: interval }).optional(),
  finding: text.describe('What limits it most.').optional(),
  beside: z
    .object({ ratio: z.number(), verdict: text, intervalRatio: interval })
    .describe('Measured in the same blocks as its parent: parent’s time ÷ its time.')
    .optional(),
});

const authoredSchema = z.object({
  author: text,
  parent: text.nullable().describe('Candidate that it was made from.'),
  hypothesis: text,
  predictedRatio: z.number().nullable().describe('Parent’s time ÷ its time, as the author hoped.'),
  ratioToParent: z.number().nullable(),
  ratioToStart: z.number().nullable(),
  wrongWhenTimed: z.boolean().describe('Right when verified, and wrong when timed.'),
  evaluation: text.describe('SHA-256 of the whole evaluation in objects/.'),
});

/** What an author said of a submission, and how it came out. */
export type Authored = z.infer<typeof authoredSchema>;

const attemptSchema = z.object({
  schemaVersion: z.literal(SCHEMA_VERSION),
  id: z.string().regex(/^a\d+$/),
  time: text,
  command: z.enum(['evaluate', 'diagnose', 'compare', 'submit']),
  note: text.optional(),
  parent: text.nullable(),
  problem: text,
  device: z.object({ id: text, name: text }),
  seed: z.number().optional(),
  candidate: z.object({ id: text, kernel: text, folder: text, parameters: z.record(text, z.number()) }),
  sources: z.record(text, text),
  results: z.array(resultSchema),
  authored: authoredSchema.describe('Only of what an author submitted, and of the start it began from.').optional(),
});

/** How an attempt did on one workload. */
export type AttemptResult = z.infer<typeof resultSchema>;

/** One candidate that was judged outside a run: by hand, or for an author. */
export type Attempt = z.infer<typeof attemptSchema>;

/** An attempt before it is written. */
export type NewAttempt = Omit<Attempt, 'schemaVersion' | 'id' | 'time'>;

export interface Journal {
  /** Oldest first. */
  readonly attempts: readonly Attempt[];
  /** Lines that are no attempts that this version can read; a torn last line included. */
  readonly unreadable: number;
}

const journalPath = (store: string): string => join(resolve(store), FOLDER, FILE);

/** Sources of the attempts of a store. */
export const journalObjects = (store: string): ContentStore => openContentStore(join(resolve(store), FOLDER, OBJECTS));

/** Every attempt of a store. What can't be read is left out and counted: a journal is worth something without it. */
export function readJournal(store: string): Journal {
  const path = journalPath(store);
  if (!existsSync(path)) return { attempts: [], unreadable: 0 };
  const lines = withStorageErrors(path, () => readRegularFile(path))
    .toString('utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const attempts = lines.flatMap((line) => parseAttempt(line) ?? []);
  return { attempts, unreadable: lines.length - attempts.length };
}

function parseAttempt(line: string): Attempt | undefined {
  try {
    const parsed = attemptSchema.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Writes attempts, one process at a time.
 *
 * @param describe the attempts, given all earlier ones and a place for sources. Called once for each that is added, until it
 * gives none; it sees those that were added before it.
 * @throws WarpsmithError if the store can't be written, or is being written for seconds.
 */
export function addToJournal(
  store: string,
  describe: (earlier: readonly Attempt[], objects: Pick<ContentStore, 'put' | 'get'>) => NewAttempt | undefined,
  now: () => Date = () => new Date(),
): Attempt[] {
  const folder = join(resolve(store), FOLDER);
  withStorageErrors(folder, () => createFolder(folder));
  const lock = lockWriter(folder, { what: 'journal', patienceMs: PATIENCE_MS });
  try {
    const { attempts, unreadable } = readJournal(store);
    const objects = journalObjects(store);
    const all = [...attempts];
    const added: Attempt[] = [];
    // What can't be read may have had the number of its line.
    let number = Math.max(attempts.length + unreadable, ...attempts.map(({ id }) => Number(id.slice(1))));
    for (let next = describe(all, objects); next; next = describe(all, objects)) {
      number += 1;
      const attempt = { schemaVersion: SCHEMA_VERSION, id: `a${number}`, time: now().toISOString(), ...next } as const;
      appendLine(journalPath(store), JSON.stringify(attempt));
      all.push(attempt);
      added.push(attempt);
    }
    return added;
  } finally {
    lock.release();
  }
}

const NEWLINE = 0x0a;

/** A line that another process was killed in the middle of stays a line of its own. */
function appendLine(path: string, line: string): void {
  withStorageErrors(path, () => {
    const descriptor = openSync(path, 'a+');
    const { size } = fstatSync(descriptor);
    try {
      const last = Buffer.alloc(1);
      if (size > 0) readSync(descriptor, last, 0, 1, size - 1);
      const isTorn = size > 0 && last[0] !== NEWLINE;
      writeAll(descriptor, Buffer.from(`${isTorn ? '\n' : ''}${line}\n`, 'utf8'));
      fsyncSync(descriptor);
    } catch (error) {
      ftruncateSync(descriptor, size);
      throw error;
    } finally {
      closeSync(descriptor);
    }
  });
}
