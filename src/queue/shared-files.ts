import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { WarpsmithError } from '../core/errors.ts';

/** A week; a running search refreshes it with every job. */
const KEPT_SECONDS = 7 * 86_400;

/** What a value of Redis can hold. */
const MOST_BYTES = 512 * 2 ** 20;

const keyOf = (sha256: string): string => `warpsmith:file:${sha256}`;

/**
 * Puts the files that are missing there. They are named by their contents, so none is ever changed.
 *
 * @throws WarpsmithError `file-too-large`.
 */
export async function putFiles(redis: Redis, files: ReadonlyMap<string, () => Uint8Array>): Promise<void> {
  for (const [sha256, read] of files) {
    // Refreshes one that is there.
    if ((await redis.expire(keyOf(sha256), KEPT_SECONDS)) === 0)
      await redis.set(keyOf(sha256), refuseLarge(read()), 'EX', KEPT_SECONDS);
  }
}

function refuseLarge(contents: Uint8Array): Buffer {
  if (contents.byteLength <= MOST_BYTES) return Buffer.from(contents);
  throw new WarpsmithError({
    code: 'file-too-large',
    message: 'A file of the problem is too large for a queue.',
    received: `${contents.byteLength} bytes`,
    expected: `at most ${MOST_BYTES} bytes`,
    hint: 'Draw inputs with a generator instead of reading them from a .npy file, or judge on this machine.',
  });
}

/** @throws Error if it is missing, or is not what its name says. */
export async function getFile(redis: Redis, sha256: string): Promise<Buffer> {
  const contents = await redis.getBuffer(keyOf(sha256));
  if (contents === null) throw new Error(`file ${sha256} of a job is not in the queue`);
  if (createHash('sha256').update(contents).digest('hex') === sha256) return contents;
  throw new Error(`file ${sha256} of a job is another one in the queue`);
}
