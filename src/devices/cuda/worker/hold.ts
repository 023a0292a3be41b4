import { NativeMemory, viewMemory } from '../../../ffi/native-memory.ts';
import { HOST_MEMORY_MAPPED } from '../driver/constants.ts';
import type { Driver } from '../driver/driver.ts';
import { LaunchConfig } from '../driver/structs.ts';

/**
 * A kernel of one thread that waits until the host sets a word, or a time has passed. Without it, the GPU would record the
 * first event while the host still submits work, and a sample would contain host time.
 */
const HOLD_PTX = `
.version 7.0
.target sm_70
.address_size 64
.visible .entry warpsmith_hold(.param .u64 word, .param .u64 limit_ns)
{
  .reg .pred %p<2>;
  .reg .b32 %r<1>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [word];
  ld.param.u64 %d1, [limit_ns];
  mov.u64 %d2, %globaltimer;
  add.u64 %d1, %d1, %d2;
WAIT:
  ld.volatile.u32 %r0, [%d0];
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra DONE;
  mov.u64 %d3, %globaltimer;
  setp.lt.u64 %p1, %d3, %d1;
  @%p1 bra WAIT;
DONE:
  ret;
}
.visible .entry warpsmith_empty()
{
  ret;
}
`;

/** The host needs tens of microseconds. This limit prevents an endless wait. */
const LIMIT_NS = 20_000_000n;
const WORD_BYTES = 64;

/** Holds a stream until the host has submitted everything behind it. */
export class Hold {
  readonly #driver: Driver;
  readonly #fn: bigint;
  readonly #empty: bigint;
  readonly #word: Int32Array;
  readonly #config = new LaunchConfig({ grid: [1, 1, 1], block: [1, 1, 1], dynamicSharedBytes: 0 });
  readonly #values = new NativeMemory(16);
  readonly #parameters = new NativeMemory(16);

  /** @throws CudaError */
  constructor(driver: Driver) {
    this.#driver = driver;
    const image = new TextEncoder().encode(`${HOLD_PTX}\0`);
    const module = driver.create('cuModuleLoadDataEx', image, 0, 0n, 0n);
    this.#fn = driver.create('cuModuleGetFunction', module, 'warpsmith_hold');
    this.#empty = driver.create('cuModuleGetFunction', module, 'warpsmith_empty');
    const host = driver.create('cuMemHostAlloc', WORD_BYTES, HOST_MEMORY_MAPPED);
    this.#word = new Int32Array(viewMemory(host, WORD_BYTES).buffer, 0, 1);
    this.#values.view.setBigUint64(0, driver.create('cuMemHostGetDevicePointer_v2', host, 0), true);
    this.#values.view.setBigUint64(8, LIMIT_NS, true);
    this.#parameters.view.setBigUint64(0, this.#values.address, true);
    this.#parameters.view.setBigUint64(8, this.#values.address + 8n, true);
  }

  /** Makes the stream wait for {@link open}. No earlier hold may still run. */
  close(stream: bigint): void {
    Atomics.store(this.#word, 0, 0);
    this.#driver.call('cuLaunchKernelEx', this.#config.addressFor(stream), this.#fn, this.#parameters.address, 0n);
  }

  open(): void {
    Atomics.store(this.#word, 0, 1);
  }

  /** Enqueues a kernel of one thread that does nothing. */
  enqueueEmpty(stream: bigint): void {
    this.#driver.call('cuLaunchKernelEx', this.#config.addressFor(stream), this.#empty, 0n, 0n);
  }
}
