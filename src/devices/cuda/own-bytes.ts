/**
 * Bytes in memory of their own: what arrives from another process lies anywhere in its message, where wider elements
 * could not be read in place.
 */
export const ownBytes = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);
