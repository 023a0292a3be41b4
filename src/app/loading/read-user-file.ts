import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, relative, resolve, sep } from 'node:path';
import { WarpsmithError } from '../../core/errors.ts';
import { readRegularFile } from '../../store/read-regular-file.ts';

/** Far above any hand-written problem or kernel. */
const MAXIMUM_BYTES = 8 * 1024 * 1024;

/**
 * Requires a folder.
 *
 * @throws WarpsmithError `no-such-folder` or `not-a-folder`.
 */
export async function requireFolder(folder: string, what: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory()) return;
  throw new WarpsmithError({
    code: found ? 'not-a-folder' : 'no-such-folder',
    message: found ? `${folder} is not a folder.` : `There is no folder ${folder}.`,
    file: folder,
    received: found ? 'a file' : 'nothing there',
    expected: what,
    hint: found ? `Did you mean ${dirname(folder)}?` : 'Check the path.',
  });
}

/**
 * The bytes of a file that the user named.
 *
 * @param request.expected - what the file should contain, for messages.
 * @throws WarpsmithError `missing-file`, `not-a-file`, `file-too-large` or `unreadable-file`.
 */
export async function readUserFile(request: { file: string; expected: string; hint: string }): Promise<Buffer> {
  const { file, expected, hint } = request;
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => error);
  if (found instanceof Error) throw unreadable(found, request);
  if (!found.isFile()) {
    const message = `${file} is not a regular file.`;
    throw new WarpsmithError({
      code: 'not-a-file',
      message,
      file,
      received: 'something else',
      expected,
      hint,
    });
  }
  if (found.size > MAXIMUM_BYTES) {
    throw new WarpsmithError({
      code: 'file-too-large',
      message: `${file} is too large.`,
      file,
      received: `${found.size} bytes`,
      expected: `at most ${MAXIMUM_BYTES} bytes`,
      hint: 'Problems and kernels are small text files; is it the right one?',
    });
  }
  return await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(error, request);
  });
}

/** Its text, as {@link readUserFile} reads it. */
export const readUserText = async (request: Parameters<typeof readUserFile>[0]): Promise<string> =>
  (await readUserFile(request)).toString('utf8');

/**
 * The bytes of a file of a problem's folder that may run, or be read by what runs. As {@link readUserFile}, at once; a folder may hold
 * larger ones.
 *
 * @throws WarpsmithError `not-a-file`, `file-too-large`, `missing-file` or `unreadable-file`.
 */
export function readFolderFile(file: string): Buffer {
  const request = { file, expected: 'a regular file', hint: 'Correct the link, or remove it from the folder.' };
  try {
    return readRegularFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const refusal = code === undefined ? undefined : REFUSALS[code];
    if (!refusal) throw unreadable(error as NodeJS.ErrnoException, request);
    throw new WarpsmithError({ ...request, ...refusal, message: `${file} ${refusal.is}.`, received: code });
  }
}

const REFUSALS: Readonly<Record<string, { code: string; is: string }>> = {
  EISDIR: { code: 'not-a-file', is: 'is a folder' },
  ENOTFILE: { code: 'not-a-file', is: 'is not a regular file' },
  ETOOLARGE: { code: 'file-too-large', is: 'is too large' },
};

function unreadable(
  error: NodeJS.ErrnoException,
  { file, expected, hint }: { file: string; expected: string; hint: string },
): WarpsmithError {
  const missing = error.code === 'ENOENT' || error.code === 'ENOTDIR';
  return new WarpsmithError({
    code: missing ? 'missing-file' : 'unreadable-file',
    message: missing ? `There is no file ${file}.` : `${file} can't be read.`,
    file,
    received: missing ? 'nothing there' : (error.code ?? error.message),
    expected,
    hint: missing ? hint : 'Check the permissions of the file.',
  });
}

/** Whether `file` lies inside `folder`, after resolving symbolic links of both. @throws if one is missing. */
export async function liesInside(file: string, folder: string): Promise<boolean> {
  const path = relative(await realpath(folder), await realpath(file));
  return path !== '' && path !== '..' && !path.startsWith(`..${sep}`) && resolve(path) !== path;
}

/** Accepts `problems/attention/problem.json` for its folder. */
export const folderOf = (path: string, fileName: string): string =>
  basename(path) === fileName ? dirname(resolve(path)) : resolve(path);
