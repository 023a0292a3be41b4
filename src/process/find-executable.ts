import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Absolute path of the first executable file called `name` on the search path, as a shell would find it. */
export function findExecutable(name: string, searchPath: string = process.env.PATH ?? ''): string | undefined {
  for (const folder of searchPath.split(delimiter)) {
    // A relative entry would make the answer depend on the current folder.
    if (!isAbsolute(folder)) continue;
    const path = join(folder, name);
    if (isExecutableFile(path)) return path;
  }
  return undefined;
}

/** Whether this process may run the file. */
export function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
