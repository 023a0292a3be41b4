/** What one warp-level request costs the memory system. Pure functions of the lanes' addresses. */

export const SECTOR_BYTES = 32;
const BANKS = 32;
const BANK_BYTES = 4;
/** Bytes one wavefront can deliver: one word from each bank. */
const WAVEFRONT_BYTES = BANKS * BANK_BYTES;

/** Distinct 32-byte sectors that `addresses` (each `bytes` long) touch. */
export function countSectors(addresses: readonly number[], bytes: number): number {
  const sectors = new Set<number>();
  for (const address of addresses) {
    const last = Math.floor((address + bytes - 1) / SECTOR_BYTES);
    for (let sector = Math.floor(address / SECTOR_BYTES); sector <= last; sector++) sectors.add(sector);
  }
  return sectors.size;
}

/** Most distinct words any one bank must deliver. */
function wordsPerBank(words: Iterable<number>): number {
  const perBank = new Array<number>(BANKS).fill(0);
  for (const word of new Set(words)) perBank[word % BANKS]!++;
  return Math.max(...perBank);
}

/**
 * Shared-memory wavefronts of one request. Lanes are served in groups that together ask for at most 128 bytes
 * (all 32 lanes at 4 bytes or less, half-warps at 8, quarter-warps at 16); neighbouring groups are served
 * together when their words fit one wavefront (a broadcast takes one, whatever its width).
 * `addresses[i]` belongs to lane `lanes[i]`.
 */
export function countWavefronts(addresses: readonly number[], lanes: readonly number[], bytes: number): number {
  const lanesPerGroup = Math.max(1, Math.min(32, WAVEFRONT_BYTES / Math.max(bytes, BANK_BYTES)));
  const groups: number[][] = [];
  addresses.forEach((address, i) => {
    const index = Math.floor(lanes[i]! / lanesPerGroup);
    groups[index] ??= [];
    for (let byte = 0; byte < Math.max(bytes, 1); byte += BANK_BYTES)
      groups[index]!.push(Math.floor((address + byte) / BANK_BYTES));
  });
  let wavefronts = 0;
  let merged: number[] = [];
  for (const words of groups) {
    if (!words) continue;
    const together = [...merged, ...words];
    if (merged.length > 0 && wordsPerBank(together) <= 1) {
      merged = together;
      continue;
    }
    wavefronts += merged.length > 0 ? wordsPerBank(merged) : 0;
    merged = words;
  }
  return wavefronts + (merged.length > 0 ? wordsPerBank(merged) : 0);
}

/** The fewest wavefronts that could deliver the distinct words of a request. */
export function leastWavefronts(addresses: readonly number[], bytes: number): number {
  const words = new Set<number>();
  for (const address of addresses)
    for (let byte = 0; byte < Math.max(bytes, 1); byte += BANK_BYTES)
      words.add(Math.floor((address + byte) / BANK_BYTES));
  return Math.max(1, Math.ceil(words.size / BANKS));
}
