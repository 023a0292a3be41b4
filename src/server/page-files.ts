import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import { packageFolder } from '../process/package-folder.ts';
import { runProcess } from '../process/run-process.ts';

/** The page's files by their names. */
export type PageFiles = ReadonlyMap<string, PageFile>;

export interface PageFile {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const FOLDER = 'dist/page';
const BUILDER = 'scripts/build-page.ts';
const LONGEST_BUILD_MS = 60_000;
const MOST_OUTPUT_BYTES = 64 * 1024;

export const pageFile = (name: string, contents: Uint8Array | string): [string, PageFile] => [
  name,
  { type: TYPES[extname(name)] ?? 'application/octet-stream', bytes: Uint8Array.from(Buffer.from(contents)) },
];

/**
 * Reads what the package ships. A checkout builds it first, because its sources may have changed.
 *
 * @throws WarpsmithError `page-not-built`.
 */
export async function readPageFiles(): Promise<PageFiles> {
  const root = packageFolder('.');
  if (existsSync(join(root, BUILDER))) await build(root);
  const folder = join(root, FOLDER);
  if (!existsSync(folder)) throw notBuilt(folder, 'no such folder');
  const names = (await readdir(folder)).filter((name) => Object.hasOwn(TYPES, extname(name)));
  return new Map(await Promise.all(names.map(async (name) => pageFile(name, await readFile(join(folder, name))))));
}

async function build(root: string): Promise<void> {
  const { end, exitCode, stderr } = await runProcess({
    command: process.execPath,
    args: [join(root, BUILDER)],
    cwd: root,
    timeoutMs: LONGEST_BUILD_MS,
    maximumOutputBytes: MOST_OUTPUT_BYTES,
  });
  if (end !== 'exited' || exitCode !== 0) throw notBuilt(join(root, FOLDER), stderr.trim() || end);
}

const notBuilt = (file: string, received: string): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'page-not-built',
      message: 'The page is missing from this installation.',
      file,
      received,
      expected: 'the page, as the package ships it',
      hint: 'In a checkout: npm ci, then npm run build:page. Elsewhere, install warpsmith again.',
    },
    EXIT.deviceOrToolMissing,
  );
