import { posix } from 'node:path';

/**
 * Names source files as the user does, relative to the kernel's folder, and drops what depends on the machine, so that
 * equal inputs give equal text.
 */
export function tidyPtx(ptx: string, folders: { kernel: string }): string {
  return ptx.replaceAll(
    /^(\s*\.file\s+\d+ )(?:"([^"]*)" )?"([^"]*)"/gm,
    (_line, head: string, folder: string | undefined, name: string) => {
      const path = posix.normalize(posix.join(folder ?? '', name));
      const shown = path.startsWith(`${folders.kernel}/`)
        ? path.slice(folders.kernel.length + 1)
        : path.replace(/^kernel\//, '');
      return `${head}"${shown}"`;
    },
  );
}
