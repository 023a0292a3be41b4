import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIBRARY_VARIABLE } from '../../../src/devices/cuda/driver/driver.ts';
import { gpuLockPath } from '../../../src/devices/cuda/open-cuda-device.ts';
import { findExecutable } from '../../../src/process/find-executable.ts';
import { npmBinaryPath } from '../../../src/toolchains/locate-clang.ts';

/** Compiles a C file to a shared library that takes what it lacks from the process: with npm's clang, or the system's. */
function builder(): ((source: string, flags: readonly string[], library: string) => void) | undefined {
  const run = (command: string, args: readonly string[]) => execFileSync(command, args, { stdio: 'pipe' });
  const npm = npmBinaryPath();
  if (npm !== undefined)
    return (source, flags, library) => {
      run(npm, ['clang', '-c', '-fPIC', '-nostdinc', ...flags, source, '-o', `${library}.o`]);
      run(npm, ['ld.lld', '-shared', `${library}.o`, '-o', library]);
    };
  const system = findExecutable('cc') ?? findExecutable('gcc') ?? findExecutable('clang');
  if (system === undefined) return undefined;
  return (source, flags, library) => run(system, ['-shared', '-fPIC', ...flags, source, '-o', library]);
}

/** Why the stub cannot be built here; undefined when it can. */
export const noStub = builder() === undefined ? 'no C compiler' : undefined;

/** The stub driver, compiled for one test file: no two share its log or its GPU. */
export interface StubCuda {
  /** What the driver was told, a line each, since the last call. */
  log(): string[];
  close(): void;
}

let stubs = 0;

/** Compiles the stub and makes this process and its workers use it. */
export function useStubCuda(): StubCuda {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-stub-'));
  const [library, log] = [join(folder, 'libcuda.so.1'), join(folder, 'log')];
  const uuidWord = (process.pid * 16 + stubs++) >>> 0;
  const flags = ['-O1', '-w', `-DLOG_PATH="${log}"`, `-DUUID_WORD=${uuidWord}u`];
  builder()!(join(import.meta.dirname, 'stub.c'), flags, library);
  const before = process.env[LIBRARY_VARIABLE];
  process.env[LIBRARY_VARIABLE] = library;
  return {
    log() {
      if (!existsSync(log)) return [];
      const lines = readFileSync(log, 'utf8').trim().split('\n');
      writeFileSync(log, '');
      return lines;
    },
    close() {
      if (before === undefined) delete process.env[LIBRARY_VARIABLE];
      else process.env[LIBRARY_VARIABLE] = before;
      rmSync(folder, { recursive: true, force: true });
      const uuid = `GPU-${uuidWord.toString(16).padStart(8, '0')}-0405-0607-0809-0a0b0c0d0e0f`;
      rmSync(gpuLockPath(uuid), { force: true });
    },
  };
}

/** Entries the stub knows by name; their parameters are what the driver reports. */
export const STUB_PTX = `.version 8.4
.target sm_90
.address_size 64
.visible .entry add_one(.param .u64 in, .param .u64 out, .param .u32 n) { ret; }
.visible .entry dump(.param .u64 out, .param .align 8 .b8 value[16]) { ret; }
.visible .entry dump_map(.param .u64 out, .param .align 64 .b8 map[128]) { ret; }
.visible .entry dump_small(.param .u64 out, .param .u8 value) { ret; }
.visible .entry follow(.param .u64 pointers, .param .u64 out) { ret; }
.visible .entry read_pointer(.param .u64 pointers, .param .u64 out) { ret; }
.visible .entry overrun(.param .u64 out, .param .u32 at) { ret; }
.visible .entry small_block(.param .u64 out) .maxntid 64, 1, 1 { ret; }
.visible .entry hang() { ret; }
.visible .entry crash() { ret; }
.visible .entry illegal() { ret; }
.visible .entry misaligned() { ret; }
.visible .entry trap() { ret; }
.visible .entry refused() { ret; }
`;

/** A module with a variable, which `count_calls` counts up. */
export const STUB_PTX_WITH_STATE = `.version 8.4
.target sm_90
.address_size 64
.visible .global .align 4 .u32 calls;
.visible .entry count_calls(.param .u64 out) { .reg .u32 %r<2>; atom.global.add.u32 %r0, [calls], 1; ret; }
`;

/** The same with another variable, which the driver does not know by its name. */
export const STUB_PTX_WITH_HIDDEN_STATE = STUB_PTX_WITH_STATE.replace(
  '.visible .entry',
  '.global .align 4 .u32 hidden;\n.visible .entry',
);
