import type { AllocationRequest, DeviceBuffer } from '../../../core/device-values.ts';
import { type Driver, isMemsetWidth } from '../driver/driver.ts';

/** Bytes on both sides of a buffer that no access may touch. */
export const GUARD_BYTES = 1024;
export const GUARD_VALUE = 0xa5;
/** Buffers start at multiples of this, unless they request more, or only their minimum. */
const GRANULE_BYTES = 256;

/** A buffer in device memory. */
export interface CudaBuffer extends DeviceBuffer {
  readonly address: bigint;
  /** Addresses of its two guard zones; none for exact allocations. */
  readonly guards: readonly { address: bigint; bytes: number }[];
}

const roundUp = (value: bigint, multiple: bigint): bigint => ((value + multiple - 1n) / multiple) * multiple;

/** Where a buffer may start at or after an address. */
export function alignedStart(earliest: bigint, { alignmentBytes, minimumAlignment }: AllocationRequest): bigint {
  const alignment = BigInt(alignmentBytes);
  if (!minimumAlignment) return roundUp(earliest, BigInt(Math.max(alignmentBytes, GRANULE_BYTES)));
  const start = roundUp(earliest, alignment);
  return start % (2n * alignment) === 0n ? start + alignment : start;
}

/** Allocations of a context: separate ones between guard zones, or ones of exact size for a memory checker. */
export class DeviceMemory {
  readonly #driver: Driver;
  readonly #exact: boolean;
  /** Buffer → what the driver allocated for it. */
  readonly #bases = new Map<CudaBuffer, bigint>();
  /** Buffers inside larger allocations. */
  readonly #adopted = new Set<CudaBuffer>();

  constructor(driver: Driver, exact: boolean) {
    this.#driver = driver;
    this.#exact = exact;
  }

  /** @throws CudaError when the GPU is out of memory. */
  allocate(request: AllocationRequest): CudaBuffer {
    const { name, bytes, alignmentBytes } = request;
    const guardBytes = this.#exact ? 0 : GUARD_BYTES;
    // The driver aligns to at least 256 bytes. An exact buffer gets extra room in front only if it must be moved.
    const slack = this.#exact
      ? request.minimumAlignment || alignmentBytes > GRANULE_BYTES
        ? 2 * alignmentBytes
        : 0
      : 2 * Math.max(alignmentBytes, GRANULE_BYTES);
    const base = this.#driver.create('cuMemAlloc_v2', Math.max(1, bytes + 2 * guardBytes + slack));
    const address = this.#exact ? exactStart(base, slack, request) : alignedStart(base + BigInt(guardBytes), request);
    const buffer = makeBuffer(name, bytes, address, guardBytes);
    this.#bases.set(buffer, base);
    for (const guard of buffer.guards) this.#driver.enqueueSet(guard.address, 1, GUARD_VALUE, guard.bytes);
    return buffer;
  }

  free(buffer: CudaBuffer): void {
    const base = this.#bases.get(buffer);
    if (base === undefined) throw new Error(`buffer ${buffer.name} is not allocated`);
    this.#bases.delete(buffer);
    this.#driver.call('cuMemFree_v2', base);
  }

  /** Registers the buffers of an arena, which frees them. */
  adopt(buffers: readonly CudaBuffer[]): void {
    for (const buffer of buffers) this.#adopted.add(buffer);
  }

  forget(buffers: readonly CudaBuffer[]): void {
    for (const buffer of buffers) this.#adopted.delete(buffer);
  }

  isAllocated(buffer: CudaBuffer): boolean {
    return this.#bases.has(buffer) || this.#adopted.has(buffer);
  }
}

/** The allocation ends where the buffer ends, if the alignment allows it. */
function exactStart(base: bigint, slack: number, request: AllocationRequest): bigint {
  if (slack === 0) return base;
  const latest = base + BigInt(slack);
  const start = alignedStart(base, request);
  const step = 2n * BigInt(request.alignmentBytes);
  return start + ((latest - start) / step) * step;
}

/** A buffer with its two guard zones; none when `guardBytes` is 0. */
export const makeBuffer = (name: string, bytes: number, address: bigint, guardBytes: number): CudaBuffer => ({
  name,
  bytes,
  address,
  guards:
    guardBytes === 0
      ? []
      : [
          { address: address - BigInt(guardBytes), bytes: guardBytes },
          { address: address + BigInt(bytes), bytes: guardBytes },
        ],
});

/** Bytes of a zone that no longer hold the guard value. */
export function countDamage(driver: Driver, address: bigint, bytes: number): number {
  const contents = new Uint8Array(bytes);
  driver.copyOut(contents, address);
  let damaged = 0;
  for (const byte of contents) if (byte !== GUARD_VALUE) damaged++;
  return damaged;
}

/** Size of the pattern that the host writes before the device copies it onwards. */
const SEED_BYTES = 1 << 20;

/** Repeats a pattern over the whole buffer, cut off at the end. */
export function fillMemory(driver: Driver, address: bigint, bytes: number, pattern: Uint8Array): void {
  if (bytes === 0) return;
  const width = pattern.every((byte) => byte === pattern[0]) ? 1 : pattern.length;
  if (isMemsetWidth(width) && address % BigInt(width) === 0n && bytes >= width) {
    let value = 0;
    for (let i = width - 1; i >= 0; i--) value = value * 256 + pattern[i]!;
    const whole = bytes - (bytes % width);
    driver.enqueueSet(address, width, value, whole / width);
    driver.copyIn(address + BigInt(whole), pattern.subarray(0, bytes - whole));
    return;
  }
  const seed = repeat(pattern, Math.min(bytes, Math.ceil(SEED_BYTES / pattern.length) * pattern.length));
  driver.copyIn(address, seed.subarray(0, bytes));
  for (let done = seed.length; done < bytes; done *= 2)
    driver.enqueueCopy(address + BigInt(done), address, Math.min(done, bytes - done));
}

function repeat(pattern: Uint8Array, bytes: number): Uint8Array {
  const seed = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i++) seed[i] = pattern[i % pattern.length]!;
  return seed;
}
