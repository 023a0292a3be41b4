import { WarpsmithError } from '../core/errors.ts';

const CAUSES: Readonly<Record<string, { what: string; hint: string }>> = {
  EACCES: { what: 'may not be used by this user', hint: 'Fix its permissions.' },
  EPERM: { what: 'may not be used by this user', hint: 'Fix its permissions.' },
  ELOOP: { what: 'is a symbolic link that leads to itself', hint: 'Correct the link.' },
  EMFILE: { what: 'needs more open files than allowed', hint: 'Raise the limit (ulimit -n).' },
  ENAMETOOLONG: { what: 'has a name that is too long', hint: 'Give a shorter path.' },
  ENOENT: { what: 'is not there', hint: 'Check the path.' },
  ENOSPC: { what: 'is on a full disk', hint: 'Free some space.' },
  ENOTDIR: { what: 'lies below something that is not a folder', hint: 'Check the path.' },
  EISDIR: { what: 'is a folder', hint: 'Name a file.' },
  EROFS: { what: 'is on a read-only file system', hint: 'Choose another place.' },
};

const MOST_SHOWN = 200;
const shortened = (text: string): string => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);

/** Turns an error of the operating system into a user's error; returns undefined for any other error. */
export function systemError(error: unknown): WarpsmithError | undefined {
  const { code, syscall, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (!(error instanceof Error) || code === undefined || syscall === undefined) return undefined;
  const cause = CAUSES[code] ?? { what: 'can’t be used', hint: 'Look up this error of the operating system.' };
  const place = path === undefined ? 'A file' : shortened(path);
  return new WarpsmithError({
    code: 'system-refused',
    message: `${place} ${cause.what} (${code}).`,
    file: path === undefined ? undefined : shortened(path),
    received: `${code} (${syscall})`,
    expected: 'a file or folder that can be used',
    hint: cause.hint,
  });
}
