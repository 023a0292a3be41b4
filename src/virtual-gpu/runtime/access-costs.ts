import { LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE } from '../../core/gpu-sizes.ts';
import { LANES } from '../layout.ts';

/** The cost of one warp-level request for the memory system. Pure functions of the lanes' addresses. */

const BANKS = 32;
const BANK_BYTES = 4;

/** Chains of numbers that were met, by their last bits. Counting a request takes some tens of nanoseconds so, and microseconds with a Set. */
const CHAINS = 32;
const chainStarts = new Int32Array(CHAINS);
const chainLengths = new Int32Array(CHAINS);
/** Not typed arrays, since a copied piece may touch any number of sectors. */
const met: number[] = [];
const nextInChain: number[] = [];
let metCount = 0;

function forgetMet(): void {
  chainStarts.fill(-1);
  chainLengths.fill(0);
  metCount = 0;
}

/** Notes a number, once, in its one of so many chains. */
function meet(value: number, chains: number): void {
  const chain = value % chains;
  const start = chainStarts[chain]!;
  for (let at = start; at >= 0; at = nextInChain[at]!) if (met[at] === value) return;
  met[metCount] = value;
  nextInChain[metCount] = start;
  chainStarts[chain] = metCount++;
  chainLengths[chain]!++;
}

/** Distinct sectors, or other units, that `addresses` (each `bytes` long) touch. */
export function countSectors(addresses: readonly number[], bytes: number, unit = SECTOR_BYTES): number {
  const count = countAscending(addresses, bytes, unit);
  if (count >= 0) return count;
  forgetMet();
  for (let i = 0; i < addresses.length; i++) {
    const address = addresses[i]!;
    const last = Math.floor((address + bytes - 1) / unit);
    for (let sector = Math.floor(address / unit); sector <= last; sector++) meet(sector, CHAINS);
  }
  return metCount;
}

/** The same where no address is lower than the one before, as is usual: what is new lies behind all that was met. −1 for others. */
function countAscending(addresses: readonly number[], bytes: number, unit: number): number {
  let [count, latest, before] = [0, -1, 0];
  for (let i = 0; i < addresses.length; i++) {
    const address = addresses[i]!;
    if (address < before) return -1;
    before = address;
    const last = Math.floor((address + bytes - 1) / unit);
    if (last === latest) continue;
    count += last - Math.max(latest, Math.floor(address / unit) - 1);
    latest = last;
  }
  return count;
}

/** The fewest lines that the same sectors may lie in: addresses are known but for their place in a line. */
export const fewestLines = (addresses: readonly number[], bytes: number): number =>
  Math.min(
    ...Array.from({ length: SECTORS_PER_LINE }, (_, place) =>
      countSectors(
        addresses.map((address) => address + place * SECTOR_BYTES),
        bytes,
        LINE_BYTES,
      ),
    ),
  );

/** Lanes on one address take turns; the addresses of a sector are served at once, its sectors one after the other: the sum of the most. */
export function atomicTurns(addresses: readonly number[]): number {
  const most = new Map<number, number>();
  const lanes = new Map<number, number>();
  for (const address of addresses) {
    const count = (lanes.get(address) ?? 0) + 1;
    lanes.set(address, count);
    const sector = Math.floor(address / SECTOR_BYTES);
    most.set(sector, Math.max(most.get(sector) ?? 0, count));
  }
  let turns = 0;
  for (const count of most.values()) turns += count;
  return turns;
}

/**
 * Most distinct words that any one bank must deliver to the lanes of `mask`. Accesses are aligned to their width, so those of 8 or 16
 * bytes always take the same two or four banks together: these count as one, which has wider words.
 */
function wordsPerBank(mask: number, bytes: number): number {
  forgetMet();
  const wordBytes = Math.max(bytes, BANK_BYTES);
  const banks = (BANKS * BANK_BYTES) / wordBytes;
  for (let lane = 0; lane < LANES; lane++)
    if ((mask >>> lane) & 1) meet(Math.floor(addressOfLane[lane]! / wordBytes), banks);
  let most = 0;
  for (let bank = 0; bank < banks; bank++) most = Math.max(most, chainLengths[bank]!);
  return most;
}

/** Number of lanes that are served together, by bytes per lane. */
const lanesServedTogether = (bytes: number): number => (bytes > 8 ? 8 : bytes > 4 ? 16 : 32);

/** Addresses of the request at hand. */
const addressOfLane = new Float64Array(LANES);

/** Whether every lane of `mask` requests the same address as its partner at distance `step`, if that is active, too. */
function pairsAgree(mask: number, step: 1 | 2): boolean {
  for (let lane = 0; lane < LANES; lane++) {
    const partner = lane ^ step;
    if (((mask >>> lane) & 1) === 0 || ((mask >>> partner) & 1) === 0) continue;
    if (addressOfLane[lane] !== addressOfLane[partner]) return false;
  }
  return true;
}

/** What one request costs the shared memory. */
export interface SharedCost {
  readonly wavefronts: number;
  /** Wavefronts beyond those that a request of this width by these lanes needs without bank conflicts. */
  readonly conflicts: number;
}

/** Quarters of a warp that access 16 bytes with each lane, as rows of a matrix do, are served one after the other. */
const QUARTER = { lanes: 8, bytes: 16 } as const;

/** Whether these are the lanes of so many whole quarters, and no two of a quarter need the same banks. Then no two agree, either. */
function haveOwnBanks(addresses: readonly number[], lanes: readonly number[], quarters: number): boolean {
  for (let quarter = 0, i = 0; quarter < quarters; quarter++) {
    const first = lanes[i]!;
    if (first % QUARTER.lanes !== 0) return false;
    let banks = 0;
    for (let lane = first; lane < first + QUARTER.lanes; lane++, i++) {
      if (lanes[i] !== lane) return false;
      banks |= 1 << ((addresses[i]! / QUARTER.bytes) & (QUARTER.lanes - 1));
    }
    if (banks !== (1 << QUARTER.lanes) - 1) return false;
  }
  return true;
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
  const quarters = lanes.length / QUARTER.lanes;
  if (bytes === QUARTER.bytes && quarters % 1 === 0 && haveOwnBanks(addresses, lanes, quarters))
    return { wavefronts: quarters, conflicts: 0 };
  let active = 0;
  for (let i = 0; i < lanes.length; i++) {
    active |= 1 << lanes[i]!;
    addressOfLane[lanes[i]!] = addresses[i]!;
  }
  const size = lanesServedTogether(bytes);
  const part = size === LANES ? -1 : (1 << size) - 1;
  let [wavefronts, parts] = [0, 0];
  const serve = (mask: number): void => {
    if (mask === 0) return;
    wavefronts += wordsPerBank(mask, bytes);
    parts++;
  };
  if (size === LANES) serve(active);
  else
    for (let first = 0; first < LANES; first += 2 * size) {
      const [own, other] = [active & (part << first), active & (part << (first + size))];
      const joined = !isStore && (pairsAgree(own | other, 1) || pairsAgree(own | other, 2));
      if (joined) serve(own | other);
      else {
        serve(own);
        serve(other);
      }
    }
  // A part requests at most 32 words, which take one wavefront without conflicts.
  return { wavefronts, conflicts: wavefronts - parts };
}

/** Wavefronts of a full warp's request to one address. */
export function broadcastWavefronts(bytes: number, isStore: boolean): number {
  const parts = LANES / lanesServedTogether(bytes);
  return isStore ? parts : Math.ceil(parts / 2);
}
