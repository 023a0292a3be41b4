import { createHash } from 'node:crypto';

/** In hexadecimal digits. */
export const sha256 = (contents: string | Uint8Array): string => createHash('sha256').update(contents).digest('hex');
