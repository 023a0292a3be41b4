/** Uniform 32-bit integers, one after another. */
export interface RandomSource {
  next(): number;
}

/** Spreads one seed over 32-bit words: a Weyl sequence through a bijective mix (D. Stafford's 32-bit SplitMix). */
function* seedWords(seed: number): Generator<number, never> {
  // Seeds may exceed 32 bits; the upper part starts elsewhere, so that seeds 2³² apart differ.
  let state = (Math.trunc(seed) ^ Math.imul(Math.floor(seed / 4294967296), 0x85ebca6b)) | 0;
  for (;;) {
    state = (state + 0x9e3779b9) | 0;
    let word = state;
    word = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    yield (word ^ (word >>> 15)) >>> 0;
  }
}

const rotateLeft = (word: number, by: number): number => (word << by) | (word >>> (32 - by));

/** xoshiro128** from a given state, not all zero. Source: D. Blackman and S. Vigna, prng.di.unimi.it (public domain). */
export function xoshiro128(state: readonly [number, number, number, number]): RandomSource {
  let [a, b, c, d] = state;
  return {
    next() {
      const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0;
      const shifted = b << 9;
      c ^= a;
      d ^= b;
      b ^= c;
      a ^= d;
      c ^= shifted;
      d = rotateLeft(d, 11);
      return result;
    },
  };
}

/** The generator of this seed. Not cryptographic: it resamples what was measured and never reaches a kernel. */
export function randomSource(seed: number): RandomSource {
  const words = seedWords(seed);
  const word = (): number => words.next().value;
  return xoshiro128([word(), word(), word(), word()]);
}
