import { LINE_BYTES, SECTORS_PER_LINE } from '../../core/gpu-sizes.ts';
import type { DeviceRange } from '../runtime/memories.ts';
import { hashOfLine, hashOfName } from './line-hash.ts';

interface Buffer {
  /** The buffer's first line of device memory, and one past its last. */
  readonly first: number;
  readonly end: number;
  readonly nameHash: number;
}

/** The lines of a launch's buffers, and their hashes. */
export class LinePlaces {
  readonly #buffers: readonly Buffer[];

  constructor(ranges: readonly DeviceRange[]) {
    this.#buffers = ranges
      .filter(({ bytes }) => bytes > 0)
      .map(({ name, start, bytes }) => ({
        first: Math.floor(start / LINE_BYTES),
        end: Math.ceil((start + bytes) / LINE_BYTES),
        nameHash: hashOfName(name),
      }))
      .sort((a, b) => a.first - b.first);
  }

  get count(): number {
    return this.#buffers.reduce((sum, { first, end }) => sum + end - first, 0);
  }

  /** Every line with its hash. */
  forEach(visit: (line: number, hash: number) => void): void {
    for (const { first, end, nameHash } of this.#buffers)
      for (let line = first; line < end; line++) visit(line, hashOfLine(nameHash, line - first));
  }

  /** Hash of a line that lies in one of the buffers. */
  hashOf(line: number): number {
    let [low, high] = [0, this.#buffers.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#buffers[middle]!.first <= line) low = middle;
      else high = middle - 1;
    }
    const buffer = this.#buffers[low];
    return buffer ? hashOfLine(buffer.nameHash, line - buffer.first) : 0;
  }
}

/** Sector number of a recorded access, which is sector × 4 + bits. */
export const sectorOfEntry = (entry: number): number => entry >>> 2;
/** The line that a sector lies in. */
export const lineOfSector = (sector: number): number => Math.floor(sector / SECTORS_PER_LINE);
/** Bit of a sector among the four of its line. */
export const sectorBit = (sector: number): number => 1 << (sector % SECTORS_PER_LINE);
