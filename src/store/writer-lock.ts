import { accessSync, constants, existsSync, readFileSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { messageOf, WarpsmithError } from '../core/errors.ts';
import { asSystemError, isBusy, isDamaged, isDatabaseError, openDatabase } from './sqlite.ts';
import { storageError, withStorageErrors } from './storage-error.ts';
import { writeWhole } from './write-whole.ts';

/** SQLite locks this file, which stays empty. The kernel releases the lock when its holder ends, for whatever reason. */
const LOCK_FILE = 'writer.lock';
/** Names the holder, for messages. A killed holder leaves it behind; only the lock counts. */
const HOLDER_FILE = 'writer.json';

/** A process that only asks whether the lock is held takes it for an instant. */
const PATIENCE_MS = 500;

/** What is locked, and how long to wait for a process that has it. */
export interface LockOptions {
  readonly what?: 'run' | 'journal';
  readonly patienceMs?: number;
}

/** The right to write into a run folder. */
export interface WriterLock {
  release(): void;
}

/** Keeps connections from the garbage collector, which would release their locks. */
const held = new Set<DatabaseSync>();

/**
 * Locks a run folder for this process. The lock file stays: if it were removed, two processes could lock two different
 * files.
 *
 * @throws WarpsmithError `run-in-use`, naming the process that writes into it; `unreadable-lock`; or if the folder can't be
 * written.
 */
export function lockWriter(folder: string, { what = 'run', patienceMs = PATIENCE_MS }: LockOptions = {}): WriterLock {
  withStorageErrors(folder, () => accessSync(folder, constants.W_OK));
  const database = openLockFile(folder, patienceMs);
  try {
    // Nothing is ever written to the database, so it has no journal beside it.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    held.add(database);
    writeWhole(join(folder, HOLDER_FILE), `${JSON.stringify(describeSelf())}\n`);
  } catch (error) {
    held.delete(database);
    database.close();
    if (isBusy(error)) throw inUse(folder, what);
    throw isDamaged(error) ? unreadable(folder, error) : storageError(asSystemError(error), folder);
  }
  let isHeld = true;
  return {
    release() {
      if (!isHeld) return;
      isHeld = false;
      rmSync(join(folder, HOLDER_FILE), { force: true });
      held.delete(database);
      database.close();
    },
  };
}

function openLockFile(folder: string, timeout: number): DatabaseSync {
  try {
    return openDatabase(join(folder, LOCK_FILE), { timeout });
  } catch (error) {
    throw storageError(asSystemError(error), folder);
  }
}

/** Whether a process may be writing into a run folder now. True if the lock can't be checked. */
export const isBeingWritten = (folder: string): boolean => lockState(folder) !== 'free';

/** The process of this machine that writes into a run folder now; undefined if there is none, or it can't be told. */
export function writerOf(folder: string): number | undefined {
  if (lockState(folder) !== 'held') return undefined;
  try {
    const { pid, host } = readHolder(folder);
    return host === hostname() && Number.isSafeInteger(pid) && pid > 1 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** @throws WarpsmithError `run-in-use`, naming the process that writes into the folder; `unreadable-lock`. */
export function refuseIfBeingWritten(folder: string): void {
  const state = lockState(folder);
  if (state === 'held') throw inUse(folder);
  if (state !== 'free') throw unreadable(folder, state.refused);
}

function lockState(folder: string): 'free' | 'held' | { refused: unknown } {
  const path = join(folder, LOCK_FILE);
  if (!existsSync(path)) return 'free';
  let database: DatabaseSync | undefined;
  try {
    database = openDatabase(path, { readOnly: true });
    // Reading takes a shared lock, which a writer's does not admit.
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    return 'free';
  } catch (error) {
    if (isBusy(error)) return 'held';
    if (isDatabaseError(error)) return { refused: error };
    throw error;
  } finally {
    database?.close();
  }
}

const describeSelf = () => ({ pid: process.pid, host: hostname(), since: new Date().toISOString() });

const readHolder = (folder: string): ReturnType<typeof describeSelf> =>
  JSON.parse(readFileSync(join(folder, HOLDER_FILE), 'utf8'));

/** `process 4711 on build-3, since 2025-11-20T18:41:03.000Z`. */
function describeWriter(folder: string): string {
  try {
    const { pid, host, since } = readHolder(folder);
    return `process ${pid}${host === hostname() ? '' : ` on ${host}`}, since ${since}`;
  } catch {
    return 'another process';
  }
}

const inUse = (folder: string, what: 'run' | 'journal' = 'run'): WarpsmithError =>
  new WarpsmithError({
    code: 'run-in-use',
    message: `The ${what} is being written by ${describeWriter(folder)}.`,
    file: folder,
    received: describeWriter(folder),
    expected: 'a run that nobody is writing',
    hint: 'Wait for it to end, or end it; then resume.',
  });

const unreadable = (folder: string, refused: unknown): WarpsmithError =>
  new WarpsmithError({
    code: 'unreadable-lock',
    message: `${join(folder, LOCK_FILE)} can't be read: warpsmith can't tell whether another process writes the run.`,
    file: join(folder, LOCK_FILE),
    received: messageOf(refused),
    expected: 'an empty file that this user may read',
    hint: 'Fix its permissions, or remove it if no process writes the run.',
  });
