import type { CompiledCode } from '../../../core/compiled-code.ts';
import type { RunOutcome } from '../../../core/device.ts';
import type { AllocationRequest, DeviceFailure } from '../../../core/device-values.ts';
import { EXIT, WarpsmithError } from '../../../core/errors.ts';
import type { LaunchPlan } from '../../../core/launch-plan.ts';
import { NativeMemory } from '../../../ffi/native-memory.ts';
import type { CodeReading } from '../../../toolchains/module-policy.ts';
import { failure } from '../../failure.ts';
import { EVENT_DEFAULT } from '../driver/constants.ts';
import { type Driver, openDriver } from '../driver/driver.ts';
import { CudaError, meaningOf } from '../driver/results.ts';
import { launchedFunctions } from '../launched-functions.ts';
import { type CudaInfo, describeDevice, uuidOf } from './device-info.ts';
import {
  enqueueSequence,
  type LaunchTarget,
  type PreparedSequence,
  prepareSequence,
  releaseSequence,
} from './launch.ts';
import { type CudaBuffer, countDamage, DeviceMemory, fillMemory } from './memory.ts';
import { type CudaModule, loadModule, unloadModule } from './module.ts';

export interface CudaContextOptions {
  readonly ordinal: number;
  /** Allocate every buffer separately with its exact size and no guard zones, for a memory checker. */
  readonly exactAllocations?: boolean;
}

/**
 * A GPU's primary context in this process, with one stream. Synchronous: every call returns when the GPU is done. After a
 * fault that destroys the context, {@link CudaContext.isLost} is true and only a new process can use the GPU again.
 */
export class CudaContext {
  readonly info: CudaInfo;
  readonly driver: Driver;
  readonly stream: bigint;
  readonly #device: number;
  readonly memory: DeviceMemory;
  readonly #start: bigint;
  readonly #end: bigint;
  readonly #modules = new Set<CudaModule>();
  #isLost = false;
  #mayKeepLines = false;

  private constructor(driver: Driver, info: CudaInfo, device: number, exactAllocations: boolean) {
    this.driver = driver;
    this.info = info;
    this.#device = device;
    this.memory = new DeviceMemory(driver, exactAllocations);
    this.stream = driver.openStream();
    this.#start = driver.create('cuEventCreate', EVENT_DEFAULT);
    this.#end = driver.create('cuEventCreate', EVENT_DEFAULT);
  }

  /** @throws WarpsmithError `missing-library`, `unknown-device`; CudaError. */
  static open(options: CudaContextOptions): CudaContext {
    const { ordinal } = options;
    const { driver, device } = findGpu(ordinal);
    driver.call('cuCtxSetCurrent', driver.create('cuDevicePrimaryCtxRetain', device));
    const info = describeDevice(driver, ordinal, device);
    return new CudaContext(driver, info, device, options.exactAllocations ?? false);
  }

  /** Whether a fault has destroyed the context. */
  get isLost(): boolean {
    return this.#isLost;
  }

  get target(): LaunchTarget {
    return { driver: this.driver, name: this.info.name, attributes: this.info.attributes };
  }

  /** @param reading of the code; absent if warpsmith wrote it itself. Forbidden code was refused earlier. */
  load(code: CompiledCode, reading?: CodeReading): { ok: true; module: CudaModule } | DeviceFailure {
    const loaded = this.guarded(() => loadModule(this.driver, code, reading));
    if (loaded.ok) {
      this.#modules.add(loaded.module);
      this.#mayKeepLines ||= reading?.keepsLines ?? false;
    }
    // An earlier fault that no call has reported yet, or a broken driver: a new process starts clean.
    else if (loaded.status === 'device-failed') this.#isLost = true;
    return loaded;
  }

  unload(module: CudaModule): void {
    if (!this.#modules.delete(module)) throw new Error('the module is not loaded');
    unloadModule(this.driver, module);
  }

  /**
   * Makes L2 lines that a launch marked as persisting like all others, while code is loaded that may mark some, and once after it: launches in
   * graphs begin 180 ns later behind what the driver does for it (docs/decisions/one-stream.md).
   */
  giveUpPersistingLines(): void {
    if (!this.#mayKeepLines) return;
    // GPUs without persisting lines have nothing to give up.
    this.driver.optional.cuCtxResetPersistingL2Cache?.();
    this.#mayKeepLines = [...this.#modules].some(({ reading }) => reading?.keepsLines);
  }

  /** @throws WarpsmithError `device-memory` when it does not fit. */
  allocate(request: AllocationRequest): CudaBuffer {
    return this.outOfMemoryAsError(request, () => this.memory.allocate(request));
  }

  free(buffer: CudaBuffer): void {
    this.memory.free(buffer);
  }

  /** @throws RangeError if the bytes do not fit into the buffer. */
  write(buffer: CudaBuffer, bytes: Uint8Array, offsetBytes = 0): void {
    this.mustBeAllocated(buffer);
    if (offsetBytes < 0 || offsetBytes + bytes.length > buffer.bytes)
      throw new RangeError(
        `${bytes.length} bytes at offset ${offsetBytes} do not fit into buffer ${buffer.name} of ${buffer.bytes} bytes`,
      );
    this.guarded(() => this.driver.copyIn(buffer.address + BigInt(offsetBytes), bytes));
  }

  fill(buffer: CudaBuffer, pattern: Uint8Array): void {
    this.mustBeAllocated(buffer);
    this.guarded(() => fillMemory(this.driver, buffer.address, buffer.bytes, pattern));
  }

  read(buffer: CudaBuffer, offsetBytes = 0, length = buffer.bytes - offsetBytes): Uint8Array {
    this.mustBeAllocated(buffer);
    const bytes = new Uint8Array(length);
    const address = buffer.address + BigInt(offsetBytes);
    this.guarded(() => this.driver.copyOut(bytes, address));
    return bytes;
  }

  /** 0 for exact allocations, which have no guard zones. */
  damagedGuardBytes(buffer: CudaBuffer): number {
    this.mustBeAllocated(buffer);
    return this.guarded(() =>
      buffer.guards.reduce((sum, { address, bytes }) => sum + countDamage(this.driver, address, bytes), 0),
    );
  }

  /**
   * Checks every step against the functions and the device, then runs the steps in order. The caller enforces the time
   * limit, because only the end of the process stops an endless kernel.
   */
  run(module: CudaModule, plan: LaunchPlan, buffers: ReadonlyMap<string, CudaBuffer>): RunOutcome {
    return this.withSequence(module, plan, buffers, (sequence) => {
      // Finishes all of the host's requests before a kernel runs.
      this.driver.call('cuCtxSynchronize');
      this.driver.call('cuEventRecord', this.#start, this.stream);
      enqueueSequence(this.driver, sequence, this.stream);
      this.driver.call('cuEventRecord', this.#end, this.stream);
      this.driver.call('cuStreamSynchronize', this.stream);
      return { ok: true, counters: [], elapsedMs: this.driver.elapsedMs(this.#start, this.#end) };
    });
  }

  /** Prepares a plan's launches, uses them and releases them. Errors become a failure value. */
  withSequence<T>(
    module: CudaModule,
    plan: LaunchPlan,
    buffers: ReadonlyMap<string, CudaBuffer>,
    use: (sequence: PreparedSequence) => T,
  ): T | DeviceFailure {
    let sequence: PreparedSequence | undefined;
    try {
      const prepared = prepareSequence(this.target, module, plan, buffers);
      if (!prepared.ok) return prepared;
      sequence = prepared.sequence;
      return use(sequence);
    } catch (error) {
      return this.failureOf(error, plan);
    } finally {
      if (sequence && !this.#isLost) {
        // A later step that was refused leaves earlier ones running.
        this.driver.result('cuStreamSynchronize', this.stream);
        releaseSequence(this.driver, sequence);
      }
    }
  }

  /** Turns a driver error during a plan's launches into a failure of the plan. Rethrows other errors. */
  failureOf(error: unknown, plan: LaunchPlan): DeviceFailure {
    if (!(error instanceof CudaError)) throw error;
    const meaning = meaningOf(error.code);
    if (meaning.sticky) this.#isLost = true;
    const names = launchedFunctions(plan);
    const functionName = error.functionName ?? (names.length === 1 ? names[0] : undefined);
    const who = functionName ?? (names.length === 0 ? 'the launch sequence' : `one of ${names.join(', ')}`);
    return failure(
      meaning.status,
      `${who} ${meaning.sentence} [${error.message}]`,
      functionName === undefined ? undefined : { functionName },
    );
  }

  /** Runs driver calls outside a plan, and records if they show that the context is lost. */
  guarded<T>(act: () => T): T {
    try {
      return act();
    } catch (error) {
      if (error instanceof CudaError && error.code !== INVALID_VALUE && meaningOf(error.code).sticky)
        this.#isLost = true;
      throw error;
    }
  }

  /** @throws WarpsmithError `device-memory` */
  outOfMemoryAsError<T>(request: { name: string; bytes: number }, allocate: () => T): T {
    try {
      return this.guarded(allocate);
    } catch (error) {
      if (error instanceof CudaError && error.code === OUT_OF_MEMORY) throw this.#isFull(request);
      throw error;
    }
  }

  /** Stops using the context. The driver frees all remaining allocations with the process. */
  close(): void {
    if (!this.#isLost) this.driver.result('cuDevicePrimaryCtxRelease_v2', this.#device);
  }

  /** @throws Error when the buffer has been freed. */
  mustBeAllocated(buffer: CudaBuffer): void {
    if (!this.memory.isAllocated(buffer)) throw new Error(`buffer ${buffer.name} is not allocated`);
  }

  #isFull({ name, bytes }: { name: string; bytes: number }): WarpsmithError {
    const [free, total] = [new NativeMemory(8), new NativeMemory(8)];
    this.driver.result('cuMemGetInfo_v2', free.address, total.address);
    return new WarpsmithError(
      {
        code: 'device-memory',
        message: `Buffer ${name} does not fit: ${free.pointer()} of ${total.pointer()} bytes of ${this.info.name} are free.`,
        received: `${bytes} bytes`,
        expected: `at most ${free.pointer()} bytes`,
        hint: 'Take a smaller workload, or end other programs that use this GPU.',
      },
      EXIT.deviceOrToolMissing,
    );
  }
}

/**
 * UUID of a GPU, read without creating a context. @throws WarpsmithError `missing-library`, `unknown-device`; CudaError.
 */
export function identifyGpu(ordinal: number): string {
  const { driver, device } = findGpu(ordinal);
  return uuidOf(driver, device);
}

function findGpu(ordinal: number): { driver: Driver; device: number } {
  const driver = openDriver();
  driver.call('cuInit', 0);
  const count = driver.integer('cuDeviceGetCount');
  if (ordinal >= count) throw unknownOrdinal(ordinal, count);
  return { driver, device: driver.integer('cuDeviceGet', ordinal) };
}

const INVALID_VALUE = 1;
const OUT_OF_MEMORY = 2;

const unknownOrdinal = (ordinal: number, count: number): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'unknown-device',
      message: `There is no device cuda:${ordinal}: the driver shows ${count} GPU${count === 1 ? '' : 's'}.`,
      received: `cuda:${ordinal}`,
      expected: count === 0 ? 'a GPU' : `cuda:0 … cuda:${count - 1}`,
      hint: 'CUDA_VISIBLE_DEVICES hides GPUs from the driver; warpsmith devices lists the visible ones.',
    },
    EXIT.deviceOrToolMissing,
  );
