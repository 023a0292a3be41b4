import { isAbsolute, relative, resolve } from 'node:path';

/** Absolute paths of the files a compile read, from the Makefile rule that clang wrote. */
export function parseDependencyFile(text: string, workingFolder: string): string[] {
  const rule = text.replaceAll(/\\\r?\n/g, ' ');
  const prerequisites = rule.slice(rule.indexOf(':') + 1);
  const words = prerequisites.match(/(?:\\.|\$\$|[^\s\\]|\\)+/g) ?? [];
  return words.map((word) => resolve(workingFolder, word.replaceAll('$$', '$').replaceAll(/\\([ #\\])/g, '$1')));
}

/** Whether `path` is `folder` or lies below it. Both absolute. */
export function liesWithin(path: string, folder: string): boolean {
  const steps = relative(folder, path);
  return !isAbsolute(steps) && steps !== '..' && !steps.startsWith('../');
}
