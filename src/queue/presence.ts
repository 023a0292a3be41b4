import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { jsonOf } from '../core/json/parse-json.ts';
import type { Seal } from './seal.ts';

const KEYS = 'warpsmith:worker:';
const PURPOSE = 'worker';
const HEARTBEAT_MS = 3_000;
/** After this long without a heartbeat a worker counts as gone. */
const GONE_AFTER_MS = 12_000;

interface Announced {
  /** What the worker says of itself. */
  readonly said: string;
  readonly onError: (error: Error) => void;
}

/** Says that a worker is there, until it is stopped. */
export function announce(redis: Redis, seal: Seal, { said, onError }: Announced): { stop(): Promise<void> } {
  const key = `${KEYS}${randomUUID()}`;
  const sealed = JSON.stringify(seal.close(PURPOSE, said));
  const beat = (): void => void redis.set(key, sealed, 'PX', GONE_AFTER_MS).catch(onError);
  beat();
  const timer = setInterval(beat, HEARTBEAT_MS);
  return {
    async stop() {
      clearInterval(timer);
      await redis.del(key).catch(() => 0);
    },
  };
}

/** What the workers that are there say of themselves. Whoever has no key is not among them. */
export async function whoIsThere(redis: Redis, seal: Seal): Promise<string[]> {
  const keys: string[] = [];
  for await (const found of redis.scanStream({ match: `${KEYS}*`, count: 100 })) keys.push(...(found as string[]));
  if (keys.length === 0) return [];
  const values = await redis.mget([...new Set(keys)].sort());
  return values.flatMap((value) => (value === null ? [] : (seal.open(PURPOSE, jsonOf(value)) ?? [])));
}
