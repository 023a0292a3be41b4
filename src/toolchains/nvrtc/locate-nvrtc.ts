import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import { findExecutable } from '../../process/find-executable.ts';
import { runProcess } from '../../process/run-process.ts';
import { type CudaSearch, cudaRoots, entriesOf, stateOfFile } from '../cuda-toolkit.ts';

/** NVRTC and the toolkit's device headers that go with it. */
export interface NvrtcInstallation {
  /** Where the library lies. */
  path: string;
  /** In the order they are searched: `include`, and libcu++ beside it. */
  includeFolders: readonly string[];
  /** Version of the headers, e.g. `13.0`. */
  headerVersion: string;
  /** Changes whenever the library or the headers do. */
  fingerprint: string;
}

export interface NvrtcSearch extends CudaSearch {
  /** Folders with Python packages; default: those of the python3 on the search path. */
  pythonFolders?: readonly string[];
  /** Paths of libraries the loader knows; default: what `ldconfig -p` says. */
  loaderLibraries?: readonly string[];
}

const LIBRARY = /^libnvrtc\.so(?:\.\d+)*$/;
/** Where NVIDIA's Python packages keep libraries and headers: from CUDA 13 on together, before one folder a package. */
const PYTHON_LIBRARIES = ['nvidia/cu13/lib', 'nvidia/cuda_nvrtc/lib'];
const PYTHON_HEADERS = ['nvidia/cu13/include', 'nvidia/cuda_runtime/include'];

/**
 * Finds NVRTC: WARPSMITH_NVRTC (the library, or its folder), CUDA toolkits, the loader's cache, Python packages; and the
 * headers of the same toolkit, else of another one.
 *
 * @throws WarpsmithError `no-nvrtc` (exit code 3) with what was searched.
 */
export async function locateNvrtc(search: NvrtcSearch = {}): Promise<NvrtcInstallation> {
  const environment = search.environment ?? process.env;
  const roots = cudaRoots(search);
  const python = search.pythonFolders ?? (await pythonFolders(environment.PATH));
  const loader = search.loaderLibraries ?? (await loaderLibraries());
  const named = environment.WARPSMITH_NVRTC;
  const toolkits = roots.flatMap(libraryFolders);
  const packages = python.flatMap((folder) => PYTHON_LIBRARIES.map((name) => join(folder, name)));
  const libraryPath = named
    ? namedLibrary(named)
    : (firstLibrary(toolkits) ?? loader.find((path) => existsSync(path)) ?? firstLibrary(packages));
  if (libraryPath === undefined) {
    const searched = [...toolkits, 'the cache of the loader', ...packages].join(', ');
    throw missing(named ? `WARPSMITH_NVRTC=${named}, which has none` : `no libnvrtc.so in ${searched}`);
  }
  const include = headerFolders(libraryPath, roots, python).find((folder) => existsSync(join(folder, 'cuda_fp16.h')));
  if (include === undefined) throw missing(`${libraryPath}, but no folder with the toolkit's headers (cuda_fp16.h)`);
  const includeFolders = [include, join(include, 'cccl')].filter((folder) => existsSync(folder));
  return {
    path: libraryPath,
    includeFolders,
    headerVersion: headerVersion(include),
    fingerprint: [libraryPath, ...includeFolders].map(fingerprint).join('\n'),
  };
}

const missing = (received: string) =>
  new WarpsmithError(
    {
      code: 'no-nvrtc',
      message: 'NVRTC, which compiles CUDA C++ for this GPU, was not found.',
      received,
      expected: "libnvrtc.so and the toolkit's headers: CUDA 12 or newer",
      hint: 'Install the CUDA toolkit, or `pip install nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl`, or set WARPSMITH_NVRTC or CUDA_HOME; or use --toolchain nvcc or clang.',
    },
    EXIT.deviceOrToolMissing,
  );

function libraryFolders(root: string): string[] {
  const targets = join(root, 'targets');
  const ofTargets = existsSync(targets) ? readdirSync(targets).map((name) => join(targets, name, 'lib')) : [];
  return [join(root, 'lib64'), ...ofTargets];
}

/** The highest version among the libraries of a folder, links resolved. */
function libraryIn(folder: string): string | undefined {
  const [best] = entriesOf(folder, LIBRARY);
  return best === undefined ? undefined : realpathSync(join(folder, best));
}

function firstLibrary(folders: readonly string[]): string | undefined {
  for (const folder of folders) {
    const path = libraryIn(folder);
    if (path !== undefined) return path;
  }
  return undefined;
}

function namedLibrary(named: string): string | undefined {
  if (!existsSync(named)) return undefined;
  return statSync(named).isDirectory() ? libraryIn(named) : realpathSync(named);
}

/** Folders that may hold the toolkit's headers, those beside the library first. */
function headerFolders(libraryPath: string, roots: readonly string[], python: readonly string[]): string[] {
  const beside = dirname(dirname(libraryPath));
  return [
    join(beside, 'include'),
    // The library of a toolkit lies in lib64 or in targets/<platform>/lib; cuda_nvrtc's Python package has no CUDA headers.
    join(dirname(beside), 'cuda_runtime', 'include'),
    ...roots.map((root) => join(root, 'include')),
    ...python.flatMap((folder) => PYTHON_HEADERS.map((name) => join(folder, name))),
    '/usr/include',
  ];
}

/** CUDA_VERSION is 1000 × major + 10 × minor. Source: cuda.h. */
function headerVersion(include: string): string {
  for (const name of ['cuda.h', 'cuda_runtime_api.h']) {
    const path = join(include, name);
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const version = Number(/#define\s+(?:CUDA_VERSION|CUDART_VERSION)\s+(\d+)/.exec(text)?.[1]);
    if (version > 0) return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
  }
  return 'unknown';
}

/** Path, size and time of a file, or of every file directly in a folder. */
function fingerprint(path: string): string {
  if (!statSync(path).isDirectory()) return stateOfFile(path);
  return readdirSync(path)
    .sort()
    .map((name) => stateOfFile(join(path, name)))
    .join('\n');
}

async function loaderLibraries(): Promise<string[]> {
  const ldconfig = findExecutable('ldconfig', '/sbin:/usr/sbin:/usr/bin');
  if (ldconfig === undefined) return [];
  const text = await outputOf(ldconfig, ['-p']);
  return [...text.matchAll(/^\s*libnvrtc\.so\S*\s.*=> (\/.*)$/gm)].map((match) => match[1]!);
}

/** Of the python3 on the search path: there `pip install` puts NVIDIA's libraries. */
async function pythonFolders(searchPath: string | undefined): Promise<string[]> {
  const python = findExecutable('python3', searchPath ?? '');
  if (python === undefined) return [];
  const text = await outputOf(python, ['-c', 'import sys\nfor path in sys.path: print(path)']);
  return text.split('\n').filter((path) => isAbsolute(path));
}

async function outputOf(command: string, args: string[]): Promise<string> {
  const outcome = await runProcess({ command, args, cwd: '/', timeoutMs: 10_000, maximumOutputBytes: 4 << 20 });
  return outcome.end === 'exited' ? outcome.stdout : '';
}
