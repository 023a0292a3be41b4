import type { AllocationRequest } from '../../../core/device-values.ts';
import { scrambledWeyl, shuffle } from '../../../stats/random.ts';
import type { Driver } from '../driver/driver.ts';
import { alignedStart, type CudaBuffer, GUARD_BYTES, GUARD_VALUE, makeBuffer } from './memory.ts';

/** A guard zone of an arena, named after the buffer before it. */
export interface ArenaGap {
  readonly buffer: string;
  readonly address: bigint;
  readonly bytes: number;
}

/** One driver allocation with buffers at random places. */
export interface Arena {
  readonly base: bigint;
  readonly buffers: readonly CudaBuffer[];
  readonly gaps: readonly ArenaGap[];
}

/**
 * Largest extra gap between guard zones, in steps of a pair of cache lines, so that addresses fall anywhere in the caches.
 */
const MAXIMUM_GAP_BYTES = 16384;
const GAP_STEP_BYTES = 256;
/** The driver maps memory in pages of 2 MiB. */
const PAGE_BYTES = 2 << 20;
/** The arena itself starts anywhere within its first page. */
const MAXIMUM_START_BYTES = PAGE_BYTES;

/**
 * Places the buffers of an arena; returns them in the order of the requests. The arena consists of whole pages, so that a
 * kernel can't reach an unguarded byte behind the last buffer.
 */
export function placeArena(
  requests: readonly AllocationRequest[],
  seed: number,
): { bytes: number; place(base: bigint): Omit<Arena, 'base'> } {
  const random = scrambledWeyl(seed);
  const order = shuffle([...requests.keys()], (bound) => Math.floor(random() * bound));
  const skip = (most: number) => GAP_STEP_BYTES * Math.floor((random() * most) / GAP_STEP_BYTES);
  const startBytes = skip(MAXIMUM_START_BYTES);
  const gapBytes = order.map(() => GUARD_BYTES + skip(MAXIMUM_GAP_BYTES));
  const needed =
    startBytes +
    GUARD_BYTES +
    requests.reduce((sum, { bytes, alignmentBytes }) => sum + bytes + 2 * Math.max(alignmentBytes, GAP_STEP_BYTES), 0) +
    gapBytes.reduce((sum, gap) => sum + gap, 0);
  const bytes = Math.ceil(needed / PAGE_BYTES) * PAGE_BYTES;
  const place = (base: bigint): Omit<Arena, 'base'> => {
    const buffers = new Array<CudaBuffer>(requests.length);
    const gaps: ArenaGap[] = [];
    let before = '(start of the arena)';
    let free = base;
    let earliest = base + BigInt(startBytes + GUARD_BYTES);
    order.forEach((index, i) => {
      const request = requests[index]!;
      const address = alignedStart(earliest, request);
      buffers[index] = makeBuffer(request.name, request.bytes, address, GUARD_BYTES);
      gaps.push({ buffer: before, address: free, bytes: Number(address - free) });
      before = request.name;
      free = address + BigInt(request.bytes);
      earliest = free + BigInt(gapBytes[i]!);
    });
    gaps.push({ buffer: before, address: free, bytes: Number(base + BigInt(bytes) - free) });
    return { buffers, gaps };
  };
  return { bytes, place };
}

/** Allocates an arena and fills it with the guard value. @throws CudaError */
export function allocateArena(driver: Driver, requests: readonly AllocationRequest[], seed: number): Arena {
  const { bytes, place } = placeArena(requests, seed);
  const base = driver.create('cuMemAlloc_v2', bytes);
  try {
    driver.enqueueSet(base, 1, GUARD_VALUE, bytes);
    return { base, ...place(base) };
  } catch (error) {
    driver.result('cuMemFree_v2', base);
    throw error;
  }
}
