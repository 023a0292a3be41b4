import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { NativeMemory, textAt, textOf } from '../../ffi/native-memory.ts';
import { type NativeLibrary, openLibrary } from '../../ffi/open-library.ts';
import type { NvrtcDescription, NvrtcOutcome, NvrtcProgram } from './protocol.ts';

/** nvrtcResult. Source: nvrtc.h. */
const SUCCESS = 0;
const OUT_OF_MEMORY = 1;
const INTERNAL_ERROR = 11;
const COMPILATION = 6;
const RESULT_NAMES: Readonly<Record<number, string>> = {
  [OUT_OF_MEMORY]: 'out of memory',
  2: 'program creation failure',
  3: 'invalid input',
  4: 'invalid program',
  5: 'invalid option',
  [COMPILATION]: 'compilation',
  7: 'builtin operation failure',
  [INTERNAL_ERROR]: 'internal error',
};

const HINT = 'Install the CUDA toolkit, or `pip install nvidia-cuda-nvrtc`, or name the library in WARPSMITH_NVRTC.';

/** NVRTC in this process. It blocks while it compiles and may crash: only the NVRTC process loads it. */
export interface NvrtcLibrary {
  describe(): NvrtcDescription;
  compile(program: NvrtcProgram): NvrtcOutcome;
}

/** @throws WarpsmithError `missing-library` or `missing-symbol`. */
export function openNvrtc(path: string): NvrtcLibrary {
  loadBuiltins(dirname(path));
  const api = bind(openLibrary({ what: 'NVRTC', names: [path], hint: HINT }));
  return { describe: () => describe(api), compile: (program) => compile(api, program) };
}

/** NVRTC opens its built-ins by name alone: found when they are loaded already, wherever they lie. */
function loadBuiltins(folder: string): void {
  const names = readdirSync(folder).filter((name) => /^libnvrtc-builtins\.so\.\d+(?:\.\d+)?$/.test(name));
  if (names.length === 0) return;
  openLibrary({ what: "NVRTC's built-ins", names: names.map((name) => join(folder, name)), hint: HINT });
}

type Api = ReturnType<typeof bind>;

/** Signatures. Source: nvrtc.h. An nvrtcProgram is an opaque pointer. */
function bind(library: NativeLibrary) {
  return {
    version: library.function('nvrtcVersion', 'i32', ['address', 'address']),
    architectureCount: library.function('nvrtcGetNumSupportedArchs', 'i32', ['address']),
    architectures: library.function('nvrtcGetSupportedArchs', 'i32', ['address']),
    create: library.function('nvrtcCreateProgram', 'i32', ['address', 'text', 'text', 'i32', 'address', 'address']),
    destroy: library.function('nvrtcDestroyProgram', 'i32', ['address']),
    compile: library.function('nvrtcCompileProgram', 'i32', ['address', 'i32', 'address']),
    addName: library.function('nvrtcAddNameExpression', 'i32', ['address', 'text']),
    loweredName: library.function('nvrtcGetLoweredName', 'i32', ['address', 'text', 'address']),
    cubinBytes: library.function('nvrtcGetCUBINSize', 'i32', ['address', 'address']),
    cubin: library.function('nvrtcGetCUBIN', 'i32', ['address', 'bytes']),
    ptxBytes: library.function('nvrtcGetPTXSize', 'i32', ['address', 'address']),
    ptx: library.function('nvrtcGetPTX', 'i32', ['address', 'bytes']),
    logBytes: library.function('nvrtcGetProgramLogSize', 'i32', ['address', 'address']),
    log: library.function('nvrtcGetProgramLog', 'i32', ['address', 'bytes']),
  };
}

function must(code: number, what: string): void {
  if (code !== SUCCESS) throw new Error(`${what}: ${RESULT_NAMES[code] ?? `result ${code}`}`);
}

function describe(api: Api): NvrtcDescription {
  const numbers = new NativeMemory(8);
  must(api.version(numbers.address, numbers.address + 4n), 'nvrtcVersion');
  const version = `${numbers.view.getInt32(0, true)}.${numbers.view.getInt32(4, true)}`;
  must(api.architectureCount(numbers.address), 'nvrtcGetNumSupportedArchs');
  const count = numbers.view.getInt32(0, true);
  const list = new NativeMemory(4 * count);
  must(api.architectures(list.address), 'nvrtcGetSupportedArchs');
  const computeCapabilities = Array.from({ length: count }, (_, index) => list.view.getInt32(4 * index, true));
  return { version, computeCapabilities };
}

/** A `const char* const*`; keep it referenced while it is used. */
class TextArray {
  readonly #pointers: NativeMemory;
  readonly #texts: NativeMemory;

  constructor(texts: readonly string[]) {
    const encoded = texts.map((text) => new TextEncoder().encode(`${text}\0`));
    this.#pointers = new NativeMemory(8 * texts.length);
    this.#texts = new NativeMemory(encoded.reduce((sum, bytes) => sum + bytes.length, 0));
    let offset = 0;
    for (const [index, bytes] of encoded.entries()) {
      this.#texts.bytes.set(bytes, offset);
      this.#pointers.view.setBigUint64(8 * index, this.#texts.address + BigInt(offset), true);
      offset += bytes.length;
    }
  }

  get address(): bigint {
    return this.#pointers.address;
  }
}

function compile(api: Api, program: NvrtcProgram): NvrtcOutcome {
  const handle = new NativeMemory(8);
  const texts = new TextArray(program.headers.map(([, text]) => text));
  const names = new TextArray(program.headers.map(([name]) => name));
  const count = program.headers.length;
  must(
    api.create(handle.address, program.unit, program.unitName, count, texts.address, names.address),
    'nvrtcCreateProgram',
  );
  try {
    return compileProgram(api, handle.pointer(), program);
  } finally {
    api.destroy(handle.address);
  }
}

function compileProgram(api: Api, program: bigint, { options, functions }: NvrtcProgram): NvrtcOutcome {
  for (const name of functions) must(api.addName(program, name), 'nvrtcAddNameExpression');
  const list = new TextArray(options);
  const code = api.compile(program, options.length, list.address);
  const log = textOf(readSized(program, api.logBytes, api.log));
  if (code !== SUCCESS) return { ok: false, code: RESULT_NAMES[code] ?? `result ${code}`, log };
  const symbols = Object.fromEntries(functions.map((name) => [name, loweredName(api, program, name)]));
  const cubin = readSized(program, api.cubinBytes, api.cubin);
  return { ok: true, cubin, ptx: textOf(readSized(program, api.ptxBytes, api.ptx)), symbols, log };
}

function loweredName(api: Api, program: bigint, name: string): string {
  const pointer = new NativeMemory(8);
  must(api.loweredName(program, name, pointer.address), 'nvrtcGetLoweredName');
  return textAt(pointer.pointer()) ?? name;
}

/** A result that NVRTC first tells the size of. */
function readSized(program: bigint, sizeOf: Api['logBytes'], read: Api['log']): Uint8Array {
  const size = new NativeMemory(8);
  must(sizeOf(program, size.address), 'size of a result');
  const bytes = new Uint8Array(Number(size.view.getBigUint64(0, true)));
  if (bytes.length > 0) must(read(program, bytes), 'a result');
  return bytes;
}
