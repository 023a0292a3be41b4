import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import { withStorageErrors } from './storage-error.ts';
import { writeWhole } from './write-whole.ts';

/**
 * Writes files into a folder of the user's. Others in it stay; one of the same name is replaced only where `owned` says
 * that an earlier call wrote the folder.
 *
 * @param option - what named the folder, for messages.
 * @throws WarpsmithError `folder-not-empty`, or when the folder can't be written.
 */
export function writeFolder(
  folder: string,
  files: Readonly<Record<string, string>>,
  { option, owned }: { option: string; owned: (names: readonly string[]) => boolean },
): string {
  const path = resolve(folder);
  const names = statSync(path, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(path) : [];
  if (names.length > 0 && !owned(names)) {
    throw new WarpsmithError(
      {
        code: 'folder-not-empty',
        message: `${path} holds other files.`,
        file: path,
        path: option,
        received: names.slice(0, 5).join(', '),
        expected: 'a folder that is new, empty, or from an earlier call',
        hint: `Choose another folder with ${option}.`,
      },
      EXIT.usage,
    );
  }
  for (const [name, contents] of Object.entries(files)) {
    const target = join(path, name);
    withStorageErrors(target, () => writeWhole(target, contents), option);
  }
  return path;
}
