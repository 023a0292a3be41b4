import { join } from 'node:path';
import { WarpsmithError } from '../../../core/errors.ts';
import { NativeMemory } from '../../../ffi/native-memory.ts';
import { type NativeLibrary, openLibrary } from '../../../ffi/open-library.ts';
import { median } from '../../../stats/quantile.ts';
import { packDrawJobs } from '../harness/harness.ts';
import { type PeakMachine, SAMPLE_COUNT, WARM_UP_COUNT } from './peak-machine.ts';

/** Rows and columns of all three matrices: large enough for every GPU's best tiles. */
const EXTENT = 8192;

// Source: cublas_api.h, library_types.h.
const R_16F = 2;
const COMPUTE_32F = 68;
const OPERATION_NONE = 0;
const ALGORITHM_DEFAULT = -1;
const MAJOR_VERSIONS = [13, 12, 11];

export type MatrixPeak = { flopPerSecond: number; method: string } | { flopPerSecond?: undefined; method: string };

/**
 * fp16 matrix product with fp32 accumulation through cuBLAS, on normal random data. If cuBLAS is missing or fails, the
 * method says why.
 * @param folders further folders to search for cuBLAS, besides the loader's own.
 */
export function measureMatrixPeak(
  machine: PeakMachine,
  folders: readonly string[],
  open: typeof openCublas,
): MatrixPeak {
  let library: NativeLibrary;
  try {
    library = open(folders);
  } catch (error) {
    if (error instanceof WarpsmithError) return { method: `not measured: ${error.message}` };
    throw error;
  }
  const product = new CublasProduct(library);
  const failed = product.begin(machine.stream);
  if (failed !== undefined) return { method: `not measured: ${failed}` };
  try {
    return timeProduct(machine, product, library.path);
  } finally {
    product.end();
  }
}

/** @throws WarpsmithError `missing-library` */
export function openCublas(folders: readonly string[]): NativeLibrary {
  const files = MAJOR_VERSIONS.map((major) => `libcublas.so.${major}`);
  return openLibrary({
    what: 'cuBLAS',
    names: [...files, ...folders.flatMap((folder) => files.map((file) => join(folder, file)))],
    hint: 'It comes with the CUDA toolkit; without it the matrix peak is the datasheet’s.',
  });
}

function timeProduct(machine: PeakMachine, product: CublasProduct, path: string): MatrixPeak {
  const addresses: bigint[] = [];
  try {
    for (let i = 0; i < 3; i++) addresses.push(machine.allocate(2 * EXTENT * EXTENT));
    const [a, b, c] = addresses as [bigint, bigint, bigint];
    const rule = { kind: 'normal', mean: 0, standardDeviation: 1 } as const;
    const jobs = [a, b].map(
      (address, i) => ({ address, elementCount: EXTENT * EXTENT, dtype: 'f16', rule, key: [0x85ebca6b, i] }) as const,
    );
    machine.apply('draw', packDrawJobs(jobs));
    let status = 0;
    const multiply = () => {
      status ||= product.enqueue(a, b, c);
    };
    // cuBLAS loads its kernels at the first call, which must not happen while the stream is held for timing.
    for (let i = 0; i < WARM_UP_COUNT && status === 0; i++) {
      multiply();
      machine.synchronize();
    }
    const samples: number[] = [];
    while (samples.length < SAMPLE_COUNT && status === 0) samples.push(machine.timedNs(multiply));
    if (status !== 0) return { method: `not measured: cublasGemmEx gave status ${status} (${path})` };
    return {
      flopPerSecond: ((2 * EXTENT ** 3) / median(samples)) * 1e9,
      method: `cuBLAS fp16 in fp32, ${EXTENT}³, normal random data, median of ${SAMPLE_COUNT} (${path.split('/').at(-1)})`,
    };
  } finally {
    for (const address of addresses) machine.free(address);
  }
}

/** C = A · B by cublasGemmEx. */
class CublasProduct {
  readonly #create;
  readonly #destroy;
  readonly #setStream;
  readonly #gemm;
  readonly #handle = new NativeMemory(8);
  readonly #one = new NativeMemory(4);
  readonly #zero = new NativeMemory(4);

  /** @throws WarpsmithError `missing-symbol` */
  constructor(library: NativeLibrary) {
    this.#create = library.function('cublasCreate_v2', 'i32', ['address']);
    this.#destroy = library.function('cublasDestroy_v2', 'i32', ['address']);
    this.#setStream = library.function('cublasSetStream_v2', 'i32', ['address', 'address']);
    // handle, 2 operations, m n k, alpha, A with type and leading dimension, B, beta, C, compute type, algorithm.
    this.#gemm = library.function('cublasGemmEx', 'i32', [
      ...(['address', 'i32', 'i32', 'i32', 'i32', 'i32', 'address', 'address', 'i32', 'i32'] as const),
      ...(['address', 'i32', 'i32', 'address', 'address', 'i32', 'i32', 'i32', 'i32'] as const),
    ]);
    this.#one.view.setFloat32(0, 1, true);
    this.#zero.view.setFloat32(0, 0, true);
  }

  /** Why there is no handle; undefined when there is one. */
  begin(stream: bigint): string | undefined {
    const created = this.#create(this.#handle.address);
    if (created !== 0) return `cublasCreate gave status ${created}`;
    const set = this.#setStream(this.#handle.pointer(), stream);
    if (set === 0) return undefined;
    this.end();
    return `cublasSetStream gave status ${set}`;
  }

  /** Enqueues one product of [EXTENT, EXTENT] matrices. Returns cuBLAS's status; 0 is success. */
  enqueue(a: bigint, b: bigint, c: bigint): number {
    const [m, n, k] = [EXTENT, EXTENT, EXTENT];
    return this.#gemm(
      this.#handle.pointer(),
      ...([OPERATION_NONE, OPERATION_NONE, m, n, k, this.#one.address] as const),
      ...([a, R_16F, m, b, R_16F, k] as const),
      ...([this.#zero.address, c, R_16F, m, COMPUTE_32F, ALGORITHM_DEFAULT] as const),
    );
  }

  end(): void {
    this.#destroy(this.#handle.pointer());
  }
}
