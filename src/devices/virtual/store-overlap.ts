/** Bytes of one range of device memory: 255 where a worker has stored, else 0. */
type WriteMap = Uint8Array<ArrayBuffer>;

/**
 * True when two workers have stored to the same byte.
 * @param maps `[worker][range]`; uses up the first worker's.
 */
export function doStoresOverlap(maps: readonly (readonly WriteMap[])[]): boolean {
  const [first, ...others] = maps;
  if (!first) return false;
  return others.some((worker) => worker.some((map, range) => mergeInto(first[range]!, map)));
}

/** Adds a map to the one of all workers before it; true when both have a byte. */
function mergeInto(all: WriteMap, map: WriteMap): boolean {
  const wordCount = map.length >> 2;
  const [allWords, words] = [new Uint32Array(all.buffer, 0, wordCount), new Uint32Array(map.buffer, 0, wordCount)];
  let overlap = 0;
  for (let i = 0; i < wordCount; i++) {
    overlap |= allWords[i]! & words[i]!;
    allWords[i]! |= words[i]!;
  }
  for (let i = wordCount * 4; i < map.length; i++) {
    overlap |= all[i]! & map[i]!;
    all[i]! |= map[i]!;
  }
  return overlap !== 0;
}
