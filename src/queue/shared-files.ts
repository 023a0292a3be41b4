import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

/** A week; a running search refreshes it with every job. */
const KEPT_SECONDS = 7 * 86_400;

const keyOf = (sha256: string): string => `warpsmith:file:${sha256}`;

/** Puts the files that are missing there. They are named by their contents, so none is ever changed. */
export async function putFiles(redis: Redis, files: ReadonlyMap<string, () => Uint8Array>): Promise<void> {
  for (const [sha256, read] of files) {
    // Refreshes one that is there.
    if ((await redis.expire(keyOf(sha256), KEPT_SECONDS)) === 0)
      await redis.set(keyOf(sha256), Buffer.from(read()), 'EX', KEPT_SECONDS);
  }
}

/** @throws Error if it is missing, or is not what its name says. */
export async function getFile(redis: Redis, sha256: string): Promise<Buffer> {
  const contents = await redis.getBuffer(keyOf(sha256));
  if (contents === null) throw new Error(`file ${sha256} of a job is not in the queue`);
  if (createHash('sha256').update(contents).digest('hex') === sha256) return contents;
  throw new Error(`file ${sha256} of a job is another one in the queue`);
}
