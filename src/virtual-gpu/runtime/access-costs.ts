import { LANES } from '../layout.ts';

/** The cost of one warp-level request for the memory system. Pure functions of the lanes' addresses. */

export const SECTOR_BYTES = 32;
const BANKS = 32;
const BANK_BYTES = 4;

/** Distinct 32-byte sectors that `addresses` (each `bytes` long) touch. */
export function countSectors(addresses: readonly number[], bytes: number): number {
  const sectors = new Set<number>();
  for (const address of addresses) {
    const last = Math.floor((address + bytes - 1) / SECTOR_BYTES);
    for (let sector = Math.floor(address / SECTOR_BYTES); sector <= last; sector++) sectors.add(sector);
  }
  return sectors.size;
}

/** Words (4 bytes) that accesses of `bytes` at `addresses` touch, each once. */
function distinctWords(addresses: readonly number[], bytes: number): Set<number> {
  const words = new Set<number>();
  for (const address of addresses)
    for (let byte = 0; byte < Math.max(bytes, 1); byte += BANK_BYTES)
      words.add(Math.floor((address + byte) / BANK_BYTES));
  return words;
}

/** Most distinct words any one bank must deliver. */
function wordsPerBank(addresses: readonly number[], bytes: number): number {
  const perBank = new Array<number>(BANKS).fill(0);
  for (const word of distinctWords(addresses, bytes)) perBank[word % BANKS]!++;
  return Math.max(...perBank);
}

/** Number of lanes that are served together, by bytes per lane. */
const lanesServedTogether = (bytes: number): number => (bytes > 8 ? 8 : bytes > 4 ? 16 : 32);

/** Whether every active lane of a group requests the same address as its partner at distance `step`. */
const pairsAgree = (addressOf: ReadonlyMap<number, number>, lanes: readonly number[], step: 1 | 2): boolean =>
  lanes.every((lane) => {
    const partner = addressOf.get(lane ^ step);
    return partner === undefined || partner === addressOf.get(lane);
  });

/** What one request costs the shared memory. */
export interface SharedCost {
  wavefronts: number;
  /** Wavefronts beyond those that a request of this width by these lanes needs without bank conflicts. */
  conflicts: number;
}

/**
 * Shared-memory wavefronts of one request. A request of 8 bytes per lane is served by half-warps, one of 16 bytes by
 * quarter-warps; two neighbouring parts of a load are served as one when all lanes of both agree with their neighbour
 * (lane ^ 1), or all with the one after (lane ^ 2). Each part takes as many wavefronts as its busiest bank has
 * distinct words. Source: bench/hardware/shared_wavefronts.cu, equal to an H200 in all of its patterns.
 * `addresses[i]` belongs to lane `lanes[i]`.
 */
export function sharedCost(
  addresses: readonly number[],
  lanes: readonly number[],
  bytes: number,
  isStore: boolean,
): SharedCost {
  const parts = partsServedTogether(addresses, lanes, bytes, isStore);
  let wavefronts = 0;
  for (const part of parts) wavefronts += wordsPerBank(part, bytes);
  // A part requests at most 32 words, which take one wavefront without conflicts.
  return { wavefronts, conflicts: wavefronts - parts.length };
}

/** Addresses of the lanes that are served together, part by part. */
function partsServedTogether(
  addresses: readonly number[],
  lanes: readonly number[],
  bytes: number,
  isStore: boolean,
): number[][] {
  const addressOf = new Map(lanes.map((lane, i) => [lane, addresses[i]!]));
  const size = lanesServedTogether(bytes);
  const parts: number[][] = [];
  for (let first = 0; first < LANES; first += 2 * size) {
    const pair = lanes.filter((lane) => lane >= first && lane < first + 2 * size);
    const agree = pairsAgree(addressOf, pair, 1) || pairsAgree(addressOf, pair, 2);
    const joined = size === LANES || (agree && !isStore);
    const own = joined ? [pair] : [pair.filter((l) => l < first + size), pair.filter((l) => l >= first + size)];
    for (const part of own) if (part.length > 0) parts.push(part.map((lane) => addressOf.get(lane)!));
  }
  return parts;
}

/** Wavefronts of a full warp's request to one address. */
export function broadcastWavefronts(bytes: number, isStore: boolean): number {
  const parts = LANES / lanesServedTogether(bytes);
  return isStore ? parts : Math.ceil(parts / 2);
}
