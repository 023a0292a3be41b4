import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import { withStorageErrors } from './storage-error.ts';
import { writeWhole } from './write-whole.ts';

interface FolderUse {
  /** What named the folder, for messages. */
  readonly option: string;
  /** Names of an earlier call's files among the folder's contents; empty if the folder is not one of ours. */
  readonly earlier: (folder: string) => readonly string[];
}

/**
 * Refuses an unusable folder before the work whose results it should hold. Returns the earlier files.
 *
 * @throws WarpsmithError `folder-not-empty`.
 */
export function requireFreeFolder(folder: string, { option, earlier }: FolderUse): readonly string[] {
  const path = resolve(folder);
  const names = statSync(path, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(path) : [];
  const own = names.length === 0 ? [] : earlier(path);
  if (names.length > 0 && own.length === 0) throw notEmpty(path, names, option);
  return own.filter((name) => existsSync(join(path, name)));
}

/**
 * Writes files into a folder that the user chose, replacing those of an earlier call.
 *
 * @throws WarpsmithError `folder-not-empty`, or if the folder can't be written.
 */
export function writeFolder(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>>,
  use: FolderUse,
): string {
  const path = resolve(folder);
  const { option } = use;
  for (const name of requireFreeFolder(path, use)) {
    if (Object.hasOwn(files, name)) continue;
    withStorageErrors(join(path, name), () => rmSync(join(path, name), { force: true }), option);
  }
  for (const [name, contents] of Object.entries(files)) {
    const target = join(path, name);
    withStorageErrors(target, () => writeWhole(target, contents), option);
  }
  return path;
}

const MAXIMUM_SHOWN = 5;

const notEmpty = (path: string, names: readonly string[], option: string): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'folder-not-empty',
      message: `${path} holds other files.`,
      file: path,
      path: option,
      received: names.slice(0, MAXIMUM_SHOWN).join(', '),
      expected: 'a folder that is new, empty, or from an earlier call',
      hint: `Choose another folder with ${option}.`,
    },
    EXIT.usage,
  );
