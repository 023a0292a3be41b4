import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Kernel } from '../core/kernel.ts';
import { noteUse, pruneCacheFolder, readCacheFile, writeCacheFile } from '../process/cache-file.ts';
import { filesBelow } from '../process/code-fingerprint.ts';
import { runProcess } from '../process/run-process.ts';
import { sha256 } from '../process/sha256.ts';
import { withTemporaryFolder } from '../process/temporary-folder.ts';
import type { CheckedRequest } from './check-request.ts';
import { PRELUDE, precompileArguments } from './clang-arguments.ts';
import type { CompileLimits } from './compile-stage.ts';
import { compiledFiles } from './function-symbols.ts';
import type { HeaderPack } from './header-pack.ts';
import type { ClangCompiler } from './locate-clang.ts';

/** What decides which headers can be parsed beforehand, and how. */
export interface HeaderRequest
  extends Pick<CheckedRequest, 'candidate' | 'architecture' | 'settings' | 'parameterMacros'> {
  compiler: ClangCompiler;
  headers: HeaderPack;
  limits: CompileLimits;
}

/**
 * The path of a file that holds the parsed form of the prelude, and of the headers that the kernel's first file includes at
 * its top; undefined where there is none or where the kernel could see a difference. Parsing these headers takes up to
 * 0.35 s, most of the front end's time for a usual kernel; reading the file takes a tenth of that. The code that clang
 * makes is the same to the byte.
 */
export type PrecompiledHeaders = (request: HeaderRequest, headerFolder: string) => Promise<string | undefined>;

/** A file takes 2 MB; there is one for each architecture, set of flags and list of headers. */
const MOST_BYTES_ON_DISK = 128 * 1024 ** 2;

export function openPrecompiledHeaders(cacheFolder: string | undefined): PrecompiledHeaders {
  const made = new Map<string, Promise<string | undefined>>();
  const packs = new Map<string, PackContents>();
  const contentsOf = (headers: HeaderPack): PackContents => {
    const digest = `${headers.folder} ${headers.digest()}`;
    const known = packs.get(digest) ?? readContents(headers.folder);
    packs.set(digest, known);
    return known;
  };
  return async (request, headerFolder) => {
    if (cacheFolder === undefined) return undefined;
    const includes = sharedIncludes(request, contentsOf(request.headers));
    if (includes === undefined) return undefined;
    const key = keyOf(request, headerFolder, includes);
    const path = join(cacheFolder, `${key}.pch`);
    const known = made.get(key) ?? precompiled(request, { path, headerFolder, includes, cacheFolder });
    made.set(key, known);
    return known;
  };
}

interface Place {
  readonly path: string;
  readonly headerFolder: string;
  readonly includes: readonly string[];
  readonly cacheFolder: string;
}

async function precompiled(request: HeaderRequest, place: Place): Promise<string | undefined> {
  if (!(await isWhole(place.path))) await make(request, place);
  if (!(await isWhole(place.path))) return undefined;
  noteUse(place.path);
  noteUse(checksumPath(place.path));
  return place.path;
}

const checksumPath = (path: string) => `${path}.sha256`;

async function isWhole(path: string): Promise<boolean> {
  const content = await readFile(path).catch(() => undefined);
  return content !== undefined && (await readCacheFile(checksumPath(path))) === sha256(content);
}

async function make({ compiler, architecture, settings, limits }: HeaderRequest, place: Place): Promise<void> {
  await withTemporaryFolder(async (temporary) => {
    const output = join(temporary, 'headers.pch');
    await runProcess({
      command: compiler.path,
      args: [
        ...compiler.prefix,
        ...precompileArguments(architecture, settings, { headerFolder: place.headerFolder, output }),
      ],
      // Its path becomes part of the file.
      cwd: place.headerFolder,
      env: { LANG: 'C.UTF-8', TMPDIR: temporary, HOME: temporary },
      stdin: place.includes.map((name) => `#include <${name}>\n`).join(''),
      timeoutMs: limits.timeoutMs,
      maximumOutputBytes: limits.maximumOutputBytes,
      maximumMemoryBytes: limits.maximumMemoryBytes,
    });
    const content = await readFile(output).catch(() => undefined);
    if (content === undefined) return;
    await writeCacheFile(place.path, content);
    await writeCacheFile(checksumPath(place.path), sha256(content));
    pruneCacheFolder(place.cacheFolder, MOST_BYTES_ON_DISK);
  });
}

function keyOf(request: HeaderRequest, headerFolder: string, includes: readonly string[]): string {
  const { compiler, headers, architecture, settings } = request;
  const commandLine = precompileArguments(architecture, settings, { headerFolder, output: '' });
  return sha256(JSON.stringify([includes, commandLine, headers.digest(), compiler.fingerprint]));
}

/** The headers that can be parsed before the kernel, in its order; undefined if the kernel has a say in what they are. */
function sharedIncludes(request: HeaderRequest, pack: PackContents): string[] | undefined {
  const { candidate, settings, parameterMacros } = request;
  const { kernel } = candidate;
  const hides = (file: string) => pack.files.some((name) => `/${file}`.endsWith(`/${name}`));
  const macros = [...settings.macros, ...parameterMacros];
  if (Object.keys(kernel.sources).some(hides) || !macros.every((macro) => isUnknownTo(pack, macro))) return undefined;
  return [PRELUDE, ...includesAtTop(kernel, pack)];
}

/** Headers paste identifiers together, but none of capitals other than those they also spell out. */
function isUnknownTo({ identifiers }: PackContents, macro: string): boolean {
  const name = /^-[DU](\w+)/.exec(macro)?.[1] ?? '';
  return /^[A-Z][A-Z0-9_]*$/.test(name) && !identifiers.has(name);
}

const BLANK_OR_COMMENT = /^(?:\s+|\/\/(?:[^\\\n]|\\(?!\r?\n))*|\/\*[\s\S]*?\*\/|#pragma once\b)+/;
const INCLUDE = /^#[ \t]*include[ \t]*(?:<([\w./]+)>|"([\w./]+)")(?=[ \t]*(?:\r?\n|\/\/))/;

/** What the kernel includes before anything that could change a header. */
function includesAtTop(kernel: Kernel, { files }: PackContents): string[] {
  const [first] = compiledFiles(kernel.file);
  let rest = kernel.sources[first ?? ''] ?? '';
  const names: string[] = [];
  for (;;) {
    rest = rest.replace(BLANK_OR_COMMENT, '');
    const include = INCLUDE.exec(rest);
    const name = include?.[1] ?? include?.[2];
    if (include === null || name === undefined || !files.includes(name)) return names;
    names.push(name);
    rest = rest.slice(include[0].length);
  }
}

interface PackContents {
  /** By the names that `#include` finds them by. */
  readonly files: readonly string[];
  readonly identifiers: ReadonlySet<string>;
}

function readContents(folder: string): PackContents {
  const paths = filesBelow(folder);
  const withoutComments = (text: string) => text.replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, ' ');
  const identifiers = paths.flatMap((path) => withoutComments(readFileSync(path, 'utf8')).match(/[A-Za-z_]\w*/g) ?? []);
  return { files: paths.map((path) => relative(folder, path)), identifiers: new Set(identifiers) };
}
