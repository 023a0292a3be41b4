import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { findExecutable, isExecutableFile } from '../process/find-executable.ts';
import { runProcess } from '../process/run-process.ts';

/** The programs of a CUDA installation that warpsmith calls. */
const CUDA_TOOLS = ['nvcc', 'ptxas', 'cuobjdump', 'nvdisasm', 'ncu', 'compute-sanitizer'] as const;
export type CudaTool = (typeof CUDA_TOOLS)[number];

/** Where to look; the defaults are this machine. */
export interface CudaSearch {
  environment?: Readonly<Record<string, string | undefined>>;
  /** Folders that hold `cuda`, `cuda-13.0`, … */
  installFolders?: readonly string[];
  /** Holds one folder per Nsight Compute version. */
  nsightComputeFolder?: string;
}

const INSTALL_FOLDERS = ['/usr/local', '/opt'];
const NSIGHT_COMPUTE_FOLDER = '/opt/nvidia/nsight-compute';

const byVersion = new Intl.Collator('en', { numeric: true });

/** What a folder holds by such names, the highest version first; nothing if it can't be read. */
export function entriesOf(folder: string, pattern: RegExp): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => pattern.test(name))
      .sort((left, right) => byVersion.compare(right, left));
  } catch {
    return [];
  }
}

/**
 * Root folders of CUDA toolkits, the preferred one first, each once: CUDA_HOME and CUDA_PATH, the toolkit of the nvcc on
 * the search path, `/usr/local/cuda`, then the highest version.
 */
export function cudaRoots(search: CudaSearch = {}): string[] {
  const environment = search.environment ?? process.env;
  const nvcc = findExecutable('nvcc', environment.PATH ?? '');
  const ofNvcc = nvcc === undefined ? [] : [dirname(dirname(realpathSync(nvcc)))];
  const installed = (search.installFolders ?? INSTALL_FOLDERS).flatMap((folder) =>
    ['cuda', ...entriesOf(folder, /^cuda-\d/)].map((name) => join(folder, name)),
  );
  // An nvcc that is a wrapper in, say, /usr/local/bin says nothing about where the toolkit is.
  const isRoot = (path: string) => existsSync(join(path, 'bin')) && existsSync(join(path, 'include'));
  const roots = [...namedRoots(environment), ...ofNvcc.filter((path) => existsSync(join(path, 'nvvm'))), ...installed];
  return [...new Set(roots.filter(isRoot).map((path) => realpathSync(path)))];
}

const namedRoots = ({ CUDA_HOME, CUDA_PATH }: NonNullable<CudaSearch['environment']>): string[] =>
  [CUDA_HOME, CUDA_PATH].filter((path) => path !== undefined).filter((path) => isAbsolute(path));

/** Every folder in which {@link findCudaTool} looks, in order: the search path, the toolkits, Nsight Compute. */
export function cudaToolFolders(search: CudaSearch = {}): string[] {
  const environment = search.environment ?? process.env;
  const onPath = (environment.PATH ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  const roots = [...namedRoots(environment), ...cudaRoots(search)];
  const nsight = search.nsightComputeFolder ?? NSIGHT_COMPUTE_FOLDER;
  return [
    ...new Set([
      ...onPath,
      ...roots.flatMap((root) => [join(root, 'bin'), join(root, 'compute-sanitizer')]),
      ...entriesOf(nsight, /^\d/).map((version) => join(nsight, version)),
    ]),
  ];
}

/** Absolute path of a program of the CUDA toolkit or of Nsight Compute; undefined if it isn't installed. */
export function findCudaTool(tool: CudaTool, search: CudaSearch = {}): string | undefined {
  return cudaToolFolders(search)
    .map((folder) => join(folder, tool))
    .find(isExecutableFile);
}

export interface FoundTool {
  tool: CudaTool;
  path: string;
  /** `unknown` when the program doesn't say. */
  version: string;
}

/** What there is of CUDA on this machine, for `doctor`. */
export interface CudaToolkit {
  /** Toolkits by preference. */
  roots: readonly string[];
  tools: readonly FoundTool[];
}

/** Asks every CUDA program that is installed for its version. */
export async function locateCudaToolkit(search: CudaSearch = {}): Promise<CudaToolkit> {
  const found = CUDA_TOOLS.flatMap((tool) => {
    const path = findCudaTool(tool, search);
    return path === undefined ? [] : [{ tool, path }];
  });
  const tools = await Promise.all(found.map(async (entry) => ({ ...entry, version: await toolVersion(entry.path) })));
  return { roots: cudaRoots(search), tools };
}

/** nvcc and its kin write `release 13.0, V13.0.88`; ncu and compute-sanitizer `Version 2025.3.1.0`. */
const VERSION = /\bV(\d+(?:\.\d+)+)|\bVersion (\d+(?:\.\d+)+)/;

/** The version that a CUDA program reports for itself. */
export async function toolVersion(path: string): Promise<string> {
  const outcome = await runProcess({
    command: path,
    args: ['--version'],
    cwd: '/',
    timeoutMs: 20_000,
    maximumOutputBytes: 1 << 20,
  });
  const match = VERSION.exec(outcome.stdout + outcome.stderr);
  return match?.[1] ?? match?.[2] ?? 'unknown';
}

/** Path, size and time of a file. */
export function stateOfFile(file: string): string {
  const { size, mtimeMs } = statSync(file);
  return `${file} ${size} ${mtimeMs}`;
}
