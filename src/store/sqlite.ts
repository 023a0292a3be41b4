import type { DatabaseSync, DatabaseSyncOptions } from 'node:sqlite';

/** Result codes. Source: https://www.sqlite.org/rescode.html. */
const SQLITE = { busy: 5, corrupt: 11, notADatabase: 26 } as const;

/** What the operating system refused, by what SQLite makes of it. */
const ERRNO: Readonly<Record<number, string>> = { 8: 'EROFS', 10: 'EIO', 13: 'ENOSPC', 14: 'EACCES' };

/** The primary result code is in the low byte of an extended one. */
const PRIMARY_CODE = 0xff;

const primaryCode = (error: unknown): number | undefined => {
  const { errcode } = (error ?? {}) as { errcode?: unknown };
  return typeof errcode === 'number' ? errcode & PRIMARY_CODE : undefined;
};

/** Another connection holds a lock that is in the way. */
export const isBusy = (error: unknown): boolean => primaryCode(error) === SQLITE.busy;

/** The file is no database, or is no longer one. */
export const isDamaged = (error: unknown): boolean => {
  const code = primaryCode(error);
  return code === SQLITE.corrupt || code === SQLITE.notADatabase;
};

/** Whether SQLite, or the file system below it, refused something. */
export const isDatabaseError = (error: unknown): boolean =>
  (error as { code?: unknown } | undefined)?.code === 'ERR_SQLITE_ERROR';

/** The error as the file system would have told it; anything else is returned as it came. */
export function asSystemError(error: unknown): unknown {
  const code = ERRNO[primaryCode(error) ?? -1];
  return code === undefined ? error : Object.assign(new Error(String(error)), { code, syscall: 'sqlite' });
}

let module: typeof import('node:sqlite') | undefined;

/** Loaded when first needed; early releases of Node 24 call it experimental on stderr, which is ours to write on. */
function sqlite(): typeof import('node:sqlite') {
  if (module) return module;
  const emitWarning = process.emitWarning;
  process.emitWarning = () => {};
  try {
    module = process.getBuiltinModule('node:sqlite');
  } finally {
    process.emitWarning = emitWarning;
  }
  return module;
}

/** Opens a database file; `:memory:` opens one that no file holds. */
export function openDatabase(path: string, options: DatabaseSyncOptions = {}): DatabaseSync {
  const { DatabaseSync } = sqlite();
  return new DatabaseSync(path, options);
}
