import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';

/** A 32-bit seed for a subject, which nobody can tell without knowing the other seed. */
export function deriveSeed(seed: number, subject: string): number {
  const [a, b, c, d] = sha256(utf8ToBytes(`${seed}/${subject}`)) as unknown as [number, number, number, number];
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}
