import type { AllocationRequest, DeviceBuffer } from '../../core/device-values.ts';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import { roundUp } from '../../core/values.ts';
import { DEVICE_MEMORY_MAXIMUM_PAGES, DEVICE_START, PAGE_BYTES } from '../layout.ts';
import { type DeviceRange, growTo } from './memories.ts';

const MOST_BYTES = DEVICE_MEMORY_MAXIMUM_PAGES * PAGE_BYTES;
/** Bytes on both sides of a buffer that no access may touch. */
const GUARD_BYTES = 256;
const GUARD_VALUE = 0xa5;
const GRANULE_BYTES = 256;

interface Block extends DeviceBuffer {
  /** Start of the buffer itself, between its guard zones. */
  readonly offset: number;
  readonly end: number;
}

/** The next offset that is a multiple of the alignment, but not of twice that. */
const oddMultiple = (offset: number, alignmentBytes: number): number =>
  roundUp(offset - alignmentBytes, 2 * alignmentBytes) + alignmentBytes;

/** Device memory of the virtual GPU: one WebAssembly memory shared by all threads, first-fit allocation. */
export class DeviceMemory {
  readonly memory: WebAssembly.Memory;
  /** By address. */
  #blocks: Block[] = [];

  constructor() {
    this.memory = new WebAssembly.Memory({ initial: 2, maximum: DEVICE_MEMORY_MAXIMUM_PAGES, shared: true });
  }

  /** @throws WarpsmithError `device-memory` if the virtual device has too little memory. */
  allocate({ name, bytes, alignmentBytes, minimumAlignment = false }: AllocationRequest): Block {
    const place = (at: number): number =>
      minimumAlignment ? oddMultiple(at, alignmentBytes) : roundUp(at, Math.max(alignmentBytes, GRANULE_BYTES));
    let offset = place(DEVICE_START + GUARD_BYTES);
    let index = 0;
    for (; index < this.#blocks.length; index++) {
      const next = this.#blocks[index]!;
      if (offset + bytes + 2 * GUARD_BYTES <= next.offset) break;
      offset = place(next.end + 2 * GUARD_BYTES);
    }
    const end = offset + bytes;
    if (end + GUARD_BYTES > MOST_BYTES) throw this.#isFull(name, bytes);
    growTo(this.memory, end + GUARD_BYTES);
    const block: Block = { name, bytes, offset, end };
    this.#blocks.splice(index, 0, block);
    const all = this.bytes();
    all.fill(GUARD_VALUE, offset - GUARD_BYTES, offset);
    all.fill(GUARD_VALUE, end, end + GUARD_BYTES);
    return block;
  }

  free(buffer: DeviceBuffer): void {
    const index = this.#blocks.indexOf(buffer as Block);
    if (index < 0) throw new Error(`buffer ${buffer.name} is not allocated`);
    this.#blocks.splice(index, 1);
  }

  /** The allocation behind a handle. */
  block(buffer: DeviceBuffer): Block {
    if (!this.#blocks.includes(buffer as Block)) throw new Error(`buffer ${buffer.name} is not allocated`);
    return buffer as Block;
  }

  contents(buffer: DeviceBuffer): Uint8Array {
    const { offset, end } = this.block(buffer);
    return this.bytes().subarray(offset, end);
  }

  damagedGuardBytes(buffer: DeviceBuffer): number {
    const { offset, end } = this.block(buffer);
    const all = this.bytes();
    let damaged = 0;
    for (let i = 1; i <= GUARD_BYTES; i++) {
      if (all[offset - i] !== GUARD_VALUE) damaged++;
      if (all[end + i - 1] !== GUARD_VALUE) damaged++;
    }
    return damaged;
  }

  bytes(): Uint8Array {
    return new Uint8Array(this.memory.buffer);
  }

  /** What a launch may touch. */
  rangesOf(buffers: Iterable<DeviceBuffer>): DeviceRange[] {
    return [...buffers].map((buffer) => {
      const { name, offset, bytes } = this.block(buffer);
      return { name, start: offset, bytes };
    });
  }

  /** End of the used part. */
  get end(): number {
    return this.#blocks.at(-1)?.end ?? DEVICE_START;
  }

  #isFull(name: string, bytes: number): WarpsmithError {
    const used = this.#blocks.reduce((sum, block) => sum + block.bytes, 0);
    return new WarpsmithError(
      {
        code: 'device-memory',
        message: `Buffer ${name} does not fit: virtual devices have 4 GiB of memory, and ${used} bytes are in use.`,
        received: `${bytes} bytes`,
        expected: `at most ${MOST_BYTES - used} bytes`,
        hint: 'Take a smaller workload, or a real GPU.',
      },
      EXIT.deviceOrToolMissing,
    );
  }
}
