/** Small seeded generator (mulberry32) for orders of CTAs and warps, and for rubbish; not for inputs. */
export function generator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** 0 … count − 1: in natural order for seed 0, else a seeded permutation. */
export function seededOrder(count: number, seed: number): Int32Array {
  const order = Int32Array.from({ length: count }, (_, i) => i);
  if (seed === 0) return order;
  const random = generator(seed);
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}
