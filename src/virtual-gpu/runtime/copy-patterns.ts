import { LINE_BYTES, SECTOR_BYTES } from '../../core/gpu-sizes.ts';
import { ALL_LANES, LANES } from '../layout.ts';
import type { PreparedCopy } from './lane-copier.ts';
import { addRequest, type MemoryRequest, noSiteRequests, type RequestSums } from './site-requests.ts';

/** What a copy by all lanes costs that takes all of its bytes: as much as each that lies in the same way. */
export interface CopyPattern {
  /** By lane, places in shared memory, then in device memory, of the first copy that lay so. */
  readonly words: Uint32Array;
  /** What one counts, of device and of shared memory. */
  readonly global: RequestSums;
  readonly shared: RequestSums;
  /** Sectors in the order in which lanes touch them, from that of the first lane on; those that repeat the one before are left out. */
  readonly sectors: Int32Array;
  /** Whether all bytes of these are copied. */
  readonly hasWholeSectors: boolean;
}

/** Sectors, lines and banks repeat after so many bytes. */
const PERIOD = LINE_BYTES;
/** An instruction has few; one whose lanes lie in another way each time asks for no more. */
const MOST_PATTERNS = 8;

/**
 * How the copies of one instruction lie, so that each need not be counted anew: what they cost follows from the places of lanes beside
 * each other, and from that of the first lane in a line.
 */
export class CopyPatterns {
  readonly #bytes: number;
  readonly #patterns: CopyPattern[] = [];
  /** Of the copy before. */
  #latest: CopyPattern | undefined;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** To be called for each copy that was prepared and is not looked up. */
  forget(): void {
    this.#latest = undefined;
  }

  /** @returns undefined where some lanes take nothing, or where copies lie in too many ways. */
  find({ words, liesAsBefore }: PreparedCopy): CopyPattern | undefined {
    const latest = this.#latest;
    if (latest && liesAsBefore && beginSo(words, latest.words)) return latest;
    this.#latest = this.#search(words);
    return this.#latest;
  }

  #search(words: Uint32Array): CopyPattern | undefined {
    for (let lane = 0; lane < LANES; lane++) if (words[2 * LANES + lane] !== this.#bytes) return undefined;
    for (const pattern of this.#patterns) if (liesSo(words, pattern.words)) return pattern;
    if (this.#patterns.length === MOST_PATTERNS) return undefined;
    const pattern = patternOf(words, this.#bytes);
    this.#patterns.push(pattern);
    return pattern;
  }
}

/** Whether the first lane's places are as far into a line. */
const beginSo = (words: Uint32Array, known: Uint32Array): boolean =>
  (((words[0]! ^ known[0]!) | (words[LANES]! ^ known[LANES]!)) & (PERIOD - 1)) === 0;

function liesSo(words: Uint32Array, known: Uint32Array): boolean {
  if (!beginSo(words, known)) return false;
  const [target, source] = [words[0]! - known[0]!, words[LANES]! - known[LANES]!];
  for (let lane = 1; lane < LANES; lane++) {
    if (words[lane]! - known[lane]! !== target) return false;
    if (words[LANES + lane]! - known[LANES + lane]! !== source) return false;
  }
  return true;
}

function patternOf(words: Uint32Array, bytes: number): CopyPattern {
  const [targets, sources] = [[...words.subarray(0, LANES)], [...words.subarray(LANES, 2 * LANES)]];
  const sums = noSiteRequests();
  const request = { lanes: ALL_LANES, bytes };
  addRequest(sums, { ...request, space: 'global', kind: 'load', addresses: sources });
  addRequest(sums, { ...request, space: 'shared', kind: 'store', addresses: targets });
  const touched = new Set(sources.flatMap((at) => Array.from({ length: bytes }, (_, byte) => at + byte)));
  const first = Math.floor(sources[0]! / SECTOR_BYTES);
  const sectors = [...sectorsOf({ addresses: sources, bytes })];
  return {
    words: words.slice(0, 2 * LANES),
    global: sums['global-load'],
    shared: sums['shared-store'],
    sectors: Int32Array.from(sectors, (sector) => sector - first),
    hasWholeSectors: touched.size === new Set(sectors).size * SECTOR_BYTES,
  };
}

/** Sectors in the order in which lanes touch them. Repetitions of the last one add nothing. */
export function* sectorsOf({ addresses, bytes }: Pick<MemoryRequest, 'addresses' | 'bytes'>): Generator<number> {
  let latest = -1;
  for (const address of addresses)
    for (let byte = 0; byte < bytes; byte += SECTOR_BYTES) {
      const sector = Math.floor((address + byte) / SECTOR_BYTES);
      if (sector === latest) continue;
      latest = sector;
      yield sector;
    }
}
