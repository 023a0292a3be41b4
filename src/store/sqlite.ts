import type { DatabaseSync, DatabaseSyncOptions } from 'node:sqlite';

/** Result codes. Source: https://www.sqlite.org/rescode.html. */
const SQLITE = { busy: 5, corrupt: 11, notADatabase: 26 } as const;

/** SQLite's result codes, with the system's error that causes each. */
const ERRNO: Readonly<Record<number, string>> = { 8: 'EROFS', 10: 'EIO', 13: 'ENOSPC', 14: 'EACCES' };

/** The primary result code is in the low byte of an extended one. */
const PRIMARY_CODE = 0xff;

function primaryCode(error: unknown): number | undefined {
  const { errcode } = (error ?? {}) as { errcode?: unknown };
  return typeof errcode === 'number' ? errcode & PRIMARY_CODE : undefined;
}

/** Whether another connection holds a conflicting lock. */
export const isBusy = (error: unknown): boolean => primaryCode(error) === SQLITE.busy;

/** Whether the file is no database, or a damaged one. */
export function isDamaged(error: unknown): boolean {
  const code = primaryCode(error);
  return code === SQLITE.corrupt || code === SQLITE.notADatabase;
}

/** Whether the error comes from SQLite or the file system below it. */
export const isDatabaseError = (error: unknown): boolean =>
  (error as { code?: unknown } | undefined)?.code === 'ERR_SQLITE_ERROR';

/** The error in the file system's terms; other errors are returned unchanged. */
export function asSystemError(error: unknown): unknown {
  const code = ERRNO[primaryCode(error) ?? -1];
  return code === undefined ? error : Object.assign(new Error(String(error)), { code, syscall: 'sqlite' });
}

let module: typeof import('node:sqlite') | undefined;

/**
 * Loaded when first needed. Early releases of Node 24 print on stderr that it is experimental; this suppresses that line.
 */
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

/** Opens a database file, or with `:memory:` one without a file. */
export function openDatabase(path: string, options: DatabaseSyncOptions = {}): DatabaseSync {
  const { DatabaseSync } = sqlite();
  return new DatabaseSync(path, options);
}
