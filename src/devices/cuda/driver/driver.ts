import { Tally } from '../../../core/device-tally.ts';
import { NativeMemory, textAt, textOf } from '../../../ffi/native-memory.ts';
import { type ArgumentType, type NativeLibrary, openLibrary } from '../../../ffi/open-library.ts';
import { STREAM_NON_BLOCKING } from './constants.ts';
import { CudaError } from './results.ts';

/** Signatures of the driver functions: every handle, device pointer and out-parameter is an address. */
const FUNCTIONS = {
  cuInit: ['u32'],
  cuDriverGetVersion: ['address'],
  cuDeviceGetCount: ['address'],
  cuDeviceGet: ['address', 'i32'],
  cuDeviceGetName: ['address', 'i32', 'i32'],
  cuDeviceGetUuid_v2: ['address', 'i32'],
  cuDeviceTotalMem_v2: ['address', 'i32'],
  cuDeviceGetAttribute: ['address', 'i32', 'i32'],
  cuDevicePrimaryCtxRetain: ['address', 'i32'],
  cuDevicePrimaryCtxRelease_v2: ['i32'],
  cuCtxSetCurrent: ['address'],
  cuCtxSynchronize: [],
  cuMemGetInfo_v2: ['address', 'address'],
  cuMemAlloc_v2: ['address', 'u64'],
  cuMemFree_v2: ['address'],
  cuMemHostAlloc: ['address', 'u64', 'u32'],
  cuMemHostGetDevicePointer_v2: ['address', 'address', 'u32'],
  cuMemFreeHost: ['address'],
  cuMemcpyHtoDAsync_v2: ['address', 'bytes', 'u64', 'address'],
  cuMemcpyDtoHAsync_v2: ['bytes', 'address', 'u64', 'address'],
  cuMemcpyDtoDAsync_v2: ['address', 'address', 'u64', 'address'],
  cuMemsetD8Async: ['address', 'u32', 'u64', 'address'],
  cuMemsetD16Async: ['address', 'u32', 'u64', 'address'],
  cuMemsetD32Async: ['address', 'u32', 'u64', 'address'],
  cuModuleLoadDataEx: ['address', 'bytes', 'u32', 'address', 'address'],
  cuModuleUnload: ['address'],
  cuModuleGetFunction: ['address', 'address', 'text'],
  cuModuleGetGlobal_v2: ['address', 'address', 'address', 'text'],
  cuFuncGetAttribute: ['address', 'i32', 'address'],
  cuFuncSetAttribute: ['address', 'i32', 'i32'],
  cuOccupancyMaxActiveBlocksPerMultiprocessor: ['address', 'address', 'i32', 'u64'],
  cuLaunchKernelEx: ['address', 'address', 'address', 'address'],
  cuStreamCreate: ['address', 'u32'],
  cuStreamSynchronize: ['address'],
  cuStreamBeginCapture_v2: ['address', 'i32'],
  cuStreamEndCapture: ['address', 'address'],
  cuGraphInstantiateWithFlags: ['address', 'address', 'u64'],
  cuGraphUpload: ['address', 'address'],
  cuGraphLaunch: ['address', 'address'],
  cuGraphExecDestroy: ['address'],
  cuGraphDestroy: ['address'],
  cuEventCreate: ['address', 'u32'],
  cuEventRecord: ['address', 'address'],
  cuEventSynchronize: ['address'],
} as const satisfies Record<string, readonly ArgumentType[]>;

/** Functions that older drivers or older GPUs do without. */
const OPTIONAL_FUNCTIONS = {
  cuEventElapsedTime_v2: ['address', 'address', 'address'],
  cuEventElapsedTime: ['address', 'address', 'address'],
  cuFuncGetParamInfo: ['address', 'u64', 'address', 'address'],
  cuOccupancyMaxActiveClusters: ['address', 'address', 'address'],
  cuCtxResetPersistingL2Cache: [],
  cuTensorMapEncodeTiled: [
    'address',
    'i32',
    'u32',
    'address',
    'address',
    'address',
    'address',
    'address',
    'i32',
    'i32',
    'i32',
    'i32',
  ],
} as const satisfies Record<string, readonly ArgumentType[]>;

type Value<T extends ArgumentType> = T extends 'address'
  ? bigint
  : T extends 'bytes'
    ? Uint8Array
    : T extends 'text'
      ? string
      : T extends 'u64'
        ? number | bigint
        : number;
type Values<A extends readonly ArgumentType[]> = { -readonly [I in keyof A]: Value<A[I] & ArgumentType> };
type Functions = typeof FUNCTIONS;
type OptionalFunctions = typeof OPTIONAL_FUNCTIONS;
type Binding<A extends readonly ArgumentType[]> = (...values: Values<A>) => number;

/** Parameters that say how many bytes are moved or allocated. */
const BYTES_AT: { readonly [F in keyof Functions]?: number } = {
  cuMemAlloc_v2: 1,
  cuMemcpyHtoDAsync_v2: 2,
  cuMemcpyDtoHAsync_v2: 2,
  cuMemcpyDtoDAsync_v2: 2,
};

/** What sets device memory, by the bytes of a unit. */
const MEMSET = { 1: 'cuMemsetD8Async', 2: 'cuMemsetD16Async', 4: 'cuMemsetD32Async' } as const;
export type MemsetWidth = keyof typeof MEMSET;
export const isMemsetWidth = (bytes: number): bytes is MemsetWidth => bytes in MEMSET;

/** Environment variable that names another driver library. */
export const LIBRARY_VARIABLE = 'WARPSMITH_LIBCUDA';

/** The driver API: every function as it is in C, and {@link Driver.call} that throws on failure. */
export class Driver {
  readonly #functions: { readonly [F in keyof Functions]: Binding<Functions[F]> };
  readonly optional: { readonly [F in keyof OptionalFunctions]: Binding<OptionalFunctions[F]> | undefined };
  readonly #errorName: (code: number, out: bigint) => number;
  readonly #errorText: (code: number, out: bigint) => number;
  readonly #out = new NativeMemory(16);
  readonly #library: NativeLibrary;
  #stream = 0n;
  /** Every call but those of optional functions. */
  readonly tally = new Tally();

  constructor(library: NativeLibrary) {
    this.#library = library;
    this.#functions = Object.fromEntries(
      Object.entries(FUNCTIONS).map(([name, parameters]) => [name, library.function(name, 'i32', parameters)]),
    ) as never;
    this.optional = Object.fromEntries(
      Object.entries(OPTIONAL_FUNCTIONS).map(([name, parameters]) => [
        name,
        library.optionalFunction(name, 'i32', parameters),
      ]),
    ) as never;
    this.#errorName = library.function('cuGetErrorName', 'i32', ['i32', 'address']);
    this.#errorText = library.function('cuGetErrorString', 'i32', ['i32', 'address']);
  }

  /** @throws CudaError */
  call<F extends keyof Functions>(name: F, ...values: Values<Functions[F]>): void {
    const code = this.result(name, ...values);
    if (code !== 0) throw this.error(name, code);
  }

  /** The function's CUresult. */
  result<F extends keyof Functions>(name: F, ...values: Values<Functions[F]>): number {
    const startMs = performance.now();
    const code = (this.#functions[name] as (...list: readonly unknown[]) => number)(...values);
    const bytesAt = BYTES_AT[name];
    this.tally.add(name, performance.now() - startMs, bytesAt === undefined ? undefined : Number(values[bytesAt]));
    return code;
  }

  /** The handle or pointer that a function whose first parameter is an out-parameter gives. @throws CudaError */
  create<F extends CreatorName>(name: F, ...rest: Values<Tail<Functions[F]>>): bigint {
    const out = new NativeMemory(8);
    this.call(name, ...([out.address, ...rest] as never));
    return out.pointer();
  }

  /** The 32-bit integer that such a function gives. @throws CudaError */
  integer<F extends CreatorName>(name: F, ...rest: Values<Tail<Functions[F]>>): number {
    const out = new NativeMemory(8);
    this.call(name, ...([out.address, ...rest] as never));
    return out.view.getInt32(0, true);
  }

  /**
   * Creates the one stream of this process, in the current context. Whatever is copied and set waits its turn there. A kernel on another
   * stream, such as the driver's own that sets memory on the default stream, leaves the GPU in a state in which each launch of a graph
   * begins 150 to 180 ns later (docs/decisions/one-stream.md).
   *
   * @throws CudaError
   */
  openStream(): bigint {
    this.#stream = this.create('cuStreamCreate', STREAM_NON_BLOCKING);
    return this.#stream;
  }

  /** Copies to the device, and returns when the bytes are there. @throws CudaError */
  copyIn(to: bigint, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.call('cuMemcpyHtoDAsync_v2', to, bytes, bytes.length, this.#stream);
    this.call('cuStreamSynchronize', this.#stream);
  }

  /** Copies from the device, and returns when the bytes are here. @throws CudaError */
  copyOut(bytes: Uint8Array, from: bigint): void {
    if (bytes.length === 0) return;
    this.call('cuMemcpyDtoHAsync_v2', bytes, from, bytes.length, this.#stream);
    this.call('cuStreamSynchronize', this.#stream);
  }

  /** Enqueues a copy within the device. @throws CudaError */
  enqueueCopy(to: bigint, from: bigint, bytes: number | bigint): void {
    this.call('cuMemcpyDtoDAsync_v2', to, from, bytes, this.#stream);
  }

  /** Enqueues setting so many units of device memory. @throws CudaError */
  enqueueSet(to: bigint, width: MemsetWidth, value: number, count: number): void {
    this.call(MEMSET[width], to, value, count, this.#stream);
  }

  /** Milliseconds between two recorded events. @throws CudaError */
  elapsedMs(start: bigint, end: bigint): number {
    const elapsed = this.optional.cuEventElapsedTime_v2 ?? this.optional.cuEventElapsedTime;
    if (!elapsed) throw new Error(`${this.#library.path} has no cuEventElapsedTime`);
    const out = new NativeMemory(4);
    const code = elapsed(out.address, start, end);
    if (code !== 0) throw this.error('cuEventElapsedTime', code);
    return out.view.getFloat32(0, true);
  }

  error(call: string, code: number): CudaError {
    return new CudaError(
      call,
      code,
      this.#text(this.#errorName, code) ?? 'CUDA_ERROR',
      this.#text(this.#errorText, code) ?? 'no description',
    );
  }

  #text(describe: (code: number, out: bigint) => number, code: number): string | undefined {
    if (describe(code, this.#out.address) !== 0) return undefined;
    return textAt(this.#out.pointer());
  }
}

type Tail<A extends readonly unknown[]> = A extends readonly [unknown, ...infer R]
  ? R extends readonly ArgumentType[]
    ? R
    : never
  : never;
/** Functions whose first parameter is an out-parameter. */
type CreatorName = {
  [F in keyof Functions]: Functions[F] extends readonly ['address', ...(readonly ArgumentType[])] ? F : never;
}[keyof Functions];

/**
 * Loads the NVIDIA driver's library.
 * @throws WarpsmithError `missing-library`.
 */
export function openDriver(): Driver {
  const override = process.env[LIBRARY_VARIABLE];
  return new Driver(
    openLibrary({
      what: 'the NVIDIA driver',
      names: override ? [override] : ['libcuda.so.1', 'libcuda.so'],
      hint: `Install the NVIDIA driver, or name its library in ${LIBRARY_VARIABLE}. Without a GPU, use --device virtual:l4.`,
    }),
  );
}

/** Text that a function writes into a buffer. */
export function textFrom(sizeBytes: number, write: (address: bigint) => void): string {
  const memory = new NativeMemory(sizeBytes);
  write(memory.address);
  return textOf(memory.bytes);
}
