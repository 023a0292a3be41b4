/** Murmur3's finaliser: every bit of the result depends on every bit of the number. */
function mix(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** FNV-1a over a buffer's name. */
export function hashOfName(name: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) h = Math.imul(h ^ name.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

/**
 * Spreads lines over cache sets, as the address hash of a GPU's L2 does. It depends on the buffer's name and the line's
 * place in the buffer, not on where the buffer lies, so that equal runs give equal samples.
 * @param nameHash of the buffer, from `hashOfName`.
 */
export const hashOfLine = (nameHash: number, line: number): number => mix(line + Math.imul(nameHash, 0x9e3779b1));

/** How often the sample can be halved while the line stays in it: the number of zero bits at the hash's low end. */
export const sampleLevel = (hash: number): number => (hash === 0 ? 32 : 31 - Math.clz32(hash & -hash));
