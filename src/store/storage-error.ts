import { EXIT, WarpsmithError } from '../core/errors.ts';

const CAUSES: Readonly<Record<string, { code: string; what: string; hint: string }>> = {
  EROFS: {
    code: 'store-read-only',
    what: 'is on a read-only file system',
    hint: 'Choose another place with --store.',
  },
  EACCES: {
    code: 'store-not-writable',
    what: 'may not be written by this user',
    hint: 'Fix its permissions, or choose another place with --store.',
  },
  EPERM: {
    code: 'store-not-writable',
    what: 'may not be written by this user',
    hint: 'Fix its permissions, or choose another place with --store.',
  },
  ENOSPC: {
    code: 'store-full',
    what: 'is on a full disk',
    hint: 'Free some space, or choose another place with --store.',
  },
  EDQUOT: {
    code: 'store-full',
    what: 'is over its disk quota',
    hint: 'Free some space, or choose another place with --store.',
  },
  EFBIG: {
    code: 'store-full',
    what: 'is over the limit on the size of files',
    hint: 'Raise the limit (ulimit -f), or choose another place with --store.',
  },
  ENOTDIR: {
    code: 'store-not-a-folder',
    what: 'lies below something that is not a folder',
    hint: 'Choose another place with --store.',
  },
  EEXIST: {
    code: 'store-not-a-folder',
    what: 'is in the way: it exists and is not a folder',
    hint: 'Choose another place with --store.',
  },
};

const OTHER_CAUSE = {
  code: 'store-not-writable',
  what: 'refuses to be written',
  hint: 'Choose another place with --store.',
};

/**
 * Turns a failed write below `place` into an error for the user. Returns errors that come from no system call unchanged.
 * `option` is the option that chose the place.
 */
export function storageError(error: unknown, place: string, option = '--store'): unknown {
  const { code: errno, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (errno === undefined || (syscall === undefined && !(errno in CAUSES))) return error;
  const cause = CAUSES[errno] ?? OTHER_CAUSE;
  return new WarpsmithError(
    {
      code: cause.code,
      message: `Results cannot be written: ${place} ${cause.what} (${errno}).`,
      file: place,
      received: errno,
      expected: 'a folder that can be written',
      hint: cause.hint.replace('--store', option),
    },
    EXIT.usage,
  );
}

/** Runs `write`, translating what the file system refuses. */
export function withStorageErrors<T>(place: string, write: () => T, option?: string): T {
  try {
    return write();
  } catch (error) {
    throw storageError(error, place, option);
  }
}
