import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findExecutable } from '../../../src/process/find-executable.ts';

const STUBS = fileURLToPath(new URL('../stub-cuda', import.meta.url));

/** Where tests say that they were left out. */
export const hostCompiler = findExecutable('g++');
export const nvcc = findExecutable('nvcc');

/** What a tool printed, or what it complained of. */
export interface ToolOutcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

export const runTool = (command: string, args: readonly string[], cwd: string, input = ''): ToolOutcome => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, input, encoding: 'utf8', timeout: 120_000 });
  return { code: status, stdout, stderr };
};

/** Writes files into a temporary folder, hands it on, and removes it. */
export function inFolder<T>(files: Readonly<Record<string, string | Uint8Array>>, work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-handover-'));
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Compiles `main.cpp` and what it includes as strict C++ against a stub of the CUDA runtime, runs it, and returns what it
 * printed.
 */
export const runHostProgram = (
  files: Readonly<Record<string, string>>,
  { input = '', standard = 'c++11' }: { input?: string; standard?: string } = {},
): string =>
  inFolder(files, (folder) => {
    const flags = [`-std=${standard}`, '-O0', '-Wall', '-Wextra', '-Werror', '-I', STUBS];
    const compiled = runTool(hostCompiler!, [...flags, 'main.cpp', '-o', 'main'], folder);
    if (compiled.code !== 0) throw new Error(compiled.stderr);
    const { code, stdout, stderr } = runTool(join(folder, 'main'), [], folder, input);
    if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`);
    return stdout;
  });

/** Definitions of the stub's functions for programs that only plan. */
export const STUB_DEFINITIONS = `
const char* cudaGetErrorString(cudaError_t) { return "error"; }
cudaError_t cudaGetDevice(int* ordinal) { *ordinal = 0; return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount ? 58 : 101376;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  attributes->maxDynamicSharedSizeBytes = 49152;
  attributes->preferredShmemCarveout = -1;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute attribute, int value) {
  std::printf("attribute %d %d\\n", static_cast<int>(attribute), value);
  return cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void*, void**) {
  std::printf("launch %u x %u x %u, %u attributes\\n", config->gridDim.x, config->gridDim.y, config->gridDim.z,
              config->numAttrs);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void*, int byte_value, std::size_t bytes, cudaStream_t) {
  std::printf("memset %d %zu\\n", byte_value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void*, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  std::printf("copy %zu", bytes);
  for (std::size_t i = 0; kind == cudaMemcpyHostToDevice && i < bytes; ++i)
    std::printf("%s%02x", i == 0 ? " " : "", static_cast<const unsigned char*>(from)[i]);
  std::printf("\\n");
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* count, const void*, int threads, std::size_t) {
  *count = 1536 / threads;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void**, unsigned int, unsigned long long,
                                             cudaDriverEntryPointQueryResult*) {
  return cudaErrorInvalidValue;
}
`;
