import { realpathSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import { runProcess } from '../../process/run-process.ts';
import { sha256 } from '../../process/sha256.ts';
import { withTemporaryFolder } from '../../process/temporary-folder.ts';
import { type CudaSearch, cudaToolFolders, findCudaTool, stateOfFile, toolVersion } from '../cuda-toolkit.ts';
import { parseDependencyFile } from '../dependency-file.ts';

/** An nvcc that works, its host compiler included. */
export interface NvccCompiler {
  path: string;
  version: string;
  /** Folders of the headers that the toolkit and the host compiler bring: the only ones outside a kernel that it may read. */
  headerFolders: readonly string[];
  /** Changes whenever nvcc or one of the headers that every compile reads does. */
  fingerprint: string;
}

/** C++ headers that kernels include, by which their folders are found. */
const PROBE = `${['algorithm', 'cmath', 'cstdint', 'cstdio', 'limits', 'type_traits', 'cuda_fp16.h', 'mma.h']
  .map((name) => `#include <${name}>\n`)
  .join('')}__global__ void warpsmith_probe() {}\n`;

/**
 * Finds nvcc on the search path and in CUDA toolkits, and asks it which headers it reads.
 *
 * @throws WarpsmithError `no-nvcc` or `broken-nvcc` (exit code 3).
 */
export async function locateNvcc(search: CudaSearch = {}): Promise<NvccCompiler> {
  const path = findCudaTool('nvcc', search);
  if (path === undefined) throw missing(cudaToolFolders(search));
  const [version, headers] = await Promise.all([toolVersion(path), implicitHeaders(path)]);
  const fingerprint = sha256(JSON.stringify([path, version, ...headers.map(stateOfFile)]));
  return { path, version, headerFolders: [...new Set(headers.map((file) => dirname(file)))], fingerprint };
}

const missing = (folders: readonly string[]) =>
  new WarpsmithError(
    {
      code: 'no-nvcc',
      message: 'nvcc was not found.',
      received: `no nvcc in ${folders.join(', ')}`,
      expected: 'nvcc of CUDA 12 or newer',
      hint: 'Install the CUDA toolkit, or put nvcc on PATH or its toolkit into CUDA_HOME; or use --toolchain nvrtc or clang.',
    },
    EXIT.deviceOrToolMissing,
  );

/** Absolute paths of the headers behind PROBE. */
function implicitHeaders(nvcc: string): Promise<string[]> {
  return withTemporaryFolder(async (folder) => {
    await writeFile(join(folder, 'probe.cu'), PROBE);
    const outcome = await runProcess({
      command: nvcc,
      args: ['-M', 'probe.cu'],
      cwd: folder,
      env: nvccEnvironment(folder),
      timeoutMs: 60_000,
      maximumOutputBytes: 16 << 20,
    });
    if (outcome.end !== 'exited' || outcome.exitCode !== 0) throw broken(nvcc, outcome.stderr.trim() || outcome.end);
    const files = parseDependencyFile(outcome.stdout, folder).filter((file) => dirname(file) !== folder);
    return [...new Set(files.map((file) => realpathSync(file)))];
  });
}

const broken = (nvcc: string, reason: string) =>
  new WarpsmithError(
    {
      code: 'broken-nvcc',
      message: `nvcc does not work: ${reason.split('\n')[0]}`,
      received: nvcc,
      expected: 'an nvcc that finds its host compiler (g++) and its headers',
      hint: 'Install g++, or use --toolchain nvrtc or clang.',
    },
    EXIT.deviceOrToolMissing,
  );

/** nvcc finds its host compiler on the search path; nothing else of the caller's environment reaches it. */
export const nvccEnvironment = (folder: string): Record<string, string> => ({
  LANG: 'C.UTF-8',
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  TMPDIR: folder,
  HOME: folder,
});
