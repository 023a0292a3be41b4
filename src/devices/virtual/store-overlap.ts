import { WRITE_PAGE_BYTES } from '../../virtual-gpu/layout.ts';
import type { WrittenPages } from '../../virtual-gpu/runtime/write-map.ts';

/** Whether two workers have stored to the same byte. Consumes the pages. */
export function doStoresOverlap(workers: readonly WrittenPages[]): boolean {
  const merged = new Map<number, Uint32Array>();
  for (const { pages, bytes } of workers) {
    for (const [i, page] of pages.entries()) {
      const words = new Uint32Array(bytes.buffer, i * WRITE_PAGE_BYTES, WRITE_PAGE_BYTES / 4);
      const before = merged.get(page);
      if (!before) merged.set(page, words);
      else if (mergeInto(before, words)) return true;
    }
  }
  return false;
}

/** Merges a page into that of the previous workers. Returns whether both have a byte in common. */
function mergeInto(all: Uint32Array, words: Uint32Array): boolean {
  let overlap = 0;
  for (let i = 0; i < words.length; i++) {
    overlap |= all[i]! & words[i]!;
    all[i]! |= words[i]!;
  }
  return overlap !== 0;
}
