import { pathToFileURL } from 'node:url';

/** The folder of warpsmith's code: src/, or the JavaScript built from it. */
const OWN_FOLDER = new URL('..', import.meta.url);

const isSource = import.meta.url.endsWith('.ts');

/**
 * A build of this checkout's sources, which processes and threads then start from: Node strips the types of no file, and
 * loads a few large files instead of hundreds. The tests make one. A published package is a build, and ignores it.
 */
const buildFolder = (): string | undefined => (isSource ? process.env.WARPSMITH_BUILD || undefined : undefined);

/** The folder with all that a file of {@link entryFile} imports of ours. */
export function entryFolder(): URL {
  const build = buildFolder();
  return build === undefined ? OWN_FOLDER : pathToFileURL(`${build}/src/`);
}

/**
 * What a process or a thread of ours starts with: the source itself in a checkout, the JavaScript built from it in a
 * package.
 *
 * @param source the file's URL as TypeScript.
 */
export function entryFile(source: URL): URL {
  if (isSource && buildFolder() === undefined) return source;
  const path = source.href.slice(OWN_FOLDER.href.length).replace(/\.ts$/, '.js');
  return new URL(path, entryFolder());
}
